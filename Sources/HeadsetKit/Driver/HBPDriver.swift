internal import EventLoop
internal import HeadsetLink

/// The driver for HBP/1 over a channel. Confined to its loop.
final class HBPDriver: HeadsetDriver {
  let name: String

  private let key: LinkKey
  private let loop: EventLoop
  private let open: () async throws(HeadsetError) -> any LinkChannel

  private var listeners = Listeners<(DriverEvent) -> Void>()
  private var connection: Connection?
  /// The number of the current connection; an older one is stale.
  private var generation = 0
  private var lastRequest = 0

  /// A connection whose channel is open.
  private struct Connection {
    var session: LinkSession
    let channel: any LinkChannel
    var phase: Phase
    var timer: (due: Instant, timer: LoopTimer)?
    /// The receivers of the answers to requests.
    var answers: [Int: (Result<[UInt8], HeadsetError>) -> Void] = [:]
    /// The actions of the session that are still to be performed; nil while no action is being performed.
    var actions: [LinkSession.Action]?
  }

  /// A state of the connection, with the answer to the caller that waits for the next state.
  private enum Phase {
    case connecting(PendingAnswer<BoardInfo>)
    case connected
    case leaving(PendingAnswer<Void>)
  }

  /// - Parameters:
  ///   - name: the name of the headset in messages.
  ///   - open: opens a channel to the headset, for each connection.
  init(
    name: String, key: LinkKey, loop: EventLoop,
    open: @escaping () async throws(HeadsetError) -> any LinkChannel
  ) {
    (self.name, self.key, self.loop, self.open) = (name, key, loop, open)
  }

  /// Creates a driver for the headset at an address.
  convenience init(address: LinkAddress, key: LinkKey, loop: EventLoop) {
    self.init(name: "\(address)", key: key, loop: loop) { () async throws(HeadsetError) in
      try await address.connect(loop)
    }
  }

  deinit { drop() }

  var isConnected: Bool { connection?.session.isOpen ?? false }

  /// The number of frames that this connection has dropped, by their reason.
  var dropped: [LinkSession.Drop: Int] { connection?.session.dropped ?? [:] }
  /// The number of byte sequences of this connection that are not frames, by their fault.
  var faults: [LinkPacket.Fault: Int] { connection?.session.reader.dropped ?? [:] }

  func connect() async throws(HeadsetError) -> BoardInfo {
    loop.assertOnLoop()
    drop()
    let attempt = generation
    let channel = try await open()
    guard attempt == generation else {
      channel.close()
      throw cancelled
    }
    let nonces: [[UInt8]]
    do throws(CryptoError) {
      nonces = [try SecureRandom.bytes(LinkHandshake.length), try SecureRandom.bytes(LinkHandshake.length)]
    } catch {
      channel.close()
      throw HeadsetError(.connectionFailed, "the link to \(name) \(error.reason)")
    }
    let connected = PendingAnswer<BoardInfo>()
    var session = LinkSession(name: name, key: key, nonces: nonces)
    let actions = session.begin(at: loop.now)
    connection = Connection(session: session, channel: channel, phase: .connecting(connected))
    channel.deliver(
      to: LinkReceiver(bytes: { [weak self] in self?.received($0) }, end: { [weak self] in self?.ended($0) }))
    perform(actions)
    return try await connected.value()
  }

  func begin<Request: LinkRequest>(_ request: Request) -> PendingAnswer<LinkReply<Request.Answer>> {
    loop.assertOnLoop()
    let answer = PendingAnswer<LinkReply<Request.Answer>>()
    let operation = Request.operation
    let payload: [UInt8]
    do throws(PayloadError) { payload = try request.payload() } catch {
      answer.resolve(.failure(HeadsetError(.writeFailed, "\(operation.name): \(error.meaning)")))
      return answer
    }
    lastRequest += 1
    connection?.answers[lastRequest] = { answer.resolve($0.flatMap { Request.reply(in: $0) }) }
    guard let actions = connection?.session.request(lastRequest, operation, payload, at: loop.now) else {
      answer.resolve(.failure(HeadsetError(.notConnected, "the headset at \(name) is not connected")))
      return answer
    }
    perform(actions)
    return answer
  }

