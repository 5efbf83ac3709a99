import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import Reception
@testable import RecordingKit
@testable import StreamCore

/// Recordings of FLAC and WAV: content without frames is recorded as it comes.
@Suite("A recording of a station without frames", .waiting, .tags(.stream, .recording))
struct UnframedRecordingTests {
  private static let flac = Result { try readBytes(Fixtures.path("music-44k.flac")) }

  /// Returns a station that begins every connection with the start of a container.
  private static func live() throws -> Live {
    let bytes = try flac.get()
    var live = Live(.init(repeating: bytes, bytesPerSecond: 16_000))
    live.pace = .realTime(1)
    live.preRoll = Array(bytes.prefix(2_048))
    return live
  }

  @Test("it continues beyond the data timeout")
  func continues() throws {
    let station = try Station()
    station.answer("/live", with: .live(try Self.live(), type: "audio/flac"))
    let harness = try RecordingHarness.run(station) { harness in
      // Three seconds of the machine's clock.
      harness.stream.options.dataTimeout = .seconds(180)
      let recording = try await harness.record("a.{ext}")
      try await harness.loop.sleep(for: .milliseconds(4_500))
      #expect(recording.state == .recording && harness.reported.isEmpty, "\(harness.reported)")
      let before = recording.bytes
      try await harness.wait { recording.bytes > before }
      try await recording.stop()
      #expect(recording.state == .finished)
    }
    #expect(try readBytes(harness.path("a.flac")).starts(with: "fLaC".utf8))
  }

  @Test("a new connection is reported, with a gap of the time without sound", arguments: [true, false])
  func newConnection(staysFLAC: Bool) throws {
    let station = try Station()
    let live = try Self.live()
    var other = Live(.init(repeating: try FrameProgramme(.mp3, seconds: 60, seed: 4).bytes))
    other.pace = .realTime(1)
    station.answer(
      "/live",
      with: Answer.live(live, type: "audio/flac").dropping(
        at: 80_000, by: .reset, refusing: .milliseconds(300)),
      staysFLAC ? .live(live, type: "audio/flac") : .live(other))
    try RecordingHarness.run(station) { harness in
      var reported: [(gap: Double, stitched: Bool)] = []
      harness.stream.onEvent { event in
        if case .reconnected(let gap, let stitched, _) = event { reported.append((gap, stitched)) }
      }
      let recording = try await harness.record("a.{ext}")
      try await harness.wait { !reported.isEmpty && !recording.gaps.isEmpty }
      // The clock runs sixty times as fast.
      #expect(reported.count == 1 && reported[0].gap > 5 && !reported[0].stitched, "\(reported)")
      #expect(recording.gaps.map(\.seconds) == reported.map(\.gap))
      try await recording.stop()
      #expect(recording.paths.count == (staysFLAC ? 1 : 2))
    }
  }

  @Test("it is not played, which is reported at once, and the recording continues")
  func notPlayed() throws {
    let station = try Station()
    station.answer("/live", with: .live(try Self.live(), type: "audio/flac"))
    try RecordingHarness.run(station) { harness in
      let playing = await #expect(throws: StreamError.self) { try await harness.stream.start() }
      #expect(playing?.kind == .unsupported && harness.stream.status == .stopped)
      let recording = try await harness.record("a.flac")
      let both = await #expect(throws: StreamError.self) { try await harness.stream.start() }
      #expect(both?.kind == .unsupported && harness.stream.status == .stopped)
      let before = recording.bytes
      try await harness.wait { recording.bytes > before }
      #expect(recording.state == .recording && harness.reported.isEmpty)
      try await recording.stop()
    }
  }

  @Test("a stream that was to be played too is only recorded")
  func playedMeanwhile() throws {
    let station = try Station()
    station.answer("/live", with: .live(try Self.live(), type: "audio/flac"))
    try RecordingHarness.run(station) { harness in
      var failure: (any Error)?
      var recording: Recording?
      harness.loop.start { recording = try? await harness.record("a.flac") }
      try await harness.wait { harness.stream.receiver != nil }
      do { try await harness.stream.start() } catch { failure = error }
      #expect((failure as? StreamError)?.kind == .unsupported && harness.stream.status == .stopped)
      try await harness.wait { recording != nil }
      try await recording?.stop()
    }
  }

  @Test("frames behind a connection without them are not held")
  func framesBehind() throws {
    var stitcher = Stitcher()
    let bytes = [UInt8](repeating: 1, count: 100)
    func receive(_ codec: Codec, at time: Double) -> Stitcher.Action {
      let format = StreamFormat(codec: codec, sampleRate: codec.hasFrames ? 44_100 : 0, channels: 2)
      let frame = StreamFrame(offset: 0, length: bytes.count, hash: 7, format: format, samples: 1_152)
      return bytes.withUnsafeBytes { stitcher.receive(frame, $0, at: time) }
    }
    #expect(receive(.flac, at: 1) == .pass)
    #expect(stitcher.lost(at: 1) == nil)
    #expect(receive(.mp3, at: 9) == .gap(seconds: 8))
    var released = 0
    stitcher.release { frame, _ in
      released += frame.length
      return true
    }
    #expect(released == 100 && receive(.mp3, at: 9) == .pass)
  }

  @Test("a server that ends each connection after a little of it is asked ever more rarely")
  func endsEachTime() {
    var machine = ConnectionMachine("http://a.example/live", random: SeededRandom(seed: 1))
    var now = Instant.start
    let error = StreamError.ended("http://a.example/live")
    _ = machine.start(at: now)
    for attempt in 0..<20 {
      _ = machine.received(.zero, isNew: true, at: now)
      #expect(machine.phase == .receiving)
      _ = machine.ended(error, at: now)
      let next = machine.deadline ?? now
      if attempt == 19 { #expect(now.duration(to: next) >= .milliseconds(1_500)) }
      now = next
      _ = machine.deadlinePassed(at: now)
    }
    // A connection that held resets the state.
    _ = machine.received(.zero, isNew: true, at: now)
    now = now.advanced(by: .seconds(6))
    _ = machine.received(.zero, isNew: true, at: now)
    _ = machine.ended(error, at: now)
    #expect(machine.deadline == now)
  }

  @Test("a pause in sound without a length is no stall")
  func pause() {
    var machine = ConnectionMachine("http://a.example/live")
    _ = machine.start(at: .start)
    for step in 1...40 {
      _ = machine.received(.zero, isNew: true, at: Instant.start.advanced(by: .milliseconds(500) * step))
    }
    #expect(machine.deadline == Instant.start.advanced(by: .seconds(40)))
  }
}
