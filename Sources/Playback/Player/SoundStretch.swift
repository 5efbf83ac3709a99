internal import AudioCore
internal import Codecs
internal import Synchronization

/// The pace of a live player: set on the loop, applied where its sound is decoded.
final class PlayPace: Sendable {
  private let stretches = Atomic(false)

  /// `true` if the sound is to be stretched, so that more of it is kept.
  var isStretched: Bool {
    get { stretches.load(ordering: .relaxed) }
    set { stretches.store(newValue, ordering: .relaxed) }
  }
}

/// Stretches live sound by 0.5 % for as long as requested: a player then consumes less than it receives.
///
/// The first and the last frames pass unchanged. At a change between input and resampled frames both are at
/// the same sample, and one fades into the other. The ratio changes over 3 s. For one thread at a time.
final class SoundStretch {
  /// The number of input frames per output frame of stretched sound.
  static let ratio = 0.995
  /// The time in seconds in which the ratio is reached, and left.
  static let ramp = 3.0
  /// The number of frames with the same ratio: the pitch then moves in steps of less than 0.02 cent.
  private static let step = 256
  /// The number of frames that start the resampler, and that align it to a whole frame at the end.
  private static let lead = 1024
  /// The number of frames of a fade.
  private static let fade = 512
  /// The number of silent frames after the last, more than the resampler holds back.
  private static let tail = 4096

  private enum Phase {
    /// Input passes unchanged, up to frame `lead`, while the resampler begins.
    case beginning
    /// Input fades into resampled frames; that many frames are done.
    case fadingIn(Int)
    case stretching
    /// The ratio leads to a whole frame in that many frames.
    case aligning(Int, ratio: Double)
    /// Resampled frames fade into the input.
    case fadingOut(Int)
    /// The rest of the input passes unchanged.
    case ending
    case over
  }

  /// The format of the sound.
  let format: AudioFormat
  /// The number of input frames per output frame of the next returned sound.
  private(set) var ratio = 1.0

  private let resampler: VariableResampler
  private var phase = Phase.beginning
  /// The input from frame `base` on; returned frames are dropped now and then.
  private var input: [Float] = []
  private var base = 0
  /// The next input frame for the resampler.
  private var fed = 0
  /// The next input frame that passes unchanged.
  private var passed = 0
  /// The number of input frames; nil while more may come.
  private var end: Int?
  private let waste: PCMBlock

  /// Creates a stage whose input has not been stretched before.
  /// - Throws: `audio.unsupported` if libsoxr refuses, or is missing.
  init(_ format: AudioFormat) throws {
    self.format = format
    resampler = try VariableResampler(channels: format.channels)
    waste = PCMBlock(format: format, frames: Self.lead)
  }

  /// `true` if all input has been returned, and the sound may bypass this stage.
  var isOver: Bool { if case .over = phase { true } else { false } }

  /// The next returned input frame, counted from the first.
  var position: Double {
    switch phase {
    case .beginning, .ending, .over: Double(passed)
    case .fadingIn, .stretching, .aligning, .fadingOut: resampler.position
    }
  }

  /// Appends input.
  func append(_ view: PCMView) { input += UnsafeBufferPointer(view.buffer) }

  /// Notes that no input follows.
  func finish() {
    guard end == nil else { return }
    end = inputEnd
    switch phase {
    case .beginning: phase = .ending
    case .ending, .over: break
    case .fadingIn, .stretching, .aligning, .fadingOut:
      input += [Float](repeating: 0, count: Self.tail * format.channels)
    }
  }

