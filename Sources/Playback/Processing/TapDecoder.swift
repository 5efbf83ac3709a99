internal import AudioCore

/// A tap between a decoder and its reader, itself a decoder of the changed sound. For one thread at a time.
protocol TapDecoder: LiveDecoder {
  /// The number of the tap.
  var number: Int { get }
  /// The decoder that it reads.
  var upstream: any Decoder { get set }
  /// `true` if the current output can be louder than the input.
  var exceedsUnity: Bool { get }
  /// Ends the change of the sound, without a click.
  func remove()
  /// `true` if it was removed and holds no more sound.
  var isDone: Bool { get }
}

/// One read of a row of stages, and the blocks in the row. It keeps the cost of a block per tap constant,
/// however many taps there are.
final class ReadRound {
  /// The limit of blocks in the row, so that the first of many taps is not minutes ahead of the heard sound:
  /// three for each of ten stages.
  private static let mostBlocks = 30

  /// The number of the read. A stage that found nothing upstream asks again only in the next read: if every
  /// block of another stage made it ask, hundreds of stages would all ask each other.
  private(set) var number = 0
  /// The number of blocks in the row.
  var blocks = 0
  /// `true` if a stage needs another block before it can deliver its own.
  var isNeeded = false

  /// `true` if the row may have another block.
  var hasRoom: Bool { isNeeded || blocks < Self.mostBlocks }

  func begin() {
    number += 1
    isNeeded = false
  }
}

extension TapDecoder {
  var frameCount: Int? { upstream.frameCount }
  /// Does nothing: frames are reported by the first decoder.
  func onFrames(_ wake: @escaping @Sendable () -> Void) {}
}

extension Decoder {
  /// `true` if the last read was empty because no sound had come.
  var isStillWaiting: Bool { (self as? any LiveDecoder)?.isWaiting ?? false }
}

/// The stage of an effect, which fades in and out over one block of 20 ms.
final class EffectTapDecoder: TapDecoder {
  let number: Int
  var upstream: any Decoder
  private(set) var format: AudioFormat
  private(set) var isWaiting = false

  private let effect: SoundEffect
  /// Called with each new format.
  private let onFormat: (AudioFormat) -> Void
  private var processor: (any SoundProcessor)?
  /// The share of the effect: 1 while only the effect is heard, 0 while only the input is heard.
  private var wet: GainRamp
  private let fadesIn: Bool
  private var isRemoved = false
  /// A copy of the input, while both are heard.
  private var dry: PCMBlock

  /// Creates a stage after `upstream`.
  /// - Parameter fadesIn: `true` if sound was delivered without the effect before.
  init(
    _ effect: SoundEffect, number: Int, upstream: any Decoder, fadesIn: Bool,
    onFormat: @escaping (AudioFormat) -> Void
  ) {
    self.effect = effect
    self.number = number
    self.upstream = upstream
    self.fadesIn = fadesIn
    self.onFormat = onFormat
    format = upstream.format
    wet = GainRamp(gain: fadesIn ? 0 : 1, length: 1)
    dry = PCMBlock(format: format, frames: 1)
  }

  var exceedsUnity: Bool { !wet.isSilent && effect.exceedsUnity }
  var isDone: Bool { isRemoved && wet.isSilent }

  func remove() {
    isRemoved = true
    if processor == nil { wet.jump(to: 0) } else { wet.move(to: 0) }
  }

  func seek(toFrame frame: Int) throws {
    try upstream.seek(toFrame: frame)
    processor = effect.processor(for: format)
  }

  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    let count = try upstream.read(into: buffer)
    isWaiting = upstream.isStillWaiting
    guard count > 0, let samples = buffer.baseAddress else { return count }
    if processor == nil || upstream.format != format { adopt(upstream.format) }
    process(PCMView(samples: samples, frames: count, channels: format.channels))
    return count
  }

  private func adopt(_ new: AudioFormat) {
    let isFirst = processor == nil
    format = new
    processor = effect.processor(for: new)
    wet = GainRamp(gain: isFirst && fadesIn ? 0 : isRemoved ? 0 : 1, length: new.framesPerBlock)
    if !isRemoved { wet.move(to: 1) }
    dry = PCMBlock(format: new)
    onFormat(new)
  }

  private func process(_ view: PCMView) {
    var rest = view
    while rest.frames > 0, wet.isMoving {
      let piece = rest.prefix(dry.view.frames)
      dry.view.copy(from: piece)
      processor?.process(piece)
      for frame in 0..<piece.frames {
        let share = wet.next()
        for index in (frame * piece.channels)..<((frame + 1) * piece.channels) {
          piece.samples[index] = dry.view.samples[index] * (1 - share) + piece.samples[index] * share
        }
      }
      rest = rest.dropFirst(piece.frames)
    }
    if rest.frames > 0, !wet.isSilent { processor?.process(rest) }
  }
}
