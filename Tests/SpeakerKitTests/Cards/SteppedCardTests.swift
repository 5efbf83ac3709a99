import AudioCore
import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

/// Two cards of one house on a virtual clock, which play one sound.
private final class CardPair {
  let format: AudioFormat
  let time = VirtualTime()
  let clock: HouseClock
  let (leader, follower): (SimulatedCard, SimulatedCard)
  let (first, second): (SteppedCard, SteppedCard)

  init(sampleRate: Int, channels: Int = 2, drift: (Double, Double)) throws {
    format = AudioFormat(sampleRate: sampleRate, channels: channels)
    clock = HouseClock(sampleRate: sampleRate)
    leader = SimulatedCard(format: format, drift: drift.0, capacity: sampleRate / 10, time: time)
    follower = SimulatedCard(format: format, drift: drift.1, capacity: sampleRate / 4, time: time)
    let none = Array(repeating: 0, count: channels)
    first = try SteppedCard(leader, role: .leads, clock: clock, delays: none, time: time)
    second = try SteppedCard(follower, role: .follows, clock: clock, delays: none, time: time)
  }

  /// Plays blocks that `source` returns for their first frame, from the frame `start` of the house on.
  func play(_ frames: Range<Int>, _ source: (_ frame: Int) -> UnsafeBufferPointer<Float>) throws {
    for frame in stride(from: frames.lowerBound, to: frames.upperBound, by: format.framesPerBlock) {
      let block = source(frame)
      try first.write(block, at: frame)
      try second.write(block, at: frame)
    }
  }
}

@Suite("Sound cards with clocks of their own", .tags(.speaker, .cards))
struct SteppedCardTests {
  /// One second of sound that repeats: a click in the first channel, a sine in the second.
  private func second(_ rate: Int, hertz: Double) -> [Float] {
    (0..<2 * rate).map { index in
      if index % 2 == 0 { return index == 200 ? 0.9 : 0 }
      return Float(0.5 * sin(2 * .pi * hertz * Double(index / 2) / Double(rate)))
    }
  }

  @Test("an hour at +100 and −100 ppm: clicks within 1 ms, and no sample is dropped or doubled")
  func hour() throws {
    let (rate, hertz, seconds) = (8_000, 330.0, 3_600)
    let pair = try CardPair(sampleRate: rate, drift: (100e-6, -100e-6))
    var clicks: (leader: [Int], follower: [Int]) = ([], [])
    pair.leader.onWrite = { samples, frame in
      for index in stride(from: 0, to: samples.count, by: 2) where samples[index] > 0.8 {
        clicks.leader.append(frame + index / 2)
      }
    }
    // A sine follows from its last two samples; a dropped or doubled one shows as 0.13 here.
    let factor = Float(2 * cos(2 * .pi * hertz / Double(rate) * (1 + 200e-6)))
    var (before, last, residual, isSounding) = (Float(0), Float(0), Float(0), false)
    pair.follower.onWrite = { samples, frame in
      var index = 0
      while index < samples.count {
        if samples[index] > 0.3, clicks.follower.last.map({ frame + index / 2 - $0 > 100 }) ?? true {
          clicks.follower.append(frame + index / 2)
        }
        let next = samples[index + 1]
        if isSounding { residual = max(residual, abs(next - factor * last + before)) }
        (before, last) = (last, next)
        index += 2
      }
      // From the second after the entry on.
      if clicks.follower.count > 1 { isSounding = true }
    }
    let source = second(rate, hertz: hertz)
    try source.withUnsafeBufferPointer { source in
      try pair.play(0..<seconds * rate) { frame in
        let start = frame % rate * 2
        return UnsafeBufferPointer(rebasing: source[start..<start + rate / 25])
      }
    }
    #expect(clicks.leader.count == seconds)
    #expect(abs(clicks.follower.count - seconds) <= 1)
    let errors = zip(clicks.leader, clicks.follower).map { leader, follower in
      abs(pair.leader.moment(of: leader) - pair.follower.moment(of: follower)) / 1e6
    }
    let sorted = errors.sorted()
    #expect(sorted[sorted.count / 2] < 0.5, "median \(sorted[sorted.count / 2]) ms")
    #expect((sorted.last ?? 9) < 1, "at worst \(sorted.last ?? 0) ms")
    #expect(20 * log10(residual / 0.5) < -80, "residual \(20 * log10(residual / 0.5)) dB")
    #expect(pair.leader.underruns + pair.follower.underruns == 0)
    #expect(abs(pair.second.drift - 200e-6) < 2e-6, "\(pair.second.drift)")
  }

