internal import EventLoop
internal import Glibc
internal import Home
internal import JSONText

/// The sender of a request, which is the cause of the changes by it.
enum ControlCaller {
  /// A person at a place, such as `ctl`.
  case person(at: String)
  /// Another controller, such as Home Assistant, by a message in words.
  case controller(String, message: String)
  /// A webhook, whose trigger is a cause of its own.
  case webhook(String)

  /// Runs `body`, whose commands the caller gives.
  func perform<Result>(in journal: Journal, _ body: () throws -> Result) rethrows -> Result {
    switch self {
    case .person(let place): try journal.asPerson(at: place, body)
    case .controller(let name, let message): try journal.asController(name, by: message, body)
    case .webhook: try body()
    }
  }
}

/// A request by the control protocol, to be answered once. Confined to the loop.
final class ControlRequest {
  let method: String
  let parameters: JSON
  /// The sender of the request.
  let caller: ControlCaller
  /// The webhook that sends the request; nil for another sender.
  var hook: String? { if case .webhook(let name) = caller { name } else { nil } }
  /// Called when the client no longer waits for the answer, and when a client that follows an answered
  /// request disconnects.
  var onCancel: () -> Void = {}
  /// Called when the client has read all that was sent to it.
  var onDrained: () -> Void = {}
  /// Returns the bytes that were sent to the client and not written yet.
  let backlog: () -> Int
  private var respond: ((Result<JSON, RPCError>) -> Void)?
  private let push: (String, JSON) -> Bool

  init(
    _ request: RPCRequest, by caller: ControlCaller, respond: @escaping (Result<JSON, RPCError>) -> Void,
    push: @escaping (String, JSON) -> Bool, backlog: @escaping () -> Int = { 0 }
  ) {
    (method, parameters, self.caller) = (request.method, request.parameters, caller)
    self.backlog = backlog
    (self.respond, self.push) = (respond, push)
  }

  /// A request of a person at a place.
  convenience init(
    _ request: RPCRequest, at place: String, respond: @escaping (Result<JSON, RPCError>) -> Void,
    push: @escaping (String, JSON) -> Bool, backlog: @escaping () -> Int = { 0 }
  ) {
    self.init(request, by: .person(at: place), respond: respond, push: push, backlog: backlog)
  }

  /// Sends the answer; a second call does nothing.
  func answer(_ result: Result<JSON, any Error>) {
    guard let respond else { return }
    self.respond = nil
    respond(result.mapError { RPCError($0) })
  }

  /// `true` if the client gets notifications after the answer: `onCancel` is called when it disconnects.
  var isFollowed = false

  /// Sends the client a notification; `false` when it has disconnected.
  func notify(_ method: String, _ parameters: JSON) -> Bool { push(method, parameters) }
}

/// The control socket of a daemon: its clients, each with a session of the protocol. Confined to the loop,
/// whose poll watches all its descriptors.
final class ControlServer {
  /// The most clients at a time.
  static let mostClients = 256

  private enum Listening {
    case open(FDWatch)
    /// No descriptor was free for a client.
    case paused(LoopTimer)
    case closed
  }

  private let loop: EventLoop
  private let keepsAlive: Bool
  private let socket: ControlSocket
  private let perform: (ControlRequest) -> Void
  private var listening = Listening.closed
  private var clients: [ObjectIdentifier: Client] = [:]

  /// Listens at `path`.
  /// - Parameters:
  ///   - name: the name of this process, for other processes that try to listen.
  ///   - keepsAlive: `true` if the loop continues while it waits for clients alone.
  ///   - perform: receives each request, on the loop, and has it answered.
  /// - Throws: `daemon.running`, `speaker.busy`, `daemon.socket`.
  init(
    path: String, name: String = Engine.serviceName, loop: EventLoop, keepsAlive: Bool = true,
    perform: @escaping (ControlRequest) -> Void
  ) throws(DaemonError) {
    (self.loop, self.keepsAlive, self.perform) = (loop, keepsAlive, perform)
    socket = try ControlSocket(path: path, name: name)
    do throws(LoopError) { try listen() } catch { throw DaemonError(.socket, error.message) }
  }

  /// Accepts clients from now on: a daemon whose scripts have nothing to do waits for them alone.
  private func listen() throws(LoopError) {
    listening = .open(
      try loop.watch(socket.fd, for: .readable, keepsAlive: keepsAlive) { [unowned self] _ in accept() })
  }

  /// Accepts no client for a moment: without a free descriptor, a waiting client would be reported at once.
  private func pause() {
    stopListening()
    listening = .paused(
      // Like the watch, the timer keeps a daemon alive whose scripts have nothing to do.
      loop.after(.milliseconds(100), keepsAlive: keepsAlive) { [unowned self] in
        do throws(LoopError) { try listen() } catch { pause() }
      })
  }

  private func stopListening() {
    switch listening {
    case .open(let watch): watch.cancel()
    case .paused(let timer): timer.cancel()
    case .closed: break
    }
    listening = .closed
  }

  /// The number of clients.
  var clientCount: Int { clients.count }

