internal import Codecs
internal import EventLoop
internal import StreamCore

/// Distinguishes a file that is sent without a length from a station: its body ends in order, and begins the
/// same the next time.
///
/// A station's next listener begins elsewhere, unless it connects at the same moment: a body counts once a
/// second has passed since it was first seen, or if it is longer than any burst that is stitched.
struct RepeatedBody: Sendable {
  private static let longest = 256
  private static let enough = 16
  /// Frames of silence are all equal, and prove nothing.
  private static let enoughDifferent = 4

  /// `true` once a body has been repeated.
  private(set) var isFile = false
  /// `true` if no header of the answer is that of a station.
  private(set) var mayBeFile = false
  /// The hashes of the first frames of the known body, and the time when it was first seen.
  private var known: [UInt64] = []
  private var different: Set<UInt64> = []
  private var firstSeen = Instant.start
  private var bytes = 0
  /// The moment at which the connection began.
  private var begin = Instant.start
  private var endedInOrder = false
  /// `true` if a body equal to the known one proves a file.
  private var isProof = false
  /// The number of equal frames in this body; nil if it is the known one.
  private var same: Int?

  /// A body follows.
  mutating func connect(mayBeFile: Bool, at now: Instant) {
    let hasLasted = firstSeen.duration(to: now) >= .seconds(1) || bytes > Stitcher.searchBytes
    isProof = endedInOrder && hasLasted
    (self.mayBeFile, begin, endedInOrder) = (mayBeFile, now, false)
    same = mayBeFile && !known.isEmpty ? 0 : nil
    if same == nil { know([]) }
  }

  private mutating func know(_ hashes: [UInt64]) {
    (known, different, bytes, firstSeen, same) = (hashes, Set(hashes), 0, begin, nil)
  }

  /// - Returns: `isFile`.
  mutating func add(_ frame: StreamFrame) -> Bool {
    guard mayBeFile, frame.codec.hasFrames, !isFile else { return isFile }
    bytes += frame.length
    if let count = same, count < known.count {
      guard known[count] == frame.hash else {
        know(known.prefix(count) + [frame.hash])
        return false
      }
      same = count + 1
      isFile = isProof && count + 1 >= Self.enough && different.count >= Self.enoughDifferent
      return isFile
    }
    if known.count < Self.longest {
      known.append(frame.hash)
      different.insert(frame.hash)
      same = same.map { $0 + 1 }
    }
    return false
  }

  /// The body has ended.
  /// - Parameter isComplete: `true` if it ended in order.
  /// - Returns: `true` if it was equal to the previous body, to the end.
  mutating func ended(isComplete: Bool) -> Bool {
    endedInOrder = isComplete && mayBeFile && !known.isEmpty
    if endedInOrder, isProof, same == known.count, different.count >= Self.enoughDifferent { isFile = true }
    return isFile
  }
}
