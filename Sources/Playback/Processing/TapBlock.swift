public import AudioCore
internal import EventLoop

/// A piece of a stream's sound on its way to the loop and back.
///
/// Unchecked: between `offer` and its end (`giveBack` on the loop, `abandon` on the thread that decodes) the
/// loop alone touches `view`, before and after that thread alone; `phase` has a lock.
public final class TapBlock: @unchecked Sendable {
  private enum Phase {
    case here, offered
    case back(isChanged: Bool)
    case abandoned
  }

  /// The outcome of an offered block.
  enum Fate { case out, changed, unchanged }

  /// The rate and the channels.
  public let format: AudioFormat
  /// The number of frames in the block.
  public internal(set) var frames = 0
  /// The sound, which the tap may change.
  public var view: PCMView { made.view.prefix(frames) }

  /// The input, kept for a block that does not return in time.
  var original: PCMView { came.view.prefix(frames) }
  /// The duration of the block.
  var duration: Duration { .seconds(Double(frames) / Double(max(1, format.sampleRate))) }
  let came: PCMBlock
  private let made: PCMBlock
  private let phase = Lock(Phase.here)
  private let onBack: @Sendable () -> Void

  /// Creates an empty block.
  /// - Parameters:
  ///   - frames: the number of frames that fit in it.
  ///   - onBack: called on the loop when the block returns.
  init(format: AudioFormat, frames: Int, onBack: @escaping @Sendable () -> Void) {
    self.format = format
    self.onBack = onBack
    came = PCMBlock(format: format, frames: frames)
    made = PCMBlock(format: format, frames: frames)
  }

  // MARK: The thread that decodes

  /// Hands the block to the loop.
  func offer() {
    view.copy(from: original)
    phase.withLock { $0 = .offered }
  }

  /// Makes the block empty for reuse.
  /// - Returns: `false` if the loop may still have it.
  func reset() -> Bool {
    let isOurs = phase.withLock { phase in
      switch phase {
      case .offered, .abandoned: return false
      case .here, .back:
        phase = .here
        return true
      }
    }
    if isOurs { frames = 0 }
    return isOurs
  }

  /// The outcome so far.
  var fate: Fate {
    phase.withLock { phase in
      switch phase {
      case .offered: .out
      case .back(let isChanged): isChanged ? .changed : .unchanged
      case .here, .abandoned: .unchanged
      }
    }
  }

  /// Stops waiting for the block.
  /// - Returns: `true` if the loop still has it, which then owns its memory.
  func abandon() -> Bool {
    phase.withLock { phase in
      guard case .offered = phase else { return false }
      phase = .abandoned
      return true
    }
  }

  // MARK: The loop

  /// `true` if the decoder still waits for the block.
  public var isWanted: Bool {
    phase.withLock { if case .offered = $0 { true } else { false } }
  }

  /// Returns the block to the decoder: as `view` is now, or unchanged. Does nothing the second time, or too
  /// late.
  public func finish(changed: Bool) {
    let isWanted = phase.withLock { phase in
      guard case .offered = phase else { return false }
      phase = .back(isChanged: changed)
      return true
    }
    if isWanted { onBack() }
  }
}
