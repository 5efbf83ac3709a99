import EventLoop
import Glibc
import JSONText
import TestSupport
import TestTraits
import Testing

/// Kills recording processes, `ROOMTONE_KILLS` times in all; with that variable set, the loss is held to the
/// promised second.
@Suite("recordings of a process that is killed", .waiting, .tags(.recording, .recovery)) struct KillTests {
  /// Number of kills in all kinds of recordings; nil when not set.
  private static let kills = getenv("ROOMTONE_KILLS").flatMap { Int(String(cString: $0)) }

  @Test(
    "the next start finds whole files with nearly all that was sent, as in the catalogue",
    arguments: ["plain", "append", "split"])
  func survive(_ kind: String) throws {
    var sweep = try KillSweep(kind)
    let rounds = max(1, (Self.kills ?? 6) / 3)
    for round in 0..<rounds {
      try sweep.kill(seed: UInt64(round))
      try sweep.check()
    }
    // On a machine that is busy with other tests the disk may be late.
    let limit = Self.kills == nil ? 10.0 : 1.0
    let worst = sweep.losses.max() ?? 0
    print("\(kind): \(rounds) kills, \(sweep.losses.count) while recording, lost at most \(worst) s")
    #expect(worst <= limit, "\(sweep.losses)")
  }

  @Test("a recording that is continued after seven kills has each frame once, and says so")
  func continued() throws {
    let (station, home) = (try Station(), try Home())
    var live = Live(NumberedProgramme.programme(titleEvery: 60_000))
    // A machine that is busy with other tests starts late: the station still has what came meanwhile, 15 s.
    (live.pace, live.metaint, live.burst, live.age) = (.realTime(1), 8_192, 240_000, 480_000)
    station.answer("/live", with: .live(live))
    try home.script(
      """
      local stream, task = require "stream", require "task"
      local radio = stream.new(arg[1])
      local continued
      radio:on("recording_continued", function(e) continued = e end)
      local recording = radio:record(arg[2], { continue = true })
      while arg[3] == "again" and not continued do task.sleep "10ms" end
      local e = continued
      print("begun", #recording.gaps, e and e.stitched, e and e.gap_seconds, e and e.frames_overlapped > 0)
      task.sleep "1h"
      """, as: "record.lua")
    let path = home.path("show.mp3")
    var random = SeededRandom(seed: 5)
    for round in 0...7 {
      let process = try home.start(
        ["run", "--output", "null", "record.lua", station.url("/live"), path, round > 0 ? "again" : "first"],
        deadline: .seconds(60))
      try process.expect(round > 0 ? "begun\t0\ttrue\t0.0\ttrue" : "begun\t0\tnil")
      usleep(UInt32.random(in: 100_000...2_000_000, using: &random))
      process.send(round < 7 ? SIGKILL : SIGTERM)
      _ = try process.finish()
    }
    let list = try home.run(
      "run", "--output", "null", "-e",
      "for _, r in ipairs(require 'recordings'.list()) do print(r.path, r.state, #r.gaps, #r.titles > 0) end")
    #expect(list.lines == ["\(path)\tfinished\t0\ttrue"], "\(list)")
    let bytes = try readBytes(path)
    let numbers = try NumberedProgramme.numbers(of: bytes[endOfTag(bytes)...], in: path)
    #expect(numbers.count > 570)
    #expect(
      numbers == Array(numbers[0]..<(numbers[0] + numbers.count)),
      "\(zip(numbers, numbers.dropFirst()).filter { $0 + 1 != $1 })")
    #expect(try home.run("recordings", "verify").status == 0)
  }

  @Test(
    "a recording that is killed in its first moments has a file with what had come by then",
    arguments: ["record", "script"])
  func firstMoments(_ kind: String) throws {
    let (station, home) = (try Station(), try Home())
    // A burst of 2.5 s without a title, then silence.
    var live = Live(NumberedProgramme.programme(titleEvery: 1_000_000))
    live.burst = 40_000
    station.answer("/live", with: .live(live).stalling(at: 40_000))
    try home.script(
      "require 'stream'.new(arg[1]):record(arg[2]); require 'task'.sleep '1h'", as: "record.lua")
    let rounds = 2
    for round in 0..<rounds {
      let path = home.path("show \(round).mp3")
      let url = station.url("/live")
      let process = try home.start(
        kind == "record"
          ? ["record", url, "-o", path] : ["run", "--output", "null", "record.lua", url, path],
        deadline: .seconds(60))
      while station.visits.count <= round || station.visits[round].sent == 0 { usleep(500) }
      let sent = ContinuousClock.now
      // Frames are at the end of the file, behind a tag.
      var (frames, seen): ([Int], [UInt8]) = ([], [])
      while frames.count < 10, sent.duration(to: .now) < .seconds(30) {
        usleep(1_000)
        guard let bytes = try? readBytes(path + ".part"), bytes.count > 8_000 else { continue }
        seen = bytes
        frames = (try? NumberedProgramme.numbers(of: bytes[endOfTag(bytes)...], in: path)) ?? []
      }
      process.send(SIGKILL)
      _ = try process.finish()
      #expect(frames.count >= 10)
      // The kill may have cut a write, and with it the last frame.
      let kept = try readBytes(path + ".part")
      #expect(kept[endOfTag(kept)...].starts(with: seen[endOfTag(seen)...]))
    }
    // The next start makes them files.
    let list = try home.run(
      "run", "--output", "null", "-e", "for _, r in ipairs(require 'recordings'.list()) do print(r.state) end"
    )
    #expect(list.lines == (0..<rounds).map { _ in "recovered" }, "\(list)")
    #expect(try home.run("recordings", "verify").status == 0)
    #expect(fileNames(in: home.path("")).contains("show 0.mp3"))
  }
}