  @Test("a card with a latency of its own is in step while the house's first card leaves it time")
  func latency() throws {
    let pair = try CardPair(sampleRate: 8_000, drift: (0, 0))
    pair.follower.latency = 200
    var clicks: (leader: [Int], follower: [Int]) = ([], [])
    pair.leader.onWrite = { samples, frame in
      for index in stride(from: 0, to: samples.count, by: 2) where samples[index] > 0.8 {
        clicks.leader.append(frame + index / 2)
      }
    }
    pair.follower.onWrite = { samples, frame in
      for index in stride(from: 0, to: samples.count, by: 2) where samples[index] > 0.3 {
        if clicks.follower.last.map({ frame + index / 2 - $0 > 100 }) ?? true {
          clicks.follower.append(frame + index / 2)
        }
      }
    }
    let source = second(8_000, hertz: 330)
    try source.withUnsafeBufferPointer { source in
      try pair.play(0..<10 * 8_000) { frame in
        UnsafeBufferPointer(rebasing: source[frame % 8_000 * 2..<frame % 8_000 * 2 + 320])
      }
    }
    #expect(clicks.follower.count >= 9 && pair.follower.underruns == 0)
    for (leader, follower) in zip(clicks.leader.suffix(8), clicks.follower.suffix(8)) {
      #expect(abs(pair.leader.moment(of: leader) - pair.follower.moment(of: follower)) < 1e6)
    }
  }

