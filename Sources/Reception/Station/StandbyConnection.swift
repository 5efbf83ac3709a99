internal import EventLoop
internal import HTTP
internal import StreamCore

/// A second connection to a station, beside a stalled one: holds its bytes until one of the two continues,
/// then passes them on.
///
/// Unchecked: confined to the loop of its network thread.
final class StandbyConnection: HTTPReceiver, @unchecked Sendable {
  /// Events for its owner.
  enum Event {
    /// The first sound has come.
    case sound
    /// The sound continues where that of the stalled connection ended.
    case joins
    /// The connection has ended, or brings no usable content.
    case failed(StreamError, retryAfter: Duration)
  }

  /// The limit of held bytes; further bytes wait at the server.
  static let limit = 256 * 1024
  /// The limit while a player hears them: all that may come until one of the two connections is chosen.
  static let heardLimit = 2 * 1024 * 1024

  private struct Held {
    var trial: OverlapTrial
    var head: HTTPResponse?
    var bytes: [UInt8] = []
    /// The ends of the pieces in `bytes`, and the times of their arrival.
    var pieces: [(end: Int, time: Instant)] = []
    var isPaused = false
    /// The callback for bytes as they come; nil without a listener.
    var listener: ((UnsafeRawBufferPointer) -> Void)?
    var limit: Int { listener == nil ? StandbyConnection.limit : StandbyConnection.heardLimit }
  }

  private enum State {
    case holding(Held)
    case handedOver
    case over
  }

  private var state: State
  private(set) var transfer: HTTPTransfer?
  /// The URL of the request, without user and password, and its host.
  private let (url, host): (String, String)
  private let loop: EventLoop
  private let clock: ReceiverClock
  private let report: (Event) -> Void

  /// Connects.
  /// - Parameters:
  ///   - clock: the clock for arrival times.
  ///   - report: called while bytes are received; may call `cancel` and `handOver`.
  init(
    _ request: HTTPRequest, on network: NetworkThread, _ trial: OverlapTrial,
    clock: ReceiverClock, report: @escaping (Event) -> Void
  ) {
    (url, host) = (request.url, request.host)
    (loop, self.clock, self.report) = (network.loop, clock, report)
    state = .holding(Held(trial: trial))
    transfer = network.start(request, on: self)
  }

  /// `true` if sound has come.
  var hasSound: Bool {
    guard case .holding(let held) = state else { return false }
    return held.trial.finding != .none
  }

  /// Passes the following bytes to `listener` too, as they come.
  /// - Returns: the head and the held bytes; nil if no bytes are held, or there is a listener already.
  func listen(
    _ listener: @escaping (UnsafeRawBufferPointer) -> Void
  ) -> (head: HTTPResponse, bytes: [UInt8])? {
    guard hasSound, case .holding(var held) = state, let head = held.head, held.listener == nil else {
      return nil
    }
    let wasPaused = held.isPaused
    (held.listener, held.isPaused) = (listener, false)
    state = .holding(held)
    if wasPaused { transfer?.resume() }
    return (head, held.bytes)
  }

  /// Ends the connection, and drops its bytes.
  func cancel() {
    state = .over
    transfer?.cancel()
    transfer = nil
  }

  /// Passes on the held bytes. The following bytes go to the receiver that has adopted its transfer.
  /// - Parameter moment: called with the time at which each piece came, before it is passed on.
  func handOver(to receiver: any HTTPReceiver, at moment: (Instant) -> Void) {
    guard case .holding(let held) = state else { return }
    state = .handedOver
    guard let head = held.head else { return }
    moment(held.pieces.first?.time ?? clock.now(loop))
    guard isWanted(receiver.receiveHead(head)) else { return }
    var start = 0
    for (end, time) in held.pieces {
      moment(time)
      let flow = held.bytes.withUnsafeBytes {
        receiver.receiveBody(UnsafeRawBufferPointer(rebasing: $0[start..<end]))
      }
      guard isWanted(flow) else { return }
      start = end
    }
    if held.isPaused { transfer?.resume() }
  }

  private func isWanted(_ flow: HTTPFlow) -> Bool {
    guard case .stop = flow else { return true }
    cancel()
    return false
  }

  // MARK: The transfer

  func receiveHead(_ head: HTTPResponse) -> HTTPFlow {
    switch state {
    case .over, .handedOver: return .stop
    case .holding(var held):
      guard head.status < 400 else {
        let wait = head.retryAfter(at: loop.wallNow)
        return fail(.answer(head.status, url: url, retryAfter: wait), retryAfter: wait ?? .zero)
      }
      held.head = head
      held.trial.connect(head)
      state = .holding(held)
      return .more
    }
  }

  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    switch state {
    case .over, .handedOver: return .stop
    case .holding(var held):
      state = .over  // so that the held bytes are not copied
      let now = clock.now(loop)
      let before = held.trial.finding
      if before != .joins { held.trial.receive(bytes, at: Double(now.nanoseconds) / 1e9) }
      held.bytes += bytes
      held.pieces.append((held.bytes.count, now))
      held.isPaused = held.bytes.count >= held.limit
      let (finding, isPaused, listener) = (held.trial.finding, held.isPaused, held.listener)
      state = .holding(held)
      listener?(bytes)
      if case .notAudio(let found) = finding { return fail(.noAudio(found, from: url)) }
      if before == .none, finding != .none { report(.sound) }
      if before != .joins, finding == .joins { report(.joins) }
      // The report may have handed it over, or cancelled it.
      switch state {
      case .holding: return isPaused ? .pause : .more
      case .handedOver: return .more
      case .over: return .stop
      }
    }
  }

  func receiveEnd(_ failure: HTTPError?) {
    switch state {
    case .over, .handedOver: break
    case .holding: _ = fail(failure.map { StreamError($0, url: url, host: host) } ?? .ended(url))
    }
  }

  private func fail(_ error: StreamError, retryAfter: Duration = .zero) -> HTTPFlow {
    (state, transfer) = (.over, nil)
    report(.failed(error, retryAfter: retryAfter))
    return .stop
  }
}