/// Kills daemons that have changed the house for a while.
@Suite("a house whose process is killed", .waiting, .tags(.recovery, .daemon)) struct KilledHouseTests {
  /// Kills a daemon once its script has set the kitchen to 40, and returns the kitchen's volume and mute under the next
  /// one, after a line of the shell in between.
  private func volume(after code: String, between line: String = "true") throws -> JSON? {
    let (home, process) = try ServeTests.serve([
      ("loud.lua", "local speaker, task = require 'speaker', require 'task' \(code)")
    ])
    let state = home.path("state/roomtone/house.state")
    try ServeTests.wait("the state of the house is written") {
      String(decoding: (try? readBytes(state)) ?? [], as: UTF8.self).contains("volume 40\n")
    }
    process.send(SIGKILL)
    _ = try process.finish()
    guard unlink(home.path("scripts/loud.lua")) == 0 else { throw TestFailure("unlink") }
    let between = try home.runInShell(line)
    guard between.status == 0 else { throw TestFailure("\(between)") }
    let next = try home.startInShell("exec $ROOMTONE serve --output null scripts")
    defer {
      next.send(SIGTERM)
      _ = try? next.finish()
    }
    try ServeTests.awaitAnswer(home)
    let answer = try home.run("volume", "Kitchen", "--json")
    return JSON(parsing: answer.output.utf8)?.elements?.first
  }

  @Test(
    "volumes that an interruption, a party or a sleep timer has changed return at the next start",
    arguments: [
      "speaker.interrupt { devices = 'Kitchen', volume = 40, play = function() task.sleep '1h' end }",
      "require 'party'.start { volume = 40 } task.sleep '1h'",
      """
      speaker.device 'Kitchen':set_volume(50) task.sleep(0.1)
      require 'sleep_timer'.start { after = 0, fade = '10s', rooms = 'Kitchen' } task.sleep '2s'
      speaker.device 'Bathroom':set_volume(40) while true do task.sleep '1s' end
      """,
    ])
  func restored(_ code: String) throws {
    let wanted = code.contains("sleep_timer") ? 50 : 22
    #expect(try volume(after: code)?["volume"]?.int == wanted)
  }

  @Test("a volume that somebody has set since stays")
  func kept() throws {
    let code = "speaker.interrupt { devices = 'Kitchen', volume = 40, play = function() task.sleep '1h' end }"
    let line = "sed -i 's/^volume 40/volume 31/' state/roomtone/house.state"
    #expect(try volume(after: code, between: line)?["volume"]?.int == 31)
  }
}

/// Kills a recording process again and again, and checks the files.
private struct KillSweep {
  /// Speed of the station, as a multiple of real time.
  private static let pace = 10.0
  /// Lost seconds, for each kill in the middle of a recording.
  private(set) var losses: [Double] = []
  private let kind: String
  private let home: Home
  private let station: Station
  private let folder: String
  /// Contents of the files after the last kill.
  private var known: [String: [UInt8]] = [:]
  /// Number of bytes sent, by time.
  private var sent: [(time: ContinuousClock.Instant, position: Int)] = []
  private var killed = ContinuousClock.now
  /// `true` if the last kill came in the middle of a recording.
  private var wasRecording = false

