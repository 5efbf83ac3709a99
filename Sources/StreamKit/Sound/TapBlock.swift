public import AudioCore
internal import EventLoop

/// A piece of a stream's sound on its way to the loop and back.
///
/// Unchecked: between `offer` and what ends that (`giveBack` on the loop, `abandon` on the thread that decodes) the loop
/// alone touches `view`, before and after that thread alone; `phase` has a lock.
public final class TapBlock: @unchecked Sendable {
  private enum Phase {
    case here, offered
    case back(isChanged: Bool)
    case abandoned
  }

  /// What became of an offered block.
  enum Fate { case out, changed, unchanged }

  /// Rate and channels.
  public let format: AudioFormat
  /// Frames that it holds.
  public internal(set) var frames = 0
  /// What the tap may change.
  public var view: PCMView { made.view.prefix(frames) }

  /// What came, which is kept for the case that nothing comes back in time.
  var original: PCMView { came.view.prefix(frames) }
  /// Seconds that it lasts.
  var duration: Duration { .seconds(Double(frames) / Double(max(1, format.sampleRate))) }
  let came: PCMBlock
  private let made: PCMBlock
  private let phase = Lock(Phase.here)
  private let onBack: @Sendable () -> Void

  /// - Parameters:
  ///   - frames: that it has room for.
  ///   - onBack: called on the loop when it is given back.
  init(format: AudioFormat, frames: Int, onBack: @escaping @Sendable () -> Void) {
    self.format = format
    self.onBack = onBack
    came = PCMBlock(format: format, frames: frames)
    made = PCMBlock(format: format, frames: frames)
  }

  // MARK: The thread that decodes

  /// It is the loop's from now on.
  func offer() {
    view.copy(from: original)
    phase.withLock { $0 = .offered }
  }

  /// Makes it as new.
  /// - Returns: false when the loop may still have it.
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

  /// What has become of it.
  var fate: Fate {
    phase.withLock { phase in
      switch phase {
      case .offered: .out
      case .back(let isChanged): isChanged ? .changed : .unchanged
      case .here, .abandoned: .unchanged
      }
    }
  }

  /// It is waited for no longer.
  /// - Returns: whether the loop still has it; its memory is the loop's then.
  func abandon() -> Bool {
    phase.withLock { phase in
      guard case .offered = phase else { return false }
      phase = .abandoned
      return true
    }
  }

  // MARK: The loop

  /// Whether it is still waited for.
  public var isWanted: Bool {
    phase.withLock { if case .offered = $0 { true } else { false } }
  }

  /// It goes on its way: as `view` is now, or as it came. Nothing the second time, or too late.
  public func giveBack(changed: Bool) {
    let isWanted = phase.withLock { phase in
      guard case .offered = phase else { return false }
      phase = .back(isChanged: changed)
      return true
    }
    if isWanted { onBack() }
  }
}
