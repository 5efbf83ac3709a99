internal import EventLoop
internal import HeadsetLink

extension LinkOperation {
  /// `true` if the board may work for seconds before it answers.
  fileprivate var isSlow: Bool {
    switch self {
    case .beginTransfer, .verifyTransfer, .commitTransfer: true
    default: false
    }
  }

  /// The time after which a request without an answer fails.
  var timeout: Duration { isSlow ? .seconds(20) : .seconds(7) }
}

/// The time after which a request is sent again, estimated from the round-trip times of answers.
///
/// Source: RFC 6298, with a minimum for links of a few milliseconds.
struct RoundTripTime {
  // In nanoseconds, as `Duration` multiplies and divides in 128 bits.
  private static let (least, first): (Int64, Int64) = (200_000_000, 1_000_000_000)
  private var estimate: (mean: Int64, deviation: Int64)?

  /// The time until the first repetition.
  var retryDelay: Duration {
    guard let estimate else { return .nanoseconds(Self.first) }
    return .nanoseconds(min(max(estimate.mean + estimate.deviation * 4, Self.least), Self.first))
  }

  /// Notes the time of an answer to a request that was sent once.
  mutating func note(_ answer: Duration) {
    let time = answer.nanoseconds
    guard let (mean, deviation) = estimate else { return estimate = (time, time / 2) }
    let error = time > mean ? time - mean : mean - time
    estimate = ((mean * 7 + time) / 8, (deviation * 3 + error) / 4)
  }
}

/// The requests of a link in their order: those that were sent, and those that wait for their turn.
///
/// Several writes are sent at once, up to a window of them; all other requests one at a time.
struct RequestQueue {
  /// A request without an answer.
  struct Entry {
    /// The number of the request; nil for a request of the link itself.
    let id: Int?
    let operation: LinkOperation
    let frame: LinkFrame
    /// The number of times that the request was sent.
    fileprivate(set) var attempts = 0
    /// The moment at which the request was sent first.
    fileprivate var sentAt = Instant.start
    /// The moment of the next repetition, or of the timeout.
    fileprivate(set) var due = Instant.start

    fileprivate var end: Instant { sentAt.advanced(by: operation.timeout) }
  }

  /// The shortest time until a slow request is repeated.
  private static let slowRetryDelay = Duration.seconds(2)

  /// The number of writes that may be under way at once.
  var window = 1
  private var sequence: UInt16
  private var waiting: [Entry] = []
  private var underWay: [Entry] = []
  private var roundTrip = RoundTripTime()

  /// - Parameter sequence: the sequence number before that of the first request.
  init(after sequence: UInt16) { self.sequence = sequence }

  /// The moment of the next repetition or timeout; nil while no answer is due.
  var deadline: Instant? { underWay.map(\.due).min() }

  /// `true` if no request waits or is under way.
  var isEmpty: Bool { waiting.isEmpty && underWay.isEmpty }

  /// Appends a request.
  mutating func add(_ id: Int?, _ operation: LinkOperation, _ payload: [UInt8]) throws(PayloadError) {
    let frame = try LinkFrame(
      kind: .request, sequence: sequence &+ 1, code: operation.rawValue, payload: payload)
    sequence &+= 1
    waiting.append(Entry(id: id, operation: operation, frame: frame))
  }

  /// Returns the requests whose turn has come, and waits for their answers from now on.
  mutating func start(at now: Instant) -> [LinkFrame] {
    var frames: [LinkFrame] = []
    while let next = waiting.first, isFree(for: next) {
      underWay.append(next)
      waiting.removeFirst()
      send(underWay.count - 1, at: now)
      frames.append(next.frame)
    }
    return frames
  }

  /// Removes and returns the request that is answered; nil when no pending request is.
  mutating func complete(with answer: LinkFrame, at now: Instant) -> Entry? {
    guard
      let index = underWay.firstIndex(where: {
        $0.frame.sequence == answer.sequence && $0.frame.code == answer.code
      })
    else { return nil }
    let entry = underWay.remove(at: index)
    // The link's own requests (handshake, PING, BYE) are sent on an idle link, and are not measured.
    if entry.attempts == 1, entry.id != nil, !entry.operation.isSlow {
      roundTrip.note(entry.sentAt.duration(to: now))
    }
    return entry
  }

  /// Returns the due requests, in their order: those to send again, and those whose timeout has passed.
  mutating func overdue(at now: Instant) -> (again: [LinkFrame], late: [Entry]) {
    let late = underWay.filter { $0.end <= now }
    underWay.removeAll { $0.end <= now }
    var again: [LinkFrame] = []
    for index in underWay.indices where underWay[index].due <= now {
      send(index, at: now)
      again.append(underWay[index].frame)
    }
    return (again, late)
  }

  /// Removes all requests, and returns their numbers in order.
  mutating func removeAll() -> [Int] {
    defer { (underWay, waiting) = ([], []) }
    return (underWay + waiting).compactMap(\.id)
  }

  private func isFree(for next: Entry) -> Bool {
    guard next.operation == .writeTransfer else { return underWay.isEmpty }
    return underWay.count < window && underWay.allSatisfy { $0.operation == .writeTransfer }
  }

  private mutating func send(_ index: Int, at now: Instant) {
    if underWay[index].attempts == 0 { underWay[index].sentAt = now }
    let base = underWay[index].operation.isSlow ? Self.slowRetryDelay : roundTrip.retryDelay
    let delay = base.nanoseconds << min(underWay[index].attempts, 8)
    underWay[index].due = min(now.advanced(by: .nanoseconds(delay)), underWay[index].end)
    underWay[index].attempts += 1
  }
}
