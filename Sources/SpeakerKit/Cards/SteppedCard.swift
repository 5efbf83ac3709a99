internal import AudioCore
internal import Codecs
internal import EventLoop

/// The stage before a sound card of a house with several cards: delays channels, and leads or follows the
/// clock of the house. For the one thread that writes to the card.
///
/// The leader plays its sound untouched and publishes its progress. A follower enters in step, is measured after
/// each block, and is resampled by some parts per million. A leader that returns to a house that plays enters as
/// a follower does.
final class SteppedCard: CardSink {
  /// The role of a card in the clock of the house.
  enum Role: Equatable { case leads, follows }

  let format: AudioFormat
  private let card: any CardSink
  private let name: String
  private let role: Role
  private let clock: HouseClock?
  private let time: any CardTime
  private var follower: ClockFollower
  private let delays: ChannelDelays
  private let resampler: VariableResampler
  private let resampled: PCMBlock
  private let silence: PCMBlock
  private var ratio = 1.0
  /// The index of the resampler's first frame.
  private var firstFrame = 0
  /// The index of the frame after the last one written.
  private var nextFrame = 0
  /// `true` if the card reports how much it has not played; `false` for one that plays at once, which neither leads
  /// nor follows; nil before its first sound.
  private var hasClock: Bool?
  /// The time in ns since which all frames were dropped, as their moments had passed; nil while none is
  /// dropped.
  private var lateSince: Int64?

  /// The time in ns of dropping frames after which the card can't be brought in step.
  private static let longestLateness: Int64 = 3_000_000_000
  /// The length in seconds of the silence before the leader's sound, in which the others enter.
  private static let leadIn = 0.1
  /// The length in seconds of the silence that keeps a card running while it waits to enter.
  private static let idleLength = 0.04
  /// The time in ns between attempts to enter.
  private static let entryInterval: Int64 = 5_000_000
  /// The time in ns within which a delay is read without an interruption.
  private static let exactReading: Int64 = 100_000
  /// The number of frames of silence after which the resampler has written all of its input.
  private static let resamplerTail = 512

  /// Creates the stage of an open card.
  /// - Parameters:
  ///   - name: ALSA's name of the card, for errors.
  ///   - clock: the clock of the house; nil for its only card, whose channels are delayed and no more.
  ///   - delays: frames by which each channel is late.
  ///   - time: the time by which the card is measured.
  /// - Throws: `audio.unsupported` when soxr refuses.
  init(
    _ card: any CardSink, name: String = "", role: Role, clock: HouseClock?, delays: [Int],
    time: any CardTime = MonotonicTime()
  ) throws {
    self.card = card
    self.name = name
    self.role = role
    self.clock = clock
    self.time = time
    format = card.format
    follower = ClockFollower(sampleRate: format.sampleRate)
    self.delays = ChannelDelays(frames: delays, format: card.format)
    if clock == nil { follower.release() }
    resampler = try VariableResampler(channels: format.channels)
    // Two blocks hold one resampled block: the ratio is 0.99 or more, and soxr queues some frames.
    resampled = PCMBlock(format: format, frames: 2 * format.framesPerBlock)
    silence = PCMBlock(format: format)
  }

  var delay: Int { card.delay }
  var held: Int { card.held }
  /// The learned drift of the house's clock against the card's, as a part of 1.
  var drift: Double { follower.drift }

  /// Writes frames that follow the last ones.
  func write(_ samples: UnsafeBufferPointer<Float>) throws { try write(samples, at: nextFrame) }

  /// Writes frames, of which the first has this index in the sound of the house.
  func write(_ samples: UnsafeBufferPointer<Float>, at frame: Int) throws {
    let blockSamples = format.framesPerBlock * format.channels
    var (rest, position) = (samples, frame)
    while !rest.isEmpty {
      let block = UnsafeBufferPointer(rebasing: rest.prefix(blockSamples))
      try play(delays.process(block), at: position)
      position += block.count / format.channels
      rest = UnsafeBufferPointer(rebasing: rest.dropFirst(blockSamples))
    }
    nextFrame = position
  }

  var hasStalled: Bool { card.hasStalled }
  func check() throws { try card.check() }

  /// Falls out of step: the next frame enters anew.
  func rejoin() {
    lateSince = nil
    if clock != nil, hasClock != false { follower.rest() }
  }

  func start() throws { try card.start() }

  func rest() throws {
    try writeTail()
    if role == .leads { clock?.stop() }
    rejoin()
    try card.rest()
  }

  func finish() throws {
    try writeTail()
    if role == .leads { clock?.stop() }
    try card.finish()
  }

  // MARK: Playing

  private func play(_ samples: UnsafeBufferPointer<Float>, at frame: Int) throws {
    var (rest, frame) = (samples, frame)
    if case .joining = follower.phase { try enter(&rest, &frame) }
    guard !rest.isEmpty else { return }
    switch (role, follower.phase) {
    case (_, .joining): break
    case (.leads, _):
      try card.write(rest)
      let (delay, now) = progress()
      let heard = Double(frame + rest.count / format.channels - delay)
      if hasClock == true { clock?.publish(ClockReading(time: now, frame: heard)) }
    case (.follows, .free): try card.write(rest)
    case (.follows, .following):
      try resample(rest)
      measure()
    }
  }

