import AudioCore
import EventLoop
import Glibc
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("A queue on a session", .tags(.speaker, .queue))
struct QueueTests {
  /// Outputs of the parameterized tests: files, and none, where only the clock counts.
  static let outputs: [Output?] = [nil, .null]

  /// Writes files of that many frames, called a.wav, b.wav, …; text in place of sound for 0.
  private func queue(_ harness: HouseHarness, _ frames: [Int], loops: Bool = false, seed: UInt64? = nil)
    throws
    -> FileQueue
  {
    let entries = try frames.enumerated().map { index, frames in
      let name = "\("abcdefgh".map(String.init)[index]).wav"
      if frames == 0 { return QueueEntry(path: try harness.folder.write(Array("text".utf8), to: name)) }
      return QueueEntry(path: try harness.source(name, Signal.constant(0.25, frames: frames)))
    }
    return try #require(FileQueue(entries, loops: loops, seed: seed))
  }

  @Test("one start, a track for each file when it is heard, its own seconds, one end", arguments: outputs)
  func events(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let session = harness.house.session
      harness.record()
      let start = harness.loop.now
      var times: [Double] = []
      harness.house.events.on { event in
        guard case .track = event else { return }
        times.append(Double(start.duration(to: harness.loop.now).nanoseconds) / 1e9)
        #expect(session.position == 0)
      }
      try await session.play(try queue(harness, [60_000, 96_000, 12_000]))
      #expect(session.source?.title == "a.wav" && session.duration == 60_000)
      #expect(
        session.queue?.index == 0 && session.queue?.entries.map(\.title) == ["a.wav", "b.wav", "c.wav"])
      try await harness.wait(2)
      #expect(session.source?.title == "b.wav" && session.duration == 96_000 && session.queue?.index == 1)
      #expect(abs(session.position - 36_000) <= 1)
      #expect(try await session.finish() == .ended(.finished))
      #expect(start.duration(to: harness.loop.now) == .milliseconds(3_500))
      try await harness.wait(0.1)
      #expect(session.queue == nil)
      #expect(
        harness.reportedBySession == [
          "state playing", "track a.wav 1/3", "time 1", "track b.wav 2/3", "time 1", "time 2",
          "track c.wav 3/3",
          "state stopped", "ended c.wav finished",
        ])
      #expect(
        times.count == 3 && zip(times, [0, 1.25, 3.25]).allSatisfy { abs($0 - $1) < 0.000_1 }, "\(times)")
    }
  }

  @Test("files of several rates are announced at their own frames", arguments: outputs)
  func rates(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let parts = [(44_100, 44_100), (48_000, 24_000), (96_000, 96_000), (44_100, 22_050)]
      let entries = try parts.enumerated().map { index, part in
        let path = harness.folder.file("\(index).wav")
        let samples = Signal.constant(0.25, frames: part.1)
        try Sound(sampleRate: part.0, channels: [samples, samples]).write(to: path)
        return QueueEntry(path: path)
      }
      let start = harness.loop.now
      var times: [Double] = []
      harness.house.events.on { event in
        guard case .track = event else { return }
        times.append(Double(start.duration(to: harness.loop.now).nanoseconds) / 1e9)
      }
      try await harness.house.session.play(try #require(FileQueue(entries)))
      #expect(harness.house.session.duration == 48_000)
      #expect(try await harness.house.session.finish() == .ended(.finished))
      #expect(start.duration(to: harness.loop.now) == .seconds(3))
      #expect(
        times.count == 4 && zip(times, [0, 1, 1.5, 2.5]).allSatisfy { abs($0 - $1) < 0.000_1 }, "\(times)")
    }
  }

  @Test("files that can't be read are told in their turn and passed", arguments: outputs)
  func unreadable(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      harness.record()
      try await harness.house.session.play(try queue(harness, [0, 48_000, 0, 0, 24_000, 0]))
      #expect(try await harness.house.session.finish() == .ended(.finished))
      try await harness.wait(0.1)
      #expect(
        harness.reportedBySession == [
          "state playing", "error audio.unreadable", "track b.wav 2/6", "time 1", "error audio.unreadable",
          "error audio.unreadable", "track e.wav 5/6", "error audio.unreadable", "state stopped",
          "ended e.wav finished",
        ])
    }
  }

  @Test("a file that ends before its header says is heard as far as it goes, and told", arguments: outputs)
  func truncated(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let queue = try queue(harness, [48_000, 24_000])
      truncate(queue.entries[0].path, 44 + 4 * 12_000)
      harness.record()
      try await harness.house.session.play(queue)
      let start = harness.loop.now
      #expect(try await harness.house.session.finish() == .ended(.finished))
      #expect(start.duration(to: harness.loop.now) == .milliseconds(750))
      try await harness.wait(0.1)
      #expect(
        harness.reportedBySession == [
          "state playing", "track a.wav 1/2", "error audio.unreadable", "track b.wav 2/2", "state stopped",
          "ended b.wav finished",
        ])
    }
  }

  @Test("when no file can be read, play throws, and what played goes on", arguments: outputs)
  func allUnreadable(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let session = harness.house.session
      try await session.play(try harness.source("z.wav", Signal.constant(0.25, frames: 96_000)))
      let error = await harness.failure {
        try await session.play(try queue(harness, [0, 0, 0], loops: true))
      }
      #expect(error?.code == "audio.unreadable")
      #expect(error?.message.hasPrefix("none of the 3 files of the queue can be played") == true)
      #expect(session.source?.title == "z.wav" && session.state == .playing)
    }
  }

  @Test("a loop whose files go away ends with an error, and does not spin", arguments: outputs)
  func goneAway(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let queue = try queue(harness, [48_000, 24_000], loops: true)
      harness.record()
      try await harness.house.session.play(queue)
      for entry in queue.entries { unlink(entry.path) }
      #expect(try await harness.house.session.finish(timeout: .seconds(60)) == .ended(.failed))
      try await harness.wait(0.1)
      let reported = harness.reportedBySession
      #expect(
        reported.suffix(2) == [
          "state stopped", "ended \(reported.last?.split(separator: " ")[1] ?? "") failed",
        ])
      #expect(reported.count { $0 == "error audio.not_found" } >= 2, "\(reported)")
      #expect(reported.contains("error audio.unreadable"), "\(reported)")
    }
  }

  @Test("next and previous go through the files, playing and paused", arguments: outputs)
  func commands(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let session = harness.house.session
      try await session.play(try queue(harness, [480_000, 480_000, 480_000]))
      harness.record()
      func heard() async throws -> String {
        try await harness.wait(0.2)
        return "\(session.source?.title.prefix(1) ?? "-") \(session.position / 4_800)"
      }
      try session.next()
      #expect(try await heard() == "b 1" || session.position <= 9_600)
      #expect(session.source?.title == "b.wav")
      try session.previous()
      #expect(try await heard().hasPrefix("a "))
      try session.next()
      try session.next()
      try await harness.wait(4)
      #expect(session.source?.title == "c.wav")
      try session.previous()
      // Later than three seconds: its own beginning.
      #expect(try await heard().hasPrefix("c ") && session.position <= 9_600)
      session.pause()
      try session.previous()
      try await harness.wait(5)
      #expect(session.state == .paused && session.source?.title == "b.wav" && session.position == 0)
      try session.resume()
      #expect(try await heard().hasPrefix("b "))
      try session.next()
      try session.next()
      #expect(session.state == .stopped)
      try await harness.wait(0.1)
      #expect(
        harness.reportedBySession.filter { !$0.hasPrefix("time") } == [
          "track b.wav 2/3", "track a.wav 1/3", "track b.wav 2/3", "track c.wav 3/3", "track c.wav 3/3",
          "state paused", "track b.wav 2/3", "state playing", "track c.wav 3/3", "state stopped",
          "ended c.wav stopped",
        ])
    }
  }

  @Test("next to a file that can't be read goes to the one behind it", arguments: outputs)
  func nextUnreadable(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      try await harness.house.session.play(try queue(harness, [480_000, 0, 480_000]))
      harness.record()
      try harness.house.session.next()
      try await harness.wait(0.5)
      #expect(harness.reportedBySession == ["error audio.unreadable", "track c.wav 3/3"])
      // Its position counts from its own beginning.
      #expect((20_000...24_000).contains(harness.house.session.position))
    }
  }

  @Test("a seek stays in the current file, and the queue goes on behind it", arguments: outputs)
  func seeks(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let session = harness.house.session
      try await session.play(try queue(harness, [96_000, 96_000, 48_000]))
      try await harness.wait(2.5)
      harness.record()
      try session.seek(toSeconds: 1.5)
      #expect(session.position == 72_000)
      try await harness.wait(0.1)
      #expect(session.source?.title == "b.wav" && (72_000...77_000).contains(session.position))
      #expect(await harness.failure { try session.seek(toSeconds: 2.1) }?.code == "speaker.range")
      #expect(try await session.finish() == .ended(.finished))
      try await harness.wait(0.1)
      #expect(
        harness.reportedBySession == [
          "time 2", "track c.wav 3/3", "time 1", "state stopped", "ended c.wav finished",
        ])
      // To the end exactly: the next file.
      try await session.play(try queue(harness, [96_000, 96_000]))
      try session.seek(toSeconds: 2)
      try await harness.wait(0.5)
      #expect(session.source?.title == "b.wav")
    }
  }

  @Test("a start in the first file; one past its end is refused", arguments: outputs)
  func starts(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let session = harness.house.session
      let queue = try queue(harness, [96_000, 48_000])
      let start = harness.loop.now
      try await session.play(queue, start: 1.5)
      #expect(session.position >= 72_000)
      #expect(try await session.finish() == .ended(.finished))
      #expect(start.duration(to: harness.loop.now) == .milliseconds(1_500))
      #expect(await harness.failure { try await session.play(queue, start: 2.5) }?.code == "speaker.range")
    }
  }

  @Test("a snapshot restores file and position, as often as wanted", arguments: outputs)
  func snapshots(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let session = harness.house.session
      try await session.play(try queue(harness, [48_000, 96_000, 48_000]))
      try await harness.wait(1.5)
      let snapshot = try harness.house.snapshot()
      try await harness.wait(2)
      for _ in 0..<2 {
        session.stop()
        try await snapshot.restore()
        #expect(session.source?.title == "b.wav" && session.queue?.index == 1)
        #expect(abs(session.position - 24_000) < 4_800)
        try await harness.wait(1)
        #expect(session.source?.title == "b.wav")
        try await harness.wait(1)
        #expect(session.source?.title == "c.wav")
      }
    }
  }

  @Test("an interruption gives the queue back where it was", arguments: outputs)
  func interrupted(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let session = harness.house.session
      try await session.play(try queue(harness, [48_000, 96_000]))
      try await harness.wait(0.9)
      harness.record()
      try await harness.house.interrupt(devices: harness.house.devices) { _ in try await harness.wait(10) }
      #expect(session.source?.title == "a.wav")
      try await harness.wait(0.5)
      #expect(session.source?.title == "b.wav")
      #expect(harness.reportedBySession.filter { $0.hasPrefix("track") } == ["track b.wav 2/2"])
    }
  }

  @Test("next and previous of a single file end it and begin it again; without a file they throw")
  func single() throws {
    try HouseHarness.run { harness in
      let session = harness.house.session
      for command in [session.next, session.previous] {
        #expect(await harness.failure { try command() }?.code == "speaker.no_queue")
      }
      let path = try harness.source("a.wav", Signal.constant(0.25, frames: 480_000))
      try await session.play(path, title: "song")
      #expect(session.queue?.entries == [QueueEntry(path: path, title: "song")])
      try await harness.wait(5)
      try session.previous()
      try await harness.wait(0.1)
      #expect(session.position < 9_600)
      try session.next()
      #expect(session.state == .stopped)
    }
  }
}

