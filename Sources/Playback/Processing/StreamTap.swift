public import AudioCore
internal import EventLoop

/// An event of a tap.
public enum TapEvent {
  /// Sound of this format follows; `begins` of another format follows an `ended`.
  case begins(AudioFormat)
  /// Sound of this format has ended.
  case ended(AudioFormat)
  /// Sound of this length was delivered unchanged, as blocks did not return in time.
  case overran(Duration)
}

/// A tap between a stream's decoder and its player. Confined to the loop.
public final class StreamTap {
  /// The function of a tap.
  public enum Kind {
    /// A built-in effect.
    case effect(SoundEffect)
    /// A function that receives blocks on the loop; each is to be returned there with `giveBack`.
    case blocks((TapBlock) -> Void)
  }

  /// The number of the tap in its stream, in the order in which they were added.
  public let number: Int
  /// The format of the current sound; nil without sound.
  public private(set) var format: AudioFormat?
  /// The number of times that blocks did not return in time.
  public private(set) var overruns = 0
  /// `true` until it is removed.
  public private(set) var isActive = true
  /// `true` while its stream plays; an earlier decoder may still send reports afterwards.
  var isOpen = false

  private var kind: Kind
  private var listeners = Listeners<(TapEvent) -> Void>()
  private let loop: EventLoop
  private let onRemove: (StreamTap) -> Void
  /// The length of the overruns not yet reported.
  private var missed = Duration.zero
  private var timer: LoopTimer?

  init(_ number: Int, _ kind: Kind, loop: EventLoop, onRemove: @escaping (StreamTap) -> Void) {
    self.number = number
    self.kind = kind
    self.loop = loop
    self.onRemove = onRemove
  }

  /// Calls `listener` with each event, on the loop.
  /// - Returns: a function that ends that.
  @discardableResult
  public func onEvent(_ listener: @escaping (TapEvent) -> Void) -> () -> Void {
    let number = listeners.add(listener)
    return { [weak self] in self?.listeners.remove(number) }
  }

  private func emit(_ event: TapEvent) { for listener in listeners.all { listener(event) } }

  /// Removes the tap: the sound continues without it. Does nothing the second time.
  public func remove() {
    guard isActive else { return }
    isActive = false
    timer?.cancel()
    onRemove(self)
    end()
    // The function is released, even if an owner keeps the tap.
    if case .blocks = kind { kind = .blocks { $0.finish(changed: false) } }
  }

  /// The description of the tap for the threads that decode.
  var entry: SoundChain.Tap {
    let kind: SoundChain.Tap.Kind =
      switch self.kind {
      case .effect(let effect): .effect(effect)
      case .blocks: .blocks
      }
    return SoundChain.Tap(number: number, kind: kind, object: LoopReference(self))
  }

  /// Returns `true` while the function may receive a block: after the end of the sound it receives no blocks.
  public func wants(_ block: TapBlock) -> Bool { isActive && format != nil && block.isWanted }

  func receive(_ block: TapBlock) {
    // A decoder that is created early reports its format before the sound begins.
    if format == nil, block.isWanted { begins(block.format) }
    guard wants(block), case .blocks(let body) = kind else {
      return block.finish(changed: false)
    }
    body(block)
  }

  func begins(_ new: AudioFormat) {
    guard isActive, isOpen, format != new else { return }
    end()
    format = new
    emit(.begins(new))
  }

  /// Ends the sound for the tap, for now or for ever.
  func end() {
    guard let format else { return }
    self.format = nil
    emit(.ended(format))
  }

  /// Adds an overrun; the first is reported at once, further ones once a second at most.
  func overran(_ time: Duration) {
    guard isActive, isOpen else { return }
    overruns += 1
    missed += time
    if timer?.isPending != true { reportOverrun() }
  }

  private func reportOverrun() {
    guard missed > .zero else { return }
    let time = missed
    missed = .zero
    emit(.overran(time))
    timer = loop.after(.seconds(1), keepsAlive: false) { [weak self] in self?.reportOverrun() }
  }
}
