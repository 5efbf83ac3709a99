internal import AudioCore
internal import EventLoop

/// A decoder's sound, changed by the taps and the gain of a stream. For one thread at a time.
///
/// The taps are a row of stages, each a decoder that reads the one before. After them come the gain, a
/// limiter if a stage can exceed full scale, and the meter.
final class ProcessedDecoder: LiveDecoder {
  private(set) var format: AudioFormat
  private(set) var isWaiting = false
  var frameCount: Int? { inner.frameCount }

  private let inner: any Decoder
  private let chain: SoundChain
  private let levels: LevelMap
  private let waker = Waker()
  private let round = ReadRound()
  private let deadline: BlockTapDecoder.Deadline?
  private var stages: [any TapDecoder] = []
  private var version: Int?
  /// The number of the last tap in the last applied setting.
  private var lastTap = 0
  private var gain: Float = 1
  private var output: SoundOutput?
  /// The seconds of delivered sound.
  private var delivered = 0.0

  /// Creates a decoder of the changed sound of `inner`.
  /// - Parameter deadline: the time limits for a script's taps; nil for no limits, under virtual time.
  init(_ inner: any Decoder, _ chain: SoundChain, _ levels: LevelMap, deadline: BlockTapDecoder.Deadline?) {
    self.inner = inner
    self.chain = chain
    self.levels = levels
    self.deadline = deadline
    format = inner.format
  }

  func onFrames(_ wake: @escaping @Sendable () -> Void) {
    waker.set(wake)
    (inner as? any LiveDecoder)?.onFrames(wake)
  }

  func seek(toFrame frame: Int) throws {
    adoptSetting()
    try last.seek(toFrame: frame)
    output = nil
  }

  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    adoptSetting()
    round.begin()
    let last = last
    let count = try last.read(into: buffer)
    isWaiting = last.isStillWaiting
    dropStages()
    guard count > 0, let samples = buffer.baseAddress else { return count }
    format = last.format
    let exceeds = stages.contains { $0.exceedsUnity }
    if output?.format != format { output = SoundOutput(format, gain: gain, levels, from: delivered) }
    output?.process(PCMView(samples: samples, frames: count, channels: format.channels), exceeds: exceeds)
    delivered += Double(count) / Double(format.sampleRate)
    return count
  }

  private var last: any Decoder { stages.last ?? inner }

  /// Applies a new setting. New taps are always at the end.
  private func adoptSetting() {
    guard let setting = chain.setting(after: version) else { return }
    let isFirst = version == nil
    version = setting.version
    gain = Decibels.gain(setting.gain)
    output?.setGain(gain)
    let taps = setting.taps.all
    let numbers = Set(taps.map(\.number))
    for stage in stages where !numbers.contains(stage.number) { stage.remove() }
    for tap in taps where tap.number > lastTap { stages.append(stage(tap, fadesIn: !isFirst)) }
    lastTap = setting.taps.lastNumber
    findFirst()
  }

  private func findFirst() {
    for case let stage as BlockTapDecoder in stages {
      stage.isFirst = true
      return
    }
  }

  private func stage(_ tap: SoundChain.Tap, fadesIn: Bool) -> any TapDecoder {
    let port = TapPort(tap.number, tap.object, loop: chain.loop, waker: waker)
    switch tap.kind {
    case .effect(let effect):
      return EffectTapDecoder(effect, number: tap.number, upstream: last, fadesIn: fadesIn) {
        port.report($0)
      }
    case .blocks: return BlockTapDecoder(port, upstream: last, round: round, deadline: deadline)
    }
  }

  private func dropStages() {
    guard stages.contains(where: { $0.isDone }) else { return }
    stages.removeAll { $0.isDone }
    var upstream = inner
    for stage in stages {
      stage.upstream = upstream
      upstream = stage
    }
    findFirst()
  }
}

/// The end of a stream's sound in one format: gain, limiter, meter.
private final class SoundOutput {
  let format: AudioFormat
  private var gain: GainRamp
  private var limiter: Limiter
  private var meter = Meter()
  private let levels: LevelMap
  /// The number of frames until the next reading.
  private var missing: Int
  private var delivered: Double

  init(_ format: AudioFormat, gain: Float, _ levels: LevelMap, from delivered: Double) {
    self.format = format
    self.gain = GainRamp(gain: gain, length: format.framesPerBlock)
    limiter = Limiter(format: format)
    self.levels = levels
    self.delivered = delivered
    missing = Self.frames(format)
  }

  func setGain(_ new: Float) { gain.move(to: new) }

  func process(_ view: PCMView, exceeds: Bool) {
    limiter.isActive = exceeds || gain.target > 1 || gain.current > 1
    gain.apply(to: view)
    limiter.process(view)
    var rest = view
    while rest.frames > 0 {
      let piece = rest.prefix(missing)
      meter.add(piece)
      missing -= piece.frames
      rest = rest.dropFirst(piece.frames)
      if missing == 0 {
        missing = Self.frames(format)
        delivered += Double(missing) / Double(format.sampleRate)
        levels.add(meter.read(), end: delivered)
      }
    }
  }

  private static func frames(_ format: AudioFormat) -> Int { max(1, format.sampleRate / 20) }
}