@Suite("The sound files of a folder", .tags(.speaker, .queue, .files))
struct AudioFolderTests {
  private func names(_ folder: TemporaryFolder, _ path: String = "") throws -> [String] {
    let root = folder.file("")
    return try AudioFolder.files(in: path.isEmpty ? root : folder.file(path)).map {
      String($0.dropFirst(root.count))
    }
  }

  private func make(_ names: String...) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    for name in names {
      var path = ""
      for part in name.split(separator: "/").dropLast() {
        path += "\(part)/"
        mkdir(folder.file(path), 0o755)
      }
      _ = try folder.write([1], to: name)
    }
    return folder
  }

  @Test("files of known extensions in natural order, then those of the subfolders")
  func order() throws {
    let folder = try make(
      "10 ten.mp3", "2 two.FLAC", "1.wav", "cover.jpg", "notes.txt", ".hidden.mp3", "noextension", "a.m4a",
      "B.ogg",
      "CD10/1.mp3", "CD2/02.mp3", "CD2/1.mp3", "CD2/10.mp3", ".secret/a.mp3")
    #expect(
      try names(folder) == [
        "1.wav", "2 two.FLAC", "10 ten.mp3", "a.m4a", "B.ogg", "CD2/1.mp3", "CD2/02.mp3", "CD2/10.mp3",
        "CD10/1.mp3",
      ])
    #expect(try names(folder, "CD2/") == ["CD2/1.mp3", "CD2/02.mp3", "CD2/10.mp3"])
  }

  @Test("links that lead in a circle are harmless, and a folder that can't be read is told")
  func links() throws {
    let folder = try make("a/1.mp3", "b/2.mp3")
    symlink("..", folder.file("a/up"))
    symlink(".", folder.file("b/self"))
    symlink("missing", folder.file("c.mp3"))
    #expect(try names(folder) == ["c.mp3", "a/1.mp3", "b/2.mp3"])
    let error = #expect(throws: AudioError.self) { try names(folder, "missing") }
    #expect(error?.message.hasSuffix("missing: no such file or directory") == true, "\(error?.message ?? "")")
  }

  @Test("a chain of folders without end is refused")
  func depth() throws {
    let folder = try make(Array(repeating: "d", count: 40).joined(separator: "/") + "/1.mp3")
    let error = #expect(throws: AudioError.self) { try names(folder) }
    #expect(error?.message.contains("more than 32 folders in each other") == true)
  }
}
