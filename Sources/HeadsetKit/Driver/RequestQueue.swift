internal import EventLoop

extension LinkOperation {
  /// How long an answer is waited for, each time that the request is sent.
  var patience: [Duration] {
    switch self {
    case .beginTransfer, .verifyTransfer, .commitTransfer: [.seconds(10), .seconds(10)]
    default: [.seconds(1), .seconds(2), .seconds(4)]
    }
  }
}

/// The requests of a link in their order: those that were sent, and those that wait for their turn.
///
/// Writes are sent up to a window of them together, all else one at a time.
struct RequestQueue {
  /// A request without an answer.
  struct Entry {
    /// Whose it is; nil for one of the link's own.
    let id: Int?
    let operation: LinkOperation
    let frame: LinkFrame
    /// How often it was sent.
    fileprivate(set) var attempts = 0
    /// When it is sent again, or given up.
    fileprivate(set) var due = Instant.start

    /// How long it was waited for when it is given up.
    var patience: Duration { operation.patience.reduce(.zero, +) }
  }

  /// Writes that may be without an answer at once.
  var window = 1
  private var sequence: UInt16
  private var waiting: [Entry] = []
  private var underWay: [Entry] = []

  /// - Parameter sequence: the first request has the next one.
  init(after sequence: UInt16) { self.sequence = sequence }

  /// When something is due; nil while no answer is waited for.
  var deadline: Instant? { underWay.map(\.due).min() }

  /// Puts a request behind all others.
  mutating func add(_ id: Int?, _ operation: LinkOperation, _ payload: [UInt8]) throws(PayloadError) {
    let frame = try LinkFrame(
      kind: .request, sequence: sequence &+ 1, code: operation.rawValue, payload: payload)
    sequence &+= 1
    waiting.append(Entry(id: id, operation: operation, frame: frame))
  }

  /// The requests whose turn has come; they are waited for from now on.
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

  /// The request that is answered; nil when none that is waited for is.
  mutating func take(_ answer: LinkFrame) -> Entry? {
    let index = underWay.firstIndex { $0.frame.sequence == answer.sequence && $0.frame.code == answer.code }
    return index.map { underWay.remove(at: $0) }
  }

  /// What is due by now, in the order of the requests: what is sent again, and what was sent often enough.
  mutating func overdue(at now: Instant) -> (again: [LinkFrame], late: [Entry]) {
    let late = underWay.filter { $0.due <= now && $0.attempts == $0.operation.patience.count }
    underWay.removeAll { $0.due <= now && $0.attempts == $0.operation.patience.count }
    var again: [LinkFrame] = []
    for index in underWay.indices where underWay[index].due <= now {
      send(index, at: now)
      again.append(underWay[index].frame)
    }
    return (again, late)
  }

  /// Forgets all, and tells whose requests they were, in their order.
  mutating func removeAll() -> [Int] {
    defer { (underWay, waiting) = ([], []) }
    return (underWay + waiting).compactMap(\.id)
  }

  private func isFree(for next: Entry) -> Bool {
    guard next.operation == .writeTransfer else { return underWay.isEmpty }
    return underWay.count < window && underWay.allSatisfy { $0.operation == .writeTransfer }
  }

  private mutating func send(_ index: Int, at now: Instant) {
    let patience = underWay[index].operation.patience[underWay[index].attempts]
    underWay[index].due = now.advanced(by: patience)
    underWay[index].attempts += 1
  }
}
