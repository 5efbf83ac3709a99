internal import Codecs

/// The way in which the next frame joins the last one.
enum HLSJoin: Sendable, Equatable {
  /// The frames are consecutive.
  case continuous
  /// A connection was lost between them, or so many seconds are missing; zero for none.
  case rejoined(missing: Double)

  /// The next frame turned out to follow on the last one: nothing is missing.
  mutating func stitch() { if case .rejoined = self { self = .rejoined(missing: 0) } }

  /// Seconds are missing in front of the next frame.
  mutating func lose(_ seconds: Double) {
    switch self {
    case .continuous: self = .rejoined(missing: seconds)
    case .rejoined(let missing): self = .rejoined(missing: missing + seconds)
    }
  }
}

/// The connection of a stream of HLS, and the join of its next frame.
enum HLSConnection: Sendable {
  /// The next connection joins so.
  case closed(HLSJoin)
  /// A list has come, and no sound yet.
  case open(HLSJoin)
  /// Sound has come.
  case sounding(HLSJoin)

  var isOpen: Bool { if case .closed = self { false } else { true } }

  var join: HLSJoin {
    get {
      switch self {
      case .closed(let join), .open(let join), .sounding(let join): join
      }
    }
    set {
      switch self {
      case .closed: self = .closed(newValue)
      case .open: self = .open(newValue)
      case .sounding: self = .sounding(newValue)
      }
    }
  }
}

/// The segment under way, and the frames of it that were delivered.
///
/// A segment that fails is received again from its start, and the frames that were delivered are left out.
struct HLSProgress: Sendable {
  private(set) var piece: HLSPiece
  /// The sound in front of it, from which it can be read again.
  let start: HLSSound
  /// The sound that was delivered, in all attempts.
  private(set) var delivered: StreamTime
  /// The time of its first sound in ticks of 90 kHz; nil if it has stated none.
  var ticks: Int?
  /// True if bytes of the present attempt have come.
  private(set) var hasStarted = false
  /// True if the present attempt has found no frame of the segment, though the list states a length: the last one of the
  /// segment in front may have come of it.
  var isSilent: Bool { found <= 1 && piece.segment.duration >= Self.shortestSound }
  /// Seconds of a segment that holds several frames of any kind.
  private static let shortestSound = 0.5
  /// The frames that were delivered, in all attempts, and those that the present attempt has found.
  private var frames = 0
  private(set) var found = 0
  /// The sound that was delivered of another version, and is left out.
  private var skipped: StreamTime

  init(_ piece: HLSPiece, from start: HLSSound) {
    (self.piece, self.start) = (piece, start)
    delivered = StreamTime(seconds: piece.received)
    skipped = delivered
  }

  /// True if the frame that was found last is the first of the segment, and none of the segment in front.
  var isAtStart: Bool { found == 1 && !piece.isContinuous }

  /// Returns true if a piece is the same segment, which can be received again.
  func isSame(as other: HLSPiece) -> Bool {
    piece.version == other.version && piece.segment.isSame(as: other.segment)
  }

  /// The segment is received again.
  mutating func restart(as piece: HLSPiece) {
    (self.piece, found, hasStarted) = (piece, 0, false)
  }

  /// The first bytes of an attempt have come.
  mutating func begin() { hasStarted = true }

  /// True if the frame that is found next was not delivered before.
  var isNext: Bool { found >= frames }

  /// Counts a frame that was found.
  /// - Returns: true if it was not delivered before.
  mutating func find(_ frame: StreamFrame) -> Bool {
    found += 1
    guard found > frames else { return false }
    guard skipped >= frame.duration else { return true }
    skipped = skipped - frame.duration
    frames = found
    return false
  }

  /// The frame that was found last was delivered.
  mutating func deliver(_ frame: StreamFrame) {
    frames = found
    delivered = delivered + frame.duration
  }
}

/// A segment that is to be received.
struct HLSPiece: Sendable, Equatable {
  let segment: HLSSegment
  /// The address to which its references are relative.
  let base: StreamAddress
  /// The list of the version.
  let version: StreamAddress
  /// True if its sound follows from that of the segment that was received last.
  let isContinuous: Bool
  /// Seconds of it that were received before.
  let received: Double
  /// True if it may have come before under another number.
  var mayRepeat = false
}
