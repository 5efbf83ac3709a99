internal import Codecs
internal import StreamCore

/// The way in which the next frame joins the last one.
enum HLSJoin: Sendable, Equatable {
  /// The frames are consecutive.
  case continuous
  /// A connection was lost between them, or seconds are missing; zero if none are.
  case rejoined(missing: Double)

  /// Notes that the next frame follows the last one: nothing is missing.
  mutating func stitch() { if case .rejoined = self { self = .rejoined(missing: 0) } }

  /// Adds seconds that are missing before the next frame.
  mutating func lose(_ seconds: Double) {
    switch self {
    case .continuous: self = .rejoined(missing: seconds)
    case .rejoined(let missing): self = .rejoined(missing: missing + seconds)
    }
  }
}

/// The connection of an HLS stream, and the join of its next frame.
enum HLSConnection: Sendable {
  /// Closed; the next connection has this join.
  case closed(HLSJoin)
  /// A list has come, with the facts of the station, but no sound yet.
  case open(HLSJoin, StationInfo?)
  /// Sound has come.
  case sounding(HLSJoin)

  var isOpen: Bool { if case .closed = self { false } else { true } }

  var join: HLSJoin {
    get {
      switch self {
      case .closed(let join), .open(let join, _), .sounding(let join): join
      }
    }
    set {
      switch self {
      case .closed: self = .closed(newValue)
      case .open(_, let info): self = .open(newValue, info)
      case .sounding: self = .sounding(newValue)
      }
    }
  }
}

/// The current segment, and the delivered frames of it.
///
/// A segment that fails is received again from its start, and the delivered frames are left out.
struct HLSProgress: Sendable {
  private(set) var piece: HLSPiece
  /// The state of the sound before it, from which it can be read again.
  let start: HLSSound
  /// The length of the delivered sound, in all attempts.
  private(set) var delivered: StreamTime
  /// The time of its first sound in ticks of 90 kHz; nil if it has stated none.
  var ticks: Int?
  /// `true` if bytes of the present attempt have come.
  private(set) var hasStarted = false
  /// `true` if the present attempt has found no frame of the segment, though the list states a length: one
  /// frame may be the last of the segment before.
  var isSilent: Bool { found <= 1 && piece.segment.duration >= Self.shortestSound }
  /// The least length in seconds at which a segment of any kind holds several frames.
  private static let shortestSound = 0.5
  /// The number of delivered frames, in all attempts, and that of the frames found by the present attempt.
  private var frames = 0
  private(set) var found = 0
  /// The sound that was delivered from another version, and is left out.
  private var skipped: StreamTime

  init(_ piece: HLSPiece, from start: HLSSound) {
    (self.piece, self.start) = (piece, start)
    delivered = StreamTime(seconds: piece.received)
    skipped = delivered
  }

  /// `true` if the last frame found is the first of the segment, and not one of the segment before.
  var isAtStart: Bool { found == 1 && !piece.isContinuous }

  /// Returns `true` if a piece is the same segment, which can be received again.
  func isSame(as other: HLSPiece) -> Bool {
    piece.version == other.version && piece.segment.isSame(as: other.segment)
  }

  /// Starts the next attempt for the segment.
  mutating func restart(as piece: HLSPiece) {
    (self.piece, found, hasStarted) = (piece, 0, false)
  }

  /// Notes the first bytes of an attempt.
  mutating func begin() { hasStarted = true }

  /// `true` if the next frame found was not delivered before.
  var isNext: Bool { found >= frames }

  /// Counts a frame that was found.
  /// - Returns: `true` if it was not delivered before.
  mutating func find(_ frame: StreamFrame) -> Bool {
    found += 1
    guard found > frames else { return false }
    guard skipped >= frame.duration else { return true }
    skipped = skipped - frame.duration
    frames = found
    return false
  }

  /// Notes that the last frame found was delivered.
  mutating func deliver(_ frame: StreamFrame) {
    frames = found
    delivered = delivered + frame.duration
  }
}

/// A segment to receive.
struct HLSPiece: Sendable, Equatable {
  let segment: HLSSegment
  /// The address to which its references are relative.
  let base: StreamAddress
  /// The list of the version.
  let version: StreamAddress
  /// `true` if its sound follows that of the last received segment.
  let isContinuous: Bool
  /// The seconds of it that were received before.
  let received: Double
  /// `true` if it may have come before under another number.
  var mayRepeat = false
}