  private func resample(_ samples: UnsafeBufferPointer<Float>) throws {
    var rest = samples
    while !rest.isEmpty {
      let (consumed, produced) = try resampler.process(rest, ratio: ratio, into: resampled.view.buffer)
      if produced > 0 { try card.write(UnsafeBufferPointer(resampled.view.prefix(produced).buffer)) }
      guard consumed + produced > 0 else { return }
      rest = UnsafeBufferPointer(rebasing: rest.dropFirst(consumed * format.channels))
    }
  }

  private func measure() {
    let (delay, now) = progress()
    let heard = Double(firstFrame) + resampler.position - Double(delay) * ratio
    let reading = ClockReading(time: now, frame: heard)
    if case .resample(let next) = follower.follow(reading, house: clock?.reading(at: now)) { ratio = next }
  }

  /// Returns the card's delay and the time at which it was read, from the attempt that was interrupted least.
  private func progress() -> (delay: Int, time: Int64) {
    var best = (delay: 0, time: Int64(0), length: Int64.max)
    for _ in 0..<4 where best.length > Self.exactReading {
      let before = time.now
      let delay = card.delay
      let after = time.now
      if after - before < best.length { best = (delay, before, after - before) }
    }
    return (best.delay, best.time)
  }

  // MARK: Entering

  /// Waits for the moment of the first frame; drops frames whose moment has passed.
  private func enter(_ samples: inout UnsafeBufferPointer<Float>, _ frame: inout Int) throws {
    try keepRunning()
    guard hasClock == true else { return follower.release() }
    if role == .leads, clock?.reading(at: time.now) == nil {
      try writeSilence(frames: Int((Self.leadIn - Self.idleLength) * Double(format.sampleRate)))
      return follower.release()
    }
    var before = time.now
    entry: while !samples.isEmpty {
      try keepRunning()
      let (delay, now) = progress()
      let house = clock?.reading(at: now)
      switch follower.enter(frame, delay: delay, now: now, house: house, elapsed: now - before) {
      case .wait: time.sleep(nanoseconds: Self.entryInterval)
      case .silence(let frames):
        try writeSilence(frames: frames)
        break entry
      case .skip(let frames):
        let dropped = min(frames, samples.count / format.channels)
        samples = UnsafeBufferPointer(rebasing: samples.dropFirst(dropped * format.channels))
        frame += dropped
        let since = lateSince ?? now
        lateSince = since
        if samples.isEmpty, now - since > Self.longestLateness { throw tooLate(by: frames, delay) }
      case .play: break entry
      }
      before = now
    }
    guard !samples.isEmpty else { return }
    lateSince = nil
    firstFrame = frame
    ratio = 1 + follower.drift
    try resampler.reset()
  }

  /// Returns the refusal of a card whose sound is heard too late.
  private func tooLate(by frames: Int, _ delay: Int) -> AudioError {
    let own = delay * 1_000 / format.sampleRate
    let limit = max(0, delay - frames) * 1_000 / format.sampleRate
    return AudioError(
      .unsupported,
      "the sound card \"\(name)\" can't be in step: it plays sound \(own) ms after it has received it, "
        + "and the house's first card allows \(limit) ms",
      hint:
        "name a speaker of \"\(name)\" first in `speakers` of config.lua: the others wait for the first card",
      facts: [.init("delay", .int(own)), .init("limit", .int(limit))])
  }

  private func keepRunning() throws {
    let missing = Int(Self.idleLength * Double(format.sampleRate)) - card.held
    guard missing > 0 else { return }
    try writeSilence(frames: missing)
    // A card that has not started holds all frames that it received, however late this thread asks.
    let held = card.delay
    try card.start()
    if hasClock == nil { hasClock = held > 0 || card.delay > 0 }
  }

  private func writeSilence(frames: Int) throws {
    var missing = frames
    while missing > 0 {
      let part = silence.view.prefix(missing)
      try card.write(UnsafeBufferPointer(part.buffer))
      missing -= part.frames
    }
  }

  /// Writes the frames that the delays and the resampler hold back.
  private func writeTail() throws {
    if case .joining = follower.phase { return }
    var missing = delays.longest
    if case .following = follower.phase, role == .follows { missing += Self.resamplerTail }
    while missing > 0 {
      let part = silence.view.prefix(missing)
      try write(UnsafeBufferPointer(part.buffer))
      missing -= part.frames
      // A card that fell out of step here has nothing left to play.
      if case .joining = follower.phase { return }
    }
  }
}

/// The delays of the channels of a card, in whole frames. For the thread that writes to the card.
private final class ChannelDelays {
  /// The longest delay in frames.
  let longest: Int
  private let frames: [Int]
  /// Held samples of each channel, oldest at `positions`.
  private var held: [[Float]]
  private var positions: [Int]
  private let output: PCMBlock

  init(frames: [Int], format: AudioFormat) {
    self.frames = frames
    longest = frames.max() ?? 0
    held = frames.map { Array(repeating: 0, count: $0) }
    positions = frames.map { _ in 0 }
    output = PCMBlock(format: format)
  }

  /// Returns the delayed samples of at most one block; valid until the next call.
  func process(_ samples: UnsafeBufferPointer<Float>) -> UnsafeBufferPointer<Float> {
    guard longest > 0 else { return samples }
    let delayed = output.view.samples
    for index in samples.indices { delayed[index] = samples[index] }
    for channel in frames.indices where frames[channel] > 0 {
      for index in stride(from: channel, to: samples.count, by: frames.count) {
        let position = positions[channel]
        (delayed[index], held[channel][position]) = (held[channel][position], delayed[index])
        positions[channel] = position + 1 == frames[channel] ? 0 : position + 1
      }
    }
    return UnsafeBufferPointer(start: delayed, count: samples.count)
  }
}
