internal import EventLoop
internal import HeadsetLink

/// Talks HBP/1 over a channel. Confined to its loop.
final class HBPDriver: HeadsetDriver {
  let name: String
  var onEvent: (DriverEvent) -> Void = { _ in }
  var onLost: (HeadsetError) -> Void = { _ in }

  private let key: LinkKey
  private let loop: EventLoop
  private let open: () async throws(HeadsetError) -> any LinkChannel

  private var session: LinkSession?
  private var channel: (any LinkChannel)?
  private var timer: (due: Instant, timer: LoopTimer)?
  /// The number of the current connection; an older one is stale.
  private var generation = 0
  private var connecting: PendingAnswer<BoardInfo>?
  private var leaving: PendingAnswer<Void>?
  private var answers: [Int: (Result<[UInt8], HeadsetError>) -> Void] = [:]
  private var lastRequest = 0
  /// The actions of the session that are not performed yet.
  private var actions: [LinkSession.Action] = []
  private var isPerforming = false

  /// - Parameters:
  ///   - name: the name of the headset in messages.
  ///   - open: opens a channel to the headset, for each connection.
  init(
    name: String, key: LinkKey, loop: EventLoop,
    open: @escaping () async throws(HeadsetError) -> any LinkChannel
  ) {
    (self.name, self.key, self.loop, self.open) = (name, key, loop, open)
  }

  /// A headset at an address.
  convenience init(address: LinkAddress, key: LinkKey, loop: EventLoop) {
    self.init(name: "\(address)", key: key, loop: loop) { () async throws(HeadsetError) in
      try await address.connect(loop)
    }
  }

  deinit { drop() }

  var isConnected: Bool { session?.isOpen ?? false }

  /// The number of frames that this connection has dropped, by their reason.
  var dropped: [LinkSession.Drop: Int] { session?.dropped ?? [:] }
  /// The number of byte sequences of this connection that are no frame, by their fault.
  var faults: [LinkPacket.Fault: Int] { session?.reader.dropped ?? [:] }

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
    (connecting, self.channel) = (connected, channel)
    var session = LinkSession(name: name, key: key, nonces: nonces)
    let actions = session.begin(at: loop.now)
    self.session = session
    channel.onBytes = { [weak self] in self?.received($0) }
    channel.onEnd = { [weak self] in self?.ended($0) }
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
    answers[lastRequest] = { answer.resolve($0.flatMap { Request.reply(in: $0) }) }
    guard let actions = session?.request(lastRequest, operation, payload, at: loop.now) else {
      answers[lastRequest] = nil
      answer.resolve(.failure(HeadsetError(.notConnected, "the headset at \(name) is not connected")))
      return answer
    }
    perform(actions)
    return answer
  }

  func disconnect() async {
    loop.assertOnLoop()
    if leaving == nil {
      guard connecting == nil, let actions = session?.leave(at: loop.now) else { return drop() }
      leaving = PendingAnswer()
      perform(actions)
    }
    _ = try? await leaving?.value()
  }

  func drop() {
    end(failing: HeadsetError(.notConnected, "the headset at \(name) was disconnected"))
  }

  // MARK: What the session wants

  private func received(_ bytes: ArraySlice<UInt8>) {
    if let actions = session?.received(bytes, at: loop.now) { perform(actions) }
  }

  private func ended(_ end: LinkEnd) {
    if let actions = session?.ended(end) { perform(actions) }
  }

  /// Performs actions in order, including those that an action leads to.
  private func perform(_ new: [LinkSession.Action]) {
    actions += new
    guard !isPerforming else { return }
    isPerforming = true
    while !actions.isEmpty { perform(actions.removeFirst()) }
    isPerforming = false
    setTimer()
  }

  private func perform(_ action: LinkSession.Action) {
    switch action {
    case .send(let bytes): channel?.send(bytes)
    case .opened(let board):
      connecting?.resolve(.success(board))
      connecting = nil
    case .answered(let id, let payload): answers.removeValue(forKey: id)?(.success(payload))
    case .failed(let id, let error): answers.removeValue(forKey: id)?(.failure(error))
    case .event(let event): onEvent(event)
    case .left: drop()
    case .lost(let error):
      let wasConnected = connecting == nil
      end(failing: error)
      if wasConnected { onLost(error) }
    }
  }

  private func setTimer() {
    let deadline = session?.deadline
    guard deadline != timer?.due else { return }
    timer?.timer.cancel()
    timer = deadline.map { due in (due, loop.at(due) { [weak self] in self?.timePassed() }) }
  }

  private func timePassed() {
    timer = nil
    if let actions = session?.passed(to: loop.now) { perform(actions) }
  }

  /// Ends the connection, and fails all that waits for it.
  private func end(failing error: HeadsetError) {
    generation += 1
    timer?.timer.cancel()
    channel?.close()
    (session, channel, timer, actions) = (nil, nil, nil, [])
    let (connecting, leaving, answers) = (connecting, leaving, answers)
    (self.connecting, self.leaving, self.answers) = (nil, nil, [:])
    for (_, answer) in answers.sorted(by: { $0.key < $1.key }) { answer(.failure(error)) }
    connecting?.resolve(.failure(error.kind == .notConnected ? cancelled : error))
    leaving?.resolve(.success(()))
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
