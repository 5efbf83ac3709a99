/// Model of the frames heard from one session, by the contract: in blocks of 20 ms; a sounding session does
/// not stop or change at once, but fades out over one block, in which its frames continue.
struct DeckModel {
  /// A source with its start position.
  struct Source {
    /// Identifies the start among all so far.
    let cue: Int
    let first: Int
    /// Length in frames; nil without an end.
    let length: Int?
  }

  /// State after the fade out.
  enum Then { case stands, isEmpty, changes(to: Source, stands: Bool) }

  enum Motion { case empty, standing, flowing, falling(Then) }

  static let blockFrames = 960
  static let sampleRate = 48_000

  private(set) var motion = Motion.empty
  private var source: Source?
  private var frame = 0
  /// Block that was rendered last.
  private var block = (cue: -1, frame: 0, count: 0, at: Int64(0))

  var sounds: Bool {
    switch motion {
    case .flowing, .falling: true
    case .empty, .standing: false
    }
  }

  mutating func start(_ new: Source, standing: Bool) {
    if sounds { motion = .falling(.changes(to: new, stands: standing)) } else { put(new, standing) }
  }

  mutating func pause() {
    switch motion {
    case .flowing: motion = .falling(.stands)
    case .falling(.changes(let new, _)): motion = .falling(.changes(to: new, stands: true))
    default: break
    }
  }

  mutating func resume() {
    switch motion {
    case .standing, .falling(.stands): motion = .flowing
    case .falling(.changes(let new, _)): motion = .falling(.changes(to: new, stands: false))
    default: break
    }
  }

  mutating func stop() { motion = sounds ? .falling(.isEmpty) : .empty }

  /// Renders one block, heard from `instant` on.
  /// - Returns: frames of the source in it, and the cue that ends with it.
  mutating func render(at instant: Int64) -> (frames: Int, ended: Int?) {
    guard sounds, let source else { return (0, nil) }
    let left = source.length.map { max(0, $0 - frame) } ?? .max
    let count = min(Self.blockFrames, left)
    // A source that ends with its block is over as well: the next one begins without a fade.
    let isOver = count == left
    block = (source.cue, frame, count, instant)
    frame += count
    switch motion {
    case .falling(.changes(let new, let stands)): put(new, stands)
    case .falling(.isEmpty): motion = .empty
    case .falling(.stands): motion = isOver ? .empty : .standing
    default: if isOver { motion = .empty }
    }
    return (count, isOver ? source.cue : nil)
  }

  /// Returns the frame of `cue` heard at `instant`; nil before its first block.
  func heard(of cue: Int, at instant: Int64) -> Int? {
    guard block.cue == cue else { return nil }
    return block.frame + min(block.count, Int((instant - block.at) * Int64(Self.sampleRate) / 1_000_000_000))
  }

  private mutating func put(_ new: Source, _ stands: Bool) {
    source = new
    frame = new.first
    motion = stands ? .standing : .flowing
  }
}
