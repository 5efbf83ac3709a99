internal import EventLoop
internal import StreamCore

/// The sound that the list of a live stream still has before the start of a buffer, and the order in which
/// its segments are requested. Knows no socket and no buffer.
///
/// The segments are requested from the one with the wanted time up to that with which the buffer begins,
/// beside those that the connection receives. If a segment can't be fetched, it and all segments before it
/// are not used: the sound before the buffer has no hole.
struct HLSWindow: Sendable {
  /// An action of the reception; actions are performed in the given order.
  enum Action: Sendable, Equatable {
    case fetch(HLSPiece)
    /// Drop the received sound.
    case discard
    /// All segments were received: up to the oldest frame of the buffer if the sound is aligned, else that
    /// frame is among the received ones. With the error of left out segments, if there are any.
    case deliver(isAligned: Bool, StreamError?)
  }

  /// The segment of a frame of the buffer.
  struct Mark: Sendable, Equatable {
    let number: Int
    /// The time of the frame.
    let time: StreamTime
    /// `true` if it is the first of the segment, and certainly not one of the segment before.
    let isStart: Bool
  }

  private enum Phase: Sendable {
    case idle
    case fetching(HLSPiece, of: Order, failures: Int, StreamError?)
  }

  /// The requested segments, of one copy of the list: a newer one may have dropped some of them meanwhile.
  private struct Order: Sendable {
    var first: Int
    let last: Int
    let list: Listed
    /// `true` if the buffer begins after the last segment.
    let isAligned: Bool
  }

  /// The limit of attempts for a segment.
  static let attemptLimit = 2
  /// The margin in seconds at a border of segments, as lengths in lists are rounded: a closer time needs one
  /// segment more.
  private static let margin = 0.05

  private var phase = Phase.idle
  /// The first of the received segments; nil once the buffer has them.
  private var delivered: Int?
  /// The marks of the buffer, the oldest first.
  private var marks: [Mark] = []
  private typealias Listed = (media: HLSMedia, base: StreamAddress, version: StreamAddress)
  /// The list that was read last.
  private var list: Listed?

  /// The number of the last marked segment; nil before the first.
  var lastMarked: Int? { marks.last?.number }

  /// Forgets the buffer: another one is played, or the numbers of segments have begun anew.
  mutating func reset() { (phase, delivered, marks) = (.idle, nil, []) }

  /// Marks the first frame of another segment in the buffer.
  mutating func mark(_ mark: Mark) { marks.append(mark) }

  /// Receives a newer list.
  mutating func follow(_ media: HLSMedia, at base: StreamAddress, of version: StreamAddress) {
    list = (media, base, version)
  }

  /// Returns the mark of the oldest frame, and drops the marks of sound that was evicted.
  private mutating func front(of start: StreamTime) -> Mark? {
    while marks.count > 1, marks[1].time <= start { marks.removeFirst() }
    return marks.first
  }

  /// Returns the numbers of the segments before one that are listed without a hole.
  private func listed(before number: Int) -> Range<Int> {
    guard let media = list?.media, number <= media.end else { return number..<number }
    var first = number
    while let segment = media.segment(first - 1), !segment.isAbsent, segment.encryption?.isForeign != true {
      first -= 1
    }
    return first..<number
  }

  /// The seconds before the end of the list at which listeners begin. Source: RFC 8216 §6.3.3.
  var lead: Double { list.map { 3 * min($0.media.targetDuration, 3600) } ?? 0 }

  /// Returns the seconds that the list has before the start of a buffer.
  /// - Parameter start: the time of the oldest frame.
  mutating func reach(before start: StreamTime) -> Double {
    guard let front = front(of: start), let media = list?.media else { return 0 }
    return listed(before: front.number).reduce(0) { $0 + (media.segment($1)?.duration ?? 0) }
  }

  /// Requests the sound from a time before the start of a buffer.
  /// - Parameter start: the time of the oldest frame.
  mutating func request(from time: StreamTime, before start: StreamTime) -> [Action] {
    guard let front = front(of: start), let list else { return [.deliver(isAligned: true, nil)] }
    let media = list.media
    let listed = listed(before: front.number)
    var (first, seconds) = (listed.upperBound, 0.0)
    let wanted = (start - time).seconds + Self.margin
    while first > listed.lowerBound, seconds < wanted {
      first -= 1
      seconds += media.segment(first)?.duration ?? 0
    }
    guard first < listed.upperBound else {
      // A request by an older copy of the list is not complete yet.
      if case .fetching = phase { return [] }
      return [.deliver(isAligned: true, nil)]
    }
    if case .fetching(_, let order, _, _) = phase, order.first <= first { return [] }
    let isAligned = front.isStart && front.time == start
    let last = isAligned ? front.number - 1 : min(front.number, media.end - 1)
    return [.discard] + fetch(first, of: Order(first: first, last: last, list: list, isAligned: isAligned))
  }

  private mutating func fetch(
    _ number: Int, of order: Order, failures: Int = 0, error: StreamError? = nil
  ) -> [Action] {
    guard number <= order.last, let segment = order.list.media.segment(number) else {
      (phase, delivered) = (.idle, order.first > order.last ? nil : order.first)
      return [.deliver(isAligned: order.isAligned, error)]
    }
    let piece = HLSPiece(
      segment: segment, base: order.list.base, version: order.list.version,
      isContinuous: number > order.first && !segment.isDiscontinuous, received: 0)
    phase = .fetching(piece, of: order, failures: failures, error)
    return [.fetch(piece)]
  }

  /// Continues after a requested segment that was received whole.
  mutating func segmentReceived() -> [Action] {
    guard case .fetching(let piece, let order, let failures, let error) = phase else { return [] }
    return fetch(piece.segment.sequence + 1, of: order, failures: failures, error: error)
  }

  /// Handles a requested segment that was not received, or is not sound.
  mutating func segmentFailed(_ error: StreamError, _ failure: HLSFailure) -> [Action] {
    guard case .fetching(let piece, var order, let failures, let old) = phase else { return [] }
    let isLast = failure == .content || failures + 1 >= Self.attemptLimit
    // Part of it may have come: the segments before it are received again with it, or are useless without it.
    if isLast { order.first = piece.segment.sequence + 1 }
    return [.discard]
      + fetch(order.first, of: order, failures: isLast ? 0 : failures + 1, error: isLast ? error : old)
  }

  /// Notes that the sound of the requested segments is in the buffer, which begins at `start` now.
  mutating func extend(to start: StreamTime) {
    guard let delivered else { return }
    marks.insert(Mark(number: delivered, time: start, isStart: true), at: 0)
    self.delivered = nil
  }

  /// Ends the reception: the connection is closed for good.
  mutating func cancel() { phase = .idle }

  /// Returns the index, among the received frames, of the first that the buffer has already; nil if it has
  /// none of them.
  /// - Parameters:
  ///   - oldest: the hashes of the oldest frames of the buffer.
  ///   - expected: the index by the lengths in the list, for sound that repeats.
  static func join(_ received: [UInt64], to oldest: [UInt64], near expected: Int) -> Int? {
    guard let first = oldest.first else { return nil }
    let candidates = received.indices.filter { index in
      received[index] == first && zip(received[index...], oldest).allSatisfy { $0 == $1 }
    }
    return candidates.min { abs($0 - expected) < abs($1 - expected) }
  }
}

extension HLSEncryption {
  /// `true` for an unsupported kind.
  var isForeign: Bool { if case .foreign = self { true } else { false } }
}
