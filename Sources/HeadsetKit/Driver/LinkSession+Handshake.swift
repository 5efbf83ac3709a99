internal import EventLoop
internal import HeadsetLink

extension LinkSession {
  /// What to do about a key that does not fit.
  private static let keyHint =
    "key_file of headset { } in the configuration names the file with the board's key"

  /// Sends HELLO with the next nonce.
  mutating func greet(at now: Instant) {
    guard let nonce = nonces.popFirst() else { return refuseKey() }
    do throws(HandshakeError) {
      let host = try HostHandshake(key: key.bytes, nonce: nonce)
      phase = .greeting(host)
      try ask(.hello, host.hello, at: now)
    } catch { fail(error, in: .hello) }
  }

  /// Takes the board's answer to HELLO, and proves the key.
  mutating func welcome(_ payload: [UInt8], _ host: HostHandshake, at now: Instant) {
    do throws(HandshakeError) {
      let (welcome, authenticate, handshake) = try host.received(welcome: payload)
      phase = .proving(host, handshake, welcome.board)
      try ask(.authenticate, authenticate, at: now)
    } catch { fail(error, in: .hello) }
  }

  /// Takes the board's answer to AUTH: from here on all is sealed.
  mutating func proof(
    _ payload: [UInt8], _ host: HostHandshake, _ handshake: LinkHandshake, _ board: BoardInfo, at now: Instant
  ) {
    do throws(HandshakeError) {
      seal = try host.received(proof: payload, in: handshake)
      phase = .open(board)
      actions.append(.opened(board))
    } catch {
      // A board that took two HELLOs for one, or none for what was none, is worth another.
      switch error {
      case .refused(let refusal) where refusal.status == .authentication || refusal.status == .wrongMode:
        if nonces.isEmpty { fail(error, in: .authenticate) } else { greet(at: now) }
      default: fail(error, in: .authenticate)
      }
    }
  }

  private mutating func ask(_ operation: LinkOperation, _ payload: [UInt8], at now: Instant)
    throws(HandshakeError)
  {
    do throws(PayloadError) { try requests.add(nil, operation, payload) } catch { throw .payload(error) }
    startRequests(at: now)
  }

  private mutating func fail(_ error: HandshakeError, in operation: LinkOperation) {
    switch error {
    case .payload(let error): lose(HeadsetError(error, in: operation))
    case .refused(let refusal) where refusal.status == .authentication: refuseKey()
    case .refused(let refusal): lose(HeadsetError(refusal, to: operation))
    case .challengeLength(let length):
      lose(
        HeadsetError(
          .challengeLength,
          "\(operation.name): the board at \(name) sends \(length) bytes where \(LinkHandshake.length) are expected"
        ))
    case .authentication:
      lose(HeadsetError(.auth, "the board at \(name) does not have the key", hint: Self.keyHint))
    }
  }

  private mutating func refuseKey() {
    lose(
      HeadsetError(
        .auth, "the board at \(name) \(LinkStatus.authentication.meaning)", hint: Self.keyHint))
  }
}
