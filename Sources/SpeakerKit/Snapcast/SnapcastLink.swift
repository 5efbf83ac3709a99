internal import EventLoop
internal import Glibc
internal import JSONText

/// The owner of a link to a snapserver. Called on the loop.
protocol SnapcastLinkObserver: AnyObject {
  /// A connection is open, before any notification.
  func reconnected()
  /// An open connection, or the first attempt after one, has failed.
  func lost(_ error: SpeakerError)
  /// A notification of the server has come.
  func received(_ method: String, _ parameters: JSON?)
}

/// The control connection to a snapserver: requests, responses and notifications of JSON-RPC 2.0, a line each.
///
/// Confined to the loop; names are resolved, servers searched for and connections made on a thread for each attempt. A
/// connection that is lost, slow or wrong is given up and made again, for ever, with growing delays.
final class SnapcastLink {
  /// The state of the connection.
  private enum Phase {
    /// There is no connection, and no request for one.
    case closed
    /// A search before an attempt is under way on a thread of its own; the timer ends waiting for it.
    case searching(attempt: Int, LoopTimer)
    /// An attempt is under way on a thread of its own.
    case connecting(attempt: Int)
    case open(Connection)
    /// Waits for the next attempt.
    case waiting(LoopTimer)
  }

  private struct Connection {
    let socket: OwnedDescriptor
    let reading: FDWatch
    var writing: FDWatch?
    var input: [UInt8] = []
    /// The number of bytes of `input` that hold no end of a line.
    var scanned = 0
    var output: [UInt8] = []
    var requests: [Int: Request] = [:]
    var ping: LoopTimer?
  }

  private struct Request {
    let timer: LoopTimer
    let hold: Hold
    let then: (Result<JSON, SpeakerError>) -> Void
  }

  /// The maximum length of a line: the state of some 1,500 clients.
  static let longestLine = 1 << 20
  /// The timeout of a response.
  static let responseTime = Duration.seconds(5)
  /// The interval of requests that only test the connection.
  private static let pingInterval = Duration.seconds(10)

  /// The search before each connection but the first; nil for a server with a fixed address.
  struct Search {
    /// Finds servers; waits, on a thread of its own.
    let run: @Sendable () -> SnapserverSearch.Outcome
    /// Returns the addresses to be tried, in their order, given the servers that were found.
    let addresses: ([SnapserverSearch.Server]) -> [SnapserverAddress]
  }

  /// The time after which a search counts as one that has found nothing: the bus may block longer than a
  /// search takes.
  static let searchTime = Duration.seconds(3)

  /// The search before each connection but the first; nil for a server with a fixed address.
  var search: Search?
  /// The owner, which receives the events; not retained.
  weak var observer: (any SnapcastLinkObserver)?

  private let loop: EventLoop
  /// The server that is connected, or was last.
  private(set) var address: SnapserverAddress
  private let responseTime: Duration
  private var phase = Phase.closed
  /// `true` while the thread of a search runs, also one that is not waited for any more: the bus may hang for ever.
  private var isSearchRunning = false
  private var attempts = 0
  private var requestCount = 0
  /// The number of notifications so far, over all connections.
  private(set) var notificationCount = 0
  private var backoff = Backoff(from: .milliseconds(100), upTo: .seconds(5))

  init(loop: EventLoop, address: SnapserverAddress, responseTime: Duration = SnapcastLink.responseTime) {
    (self.loop, self.address, self.responseTime) = (loop, address, responseTime)
  }

  deinit { close() }

  /// `true` if requests can be sent.
  var isOpen: Bool { if case .open = phase { true } else { false } }

  /// Makes the first connection; returns when it is open. Later ones are made without being asked for.
  /// - Throws: `speaker.lost`.
  func open() async throws {
    let socket = try await attempt()
    guard case .connecting = phase else { throw House.closedError }
    try begin(socket)
  }

  /// Closes the connection; requests without a response fail.
  func close() {
    let old = phase
    phase = .closed
    switch old {
    case .closed, .connecting: break
    case .waiting(let timer), .searching(_, let timer): timer.cancel()
    case .open(let connection): end(connection, SpeakerError(.closed, "the house is closed"))
    }
  }

