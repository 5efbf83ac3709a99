import AudioCore
import EventLoop
import Glibc
import SpeakerKit
import TestSupport
import TestTraits
import Testing

/// A live source: a tone that arrives in parts.
final class LiveTone: SoundSource {
  /// Frames received and read so far, and the callback for more.
  private struct State {
    var frames: Int
    var isComplete = false
    var delivered = 0
    var decoders = 0
    var wake: (@Sendable () -> Void)?
  }

  private let state: Lock<State>
  private let failure: AudioError?

  init(frames: Int, failure: AudioError? = nil) {
    state = Lock(State(frames: frames))
    self.failure = failure
  }

  var decodersMade: Int { state.withLock { $0.decoders } }

  /// Adds frames of the tone.
  func receive(_ frames: Int, isLast: Bool = false) {
    let wake = state.withLock { state in
      state.frames += frames
      state.isComplete = isLast
      return state.wake
    }
    wake?()
  }

  func makeDecoder() throws -> any Decoder {
    if let failure { throw failure }
    state.withLock { $0.decoders += 1 }
    return ToneDecoder(self)
  }

  fileprivate func consume(_ most: Int) -> (first: Int, count: Int, isComplete: Bool) {
    state.withLock { state in
      let count = min(most, state.frames - state.delivered)
      state.delivered += count
      return (state.delivered - count, count, state.isComplete)
    }
  }

  fileprivate func onFrames(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

  /// Returns the sample of a frame.
  static func sample(_ frame: Int) -> Float { samples[frame % 48_000] }

  fileprivate static let samples = Signal.sine(437, amplitude: 0.5, frames: 48_000, sampleRate: 48_000)
}

private final class ToneDecoder: LiveDecoder {
  let format = AudioFormat.session
  let frameCount: Int? = nil
  private(set) var isWaiting = false
  private let station: LiveTone

  init(_ station: LiveTone) { self.station = station }

  func onFrames(_ wake: @escaping @Sendable () -> Void) { station.onFrames(wake) }

  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    let (first, count, isComplete) = station.consume(buffer.count / 2)
    for frame in 0..<count {
      let sample = LiveTone.samples[(first + frame) % 48_000]
      buffer[2 * frame] = sample
      buffer[2 * frame + 1] = sample
    }
    isWaiting = count == 0 && !isComplete
    return count
  }

  func seek(toFrame frame: Int) throws { throw AudioError(.unsupported, "a station can't be repositioned") }
}

@Suite("Sound that comes live", .tags(.speaker, .rendering))
struct LiveSourceTests {
  private let info = SourceInfo(path: "http://station/", title: "Station")
  /// Maximum step between samples: of the tone, of the ramp of one block from its peak, and of rounding.
  private let largestStep: Float = 2 * .pi * 437 / 48_000 * 0.5 + 0.5 / 960 + 2 * 0x1p-15

  @Test(
    "when it runs dry it falls silent without a click, and rises when there is plenty",
    arguments: [true, false])
  func runsDry(isVirtual: Bool) throws {
    // Whole blocks, and the last one ends on a peak of the tone.
    let station = LiveTone(frames: 47_040)
    let harness = try HouseHarness.run(isVirtual: isVirtual) { harness in
      let session = harness.house.session
      harness.record()
      try await session.play(station, as: info)
      if isVirtual {
        try await harness.wait(1.5)
      } else {
        try await harness.wait { session.position >= 46_000 }
        try await harness.rest(session)
      }
      let position = session.position
      #expect((46_000...47_040).contains(position))
      // Too few frames to continue with.
      station.receive(4_800)
      try await harness.wait(0.5)
      #expect(session.position == position)
      #expect(session.state == .playing)
      station.receive(24_000, isLast: true)
      #expect(try await session.finish(timeout: .seconds(60)) == .ended(.finished))
      #expect(harness.reportedBySession.first == "state playing")
      #expect(harness.reportedBySession.suffix(2) == ["state stopped", "ended Station finished"])
    }
    let sound = try harness.played("A").channels[0]
    #expect(try harness.played("A").largestStep < largestStep)
    let isLoud = sound.map { abs($0) > 0.001 }
    let start = try #require(isLoud.firstIndex(of: true))
    let silence = try #require(
      (start..<(isLoud.count - 9_600)).first { !isLoud[$0..<($0 + 9_600)].contains(true) })
    #expect((45_000...47_040).contains(silence - start))
    let again = try #require(isLoud[silence...].firstIndex(of: true))
    // All later frames are heard, beginning 200 ms after the silence at the earliest.
    #expect((isLoud.lastIndex(of: true) ?? 0) - again > 4_800 + 24_000 - 200)
    #expect(again - silence > (isVirtual ? 28_800 : 9_600))
  }

  @Test("a dry source keeps no other session waiting", arguments: [true, false])
  func others(isVirtual: Bool) throws {
    let tone = Signal.sine(1000, amplitude: 0.25, frames: 48_000, sampleRate: 48_000)
    let harness = try HouseHarness.run(isVirtual: isVirtual) { harness in
      let house = harness.house
      let other = try house.makeSession(devices: [house.devices[1]])
      try await house.session.play(LiveTone(frames: 0), as: info)
      try await other.play(try harness.source("a.wav", tone))
      #expect(try await other.finish(timeout: .seconds(60)) == .ended(.finished))
    }
    let sound = try harness.played("B").channels[0]
    let start = try #require(sound.firstIndex { $0 != 0 }) - 1
    #expect(Array(sound[start...].prefix(48_000)).count > 47_990)
    #expect(try harness.played("A").peak == 0)
  }

  @Test("it pauses, resumes, leaves and joins as files do, and moves to another position without a click")
  func controls() throws {
    let station = LiveTone(frames: 480_000)
    let harness = try HouseHarness.run { harness in
      let session = harness.house.session
      try await session.play(station, as: info)
      try await harness.wait(0.5)
      session.pause()
      try await harness.wait(0.5)
      let position = session.position
      try session.resume()
      try await harness.wait(0.5)
      session.soundMoved(station)
      try await harness.wait(0.5)
      #expect(station.decodersMade == 2)
      #expect((45_000...50_000).contains(session.position - position))
      let error = await harness.failure { try session.seek(toSeconds: 1) }
      #expect(error?.code == "speaker.no_seek")
      session.stop()
      session.soundMoved(station)
    }
    #expect(try harness.played("A").largestStep < largestStep)
  }

  @Test("a source that makes no decoder is reported with the reason, and the old one continues")
  func refuses() throws {
    let bad = LiveTone(frames: 0, failure: AudioError(.unreadable, "the station sends no audio"))
    try HouseHarness.run { harness in
      let session = harness.house.session
      try await session.play(LiveTone(frames: 96_000), as: info)
      let error = await harness.failure { try await session.play(bad, as: info) }
      #expect(error?.message == "the station sends no audio")
      #expect(session.state == .playing)
    }
  }
}
