public import AudioCore
internal import EventLoop

/// What is told of a tap.
public enum TapEvent {
  /// It gets sound of this format from now on; `gets` of another format comes behind an `ended`.
  case gets(AudioFormat)
  /// It gets no more of this format.
  case ended(AudioFormat)
  /// So much sound went on its way as it came, as blocks were not back in time.
  case overran(Duration)
}

/// Something between a stream's decoder and whoever plays it. Confined to the loop.
public final class StreamTap {
  /// What it does.
  public enum Kind {
    /// This.
    case effect(SoundEffect)
    /// What it is given blocks for, on the loop; each is given back there.
    case blocks((TapBlock) -> Void)
  }

  /// Tells it from the others of its stream, in the order in which they were added.
  public let number: Int
  /// What the sound that it gets is; nil while it gets none.
  public private(set) var format: AudioFormat?
  /// Times that blocks were not back in time.
  public private(set) var overruns = 0
  /// Whether it was not removed.
  public private(set) var isActive = true
  /// Told of everything, on the loop.
  public var onEvent: (TapEvent) -> Void = { _ in }
  /// Whether its stream plays: what decoded it before may have something to say yet.
  var isOpen = false

  private var kind: Kind
  private let loop: EventLoop
  private let onRemove: (StreamTap) -> Void
  /// What was missed and not told.
  private var missed = Duration.zero
  private var timer: LoopTimer?

  init(_ number: Int, _ kind: Kind, loop: EventLoop, onRemove: @escaping (StreamTap) -> Void) {
    self.number = number
    self.kind = kind
    self.loop = loop
    self.onRemove = onRemove
  }

  /// The sound goes on without it. Nothing the second time.
  public func remove() {
    guard isActive else { return }
    isActive = false
    timer?.cancel()
    onRemove(self)
    end()
    // What it was given is let go, though who has the tap keeps it.
    if case .blocks = kind { kind = .blocks { $0.giveBack(changed: false) } }
  }

  /// What the threads that decode know of it.
  var entry: SoundChain.Tap {
    let kind: SoundChain.Tap.Kind =
      switch self.kind {
      case .effect(let effect): .effect(effect)
      case .blocks: .blocks
      }
    return SoundChain.Tap(number: number, kind: kind, object: LoopReference(self))
  }

  func take(_ block: TapBlock) {
    guard isActive, block.isWanted, case .blocks(let body) = kind else {
      return block.giveBack(changed: false)
    }
    body(block)
  }

  func gets(_ new: AudioFormat) {
    guard isActive, isOpen, format != new else { return }
    end()
    format = new
    onEvent(.gets(new))
  }

  /// It gets nothing more, for now or for ever.
  func end() {
    guard let format else { return }
    self.format = nil
    onEvent(.ended(format))
  }

  /// Told at once, then once a second at most.
  func overran(_ time: Duration) {
    guard isActive, isOpen else { return }
    overruns += 1
    missed += time
    if timer?.isPending != true { tellOverrun() }
  }

  private func tellOverrun() {
    guard missed > .zero else { return }
    let time = missed
    missed = .zero
    onEvent(.overran(time))
    timer = loop.after(.seconds(1), keepsAlive: false) { [weak self] in self?.tellOverrun() }
  }
}