  func disconnect() async {
    loop.assertOnLoop()
    let left: PendingAnswer<Void>
    switch connection?.phase {
    case nil, .connecting: return drop()
    case .leaving(let pending): left = pending
    case .connected:
      left = PendingAnswer()
      connection?.phase = .leaving(left)
      if let actions = connection?.session.leave(at: loop.now) { perform(actions) }
    }
    _ = try? await left.value()
  }

  func drop() {
    end(failing: HeadsetError(.notConnected, "the headset at \(name) was disconnected"))
  }

  // MARK: Actions of the session

  private func received(_ bytes: ArraySlice<UInt8>) {
    if let actions = connection?.session.received(bytes, at: loop.now) { perform(actions) }
  }

  private func ended(_ end: LinkEnd) {
    if let actions = connection?.session.ended(end) { perform(actions) }
  }

  /// Performs actions in order, including those that an action leads to.
  private func perform(_ new: [LinkSession.Action]) {
    guard connection?.actions == nil else {
      connection?.actions? += new
      return
    }
    let number = generation
    connection?.actions = new
    // An action may end the connection, and another one may have begun then.
    while number == generation, connection?.actions?.isEmpty == false {
      if let action = connection?.actions?.removeFirst() { perform(action) }
    }
    guard number == generation else { return }
    connection?.actions = nil
    setTimer()
  }

  private func perform(_ action: LinkSession.Action) {
    switch action {
    case .send(let bytes): connection?.channel.send(bytes)
    case .opened(let board):
      guard case .connecting(let caller) = connection?.phase else { return }
      connection?.phase = .connected
      caller.resolve(.success(board))
    case .answered(let id, let payload): connection?.answers.removeValue(forKey: id)?(.success(payload))
    case .failed(let id, let error): connection?.answers.removeValue(forKey: id)?(.failure(error))
    case .event(let event): emit(event)
    case .left: drop()
    case .lost(let error):
      var wasConnected = true
      if case .connecting = connection?.phase { wasConnected = false }
      end(failing: error)
      if wasConnected { emit(.lost(error)) }
    }
  }

  func onEvent(_ listener: @escaping (DriverEvent) -> Void) { _ = listeners.add(listener) }

  private func emit(_ event: DriverEvent) { for listener in listeners.all { listener(event) } }

  private func setTimer() {
    let deadline = connection?.session.deadline
    guard deadline != connection?.timer?.due else { return }
    connection?.timer?.timer.cancel()
    connection?.timer = deadline.map { due in (due, loop.at(due) { [weak self] in self?.timePassed() }) }
  }

  private func timePassed() {
    connection?.timer = nil
    if let actions = connection?.session.passed(to: loop.now) { perform(actions) }
  }

  /// Ends the connection, and fails everything that waits for it.
  private func end(failing error: HeadsetError) {
    generation += 1
    guard let ended = connection else { return }
    connection = nil
    ended.timer?.timer.cancel()
    ended.channel.close()
    for (_, answer) in ended.answers.sorted(by: { $0.key < $1.key }) { answer(.failure(error)) }
    switch ended.phase {
    case .connecting(let caller):
      caller.resolve(.failure(error.kind == .notConnected ? cancelled : error))
    case .leaving(let caller): caller.resolve(.success(()))
    case .connected: break
    }
  }

  private var cancelled: HeadsetError {
    HeadsetError(.connectionFailed, "the connection to \(name) was given up")
  }
}

extension LinkRequest {
  /// Returns the board's reply to this request.
  fileprivate static func reply(in payload: [UInt8]) -> Result<LinkReply<Answer>, HeadsetError> {
    do throws(PayloadError) { return .success(try LinkReply(payload: payload)) } catch {
      return .failure(HeadsetError(error, in: operation))
    }
  }
}