  @Test("a card whose latency is longer than that is refused, with the limit and the remedy")
  func tooSlow() throws {
    let pair = try CardPair(sampleRate: 8_000, drift: (0, 0))
    pair.follower.latency = 2_400
    let silence = [Float](repeating: 0, count: 320)
    let error = #expect(throws: AudioError.self) {
      try silence.withUnsafeBufferPointer { block in try pair.play(0..<10 * 8_000) { _ in block } }
    }
    #expect(error?.kind == .unsupported && error?.hint?.contains("first in `speakers`") == true)
    #expect(error?.message.contains("it plays sound 3") == true, "\(error?.message ?? "")")
  }

  @Test("two cards of ALSA at +100 and −100 ppm: clicks within 1 ms from the first on, and no underrun")
  func alsa() throws {
    let (time, clock) = (VirtualTime(), HouseClock(sampleRate: 48_000))
    let cards = [100e-6, -100e-6].map { drift in
      let card = PlugCard()
      card.crystal = PlugCard.Crystal(time: time, drift: drift)
      return card
    }
    var clicks: [[Double]] = [[], []]
    for (index, card) in cards.enumerated() {
      card.onTransfer = { [unowned card] bytes, frame in
        let samples = bytes.assumingMemoryBound(to: Int16.self)
        for sample in stride(from: 0, to: samples.count, by: 2) where samples[sample] > 16_384 {
          clicks[index].append(card.moment(of: frame + sample / 2))
        }
      }
    }
    let stages = try cards.enumerated().map { index, card in
      try SteppedCard(
        ALSASink(device: "plug \(index)", format: .session, open: card.open),
        role: index == 0 ? .leads : .follows, clock: clock, delays: [0, 0], time: time)
    }
    let source = second(48_000, hertz: 440)
    try source.withUnsafeBufferPointer { source in
      for frame in stride(from: 0, to: 60 * 48_000, by: 960) {
        let start = frame % 48_000 * 2
        let block = UnsafeBufferPointer(rebasing: source[start..<start + 1_920])
        for stage in stages { try stage.write(block, at: frame) }
      }
    }
    #expect(clicks[0].count == 60)
    try #require(clicks[1].count == 60)
    let errors = zip(clicks[0], clicks[1]).map { abs($0 - $1) / 1e6 }
    #expect((errors.max() ?? 9) < 1, "\(errors) ms")
    #expect(cards.map(\.timesPrepared) == [1, 1])
    #expect(abs(stages[1].drift - 200e-6) < 20e-6, "\(stages[1].drift)")
  }

  @Test("the first card plays its sound bit for bit, after a lead-in of 0.1 s")
  func untouched() throws {
    let pair = try CardPair(sampleRate: 48_000, drift: (0, 0))
    var written: [Float] = []
    pair.leader.onWrite = { samples, _ in written += Array(samples) }
    let noise = Signal.noise(seed: 1, frames: 2 * 9_600)
    try noise.withUnsafeBufferPointer { noise in
      try pair.play(0..<9_600) { UnsafeBufferPointer(rebasing: noise[2 * $0..<2 * $0 + 1_920]) }
    }
    #expect(written == Array(repeating: 0, count: 9_600) + noise)
  }

  @Test("after a pause the second card is in step again with the first frame")
  func pause() throws {
    let pair = try CardPair(sampleRate: 48_000, drift: (50e-6, -50e-6))
    var heard: (leader: [Double], follower: [Double]) = ([], [])
    pair.leader.onWrite = { [unowned pair] samples, frame in
      for index in stride(from: 0, to: samples.count, by: 2) where samples[index] > 0.8 {
        heard.leader.append(pair.leader.moment(of: frame + index / 2))
      }
    }
    pair.follower.onWrite = { [unowned pair] samples, frame in
      for index in stride(from: 0, to: samples.count, by: 2) where samples[index] > 0.5 {
        heard.follower.append(pair.follower.moment(of: frame + index / 2))
      }
    }
    let source = second(48_000, hertz: 440)
    try source.withUnsafeBufferPointer { source in
      for run in 0..<3 {
        try pair.play(run * 48_000..<(run + 1) * 48_000) { frame in
          let start = frame % 48_000 * 2
          return UnsafeBufferPointer(rebasing: source[start..<start + 1_920])
        }
        try pair.first.rest()
        try pair.second.rest()
        pair.time.sleep(nanoseconds: 3_000_000_000)
      }
    }
    #expect(heard.leader.count == 3)
    try #require(heard.follower.count == 3, "\(heard.follower)")
    for (leader, follower) in zip(heard.leader, heard.follower) {
      #expect(abs(leader - follower) < 500_000, "\((follower - leader) / 1e6) ms")
    }
  }

  @Test("a card that joins while the house plays enters in step, with the frames of that moment")
  func late() throws {
    let pair = try CardPair(sampleRate: 48_000, drift: (0, 100e-6))
    var (clicks, late): ([Double], [Double]) = ([], [])
    pair.leader.onWrite = { [unowned pair] samples, frame in
      for index in stride(from: 0, to: samples.count, by: 2) where samples[index] > 0.8 {
        clicks.append(pair.leader.moment(of: frame + index / 2))
      }
    }
    pair.follower.onWrite = { [unowned pair] samples, frame in
      for index in stride(from: 0, to: samples.count, by: 2) where samples[index] > 0.5 {
        late.append(pair.follower.moment(of: frame + index / 2))
      }
    }
    let source = second(48_000, hertz: 440)
    try source.withUnsafeBufferPointer { source in
      for frame in stride(from: 0, to: 4 * 48_000, by: 960) {
        let start = frame % 48_000 * 2
        let block = UnsafeBufferPointer(rebasing: source[start..<start + 1_920])
        try pair.first.write(block, at: frame)
        // In the second half of the second second.
        if frame >= 72_000 { try pair.second.write(block, at: frame) }
      }
    }
    #expect(clicks.count == 4)
    try #require(late.count == 2)
    for (leader, follower) in zip(clicks.suffix(2), late) {
      #expect(abs(leader - follower) < 500_000, "\((follower - leader) / 1e6) ms")
    }
  }

  @Test("a first card that was lost enters in step when it is back, and the others play on without a jump")
  func leaderReturns() throws {
    let pair = try CardPair(sampleRate: 48_000, drift: (100e-6, -50e-6))
    let back = SimulatedCard(format: pair.format, drift: 100e-6, capacity: 4_800, time: pair.time)
    let none = [0, 0]
    let third = try SteppedCard(back, role: .leads, clock: pair.clock, delays: none, time: pair.time)
    var (leader, follower): ([Double], [Double]) = ([], [])
    pair.follower.onWrite = { [unowned pair] samples, frame in
      for index in stride(from: 0, to: samples.count, by: 2) where samples[index] > 0.5 {
        follower.append(pair.follower.moment(of: frame + index / 2))
      }
    }
    back.onWrite = { [unowned back] samples, frame in
      for index in stride(from: 0, to: samples.count, by: 2) where samples[index] > 0.8 {
        leader.append(back.moment(of: frame + index / 2))
      }
    }
    let source = second(48_000, hertz: 440)
    try source.withUnsafeBufferPointer { source in
      func block(_ frame: Int) -> UnsafeBufferPointer<Float> {
        let start = frame % 48_000 * 2
        return UnsafeBufferPointer(rebasing: source[start..<start + 1_920])
      }
      try pair.play(0..<96_000, block)
      // The audio thread stands in for the lost card's clock.
      let start = pair.time.now
      let last = try #require(pair.clock.reading(at: start))
      let lead = 96_000 - last.frame(at: start, rate: 48_000)
      for frame in stride(from: 96_000, to: 192_000, by: 960) {
        pair.time.advance(to: start + Int64(frame - 96_000) * 1_000_000_000 / 48_000)
        pair.clock.publish(ClockReading(time: pair.time.now, frame: Double(frame) - lead))
        try pair.second.write(block(frame), at: frame)
      }
      for frame in stride(from: 192_000, to: 336_000, by: 960) {
        try third.write(block(frame), at: frame)
        try pair.second.write(block(frame), at: frame)
      }
    }
    try #require(follower.count == 7 && (2...3).contains(leader.count), "\(leader) \(follower)")
    for (click, other) in zip(leader.reversed(), follower.reversed()) {
      #expect(abs(click - other) < 1e6, "\((other - click) / 1e6) ms")
    }
    for (click, next) in zip(follower, follower.dropFirst()) {
      #expect(abs(next - click - 1e9) < 1e6, "\((next - click) / 1e6) ms")
    }
    #expect(pair.follower.underruns + back.underruns == 0)
  }

  @Test("a channel's delay is exact, and its rest is heard before a pause")
  func delays() throws {
    let format = AudioFormat(sampleRate: 48_000, channels: 3)
    let card = SimulatedCard(format: format, drift: 0, capacity: 100_000, time: VirtualTime())
    var written: [Float] = []
    card.onWrite = { samples, _ in written += Array(samples) }
    let stage = try SteppedCard(
      card, role: .leads, clock: nil, delays: [0, 576, 24_000], time: VirtualTime())
    let noise = Signal.noise(seed: 2, frames: 3 * 4_800)
    try noise.withUnsafeBufferPointer { try stage.write($0) }
    try stage.rest()
    #expect(written.count == 3 * (4_800 + 24_000))
    for (channel, delay) in [0, 576, 24_000].enumerated() {
      let sound = stride(from: channel, to: noise.count, by: 3).map { noise[$0] }
      let heard = stride(from: channel, to: written.count, by: 3).map { written[$0] }
      #expect(Array(heard[delay..<delay + 4_800]) == sound)
      #expect(heard[..<delay].allSatisfy { $0 == 0 })
    }
  }
}
