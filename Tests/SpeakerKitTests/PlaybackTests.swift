import AudioCore
import EventLoop
import Glibc
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("Events of playing, pausing, ending", .tags(.speaker, .playback, .events))
struct PlaybackTests {
  /// Outputs of the parameterized tests: files, and none, where only the clock counts.
  static let outputs: [Output?] = [nil, .null]

  @Test("a source is heard to its end: state, seconds, stopped, then ended", arguments: outputs)
  func finished(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let file = try harness.source("a.wav", Signal.constant(0.25, frames: 120_000))
      harness.record()
      let start = harness.loop.now
      try await harness.house.session.play(file, title: "song")
      #expect(harness.house.session.state == .playing)
      #expect(harness.house.session.duration == 120_000)
      #expect(harness.house.session.source == SourceInfo(path: file, title: "song"))
      #expect(try await harness.house.session.finish() == .ended(.finished))
      #expect(start.duration(to: harness.loop.now) == .milliseconds(2500))
      #expect(harness.house.session.state == .stopped)
      #expect(harness.house.session.duration == nil)
      try await harness.wait(0.1)
      #expect(
        harness.reported == [
          "state playing", "device A playing", "device B playing", "time 1", "time 2", "state stopped",
          "ended song finished", "device A playing", "device B playing",
        ])
    }
  }

  @Test(
    "a file that was cut off has the length that is there, refuses what is behind it, and ends with an error",
    arguments: outputs,
    ["music-44k.ogg", "mp3-cbr128-44k.mp3", "mp3-vbr-v4-44k.mp3", "music-44k.flac", "aac-lc-44k.m4a"])
  func cutOff(output: Output?, name: String) throws {
    try HouseHarness.run(output: output) { harness in
      let bytes = try readBytes(Fixtures.path(name))
      let path = try harness.folder.write(Array(bytes.prefix(bytes.count * 2 / 3)), to: "cut")
      let session = harness.house.session
      let late = await harness.failure { try await session.play(path, start: 1000) }
      #expect(late?.code == "speaker.range")
      harness.record()
      try await session.play(path)
      #expect(session.duration.map { $0 > 0 } == true)
      let behind = await harness.failure { try session.seek(toSeconds: 1000) }
      #expect(behind?.code == "speaker.range")
      #expect(try await session.finish() == .ended(.failed))
      try await harness.wait(0.1)
      #expect(
        harness.reportedBySession.suffix(3) == [
          "error audio.unreadable", "state stopped", "ended cut failed",
        ])
    }
  }

  @Test("the last whole second is reported before the end", arguments: outputs)
  func lastSecond(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let file = try harness.source("a.wav", Signal.constant(0.25, frames: 48_000))
      harness.record()
      try await harness.house.session.play(file)
      try await harness.wait(2)
      #expect(
        harness.reportedBySession == ["state playing", "time 1", "state stopped", "ended a.wav finished"])
    }
  }

  @Test("play while playing: ended replaced, then playing, nothing between", arguments: outputs)
  func replaced(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let first = try harness.source("a.wav", Signal.constant(0.25, frames: 96_000))
      let second = try harness.source("b.wav", Signal.constant(0.25, frames: 24_000))
      harness.record()
      try await harness.house.session.play(first)
      try await harness.wait(0.5)
      try await harness.house.session.play(second)
      #expect(harness.house.session.source?.title == "b.wav")
      try await harness.wait(5)
      #expect(
        harness.reportedBySession == [
          "state playing", "ended a.wav replaced", "state playing", "state stopped", "ended b.wav finished",
        ])
    }
  }

  @Test("play on a paused session replaces it", arguments: outputs)
  func replacesPaused(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let file = try harness.source("a.wav", Signal.constant(0.25, frames: 48_000))
      try await harness.house.session.play(file)
      try await harness.wait(0.5)
      harness.house.session.pause()
      try await harness.wait(1)
      harness.record()
      try await harness.house.session.play(file, title: "again")
      #expect(harness.house.session.position == 0)
      try await harness.wait(2)
      #expect(
        harness.reportedBySession == [
          "ended a.wav replaced", "state playing", "time 1", "state stopped", "ended again finished",
        ])
    }
  }

  @Test("pause keeps the position, resume continues to the end", arguments: outputs)
  func pauses(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let session = harness.house.session
      let file = try harness.source("a.wav", Signal.constant(0.25, frames: 96_000))
      harness.record()
      try await session.play(file)
      try await harness.wait(0.5)
      session.pause()
      #expect(session.state == .paused)
      try await harness.wait(10)
      // A file fades over one more block, and begins at a block's border.
      #expect((24_000...25_920).contains(session.position))
      session.pause()
      try session.resume()
      #expect(try await session.finish() == .ended(.finished))
      try await harness.wait(0.1)
      #expect(
        harness.reportedBySession == [
          "state playing", "state paused", "state playing", "time 1", "time 2", "state stopped",
          "ended a.wav finished",
        ])
    }
  }

  @Test(
    "stop publishes stopped, then ended stopped; stop and pause when stopped publish nothing",
    arguments: outputs)
  func stops(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let session = harness.house.session
      harness.record()
      session.stop()
      session.pause()
      try await session.play(try harness.source("a.wav", Signal.constant(0.25, frames: 96_000)))
      try await harness.wait(0.1)
      session.stop()
      #expect(session.state == .stopped)
      session.stop()
      session.pause()
      try await harness.wait(5)
      #expect(harness.reportedBySession == ["state playing", "state stopped", "ended a.wav stopped"])
    }
  }

  @Test("resume raises while playing, when stopped, and after the end", arguments: outputs)
  func resumes(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let session = harness.house.session
      #expect(await harness.failure { try session.resume() }?.code == "speaker.not_paused")
      try await session.play(try harness.source("a.wav", Signal.constant(0.25, frames: 9_600)))
      #expect(await harness.failure { try session.resume() }?.code == "speaker.not_paused")
      _ = try await session.finish()
      #expect(await harness.failure { try session.resume() }?.code == "speaker.not_paused")
    }
  }

  @Test("a session without an active device is refused before the file is looked for", arguments: outputs)
  func noActiveDevice(output: Output?) throws {
    try HouseHarness.run(output: output, addAll: false) { harness in
      let error = await harness.failure { try await harness.house.session.play("/nowhere.wav") }
      #expect(error?.code == "speaker.no_active_device")
      try await harness.house.devices[0].join()
      let second = await harness.failure { try await harness.house.session.play("/nowhere.wav") }
      #expect(second?.code == "audio.not_found")
    }
  }

  @Test("an unplayable source leaves the current one alone", arguments: outputs)
  func unreadable(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let text = try harness.folder.write(Array("this is not a sound, not at all".utf8), to: "notes.wav")
      try await harness.house.session.play(
        try harness.source("a.wav", Signal.constant(0.25, frames: 48_000)))
      harness.record()
      let error = await harness.failure { try await harness.house.session.play(text) }
      #expect(error?.code == "audio.unreadable")
      try await harness.wait(2)
      #expect(harness.reportedBySession == ["time 1", "state stopped", "ended a.wav finished"])
    }
  }

  @Test("the last speaker that leaves stops playback with no_devices, the others do not", arguments: outputs)
  func lastLeaves(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let devices = harness.house.devices
      try await harness.house.session.play(
        try harness.source("a.wav", Signal.constant(0.25, frames: 96_000)))
      try await harness.wait(0.1)
      harness.record()
      try await devices[0].leave()
      try await devices[0].leave()
      try await harness.wait(0.1)
      #expect(harness.house.session.state == .playing)
      try await devices[1].leave()
      #expect(harness.house.session.state == .stopped)
      try await harness.wait(5)
      #expect(
        harness.reported == [
          "device A left", "device A playing", "device B left", "state stopped", "ended a.wav no_devices",
          "device B playing",
        ])
    }
  }

  @Test("seek: forward, to the end exactly, past it, when stopped", arguments: outputs)
  func seeks(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let session = harness.house.session
      #expect(await harness.failure { try session.seek(toSeconds: 1) }?.code == "speaker.no_seek")
      let file = try harness.source("a.wav", Signal.constant(0.25, frames: 480_000))
      harness.record()
      try await session.play(file)
      try await harness.wait(0.5)
      try session.seek(toSeconds: 8)
      #expect(session.position == 384_000)
      try await harness.wait(0.5)
      #expect((400_000...408_000).contains(session.position))
      for seconds in [10.01, -1, .nan, .infinity] {
        #expect(await harness.failure { try session.seek(toSeconds: seconds) }?.code == "speaker.range")
      }
      session.pause()
      try session.seek(toSeconds: 2)
      try await harness.wait(1)
      #expect(session.position == 96_000)
      try session.seek(toSeconds: 10)
      try session.resume()
      try await harness.wait(1)
      #expect(session.state == .stopped)
      #expect(
        harness.reportedBySession == [
          "state playing", "state paused", "state playing", "state stopped", "ended a.wav finished",
        ])
    }
  }

  @Test("the end is no position past the end, whatever becomes of its frames in seconds", arguments: outputs)
  func endInSeconds(output: Output?) throws {
    // 28/48000 s times 48000/s is more than 28.
    #expect(Double(28) / 48_000 * 48_000 > 28)
    try HouseHarness.run(output: output) { harness in
      let session = harness.house.session
      let file = try harness.source("a.wav", Signal.constant(0.25, frames: 28))
      harness.record()
      try await session.play(file, start: Double(28) / 48_000)
      session.pause()
      try session.seek(toSeconds: Double(28) / 48_000)
      try session.resume()
      #expect(try await session.finish() == .ended(.finished))
    }
  }

  @Test("play from a position in the middle, and not from past the end", arguments: outputs)
  func startsInTheMiddle(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let session = harness.house.session
      let file = try harness.source("a.wav", Signal.constant(0.25, frames: 96_000))
      harness.record()
      try await session.play(file, start: 1.5)
      #expect(session.position == 72_000)
      let start = harness.loop.now
      _ = try await session.finish()
      #expect(start.duration(to: harness.loop.now) == .milliseconds(500))
      for seconds in [2.1, -0.1, .nan] {
        #expect(
          await harness.failure { try await session.play(file, start: seconds) }?.code == "speaker.range")
      }
      try await harness.wait(0.1)
      #expect(
        harness.reportedBySession == ["state playing", "time 2", "state stopped", "ended a.wav finished"])
    }
  }

  @Test("a looped source continues, its position stays inside, its seconds count on", arguments: outputs)
  func loops(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let session = harness.house.session
      let file = try harness.source("a.wav", Signal.constant(0.25, frames: 33_333))
      harness.record()
      try await session.play(file, loops: true)
      try await harness.wait(2.5)
      #expect(session.state == .playing)
      #expect(session.position == 120_000 % 33_333)
      session.stop()
      try await harness.wait(0.1)
      #expect(
        harness.reportedBySession == [
          "state playing", "time 1", "time 2", "state stopped", "ended a.wav stopped",
        ])
    }
  }

  @Test("stop cancels a play that is still opening", arguments: outputs)
  func superseded(output: Output?) throws {
    try HouseHarness.run(isVirtual: false, output: output) { harness in
      let session = harness.house.session
      let file = try harness.source("a.wav", Signal.constant(0.25, frames: 9_600))
      harness.record()
      var code: String?
      // Started at once, it suspends while a thread opens the file.
      harness.loop.start { code = await harness.failure { try await session.play(file) }?.code }
      session.stop()
      try await harness.wait { code != nil }
      try await harness.wait(0.1)
      #expect(code == "speaker.superseded")
      #expect(harness.reported.isEmpty)
    }
  }

  @Test("finish: idle at once, timeout, cancelled, ended by replacing", arguments: outputs)
  func finishes(output: Output?) throws {
    try HouseHarness.run(output: output) { harness in
      let session = harness.house.session
      #expect(try await session.finish() == .idle)
      let file = try harness.source("a.wav", Signal.constant(0.25, frames: 96_000))
      try await session.play(file)
      #expect(try await session.finish(timeout: .milliseconds(100)) == .timeout)
      var isCancelled = false
      let task = harness.loop.start {
        do { _ = try await session.finish() } catch { isCancelled = error is CancellationError }
      }
      var result: FinishResult?
      harness.loop.start { result = try? await session.finish() }
      try await harness.wait(0.1)
      task.cancel()
      try await harness.wait(0.1)
      #expect(isCancelled && result == nil)
      try await session.play(file)
      try await harness.wait(0)
      #expect(result == .ended(.replaced))
    }
  }

  @Test("no event is published after close, and waiting callers continue")
  func closes() throws {
    var result: FinishResult?
    let harness = try HouseHarness.run { harness in
      let file = try harness.source("a.wav", Signal.constant(0.25, frames: 96_000))
      try await harness.house.session.play(file)
      harness.loop.start { result = try? await harness.house.session.finish() }
      try await harness.wait(0.1)
      harness.record()
      try harness.house.setVolume(10)
    }
    #expect(harness.reported.isEmpty)
    #expect(result == .ended(.stopped))
    #expect(throws: SpeakerError.self) { try harness.house.setVolume(10) }
  }

  @Test("a week of alarms without an output makes no PCM: it needs seconds of processor time at most")
  func week() throws {
    let start = processorTime()
    try HouseHarness.run(speakers: nil, output: .null) { harness in
      let file = try harness.source("a.wav", Signal.constant(0.25, frames: 480_000))
      for _ in 0..<7 {
        try await harness.wait(86_400)
        try await harness.house.session.play(file, loops: true)
        try await harness.wait(3_600)
        harness.house.session.stop()
      }
    }
    // Seven hours of PCM would take minutes under a sanitizer.
    #expect(processorTime() - start < 20_000_000_000)
  }

  /// Returns the processor time of this thread in nanoseconds, independent of other tests.
  private func processorTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