  init(_ kind: String) throws {
    self.kind = kind
    (home, station) = (try Home(), try Station())
    folder = home.path("radio")
    var live = Live(NumberedProgramme.programme(titleEvery: 60_000))
    (live.pace, live.metaint) = (.realTime(Self.pace), 8_192)
    station.answer("/live", with: .live(live))
    // In a split recording each file's end is a closing; the others are stopped again and again, at random
    // times.
    try home.script(
      """
      local stream, task = require "stream", require "task"
      local kind, url, folder, seed = table.unpack(arg)
      math.randomseed(tonumber(seed))
      local template = kind == "split" and "/split/{n} {title}.mp3" or "/" .. kind .. ".mp3"
      local radio = stream.new(url)
      while true do
        local recording = radio:record(folder .. template, { append = kind == "append", split = kind == "split" })
        print "begun"
        task.sleep(kind == "split" and "1h" or 0.05 + 1.5 * math.random())
        print "closing"
        recording:stop()
        print "closed"
      end
      """, as: "record.lua")
    try home.script(
      """
      local recordings = require "recordings"
      for _, recording in ipairs(recordings.list()) do
        print(recording.state, recording.bytes, recording.path)
      end
      """, as: "list.lua")
  }

  /// Starts a recording process, and kills it: at any time from its start on, while it records, or while it
  /// closes a file; a split recording closes one all the time.
  mutating func kill(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let process = try home.start(
      ["run", "--output", "null", "record.lua", kind, station.url("/live"), folder, "\(seed)"])
    if seed % 3 != 2 { try process.expect("begun") }
    let isClosing = seed % 3 == 1 && kind != "split"
    if isClosing { try process.expect("closing") }
    sent = []
    let end =
      ContinuousClock.now
      + .microseconds(Int.random(in: 0...(isClosing ? 50_000 : 2_000_000), using: &random))
    repeat {
      sent.append((.now, station.visits.map(\.end).max() ?? 0))
      usleep(isClosing ? 200 : 5_000)
    } while .now < end
    process.send(SIGKILL)
    killed = .now
    sent.append((killed, station.visits.map(\.end).max() ?? 0))
    let outcome = try process.finish()
    guard outcome.status == 128 + SIGKILL else {
      throw TestFailure("it ended before it was killed: \(outcome)")
    }
    wasRecording = outcome.lines.last == "begun"
  }

  /// Checks the files and the catalogue after the next start.
  mutating func check() throws {
    let rows = try list()
    let files = try Command.succeed("find", [folder, "-type", "f", "-not", "-name", "*.cue"]).text
    #expect(rows.keys.sorted() == files.split(separator: "\n").map(String.init).sorted())
    var (end, new): (Int, [[Int]]) = (0, [])
    for (path, row) in rows {
      #expect(row.state == "finished" || row.state == "recovered", "\(path) is \(row.state)")
      let bytes = try readBytes(path)
      let audio = Array(bytes[endOfTag(bytes)...])
      #expect(
        audio.count == row.bytes && !audio.isEmpty, "\(path) has \(audio.count), the catalogue \(row.bytes)")
      let old = known.updateValue(audio, forKey: path) ?? []
      let isKept = old.count <= audio.count && memcmp(old, audio, old.count) == 0
      #expect(isKept && (kind == "append" || old.isEmpty || old.count == audio.count), "\(path) was harmed")
      let numbers = try NumberedProgramme.numbers(of: audio[min(old.count, audio.count)...], in: path)
      let seams = zip(numbers, numbers.dropFirst()).count { $0 + 1 != $1 }
      // Only an appended recording has seams, at which sound is missing and none comes twice.
      #expect(seams == 0 || kind == "append", "\(path) has \(seams) seams")
      let all = try NumberedProgramme.numbers(of: audio[...], in: path)
      #expect(zip(all, all.dropFirst()).allSatisfy { $0 < $1 }, "\(path) has frames twice")
      if !numbers.isEmpty { new.append(numbers) }
      end = max(end, ((numbers.last ?? -1) + 1) * NumberedProgramme.frameLength)
    }
    // The files of one split recording form one continuous part of the programme.
    if kind == "split" {
      let ends = new.sorted { $0[0] < $1[0] }.map { ($0[0], $0[$0.count - 1]) }
      for (one, next) in zip(ends, ends.dropFirst()) { #expect(one.1 + 1 == next.0, "\(ends)") }
    }
    guard wasRecording else { return }
    // A frame is complete once the next one has begun.
    let missed = sent.first { $0.position > end + 2 * NumberedProgramme.frameLength }?.time
    losses.append(missed.map { (killed - $0) / .seconds(1) } ?? 0)
  }

  /// Returns the contents of the catalogue, as a new process lists them.
  private func list() throws -> [String: (state: String, bytes: Int)] {
    let outcome = try home.run("run", "--output", "null", "list.lua")
    guard outcome.status == 0 else { throw TestFailure("the next start failed: \(outcome)") }
    var rows: [String: (state: String, bytes: Int)] = [:]
    for line in outcome.lines {
      let words = line.split(separator: "\t", maxSplits: 2).map(String.init)
      guard words.count == 3, let bytes = Int(words[1]), rows[words[2]] == nil else {
        throw TestFailure("the catalogue says \(outcome)")
      }
      rows[words[2]] = (words[0], bytes)
    }
    return rows
  }
}
