import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import RecordingKit
@testable import StreamCore

@Suite(
  "The upkeep of the catalogue while recordings are written", .waiting,
  .tags(.stream, .recording, .recordings))
struct RecorderCoreTests {
  @Test("old recordings are deleted also while the process lives")
  func keep() throws {
    var settings = RecorderSettings()
    let folder = try TemporaryFolder()
    settings.keep = .seconds(86_400)
    settings.catalogue = folder.file("catalogue.sqlite")
    let old = try folder.write([1, 2, 3], to: "old.mp3")
    let start = WallTime(seconds: 1_000_000)
    let catalogue = try Catalogue(path: folder.file("catalogue.sqlite"))
    var entry = RecordingEntry(
      path: old, part: nil, url: "", start: start, codec: "mp3", sampleRate: 44_100, channels: 2,
      state: .finished)
    try catalogue.insert(&entry)
    let loop = EventLoop(clock: .virtual(start: start))
    defer { loop.close() }
    let core = RecorderCore(loop: loop, settings: settings, localTime: { LocalTime($0) }, log: { _ in })
    core.begin()
    #expect(fileNames(in: folder.path).contains("old.mp3"))
    // A recording that continues for days.
    let template = try RecordingTemplate(folder.file("new.mp3"))
    let files = RecordingFiles(
      .init(template: template.text), template, .init(address: "http://radio/", station: StationName()), core)
    core.add(RecordingWriter(RecordingQueue(), files, RecordingProgress()) { _ in }, 1)
    var hasPassed = false
    let timer = loop.after(.seconds(26 * 3_600)) { hasPassed = true }
    _ = loop.run(until: { hasPassed })
    timer.cancel()
    #expect(!fileNames(in: folder.path).contains("old.mp3"))
    core.finishAll()
  }

  @Test("what a recording receives is written at once, and at most every half second", arguments: [1, 20])
  func arrivals(recordings: Int) throws {
    let folder = try TemporaryFolder()
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 1_000_000)))
    defer { loop.close() }
    let core = RecorderCore(loop: loop, settings: .init(), localTime: { LocalTime($0) }, log: { _ in })
    let programme = try FrameProgramme(.mp3, seconds: 5, seed: 3)
    let queues = try (1...recordings).map { number in
      let options = RecordingOptions(template: folder.file("\(number).mp3"))
      let queue = RecordingQueue { core.sound($0, of: number) }
      let files = RecordingFiles(
        options, try RecordingTemplate(options.template),
        .init(address: "http://radio/", station: StationName()), core)
      core.add(RecordingWriter(queue, files, RecordingProgress()) { _ in }, number)
      return queue
    }
    /// Appends a frame to each queue, and returns the lengths of the files after some milliseconds.
    func lengths(of frame: Int, after milliseconds: Int) throws -> Set<Int> {
      let next = programme.frames[frame]
      programme.bytes[next.offset..<(next.offset + next.length)].withUnsafeBytes { bytes in
        for queue in queues { queue.append(next, bytes) }
      }
      var hasPassed = false
      _ = loop.after(.milliseconds(milliseconds)) { hasPassed = true }
      _ = loop.run(until: { hasPassed })
      return try Set(queues.indices.map { try readBytes(folder.file("\($0 + 1).mp3.part")).count })
    }
    let head = try lengths(of: 0, after: 5_000)
    #expect(head.count == 1)
    let first = try lengths(of: 1, after: 30)
    #expect(first.count == 1 && first != head, "it came five seconds after the last")
    #expect(try lengths(of: 2, after: 400) == first)
    let second = try lengths(of: 3, after: 100)
    #expect(second.count == 1 && second != first, "half a second after the last, with what has come since")
    core.finishAll()
  }

  @Test("the first second of a recording is written as it comes, also in the first moment of the process")
  func firstArrivals() throws {
    let folder = try TemporaryFolder()
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 1_000_000)))
    defer { loop.close() }
    let core = RecorderCore(loop: loop, settings: .init(), localTime: { LocalTime($0) }, log: { _ in })
    let programme = try FrameProgramme(.mp3, seconds: 5, seed: 3)
    let options = RecordingOptions(template: folder.file("show.mp3"))
    let queue = RecordingQueue { core.sound($0, of: 1) }
    let files = RecordingFiles(
      options, try RecordingTemplate(options.template),
      .init(address: "http://radio/", station: StationName()), core)
    core.add(RecordingWriter(queue, files, RecordingProgress()) { _ in }, 1)
    /// Passes some milliseconds.
    func pass(_ milliseconds: Int) {
      var hasPassed = false
      _ = loop.after(.milliseconds(milliseconds)) { hasPassed = true }
      _ = loop.run(until: { hasPassed })
    }
    pass(40)
    var length = 0
    for frame in 0..<20 {
      let next = programme.frames[frame]
      programme.bytes[next.offset..<(next.offset + next.length)].withUnsafeBytes { queue.append(next, $0) }
      pass(40)
      let now = try readBytes(folder.file("show.mp3.part")).count
      #expect(now > length, "frame \(frame)")
      length = now
    }
    core.finishAll()
  }

  @Test(
    "a file that can't be deleted is reported once; a failed catalogue too, and again when it fails again"
  )
  func troubles() throws {
    let folder = try TemporaryFolder()
    let reported = Lock<[String]>([])
    var settings = RecorderSettings()
    settings.keep = .seconds(86_400)
    settings.catalogue = folder.file("state/catalogue.sqlite")
    mkdir(folder.file("state"), 0o700)
    let (start, path) = (WallTime(seconds: 1_000_000), folder.file("old.mp3"))
    var entry = RecordingEntry(
      path: path, part: nil, url: "", start: WallTime(seconds: 0), codec: "mp3", sampleRate: 44_100,
      channels: 2, state: .finished)
    try Catalogue(path: folder.file("state/catalogue.sqlite")).insert(&entry)
    mkdir(path, 0o700)
    let loop = EventLoop(clock: .virtual(start: start))
    defer { loop.close() }
    let core = RecorderCore(loop: loop, settings: settings, localTime: { LocalTime($0) }) { line in
      reported.withLock { $0.append(line) }
    }
    core.begin()
    core.begin()
    let deleting = "recordings that are too old can't be deleted: "
    #expect(reported.withLock { $0.count } == 1 && reported.withLock { $0[0].hasPrefix(deleting) })

    let keeping = "the catalogue of recordings can't be kept: "
    for round in 1...2 {
      rename(folder.file("state"), folder.file("away"))
      _ = try folder.write([], to: "state")
      for _ in 0..<2 {
        var new = entry
        core.enter(&new)
      }
      let lines = reported.withLock { $0 }
      #expect(lines.count == 1 + round && lines.last?.hasPrefix(keeping) == true, "\(lines)")
      unlink(folder.file("state"))
      rename(folder.file("away"), folder.file("state"))
      var new = entry
      core.enter(&new)
    }
  }
}
