internal import StreamCore

/// The last delivered frames, by which repeated sound is left out: a list whose numbers have begun anew is
/// continued somewhere in the received sound.
///
/// ```swift
/// switch repetition.receive(frame, bytes, title) {
/// case .new(let held): deliver(held), deliver(frame)
/// case .held, .old: break
/// }
/// ```
/// Memory: 16 KiB of hashes; while it compares, another 16 KiB and 64 frames.
struct HLSRepetition: Sendable {
  /// The result of a comparison.
  enum Result: Sendable {
    /// The frame is new, and so are the held ones before it.
    case new([TitledFrame])
    /// The frame and others may have come before: it is held until more is known.
    case held
    /// The frame has come before.
    case old
    /// The frame is the last one that has come before: later ones are new, and nothing is missing.
    case last
  }

  /// The limit of held frames: more are a long silence, which proves nothing.
  private static let limit = 64

  private var history = FrameHistory()
  private var search: OverlapSearch?
  private var held: [TitledFrame] = []

  /// Begins to compare, with the first frame of a segment.
  mutating func begin() {
    history.straighten()
    (search, held) = (history.count > 0 ? OverlapSearch(history) : nil, [])
  }

  /// Compares anew if frames are held: the current segment is received again from its start.
  mutating func restart() { if !held.isEmpty { begin() } }

  /// Compares the next frame.
  mutating func receive(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, _ title: ICYMetadata?
  ) -> Result {
    guard var search else { return .new([]) }
    self.search = nil  // so that it is not copied
    if search.add(frame, history: history) != nil {
      held = []
      return .last
    }
    let isOld = search.isWithin
    guard isOld || !search.isApart && held.count < Self.limit else { return .new(drainHeld()) }
    self.search = search
    guard !isOld else {
      held = []
      return .old
    }
    held.append(TitledFrame(frame: frame, bytes: Array(bytes), title: title))
    return .held
  }

  /// Ends the comparison.
  mutating func drainHeld() -> [TitledFrame] {
    defer { held = [] }
    if !held.isEmpty { search = nil }
    return held
  }

  /// Adds a delivered frame.
  mutating func add(_ frame: StreamFrame) { history.append(frame) }
}
