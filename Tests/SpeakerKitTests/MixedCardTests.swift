import AudioCore
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

/// A card that keeps the samples written to it.
private final class KeepingCard: CardSink, Sendable {
  let format = AudioFormat.session
  let delay: Int
  private let samples = Lock<[Float]>([])

  /// Samples written so far.
  var written: [Float] { samples.withLock { $0 } }

  init(delay: Int = 0) { self.delay = delay }

  func write(_ new: UnsafeBufferPointer<Float>) throws { samples.withLock { $0 += Array(new) } }
  func rest() throws {}
  func finish() throws {}
}

// Part of the real-time tests, which run one after the other: one of them counts threads.
extension RealTimeTests {
  @Suite("Several sessions on one sound card", .tags(.cards, .sessions))
  struct MixedCardTests {
    @Test("sound that the card has not played yet has not been heard: the position waits for it")
    func latency() throws {
      let (folder, loop) = (try TemporaryFolder(), EventLoop())
      // A minute between the card and the ear.
      let card = KeepingCard(delay: 2_880_000)
      let format = AudioFormat.session
      let waiter = try Waiter()
      let writer = try SinkWriter(format: format, frames: 2_880, policy: .openAgain, renderer: waiter) {
        .card(card)
      }
      let memory = RenderMemory(devices: 1, sessions: 1, format: format)
      let stage = try ThreadedStage(
        loop: loop, memory: memory, outputs: Outputs(.mixed(writer), waiter), format: format)
      let renderer = PCMRenderer(loop: loop, format: format, memory: memory, stage: stage)
      let path = folder.file("a.wav")
      try Sound(sampleRate: 48_000, channels: [Signal.constant(0.5, frames: 480_000)]).write(to: path)
      var isDone = false
      loop.start {
        do {
          try await stage.openCard()
          renderer.setSession(0, ofDevice: 0)
          let cue = try await renderer.load(SourceRequest(path: path))
          renderer.start(cue, in: 0, paused: false)
          while card.written.count < 48_000 { try await loop.sleep(for: .milliseconds(10)) }
          #expect(writer.port.latency >= 2_880_000)
          #expect(renderer.position(of: 0) == 0)
        } catch { Issue.record("\(error)") }
        await renderer.close()
        loop.after(.milliseconds(1)) { isDone = true }
      }
      #expect(loop.run(until: { isDone }) == .done)
      loop.close()
    }

    /// Returns the samples that reach the card from two sessions on a speaker each, which play constants of
    /// these amplitudes for a second.
    private func mix(_ first: Float, _ second: Float) throws -> [Float] {
      let (folder, card, loop) = (try TemporaryFolder(), KeepingCard(), EventLoop())
      let format = AudioFormat.session
      let waiter = try Waiter()
      let writer = try SinkWriter(format: format, frames: 2_880, policy: .openAgain, renderer: waiter) {
        .card(card)
      }
      let memory = RenderMemory(devices: 2, sessions: 2, format: format)
      let stage = try ThreadedStage(
        loop: loop, memory: memory, outputs: Outputs(.mixed(writer), waiter), format: format)
      let renderer = PCMRenderer(loop: loop, format: format, memory: memory, stage: stage)
      var isDone = false
      let events = RenderEvents()
      renderer.observer = events
      loop.start {
        do {
          try await stage.openCard()
          var cues: [Cue] = []
          for (index, amplitude) in [first, second].enumerated() {
            renderer.setMix(.unity, channel: nil, ofDevice: index)
            renderer.setSession(index, ofDevice: index)
            let path = folder.file("\(index).wav")
            try Sound(sampleRate: 48_000, channels: [Signal.constant(amplitude, frames: 48_000)]).write(
              to: path)
            cues.append(try await renderer.load(SourceRequest(path: path)))
          }
          // In one turn of the loop: they sound together however busy the machine is.
          for (index, cue) in cues.enumerated() { renderer.start(cue, in: index, paused: false) }
          while events.ended < 2 { try await loop.sleep(for: .milliseconds(10)) }
        } catch { Issue.record("\(error)") }
        await renderer.close()
        loop.after(.milliseconds(1)) { isDone = true }
      }
      #expect(loop.run(until: { isDone }) == .done)
      loop.close()
      return card.written
    }

    @Test("their sum is limited to −0.3 dBFS")
    func limited() throws {
      let written = try mix(0.75, 0.75)
      let peak = written.map(abs).max() ?? 0
      #expect(peak <= Decibels.gain(-0.3))
      #expect(peak > 0.96)
    }

    @Test("a sum below full scale is exact")
    func exact() throws {
      let written = try mix(0.5, 0.25)
      #expect(written.contains(0.75))
      #expect(written.allSatisfy { $0 == 0.75 || $0 == 0.5 || $0 == 0.25 || $0 == 0 })
    }
  }
}
