import EventLoop
import JSONText
import Scheduling
import TestSupport
import TestTraits
import Testing

@testable import Home

@Suite("the change log", .waiting, .tags(.history)) struct JournalTests {
  /// A log in virtual time, with a file unless that is nil.
  private final class Harness {
    let loop: EventLoop
    let log: Journal
    /// The lines for the log.
    var lines: [String] { logged.lines }
    private let logged = Logged()
    /// The numbers of the last changes of levels, by the speakers.
    private var levels: [String: Int] = [:]

    private final class Logged { var lines: [String] = [] }

    init(_ path: String? = nil, at seconds: Int64 = 1_000_000, minimumFree: Int = 0) {
      let loop = EventLoop(clock: .virtual(start: WallTime(seconds: seconds)))
      self.loop = loop
      log = Journal(
        loop: loop,
        archive: path.map { [logged] in
          JournalArchive(path: $0, minimumFree: minimumFree, loop: loop) { logged.lines.append($0) }
        })
    }

    /// Lets time pass, then has what is unsaved written.
    func pass(_ time: Duration) {
      var isOver = false
      loop.after(time) { isOver = true }
      _ = loop.run(until: { [loop] in isOver && loop.heldBy.isEmpty })
    }

    func close() {
      log.close()
      pass(.milliseconds(1))
      loop.close()
    }

    func line(_ number: Int, _ parent: Cause? = nil) -> Cause {
      Cause(.script, "set_volume", script: "a.lua", line: number, at: loop.wallNow, parent: parent)
    }

    /// - Parameter earlier: the name of the speaker before, if another.
    func volume(
      _ from: Int, _ to: Int, of name: String = "Kitchen", _ cause: Cause?, after earlier: String? = nil
    ) {
      levels[name] = log.record(
        .volume, of: .speaker, name, speakers: [name], from: .number(from), to: .number(to), cause: cause,
        after: levels[earlier ?? name])
    }
  }

  private func filter(_ change: (inout JournalFilter) -> Void = { _ in }) -> JournalFilter {
    var filter = JournalFilter()
    change(&filter)
    return filter
  }

  @Test("of each text the first 200 bytes are kept, in memory and on disk")
  func longTexts() throws {
    let folder = try TemporaryFolder()
    let harness = Harness(folder.file("history.db"))
    let long = String(repeating: "v", count: 64 << 10)
    let cause = Cause(.trigger, long, detail: long, at: harness.loop.wallNow)
    harness.log.record(
      .trigger, of: .trigger, "bell", from: .text(long), to: .text(long), detail: long, cause: cause)
    #expect(harness.log.recent.first?.detail == long.excerpt)
    #expect(harness.log.recent.first?.size ?? .max < 2000)
    harness.pass(.seconds(1))
    harness.close()
    let later = Harness(folder.file("history.db"), at: 1_000_100)
    let kept = try #require(later.log.history(filter()).first)
    #expect(kept.detail == long.excerpt && kept.to == .text(long.excerpt))
    #expect(kept.cause?.detail == long.excerpt)
    later.close()
  }

  @Test("changes with long texts are limited by their bytes in memory")
  func bytes() {
    let harness = Harness()
    let long = String(repeating: "v", count: 200)
    var cause: Cause?
    for _ in 0..<Cause.deepest {
      cause = Cause(.trigger, long, detail: long, at: harness.loop.wallNow, parent: cause)
    }
    for number in 0..<10_000 {
      harness.log.record(.trigger, of: .trigger, "\(number)", detail: long, cause: cause)
    }
    let recent = harness.log.recent
    #expect(recent.reduce(0) { $0 + $1.size } <= JournalRing.mostBytes)
    #expect(recent.count < JournalRing.capacity && recent.count > 100)
    #expect(recent.last?.name == "9999")
    #expect(recent.map(\.number) == Array((10_001 - recent.count)...10_000))
    harness.close()
  }

  @Test("a file with too many bytes loses its oldest changes")
  func fileBytes() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("history.db")
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 1_000_000)))
    let archive = JournalArchive(path: path, loop: loop, mostBytes: 1 << 20) { _ in }
    let log = Journal(loop: loop, archive: archive)
    let long = String(repeating: "v", count: 200)
    for number in 0..<4000 {
      log.record(.trigger, of: .trigger, "\(number)", to: .text(long), detail: long, cause: nil)
      guard number % 500 == 499 else { continue }
      var isOver = false
      loop.after(.seconds(1)) { isOver = true }
      _ = loop.run(until: { isOver && loop.heldBy.isEmpty })
    }
    let kept = archive.changes(filter { $0.limit = 10_000 }, before: 10_000, limit: 10_000)
    #expect(kept.last?.name == "3999")
    #expect((500..<3000).contains(kept.count), "\(kept.count)")
    #expect(kept.map { Int($0.name) ?? 0 } == Array((4000 - kept.count)..<4000))
    #expect(try readBytes(path).count < 2 << 20)
    log.close()
    _ = loop.run(until: { loop.heldBy.isEmpty })
    loop.close()
  }

  @Test("keeps the latest changes, the oldest first, in a ring")
  func ring() {
    let harness = Harness()
    for number in 0..<Journal.capacity + 10 {
      harness.log.record(.trigger, of: .trigger, "\(number)", cause: nil)
    }
    let recent = harness.log.recent
    #expect(recent.count == Journal.capacity)
    #expect(recent.first?.name == "10" && recent.last?.name == "\(Journal.capacity + 9)")
    #expect(recent.last?.number == Journal.capacity + 10)
    #expect(harness.log.history(filter { $0.limit = 3 }).map(\.name) == recent.suffix(3).map(\.name))
  }

  @Test("steps of one call in one direction are one change; another line, name, turn or minute is another")
  func steps() {
    let harness = Harness()
    let start = Cause(.start, "a.lua", at: harness.loop.wallNow)
    for level in 1...5 {
      harness.volume(level - 1, level, harness.line(7, start))
      harness.pass(.seconds(1))
    }
    harness.volume(5, 4, harness.line(7, start))
    harness.volume(4, 3, harness.line(8, start))
    harness.volume(3, 2, of: "Bath", harness.line(8, start), after: "Kitchen")
    harness.pass(.seconds(61))
    harness.volume(3, 2, harness.line(8, start))
    harness.volume(2, 1, nil)
    harness.volume(1, 0, nil)
    let found = harness.log.recent
    #expect(found.map(\.count) == [5, 1, 1, 1, 1, 1, 1])
    #expect(found[0].from == .number(0) && found[0].to == .number(5))
    #expect(found[0].at.duration(to: found[0].until) == .seconds(4))
  }

  @Test("a chain of causes without end has a dozen, and the first stays")
  func chain() {
    let now = WallTime(seconds: 0)
    var cause = Cause(.person, "ctl", at: now)
    for number in 1...100 { cause = Cause(.event, "\(number)", at: now, parent: cause) }
    #expect(cause.chain.count <= Cause.deepest + 1)
    #expect(cause.name == "100" && cause.first.kind == .person && cause.chain.contains { $0.isShortened })
    #expect(JournalText(zone: ProcessZone(), now: now).why(cause).contains(", … "))
  }

  @Test("changes outlive their process with all that they have; later steps take the place of the first")
  func archive() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("history.db")
    let first = Harness(path)
    let job = Cause(
      .job, "wake up", detail: "cron 45 6 * * *", script: "a.lua", line: 3, at: first.loop.wallNow,
      parent: Cause(.person, "ctl", at: first.loop.wallNow))
    first.volume(1, 2, first.line(7, job))
    first.pass(.seconds(2))
    first.volume(2, 3, first.line(7, job))
    first.log.record(
      .skipped, of: .job, "wake up", to: .time(first.loop.wallNow), detail: "the run before had not ended",
      cause: job)
    first.log.record(
      .gain, of: .session, "tea", speakers: ["Bath"], from: .decimal(0), to: .decimal(-6.5), cause: nil)
    let lines = first.log.recent.map { JournalText(zone: ProcessZone(), now: first.loop.wallNow).line($0) }
    let now = first.loop.wallNow
    first.close()
    let second = Harness(path, at: 2_000_000)
    defer { second.close() }
    let found = second.log.history(filter())
    #expect(found.map { JournalText(zone: ProcessZone(), now: now).line($0) } == lines && lines.count == 3)
    #expect(found.first?.count == 2)
    second.log.record(.trigger, of: .trigger, "bell", cause: nil)
    #expect(second.log.history(filter()).map(\.name) == ["Kitchen", "wake up", "tea", "bell"])
    #expect(second.log.history(filter { $0.limit = 2 }).map(\.name) == ["tea", "bell"])
    #expect(second.log.history(filter { $0.speakers = ["Bath", "Attic"] }).map(\.name) == ["tea"])
    #expect(
      second.log.history(filter { $0.kinds = [.skipped, .volume] }).map(\.name) == ["Kitchen", "wake up"])
    #expect(second.log.history(filter { $0.name = "wake up" }).map(\.kind) == [.skipped])
    #expect(second.log.history(filter { $0.since = second.loop.wallNow }).map(\.name) == ["bell"])
    #expect(second.lines.isEmpty)
  }

  @Test("changes that the ring has lost are read from the file, each once")
  func overflow() throws {
    let folder = try TemporaryFolder()
    let harness = Harness(folder.file("history.db"))
    defer { harness.close() }
    for number in 0..<Journal.capacity + 500 {
      harness.log.record(.trigger, of: .trigger, "\(number)", cause: nil)
      if number % 1000 == 0 { harness.pass(.seconds(2)) }
    }
    harness.pass(.seconds(2))
    let found = harness.log.history(filter { $0.limit = 10_000 })
    #expect(found.map(\.name) == (0..<Journal.capacity + 500).map(String.init))
  }

  @Test(
    "changes of more than thirty days ago are removed; a damaged file is replaced; a wrong path is told once")
  func files() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("history.db")
    let first = Harness(path, at: 0)
    first.log.record(.trigger, of: .trigger, "old", cause: nil)
    first.close()
    let second = Harness(path, at: 31 * 86_400)
    second.log.record(.trigger, of: .trigger, "new", cause: nil)
    second.close()
    let third = Harness(path, at: 31 * 86_400 + 60)
    #expect(third.log.history(filter()).map(\.name) == ["new"])
    third.close()
    _ = try folder.write([UInt8](repeating: 7, count: 10_000), to: "history.db")
    let fourth = Harness(path, at: 32 * 86_400)
    #expect(fourth.log.history(filter()).isEmpty)
    fourth.log.record(.trigger, of: .trigger, "again", cause: nil)
    fourth.close()
    let fifth = Harness(path, at: 33 * 86_400)
    #expect(fifth.log.history(filter()).map(\.name) == ["again"])
    fifth.close()
    _ = try folder.write([], to: "file")
    let lost = Harness(folder.file("file/history.db"))
    for _ in 0..<3 {
      lost.log.record(.trigger, of: .trigger, "lost", cause: nil)
      lost.pass(.seconds(2))
    }
    lost.close()
    #expect(
      lost.lines.count == 1 && lost.lines.first?.hasPrefix("changes are not kept: ") == true, "\(lost.lines)")
  }

  @Test("changes are not written where less of the disk would stay free than it must; that is reported once")
  func minimumFree() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("history.db")
    let harness = Harness(path, minimumFree: 1 << 59)
    for name in ["one", "two"] {
      harness.log.record(.trigger, of: .trigger, name, cause: nil)
      harness.pass(.seconds(5))
    }
    #expect(harness.lines.count == 1)
    #expect(harness.lines.first?.contains("recordings { min_free } keeps 576461 TB free") == true)
    // Those of this run are in memory.
    #expect(harness.log.history(filter()).map(\.name) == ["one", "two"])
    harness.close()
    let later = Harness(path)
    defer { later.close() }
    #expect(later.log.history(filter()).isEmpty)
  }

  @Test(
    "a listener receives each entry whole, of which a part is kept, and what is not kept; no step of a level")
  func listeners() {
    let harness = Harness()
    let long = String(repeating: "v", count: 300)
    var heard: [JournalEntry] = []
    harness.log.listen { heard.append($0) }
    harness.log.record(
      .trigger, of: .trigger, "bell", detail: long, facts: [.init("source", .string(long))], cause: nil)
    harness.log.report(.title, of: .session, "default", to: .text(long))
    for level in 1...3 { harness.volume(level - 1, level, harness.line(7)) }
    #expect(heard.map(\.kind) == [.trigger, .title, .volume] && heard.map(\.number) == [1, 0, 2])
    #expect(heard[0].detail == long && heard[0].fact("source")?.text == long && heard[1].to == .text(long))
    let kept = harness.log.recent
    #expect(kept.map(\.kind) == [.trigger, .volume] && kept.map(\.count) == [1, 3])
    #expect(kept[0].detail == long.excerpt && kept[0].fact("source")?.text == long.excerpt)
  }

  @Test("the end of a change reaches listeners, also when the ring has lost the change")
  func amended() throws {
    let harness = Harness()
    var ends: [JournalEntry.Value] = []
    let number = harness.log.record(.gain, of: .session, "main", to: .decimal(-6), cause: nil)
    let change = try #require(harness.log.recent(number))
    for number in 0..<Journal.capacity { harness.log.record(.trigger, of: .trigger, "\(number)", cause: nil) }
    harness.log.listen { ends.append($0.to) }
    harness.log.amend(change, to: .decimal(-3), facts: [])
    #expect(harness.log.recent(number) == nil && ends == [.decimal(-3)])
  }

  @Test("a failed recording has its remedy in the history, and a job without another run says so")
  func remedies() {
    let now = WallTime(seconds: 0)
    let text = JournalText(zone: ProcessZone(), now: now)
    let lost = JournalEntry(
      .unrecorded, of: .recording, "a.mp3", at: now, detail: "the disk is full (record.full)",
      facts: [.init("hint", .string("make room"))])
    #expect(text.line(lost).hasSuffix("a.mp3  is not recorded: the disk is full (record.full); make room"))
    let last = JournalEntry(.sunless, of: .job, "dawn", at: now, detail: "no run from today on")
    #expect(text.what(last) == "no run from today on; none follows in the coming year")
  }

  @Test("each kind has a sentence of its own, or is said in its detail")
  func sentences() {
    let now = WallTime(seconds: 0)
    let text = JournalText(zone: ProcessZone(), now: now)
    func what(_ kind: JournalEntry.Kind, detail: String) -> String {
      text.what(
        JournalEntry(kind, of: .speaker, at: now, from: .text("a"), to: .text("b"), detail: detail))
    }
    let said: Set<JournalEntry.Kind> = [
      .headset, .alarm, .fallback, .announcement, .heard, .print, .failure, .warning, .summary, .error, .mute,
    ]
    for kind in said { #expect(what(kind, detail: "c d") == "c d", "\(kind)") }
    let others = JournalEntry.Kind.allCases.filter { !said.contains($0) }.map { what($0, detail: "c") }
    #expect(Set(others).count == others.count && !others.contains(""), "\(others)")
  }

  @Test("JSON of a change is read back the same; other JSON is none")
  func json() {
    let harness = Harness()
    harness.log.record(
      .gain, of: .session, "tea", from: .decimal(0), to: .decimal(-6.5), facts: [.init("over", .decimal(90))],
      cause: nil)
    let gain = harness.log.recent[0]
    #expect(gain.json["facts"]?.line == #"{"over": 90.0}"#)
    let read = JSON(parsing: gain.json.line.utf8).flatMap { JournalEntry($0, number: 1) }
    let text = JournalText(zone: ProcessZone(), now: gain.at)
    #expect(read.map(text.what) == "gain 0 → -6.5 dB over 1 min 30 s" && read?.json.line == gain.json.line)
    harness.volume(1, 2, harness.line(7, Cause(.trigger, "bell", detail: "ctl", at: harness.loop.wallNow)))
    let json = harness.log.recent[1].json
    #expect(
      json.line == #"{"time": 1000000.0, "kind": "volume", "subject": "speaker", "name": "Kitchen", "#
        + #""speakers": ["Kitchen"], "from": 1, "to": 2, "cause": {"kind": "script", "call": "set_volume", "#
        + #""script": "a.lua", "line": 7, "at": 1000000.0, "parent": {"kind": "trigger", "trigger": "bell", "#
        + #""detail": "ctl", "at": 1000000.0}}}"#)
    #expect(JournalEntry(json, number: 1)?.json.line == json.line)
    for text in ["{}", "[]", "1", #"{"time": 1, "kind": "x", "subject": "speaker", "name": "a"}"#] {
      #expect(JSON(parsing: text.utf8).flatMap { JournalEntry($0, number: 1) } == nil, "\(text)")
    }
  }
}
