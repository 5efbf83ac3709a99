import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

@Suite("A card that follows the clock of the house", .tags(.speaker, .cards))
struct ClockFollowerTests {
  private static let rate = 48_000.0

  /// Enters a follower that is in step at time 0.
  private func entered() -> ClockFollower {
    var follower = ClockFollower(sampleRate: 48_000)
    let house = ClockReading(time: 0, frame: 0)
    let entry = follower.enter(1920, delay: 1920, now: 0, house: house, elapsed: 0)
    #expect(entry == .play)
    return follower
  }

  @Test("waits with silence for the clock, then fills up to the moment of its first frame")
  func enters() {
    var follower = ClockFollower(sampleRate: 48_000)
    #expect(follower.enter(960, delay: 1920, now: 0, house: nil, elapsed: 0) == .wait)
    // Frame 960 is heard in 100 ms, and 40 ms are in the card.
    let house = ClockReading(time: 1_000_000, frame: -3840)
    let entry = follower.enter(960, delay: 1920, now: 1_000_000, house: house, elapsed: 1_000_000)
    #expect(entry == .silence(frames: 2880))
    #expect(follower.phase == .following(error: 0, since: 1_000_000))
  }

  @Test("drops frames that the house has heard, and asks again with the next ones")
  func skips() {
    var follower = ClockFollower(sampleRate: 48_000)
    let house = ClockReading(time: 0, frame: 10_000)
    #expect(
      follower.enter(9_600, delay: 480, now: 0, house: house, elapsed: 0) == .skip(frames: 880))
    // 10 ms later there are as many fewer in the card.
    #expect(follower.enter(10_480, delay: 0, now: 10_000_000, house: house, elapsed: 0) == .play)
  }

  @Test("plays without a clock when none comes within half a second")
  func free() {
    var follower = ClockFollower(sampleRate: 48_000)
    #expect(follower.enter(0, delay: 0, now: 0, house: nil, elapsed: 0) == .wait)
    #expect(follower.enter(0, delay: 0, now: 0, house: nil, elapsed: 499_000_000) == .wait)
    #expect(follower.enter(0, delay: 0, now: 0, house: nil, elapsed: 1_000_000) == .play)
    #expect(follower.phase == .free)
    #expect(follower.follow(ClockReading(time: 0, frame: 0), house: nil) == .resample(ratio: 1))
  }

  @Test(
    "stays within 1 ms of a clock 200 ppm off, with delays that jitter by 2 ms, and learns the drift",
    arguments: [200e-6, -200e-6])
  func locks(drift: Double) throws {
    var follower = entered()
    var random = TestRandom(seed: 1)
    var (heard, ratio, greatest, last) = (0.0, 1.0, 0.0, 0.0)
    for block in 1...15_000 {
      let time = Int64(block) * 20_000_000
      let house = ClockReading(time: time, frame: Double(block) * 960 * (1 + drift))
      heard += 960 * ratio
      last = abs(house.frame - heard) / Self.rate
      greatest = max(greatest, last)
      let jitter = (random.unit() * 2 - 1) * 0.001 * Self.rate
      guard
        case .resample(let next) = follower.follow(
          ClockReading(time: time, frame: heard + jitter), house: house)
      else { throw TestFailure("it lost its step after \(block) blocks") }
      ratio = next
    }
    #expect(greatest < 0.001, "\(greatest * 1e3) ms")
    #expect(last < 0.000_2)
    #expect(abs(follower.drift - drift) < 5e-6, "\(follower.drift)")
  }

  @Test("keeps the drift over a pause, and holds it while the clock is away")
  func holds() throws {
    var follower = entered()
    for block in 1...6_000 {
      let time = Int64(block) * 20_000_000
      let house = ClockReading(time: time, frame: Double(block) * 960)
      _ = follower.follow(ClockReading(time: time, frame: house.frame - 20), house: house)
    }
    let drift = follower.drift
    #expect(drift > 0)
    let away = follower.follow(ClockReading(time: 200_000_000_000, frame: 0), house: nil)
    #expect(away == .resample(ratio: 1 + drift))
    follower.rest()
    #expect(follower.drift == drift)
  }

  @Test("enters anew after an underrun, at once when it is long", arguments: [0.06, 0.01])
  func underrun(seconds: Double) {
    var follower = entered()
    var blocks = 0
    for block in 1...1_000 {
      let time = Int64(block) * 20_000_000
      let house = ClockReading(time: time, frame: Double(block) * 960)
      let card = ClockReading(time: time, frame: house.frame - seconds * Self.rate)
      blocks = block
      if follower.follow(card, house: house) == .rejoin { break }
    }
    #expect(follower.phase == .joining(waited: 0))
    #expect(seconds > 0.05 ? blocks == 1 : (2...50).contains(blocks), "\(blocks)")
  }
}

/// A small generator of numbers that repeat for a seed. Source: G. Steele et al., "Fast splittable pseudorandom
/// number generators", 2014 (SplitMix64).
struct TestRandom {
  private var state: UInt64
  init(seed: UInt64) { state = seed }
  /// Returns the next number, 0 to 1.
  mutating func unit() -> Double {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return Double((mixed ^ mixed >> 31) >> 11) / Double(1 << 53)
  }
}
