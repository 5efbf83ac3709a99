internal import EventLoop
internal import SpeakerKit

/// A move of the volume of a speaker: a fade from its beginning to its end, or levels that commands set. Two are equal
/// if they had the same levels at the same moments.
struct VolumeMove: Equatable {
  private enum Form: Equatable {
    case fade(LevelFade)
    /// A number of commands.
    case sets(Int)
  }

  static func == (one: VolumeMove, other: VolumeMove) -> Bool {
    // Steps of one speaker may be over while the same steps of another speaker still continue.
    one.from == other.from && one.to == other.to && one.form == other.form && one.start == other.start
      && one.last == other.last && (!one.isFade || one.ended == other.ended)
  }

  /// The largest step that another one may continue.
  private static let smallStep = 2
  /// The time within which small steps continue each other.
  private static let pause = Duration.seconds(300)

  /// The volume before.
  let from: Int
  /// The volume reached.
  private(set) var to: Int
  /// The moment at which it was over; nil before.
  private(set) var ended: Instant?
  private let start: Instant
  private var last: Instant
  private var form: Form

  /// A move by a command that sets a volume: over at once, unless it is a small step.
  init(from: Int, to: Int, at start: Instant) {
    (self.from, self.to, self.start, last, form) = (from, to, start, start, .sets(1))
    if abs(to - from) > Self.smallStep { ended = start }
  }

  /// A move by a fade that begins.
  init(from: Int, _ fade: LevelFade, at start: Instant) {
    (self.from, to, self.start, last, form) = (from, from, start, start, .fade(fade))
  }

  /// `true` if it is over.
  var isOver: Bool { ended != nil }
  /// `true` if it is a fade.
  var isFade: Bool { if case .fade = form { true } else { false } }
  /// The number of commands that have made it: 1 for a fade.
  var steps: Int { if case .sets(let count) = form { count } else { 1 } }

  /// `true` if no step can continue it any more.
  func isAtRest(at now: Instant) -> Bool { !isFade && last.duration(to: now) > Self.pause }

  /// Adds a volume that a command sets, if that continues small steps in their direction.
  mutating func add(_ volume: Int, at now: Instant) -> Bool {
    guard case .sets(let count) = form, !isAtRest(at: now), abs(volume - to) <= Self.smallStep,
      (volume - to).signum() == (to - from).signum()
    else { return false }
    (to, last, form) = (volume, now, .sets(count + 1))
    return true
  }

  /// Adds a step of the fade, which is over when it has reached its level.
  mutating func step(to volume: Int, at now: Instant) {
    (to, last) = (volume, now)
    if case .fade(let fade) = form, volume == fade.to { ended = now }
  }

  /// Ends it where it is.
  mutating func end(at now: Instant) { ended = ended ?? now }

  /// The length: of a fade as it was requested, or up to its early end; of steps from the first command to
  /// the last.
  var duration: Duration {
    switch form {
    case .fade(let fade): to == fade.to ? fade.over : start.duration(to: ended ?? last)
    case .sets: start.duration(to: last)
    }
  }
}
