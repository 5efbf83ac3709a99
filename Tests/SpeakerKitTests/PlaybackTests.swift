import AudioCore
import EventLoop
import Glibc
import SpeakerKit
import TestSupport
import Testing

@Suite("What happens when: playing, pausing, ending")
struct PlaybackTests {
  /// Outputs of the parameterized tests: files, and none, where only the clock counts.
  static let outputs: [Output?] = [nil, .null]

  @Test("a source is heard to its end: state, seconds, stopped, then ended", arguments: outputs)
  func finished(output: Output?) throws {
    try HouseBench.run(output: output) { bench in
      let file = try bench.source("a.wav", Signal.constant(0.25, frames: 120_000))
      bench.record()
      let start = bench.loop.now
      try await bench.house.session.play(file, title: "song")
      #expect(bench.house.session.state == .playing)
      #expect(bench.house.session.duration == 120_000)
      #expect(bench.house.session.source == SourceInfo(path: file, title: "song"))
      #expect(try await bench.house.session.finish() == .ended(.finished))
      #expect(start.duration(to: bench.loop.now) == .milliseconds(2500))
      #expect(bench.house.session.state == .stopped)
      #expect(bench.house.session.duration == nil)
      try await bench.wait(0.1)
      #expect(
        bench.told == [
          "state playing", "device A playing", "device B playing", "time 1", "time 2", "state stopped",
          "ended song finished", "device A playing", "device B playing",
        ])
    }
  }

  @Test("the last whole second is told before the end", arguments: outputs)
  func lastSecond(output: Output?) throws {
    try HouseBench.run(output: output) { bench in
      let file = try bench.source("a.wav", Signal.constant(0.25, frames: 48_000))
      bench.record()
      try await bench.house.session.play(file)
      try await bench.wait(2)
      #expect(bench.toldOfSession == ["state playing", "time 1", "state stopped", "ended a.wav finished"])
    }
  }

  @Test("play while playing: ended replaced, then playing, nothing between", arguments: outputs)
  func replaced(output: Output?) throws {
    try HouseBench.run(output: output) { bench in
      let first = try bench.source("a.wav", Signal.constant(0.25, frames: 96_000))
      let second = try bench.source("b.wav", Signal.constant(0.25, frames: 24_000))
      bench.record()
      try await bench.house.session.play(first)
      try await bench.wait(0.5)
      try await bench.house.session.play(second)
      #expect(bench.house.session.source?.title == "b.wav")
      try await bench.wait(5)
      #expect(
        bench.toldOfSession == [
          "state playing", "ended a.wav replaced", "state playing", "state stopped", "ended b.wav finished",
        ])
    }
  }

  @Test("play on a paused session replaces it", arguments: outputs)
  func replacesPaused(output: Output?) throws {
    try HouseBench.run(output: output) { bench in
      let file = try bench.source("a.wav", Signal.constant(0.25, frames: 48_000))
      try await bench.house.session.play(file)
      try await bench.wait(0.5)
      bench.house.session.pause()
      try await bench.wait(1)
      bench.record()
      try await bench.house.session.play(file, title: "again")
      #expect(bench.house.session.position == 0)
      try await bench.wait(2)
      #expect(
        bench.toldOfSession == [
          "ended a.wav replaced", "state playing", "time 1", "state stopped", "ended again finished",
        ])
    }
  }

  @Test("pause keeps the place, resume goes on to the end", arguments: outputs)
  func pauses(output: Output?) throws {
    try HouseBench.run(output: output) { bench in
      let session = bench.house.session
      let file = try bench.source("a.wav", Signal.constant(0.25, frames: 96_000))
      bench.record()
      try await session.play(file)
      try await bench.wait(0.5)
      session.pause()
      #expect(session.state == .paused)
      try await bench.wait(10)
      // A file fades over one more block, and begins at a block's border.
      #expect((24_000...25_920).contains(session.position))
      session.pause()
      try session.resume()
      #expect(try await session.finish() == .ended(.finished))
      try await bench.wait(0.1)
      #expect(
        bench.toldOfSession == [
          "state playing", "state paused", "state playing", "time 1", "time 2", "state stopped",
          "ended a.wav finished",
        ])
    }
  }

  @Test("stop: stopped, then ended stopped; stop and pause when stopped tell nothing", arguments: outputs)
  func stops(output: Output?) throws {
    try HouseBench.run(output: output) { bench in
      let session = bench.house.session
      bench.record()
      session.stop()
      session.pause()
      try await session.play(try bench.source("a.wav", Signal.constant(0.25, frames: 96_000)))
      try await bench.wait(0.1)
      session.stop()
      #expect(session.state == .stopped)
      session.stop()
      session.pause()
      try await bench.wait(5)
      #expect(bench.toldOfSession == ["state playing", "state stopped", "ended a.wav stopped"])
    }
  }

  @Test("resume raises while playing, when stopped, and after the end", arguments: outputs)
  func resumes(output: Output?) throws {
    try HouseBench.run(output: output) { bench in
      let session = bench.house.session
      #expect(await bench.failure { try session.resume() }?.code == "speaker.not_paused")
      try await session.play(try bench.source("a.wav", Signal.constant(0.25, frames: 9_600)))
      #expect(await bench.failure { try session.resume() }?.code == "speaker.not_paused")
      _ = try await session.finish()
      #expect(await bench.failure { try session.resume() }?.code == "speaker.not_paused")
    }
  }

  @Test("no active device is told before the file is looked for", arguments: outputs)
  func noActiveDevice(output: Output?) throws {
    try HouseBench.run(output: output, addAll: false) { bench in
      let error = await bench.failure { try await bench.house.session.play("/nowhere.wav") }
      #expect(error?.code == "speaker.no_active_device")
      try await bench.house.devices[0].join()
      let second = await bench.failure { try await bench.house.session.play("/nowhere.wav") }
      #expect(second?.code == "audio.not_found")
    }
  }

  @Test("what can't be played leaves what plays alone", arguments: outputs)
  func unreadable(output: Output?) throws {
    try HouseBench.run(output: output) { bench in
      let text = try bench.folder.write(Array("this is not a sound, not at all".utf8), to: "notes.wav")
      try await bench.house.session.play(
        try bench.source("a.wav", Signal.constant(0.25, frames: 48_000)))
      bench.record()
      let error = await bench.failure { try await bench.house.session.play(text) }
      #expect(error?.code == "audio.unreadable")
      try await bench.wait(2)
      #expect(bench.toldOfSession == ["time 1", "state stopped", "ended a.wav finished"])
    }
  }

  @Test("the last speaker that leaves stops playback with no_devices, the others do not", arguments: outputs)
  func lastLeaves(output: Output?) throws {
    try HouseBench.run(output: output) { bench in
      let devices = bench.house.devices
      try await bench.house.session.play(
        try bench.source("a.wav", Signal.constant(0.25, frames: 96_000)))
      try await bench.wait(0.1)
      bench.record()
      try await devices[0].leave()
      try await devices[0].leave()
      try await bench.wait(0.1)
      #expect(bench.house.session.state == .playing)
      try await devices[1].leave()
      #expect(bench.house.session.state == .stopped)
      try await bench.wait(5)
      #expect(
        bench.told == [
          "device A left", "device A playing", "device B left", "state stopped", "ended a.wav no_devices",
          "device B playing",
        ])
    }
  }

  @Test("seek: forward, to the end exactly, past it, when stopped", arguments: outputs)
  func seeks(output: Output?) throws {
    try HouseBench.run(output: output) { bench in
      let session = bench.house.session
      #expect(await bench.failure { try session.seek(toSeconds: 1) }?.code == "speaker.no_seek")
      let file = try bench.source("a.wav", Signal.constant(0.25, frames: 480_000))
      bench.record()
      try await session.play(file)
      try await bench.wait(0.5)
      try session.seek(toSeconds: 8)
      #expect(session.position == 384_000)
      try await bench.wait(0.5)
      #expect((400_000...408_000).contains(session.position))
      for seconds in [10.01, -1, .nan, .infinity] {
        #expect(await bench.failure { try session.seek(toSeconds: seconds) }?.code == "speaker.range")
      }
      session.pause()
      try session.seek(toSeconds: 2)
      try await bench.wait(1)
      #expect(session.position == 96_000)
      try session.seek(toSeconds: 10)
      try session.resume()
      try await bench.wait(1)
      #expect(session.state == .stopped)
      #expect(
        bench.toldOfSession == [
          "state playing", "state paused", "state playing", "state stopped", "ended a.wav finished",
        ])
    }
  }

  @Test("the end is no place past the end, whatever becomes of its frames in seconds", arguments: outputs)
  func endInSeconds(output: Output?) throws {
    // 28/48000 s times 48000/s is more than 28.
    #expect(Double(28) / 48_000 * 48_000 > 28)
    try HouseBench.run(output: output) { bench in
      let session = bench.house.session
      let file = try bench.source("a.wav", Signal.constant(0.25, frames: 28))
      bench.record()
      try await session.play(file, start: Double(28) / 48_000)
      session.pause()
      try session.seek(toSeconds: Double(28) / 48_000)
      try session.resume()
      #expect(try await session.finish() == .ended(.finished))
    }
  }

  @Test("play from a place in the middle, and not from past the end", arguments: outputs)
  func startsInTheMiddle(output: Output?) throws {
    try HouseBench.run(output: output) { bench in
      let session = bench.house.session
      let file = try bench.source("a.wav", Signal.constant(0.25, frames: 96_000))
      bench.record()
      try await session.play(file, start: 1.5)
      #expect(session.position == 72_000)
      let start = bench.loop.now
      _ = try await session.finish()
      #expect(start.duration(to: bench.loop.now) == .milliseconds(500))
      for seconds in [2.1, -0.1, .nan] {
        #expect(
          await bench.failure { try await session.play(file, start: seconds) }?.code == "speaker.range")
      }
      try await bench.wait(0.1)
      #expect(bench.toldOfSession == ["state playing", "time 2", "state stopped", "ended a.wav finished"])
    }
  }

  @Test("a looped source goes on, its position stays inside, its seconds count on", arguments: outputs)
  func loops(output: Output?) throws {
    try HouseBench.run(output: output) { bench in
      let session = bench.house.session
      let file = try bench.source("a.wav", Signal.constant(0.25, frames: 33_333))
      bench.record()
      try await session.play(file, loops: true)
      try await bench.wait(2.5)
      #expect(session.state == .playing)
      #expect(session.position == 120_000 % 33_333)
      session.stop()
      try await bench.wait(0.1)
      #expect(
        bench.toldOfSession == ["state playing", "time 1", "time 2", "state stopped", "ended a.wav stopped"])
    }
  }

  @Test("stop gives up a play that is still opening", arguments: outputs)
  func superseded(output: Output?) throws {
    try HouseBench.run(isVirtual: false, output: output) { bench in
      let session = bench.house.session
      let file = try bench.source("a.wav", Signal.constant(0.25, frames: 9_600))
      bench.record()
      var code: String?
      // Started at once, it suspends while a thread opens the file.
      bench.loop.start { code = await bench.failure { try await session.play(file) }?.code }
      session.stop()
      try await bench.wait { code != nil }
      try await bench.wait(0.1)
      #expect(code == "speaker.superseded")
      #expect(bench.told.isEmpty)
    }
  }

  @Test("finish: idle at once, timeout, cancelled, ended by replacing", arguments: outputs)
  func finishes(output: Output?) throws {
    try HouseBench.run(output: output) { bench in
      let session = bench.house.session
      #expect(try await session.finish() == .idle)
      let file = try bench.source("a.wav", Signal.constant(0.25, frames: 96_000))
      try await session.play(file)
      #expect(try await session.finish(timeout: .milliseconds(100)) == .timeout)
      var isCancelled = false
      let task = bench.loop.start {
        do { _ = try await session.finish() } catch { isCancelled = error is CancellationError }
      }
      var result: FinishResult?
      bench.loop.start { result = try? await session.finish() }
      try await bench.wait(0.1)
      task.cancel()
      try await bench.wait(0.1)
      #expect(isCancelled && result == nil)
      try await session.play(file)
      try await bench.wait(0)
      #expect(result == .ended(.replaced))
    }
  }

  @Test("no event comes after close, and what waits goes on")
  func closes() throws {
    var result: FinishResult?
    let bench = try HouseBench.run { bench in
      let file = try bench.source("a.wav", Signal.constant(0.25, frames: 96_000))
      try await bench.house.session.play(file)
      bench.loop.start { result = try? await bench.house.session.finish() }
      try await bench.wait(0.1)
      bench.record()
      try bench.house.setVolume(10)
    }
    #expect(bench.told.isEmpty)
    #expect(result == .ended(.stopped))
    #expect(throws: SpeakerError.self) { try bench.house.setVolume(10) }
  }

  @Test("a week of alarms without an output makes no PCM: it takes seconds of the processor at most")
  func week() throws {
    let start = processorTime()
    try HouseBench.run(speakers: nil, output: .null) { bench in
      let file = try bench.source("a.wav", Signal.constant(0.25, frames: 480_000))
      for _ in 0..<7 {
        try await bench.wait(86_400)
        try await bench.house.session.play(file, loops: true)
        try await bench.wait(3_600)
        bench.house.session.stop()
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
