import EventLoop
import TestTraits
import Testing

@testable import SpeakerKit

/// The machine that follows what a hub plays, without a hub and without a clock.
@Suite("The playback of a hub", .tags(.speaker, .hub, .playback)) struct HubPlayerTests {
  private static let second: Int = 48_000
  private var player = HubPlayer(rate: HubPlayerTests.second)

  private func at(_ seconds: Double) -> Instant { Instant.start.advanced(by: .seconds(seconds)) }
  private func sent(_ begun: Double, all: Bool = true) -> HubPlayer.Delivery {
    .init(begun: at(begun), isComplete: all)
  }

  /// Starts cue 7 of ten seconds, which the hub accepts at 0.5 s and fetches at 1 s.
  private mutating func start(end: Int? = 10 * HubPlayerTests.second) -> HubPlayer.Run {
    let actions = player.start(7, from: 0, to: end, paused: false, at: at(0))
    let run = HubPlayer.Run(number: 1, cue: 7, firstFrame: 0, end: end)
    #expect(actions == [.play(run)])
    player.accepted(1, at: at(0.5))
    player.delivered(1, sent(1, all: false))
    return run
  }

  @Test("positions count from the first fetch, and follow the hub's whole seconds without going back")
  mutating func positions() {
    _ = start()
    #expect(player.position(at: at(1)) == 0 && player.position(at: at(2)) == Self.second)
    // The hub is where the clock is: nothing moves.
    #expect(player.observed(.init(isPlaying: true, elapsed: 1), of: 1, sent(1), at: at(2.5)).isEmpty)
    #expect(player.position(at: at(2.5)) == Self.second * 3 / 2)
    // The hub is behind: the clock rests until the hub has come to it.
    #expect(player.observed(.init(isPlaying: true, elapsed: 1), of: 1, sent(1), at: at(4)).isEmpty)
    #expect(player.position(at: at(4)) == 3 * Self.second)
    #expect(player.position(at: at(5)) == 3 * Self.second)
    #expect(player.position(at: at(6)) == 4 * Self.second)
    // The hub is ahead.
    #expect(player.observed(.init(isPlaying: true, elapsed: 9), of: 1, sent(1), at: at(7)).isEmpty)
    #expect(player.position(at: at(7)) == 9 * Self.second)
    #expect(player.position(at: at(20)) == 10 * Self.second)
  }

  @Test("a hub that stops at the end has finished; one that stops earlier has not")
  mutating func endings() {
    let run = start()
    var other = self
    #expect(player.observed(.init(isPlaying: true, elapsed: 8), of: 1, sent(1), at: at(9.5)).isEmpty)
    #expect(
      player.observed(.init(isPlaying: false), of: 1, sent(1), at: at(11.5)) == [.ended(run, .complete)])
    #expect(player.position(at: at(30)) == 10 * Self.second)
    #expect(player.stop(at: at(30)).isEmpty)
    #expect(other.player.observed(.init(isPlaying: true, elapsed: 2), of: 1, sent(1), at: at(3)).isEmpty)
    // Two answers say so: a hub that vanishes or restarts gives one at most.
    #expect(other.player.observed(.init(isPlaying: false), of: 1, sent(1), at: at(5)).isEmpty)
    var lost = other
    #expect(
      other.player.observed(.init(isPlaying: false), of: 1, sent(1), at: at(6)) == [.ended(run, .cutShort)])
    lost.player.lost(at: at(5.5))
    let rest = HubPlayer.Run(number: 2, cue: 7, firstFrame: Self.second * 9 / 2, end: 10 * Self.second)
    #expect(lost.player.found(.init(isPlaying: false), sent(1), at: at(9)) == [.play(rest)])
  }

  @Test("a hub that says that it has ceased, and plays after all, is heard on")
  mutating func ceases() {
    _ = start()
    for second in stride(from: 3.0, to: 9, by: 2) {
      #expect(player.observed(.init(isPlaying: true, elapsed: 1), of: 1, sent(1), at: at(second)).isEmpty)
      #expect(player.observed(.init(isPlaying: false), of: 1, sent(1), at: at(second + 1)).isEmpty)
    }
  }

  @Test("a hub that does not play yet is waited for; one that fetches nothing is not, for ever")
  mutating func silence() {
    _ = player.start(7, from: 0, to: nil, paused: false, at: at(0))
    player.accepted(1, at: at(0.5))
    let none = HubPlayer.Delivery()
    #expect(player.observed(.init(isPlaying: false), of: 1, none, at: at(2)).isEmpty)
    let ended = player.observed(.init(isPlaying: false), of: 1, none, at: at(10.5))
    #expect(ended == [.ended(.init(number: 1, cue: 7, firstFrame: 0, end: nil), .notFetched)])
  }

  @Test("a sound without a stated length ends where its decoding did")
  mutating func lengths() {
    let run = start(end: nil)
    var delivery = sent(1)
    delivery.end = 2 * Self.second
    #expect(player.observed(.init(isPlaying: false), of: 1, delivery, at: at(2.5)).isEmpty)
    let ended = player.observed(.init(isPlaying: false), of: 1, delivery, at: at(3))
    #expect(ended == [.ended(.init(number: 1, cue: 7, firstFrame: 0, end: 2 * Self.second), .complete)])
    #expect(run.end == nil && player.position(at: at(9)) == 2 * Self.second)
  }

  @Test("pause stops the medium, resume plays one from there; answers about older media are ignored")
  mutating func pauses() {
    _ = start()
    #expect(player.pause(at: at(4)) == [.stop])
    #expect(player.position(at: at(9)) == 3 * Self.second)
    #expect(player.observed(.init(isPlaying: false), of: 1, sent(1), at: at(9)).isEmpty)
    let run = HubPlayer.Run(number: 2, cue: 7, firstFrame: 3 * Self.second, end: 10 * Self.second)
    #expect(player.resume() == [.play(run)])
    player.accepted(1, at: at(10))
    #expect(player.playing == nil)
    player.accepted(2, at: at(10))
    player.delivered(2, sent(10))
    #expect(player.position(at: at(11)) == 4 * Self.second)
    #expect(player.stop(at: at(12)) == [.stop] && player.position(at: at(13)) == 0)
    #expect(player.stop(at: at(14)).isEmpty && player.resume().isEmpty)
  }

  @Test("after a loss the medium goes on from where it was heard, unless the hub still plays it")
  mutating func losses() {
    _ = start()
    player.lost(at: at(4))
    #expect(player.position(at: at(60)) == 3 * Self.second && player.interrupted != nil)
    var other = self
    #expect(player.found(.init(isPlaying: true, elapsed: 5), sent(1), at: at(6)).isEmpty)
    #expect(player.position(at: at(6)) == 5 * Self.second)
    let run = HubPlayer.Run(number: 2, cue: 7, firstFrame: 3 * Self.second, end: 10 * Self.second)
    #expect(other.player.found(.init(isPlaying: false), sent(1), at: at(60)) == [.play(run)])
  }

  @Test("a refusal ends the run with its reason")
  mutating func refusal() {
    _ = player.start(7, from: 0, to: nil, paused: false, at: at(0))
    let error = SpeakerError(.unavailable, "no")
    #expect(player.refused(2, error).isEmpty)
    #expect(
      player.refused(1, error)
        == [.ended(.init(number: 1, cue: 7, firstFrame: 0, end: nil), .refused(error))])
  }

  @Test("ranges of bytes are read as RFC 9110 says")
  func ranges() {
    #expect(ByteRange("bytes=0-1", of: 100) == .part(0..<2))
    #expect(ByteRange("bytes=90-", of: 100) == .part(90..<100))
    #expect(ByteRange("bytes=-10", of: 100) == .part(90..<100))
    #expect(ByteRange("bytes=0-999", of: 100) == .part(0..<100))
    #expect(ByteRange("bytes=100-", of: 100) == .outside)
    for text in ["", "bytes", "bytes=", "bytes=-", "bytes=5-2", "bytes=0-1,4-5", "lines=0-1", "bytes=x-y"] {
      #expect(ByteRange(text, of: 100) == .whole, "\(text)")
    }
  }
}