  /// Connects on a thread of its own.
  private func attempt() async throws -> OwnedDescriptor {
    attempts += 1
    phase = .connecting(attempt: attempts)
    let (loop, address) = (loop, address)
    let hold = loop.hold("a snapserver is connected")
    defer { hold.release() }
    return try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<OwnedDescriptor, any Error>) in
      do {
        try startDetachedThread("no thread for a connection") {
          let result = Result<OwnedDescriptor, any Error> {
            try TCPSocket.connect(host: address.host, port: address.port)
          }
          loop.post { continuation.resume(with: result) }
        }
      } catch { continuation.resume(throwing: error) }
    }
  }

  private func begin(_ socket: OwnedDescriptor) throws {
    let reading = try loop.watch(socket.number, for: .readable, keepsAlive: false) { [weak self] _ in
      self?.read()
    }
    phase = .open(Connection(socket: socket, reading: reading))
    schedulePing()
  }

  /// Gives the connection up, and makes another one later.
  private func lose(_ error: SpeakerError) {
    guard case .open(let connection) = phase else { return }
    retryLater()
    end(connection, error)
    observer?.lost(error)
  }

  /// Marks the open connection as one to the right server: the next delay is the shortest again.
  func accept() { backoff.reset() }

  /// Gives up an open connection to a server that is not the right one, without reporting a loss, and makes another one later.
  func refuse(_ error: SpeakerError) {
    guard case .open(let connection) = phase else { return }
    retryLater()
    end(connection, error)
  }

  private func end(_ connection: Connection, _ error: SpeakerError) {
    connection.reading.cancel()
    connection.writing?.cancel()
    connection.ping?.cancel()
    for (_, request) in connection.requests.sorted(by: { $0.key < $1.key }) {
      request.timer.cancel()
      request.then(.failure(error))
      request.hold.release()
    }
  }

  private func retryLater() {
    phase = .waiting(
      loop.after(backoff.next(), keepsAlive: false) { [weak self] in self?.retry() })
  }

  private func retry() {
    attempts += 1
    let number = attempts
    guard let search else { return connect(to: [address], attempt: number) }
    guard !isSearchRunning else { return connect(to: search.addresses([]), attempt: number) }
    let (loop, run, this) = (loop, search.run, LoopReference(self))
    let timer = loop.after(Self.searchTime, keepsAlive: false) { [weak self] in
      self?.searched([], attempt: number)
    }
    phase = .searching(attempt: number, timer)
    do {
      try startDetachedThread("no thread for a search") {
        let outcome = run()
        loop.post {
          this.object?.isSearchRunning = false
          this.object?.searched(outcome.servers, attempt: number)
        }
      }
      isSearchRunning = true
    } catch { searched([], attempt: number) }
  }

  private func searched(_ servers: [SnapserverSearch.Server], attempt number: Int) {
    guard case .searching(number, let timer) = phase, let search else { return }
    timer.cancel()
    connect(to: search.addresses(servers), attempt: number)
  }

  /// Connects to the first of several addresses that accepts.
  private func connect(to addresses: [SnapserverAddress], attempt number: Int) {
    phase = .connecting(attempt: number)
    let (loop, this) = (loop, LoopReference(self))
    do {
      try startDetachedThread("no thread for a connection") {
        for address in addresses {
          guard let socket = try? TCPSocket.connect(host: address.host, port: address.port) else { continue }
          return loop.post { this.object?.connected(socket, address, attempt: number) }
        }
        loop.post { this.object?.failed(attempt: number) }
      }
    } catch { retryLater() }
  }

  private func connected(_ socket: OwnedDescriptor, _ address: SnapserverAddress, attempt number: Int) {
    guard case .connecting(number) = phase else { return }
    guard (try? begin(socket)) != nil else { return retryLater() }
    self.address = address
    observer?.reconnected()
  }

  private func failed(attempt number: Int) {
    if case .connecting(number) = phase { retryLater() }
  }

  // MARK: Requests

  /// Sends a request; `then` receives its result, or `speaker.lost`.
  func request(
    _ method: String, _ parameters: [(name: String, value: JSON)] = [],
    then: @escaping (Result<JSON, SpeakerError>) -> Void
  ) {
    guard case .open(var connection) = phase else {
      return then(.failure(SpeakerError(.lost, "the snapserver at \(address.text) is not connected")))
    }
    requestCount += 1
    let number = requestCount
    var members: [(name: String, value: JSON)] = [
      ("jsonrpc", "2.0"), ("id", .number(number)), ("method", .string(method)),
    ]
    if !parameters.isEmpty { members.append(("params", .object(parameters))) }
    let timer = loop.after(responseTime) { [weak self] in
      guard let self else { return }
      lose(SpeakerError(.lost, "the snapserver at \(address.text) does not answer \(method)"))
    }
    connection.requests[number] = Request(timer: timer, hold: loop.hold("a snapserver answers"), then: then)
    connection.output += Array(JSON.object(members).line.utf8) + [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
    phase = .open(connection)
    write()
  }

  /// Sends a request, and returns its result.
  /// - Throws: `speaker.lost`.
  @discardableResult
  func call(_ method: String, _ parameters: [(name: String, value: JSON)] = []) async throws -> JSON {
    try await withCheckedThrowingContinuation { continuation in
      request(method, parameters) { continuation.resume(with: $0.mapError { $0 as any Error }) }
    }
  }

  private func schedulePing() {
    guard case .open(var connection) = phase else { return }
    connection.ping = loop.after(Self.pingInterval, keepsAlive: false) { [weak self] in
      self?.request("Server.GetRPCVersion") { _ in self?.schedulePing() }
    }
    phase = .open(connection)
  }

  private func write() {
    guard case .open(var connection) = phase, !connection.output.isEmpty else { return }
    let sent = connection.output.withUnsafeBytes {
      send(connection.socket.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
    guard sent >= 0 || errno == EAGAIN || errno == EINTR else { return lose(lost(SystemError(errno).text)) }
    connection.output.removeFirst(max(sent, 0))
    if connection.output.isEmpty {
      connection.writing?.cancel()
      connection.writing = nil
    } else if connection.output.count > Self.longestLine {
      return lose(lost("it reads nothing"))
    } else if connection.writing == nil {
      connection.writing = try? loop.watch(connection.socket.number, for: .writable, keepsAlive: false) {
        [weak self] _ in self?.write()
      }
    }
    phase = .open(connection)
  }

  private func lost(_ reason: String) -> SpeakerError {
    SpeakerError(
      .lost, "the snapserver at \(address.text) is lost: \(reason)",
      hint: "it is connected again as soon as it answers")
  }

  // MARK: Responses

  private func read() {
    guard case .open(var connection) = phase else { return }
    // The connection is in this copy alone, so that its input grows in place.
    phase = .closed
    var chunk = [UInt8](repeating: 0, count: 65_536)
    let count = Glibc.read(connection.socket.number, &chunk, chunk.count)
    let error = errno
    if count > 0 { connection.input += chunk[..<count] }
    var lines: [[UInt8]] = []
    while let end = connection.input[connection.scanned...].firstIndex(of: UInt8(ascii: "\n")) {
      lines.append(Array(connection.input[..<end]))
      connection.input.removeFirst(end + 1)
      connection.scanned = 0
    }
    connection.scanned = connection.input.count
    phase = .open(connection)
    for line in lines where isOpen { receive(line) }
    if count == 0 { return lose(lost("it has closed the connection")) }
    if count < 0, error != EAGAIN, error != EINTR { return lose(lost(SystemError(error).text)) }
    if connection.input.count > Self.longestLine {
      lose(lost("it answers with more than \(Self.longestLine >> 20) MB"))
    }
  }

  private func receive(_ line: [UInt8]) {
    if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") }) { return }
    guard line.count <= Self.longestLine, let message = JSON(parsing: line), case .object = message else {
      return lose(lost("its answer is not JSON-RPC"))
    }
    if let method = message["method"]?.text {
      notificationCount += 1
      observer?.received(method, message["params"])
      return
    }
    guard case .open(var connection) = phase, let number = message["id"]?.int,
      let request = connection.requests.removeValue(forKey: number)
    else { return }
    phase = .open(connection)
    request.timer.cancel()
    if let result = message["result"] {
      request.then(.success(result))
    } else {
      let error = message["error"]
      let text = error?["data"]?.text ?? error?["message"]?.text ?? "an unknown error"
      request.then(
        .failure(SpeakerError(.lost, "the snapserver at \(address.text) refuses a request: \(text.cleaned)")))
    }
    request.hold.release()
  }
}