  /// Writes the next frames.
  /// - Parameter isWanted: `true` if the sound is to be stretched.
  /// - Returns: their number; 0 if there is no room, input is missing, or all frames have been returned.
  func read(into buffer: UnsafeMutableBufferPointer<Float>, isWanted: Bool) throws -> Int {
    guard let samples = buffer.baseAddress, buffer.count >= format.channels else { return 0 }
    let view = PCMView(samples: samples, frames: buffer.count / format.channels, channels: format.channels)
    defer { dropReturned() }
    while true {
      if let end, position >= Double(end) - 0.001 { phase = .over }
      switch phase {
      case .over: return 0
      case .ending: return pass(view, until: inputEnd)
      case .beginning:
        if passed < Self.lead { return pass(view, until: min(Self.lead, inputEnd)) }
        guard try begin() else { return 0 }
        phase = .fadingIn(0)
      case .fadingIn(let done):
        let count = try fade(view, from: done) { Float($0) / Float(Self.fade) }
        phase = done + count < Self.fade ? .fadingIn(done + count) : .stretching
        return count
      case .stretching where isWanted || ratio < 1:
        let count = try resample(view, at: ratio)
        moveRatio(by: count, isWanted: isWanted)
        return count
      case .stretching:
        let whole = (resampler.position + Double(Self.lead)).rounded(.up)
        phase = .aligning(Self.lead, ratio: (whole - resampler.position) / Double(Self.lead))
      case .aligning(let left, let ratio):
        let count = try resample(view.prefix(left), at: ratio)
        phase = left > count ? .aligning(left - count, ratio: ratio) : .fadingOut(0)
        return count
      case .fadingOut(let done):
        let count = try fade(view, from: done) { 1 - Float($0) / Float(Self.fade) }
        phase = .fadingOut(done + count)
        if done + count == Self.fade {
          passed = Int(resampler.position.rounded())
          if end == nil { end = inputEnd }
          phase = .ending
        }
        return count
      }
    }
  }

  private var inputEnd: Int { base + input.count / format.channels }

  /// Returns input unchanged, up to a frame, and not beyond the end.
  private func pass(_ view: PCMView, until limit: Int) -> Int {
    let count = min(view.frames, min(limit, end ?? limit) - passed)
    guard count > 0 else { return 0 }
    copyInput(passed, to: view.prefix(count))
    passed += count
    return count
  }

  private func copyInput(_ first: Int, to view: PCMView) {
    let start = (first - base) * format.channels
    input.withUnsafeBufferPointer { input in
      for index in 0..<view.count { view.samples[index] = input[start + index] }
    }
  }

  /// Starts the resampler with frames that have passed, so that its next frame is the next that would pass.
  /// - Returns: `false` if it needs more input.
  private func begin() throws -> Bool {
    while true {
      let missing = Double(Self.lead) - resampler.position
      // A ratio slightly above 1 makes up for the delay of the resampler.
      let count = (missing / 1.001).rounded()
      guard count > 0 else { return true }
      let view = waste.view.prefix(min(Self.lead, Int(count)))
      if try feed(view, at: missing / count) == 0 { return false }
    }
  }

  /// Mixes resampled frames with the input at the same position.
  /// - Parameter share: returns the share of the resampled frame with a number below `fade`.
  private func fade(_ view: PCMView, from done: Int, _ share: (Int) -> Float) throws -> Int {
    let first = Int(resampler.position.rounded())
    let count = try resample(view.prefix(min(Self.fade - done, waste.view.frames)), at: 1)
    let plain = waste.view.prefix(count)
    copyInput(first, to: plain)
    for frame in 0..<count {
      let wet = share(done + frame)
      for index in (frame * view.channels)..<((frame + 1) * view.channels) {
        view.samples[index] = view.samples[index] * wet + plain.samples[index] * (1 - wet)
      }
    }
    return count
  }

  /// Resamples the next frames, at most those with the same ratio, and not beyond the end.
  private func resample(_ view: PCMView, at ratio: Double) throws -> Int {
    var most = Self.step
    if let end { most = min(most, Int(((Double(end) - resampler.position) / ratio).rounded(.up))) }
    guard most > 0 else { return 0 }
    return try feed(view.prefix(most), at: ratio)
  }

  private func feed(_ view: PCMView, at ratio: Double) throws -> Int {
    while true {
      let start = (fed - base) * format.channels
      let result = try input.withUnsafeBufferPointer {
        try resampler.process(
          UnsafeBufferPointer(rebasing: $0[start...]), ratio: ratio, into: view.buffer)
      }
      fed += result.consumed
      if result.produced > 0 || result.consumed == 0 { return result.produced }
    }
  }

  private func moveRatio(by frames: Int, isWanted: Bool) {
    let change = (1 - Self.ratio) * Double(frames) / (Self.ramp * Double(format.sampleRate))
    ratio = isWanted ? max(Self.ratio, ratio - change) : min(1, ratio + change)
  }

  private func dropReturned() {
    let unused = min(fed, Int(position.rounded(.down)))
    guard unused - base > 8192 else { return }
    input.removeFirst((unused - base) * format.channels)
    base = unused
  }
}
