internal import EventLoop
internal import HeadsetLink

extension LinkSession {
  /// Receives a frame, whose sender is not known yet.
  mutating func receive(_ packet: LinkPacket, at now: Instant) {
    guard let frame = open(packet) else { return }
    switch frame.kind {
    case .response: receiveAnswer(frame, at: now)
    case .event: receiveEvent(frame, at: now)
    case .request: drop(.unexpected)
    }
  }

  /// Sends the requests whose turn has come.
  mutating func startRequests(at now: Instant) {
    for frame in requests.start(at: now) { send(frame) }
  }

  /// Sends a frame; a frame that is sent again has a new seal.
  mutating func send(_ frame: LinkFrame) {
    if case .over = phase { return }
    do throws(LinkSeal.Exhausted) {
      // The zero before the frame ends any bytes that were on the line before.
      actions.append(.send(try seal?.seal(frame) ?? [0] + frame.unsealed))
    } catch {
      lose(HeadsetError(.notConnected, "the link to \(name) has sealed as many frames as it can"))
    }
  }

  /// Fails requests without an answer, and with them the link, which has to be made again.
  mutating func giveUp(_ late: [RequestQueue.Entry]) {
    let errors = late.map { entry in
      HeadsetError(
        .timeout,
        "\(entry.operation.name): the headset at \(name) did not answer within "
          + "\(entry.operation.timeout.components.seconds) s")
    }
    for (entry, error) in zip(late, errors) {
      if let id = entry.id { actions.append(.failed(id, error)) }
    }
    if let first = errors.first { lose(first) }
  }

  /// Ends a link that can't be used any more.
  mutating func lose(_ error: HeadsetError) {
    if case .over = phase { return }
    failRequests("the link to \(name) was lost: \(error.message)")
    end(.lost(error))
  }

  mutating func failRequests(_ why: String) {
    for id in requests.removeAll() { actions.append(.failed(id, HeadsetError(.notConnected, why))) }
  }

  mutating func end(_ last: Action) {
    if case .over = phase { return }
    phase = .over
    seal = nil
    _ = requests.removeAll()
    actions.append(last)
  }

  /// Returns the frame if it is the board's and new.
  private mutating func open(_ packet: LinkPacket) -> LinkFrame? {
    if case .over = phase { return nil }
    guard seal != nil else {
      // There is no seal yet, so this one belongs to an earlier session.
      guard packet.seal != nil else { return packet.frame }
      drop(.unsealed)
      return nil
    }
    do throws(LinkSeal.Refusal) { return try seal?.open(packet) } catch {
      switch error {
      case .unsealed: drop(.unsealed)
      case .forged: drop(.forged)
      case .repeated: drop(.repeated)
      }
      return nil
    }
  }

  private mutating func receiveAnswer(_ frame: LinkFrame, at now: Instant) {
    guard let entry = requests.complete(with: frame, at: now) else { return drop(.unexpected) }
    switch phase {
    case .greeting(let host): welcome(frame.payload, host, at: now)
    case .proving(let host, let handshake, let board):
      proof(frame.payload, host, handshake, board, at: now)
    case .leaving: end(.left)
    case .open, .new, .over:
      if entry.operation == .beginTransfer { requests.window = Self.window(in: frame.payload) }
      if let id = entry.id { actions.append(.answered(id, frame.payload)) }
      startRequests(at: now)
    }
  }

  /// The writes that a board grants with its answer to BEGIN; a refusal grants one.
  private static func window(in payload: [UInt8]) -> Int {
    guard case .done(let plan)? = try? LinkReply<TransferPlan>(payload: payload) else { return 1 }
    return Int(plan.window)
  }

  private mutating func receiveEvent(_ frame: LinkFrame, at now: Instant) {
    guard isOpen, let operation = frame.operation, operation.isEvent else { return drop(.unexpected) }
    do throws(PayloadError) {
      if operation == .areYouThere { try answerProbe(AreYouThere(payload: frame.payload), at: now) }
      if let event = try DriverEvent(operation, frame.payload) { actions.append(.event(event)) }
    } catch {
      actions.append(.event(.unreadable(HeadsetError(error, in: operation))))
    }
  }
}

extension LinkSession {
  /// Shows the board that this host is there, unless a request under way does so.
  private mutating func answerProbe(_: AreYouThere, at now: Instant) throws(PayloadError) {
    guard requests.isEmpty else { return }
    try requests.add(nil, .ping, Ping().payload())
    startRequests(at: now)
  }
}

extension DriverEvent {
  /// The event in a board's event frame; nil for an operation that is not an event.
  init?(_ operation: LinkOperation, _ payload: [UInt8]) throws(PayloadError) {
    switch operation {
    case .noiseCancellingChanged:
      self = .noiseCancelling(try NoiseCancellingChanged(payload: payload).value)
    case .ambientChanged:
      let ambient = try AmbientChanged(payload: payload).value
      self = .ambient(ambient.side, Int(ambient.level))
    case .equalizerChanged:
      let equalizer = try EqualizerChanged(payload: payload).value
      self = .equalizer(preset: Int(equalizer.preset), values: equalizer.values.map { Int($0) })
    case .batteryChanged:
      let battery = try BatteryChanged(payload: payload).value
      self = .battery(percent: Int(battery.percent), isCharging: battery.isCharging)
    case .jumpingToBootloader:
      _ = try JumpingToBootloader(payload: payload)
      self = .bootloader
    case .transferChanged: self = .transfer(try TransferChanged(payload: payload).value)
    default: return nil
    }
  }
}