  /// Closes the socket and the connections. A second call does nothing.
  func close() {
    stopListening()
    for client in clients.values { client.close() }
    clients = [:]
  }

  private func accept() {
    let fd = Glibc.accept(socket.fd, nil, nil)
    guard fd >= 0 else {
      if errno == EMFILE || errno == ENFILE { pause() }
      return
    }
    _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
    _ = fcntl(fd, F_SETFL, O_NONBLOCK)
    guard let peer = LinuxSockets.peer(of: fd), peer.user == getuid() else {
      return refuse(fd, "this house is another user's")
    }
    guard clients.count < Self.mostClients else {
      return refuse(fd, "\(Self.mostClients) clients are connected, and there is no room for more")
    }
    let client = Client(fd, loop, perform) { [unowned self] in
      clients[$0] = nil
    }
    clients[ObjectIdentifier(client)] = client
    client.begin()
  }

  private func refuse(_ fd: Int32, _ reason: String) {
    let line = RPCAnswer.failure(RPCError(.failed, reason), id: .null).line + "\n"
    _ = Array(line.utf8).withUnsafeBytes { send(fd, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    Glibc.close(fd)
  }
}

/// A connection of the control socket. Confined to the loop.
private final class Client {
  private let fd: Int32
  private let loop: EventLoop
  private let perform: (ControlRequest) -> Void
  private let onEnd: (ObjectIdentifier) -> Void
  private var session = ControlSession()
  private var requests: [ControlSession.CallNumber: ControlRequest] = [:]
  /// Answered requests whose notifications the client follows.
  private var followed: [ControlRequest] = []
  private var reading: FDWatch?
  private var writing: FDWatch?
  private var isOpen = true

  init(
    _ fd: Int32, _ loop: EventLoop, _ perform: @escaping (ControlRequest) -> Void,
    onEnd: @escaping (ObjectIdentifier) -> Void
  ) {
    (self.fd, self.loop, self.perform, self.onEnd) = (fd, loop, perform, onEnd)
  }

  func begin() {
    watch(for: .readable)
    if reading == nil { finish(session.disconnected()) }
  }

  func close() { finish(session.disconnected()) }

  private func watch(for events: FDEvents) {
    reading?.cancel()
    reading = try? loop.watch(fd, for: events, keepsAlive: false) { [unowned self] in read($0) }
  }

  private func read(_ events: FDEvents) {
    guard isOpen else { return }
    if !session.isReading {
      // The connection is watched for its end alone.
      if !events.isDisjoint(with: [.hangup, .failed]) { finish(session.disconnected()) }
      return
    }
    var count = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, filled in
      count = Glibc.read(fd, buffer.baseAddress, buffer.count)
      filled = max(count, 0)
    }
    if count > 0 {
      finish(session.received(bytes))
    } else if count == 0 {
      finish(events.contains(.hangup) ? session.disconnected() : session.inputEnded())
    } else if errno != EAGAIN, errno != EINTR {
      finish(session.disconnected())
    }
    if isOpen, !session.isReading { watch(for: []) }
  }

  private func finish(_ actions: [ControlSession.Action]) {
    for action in actions {
      switch action {
      case .perform(let number, let request): start(number, request)
      case .cancel(let numbers): for number in numbers { requests.removeValue(forKey: number)?.onCancel() }
      case .close: end()
      }
    }
    write()
  }

  private func start(_ number: ControlSession.CallNumber, _ request: RPCRequest) {
    let new = ControlRequest(
      request, at: "ctl",
      respond: { [weak self] result in
        guard let self, let request = requests.removeValue(forKey: number) else { return }
        if request.isFollowed { followed.append(request) }
        finish(session.finished(number, result))
      },
      push: { [weak self] method, parameters in
        guard let self, isOpen else { return false }
        finish(session.notify(method, parameters))
        return isOpen
      }, backlog: { [weak self] in self?.session.output.count ?? 0 })
    requests[number] = new
    perform(new)
  }

  private func write() {
    while isOpen, !session.output.isEmpty {
      let count = session.output.withUnsafeBytes {
        send(fd, $0.baseAddress, min($0.count, 262_144), Int32(MSG_NOSIGNAL))
      }
      if count > 0 {
        for case .close in session.wrote(count) { end() }
      } else if errno == EAGAIN {
        if writing == nil {
          writing = try? loop.watch(fd, for: .writable, keepsAlive: false) { [unowned self] _ in write() }
          if writing == nil { finish(session.disconnected()) }
        }
        return
      } else if errno != EINTR {
        return finish(session.disconnected())
      }
    }
    guard writing != nil else { return }
    writing?.cancel()
    writing = nil
    if isOpen { for request in requests.values { request.onDrained() } }
  }

  private func end() {
    guard isOpen else { return }
    isOpen = false
    reading?.cancel()
    writing?.cancel()
    (reading, writing) = (nil, nil)
    Glibc.close(fd)
    for request in followed { request.onCancel() }
    followed = []
    // In a turn of its own: this object may be in the middle of a call.
    loop.next { [self] in onEnd(ObjectIdentifier(self)) }
  }
}
