internal import EventLoop
internal import HeadsetLink

extension LinkSession {
  /// The remedy for a key that does not fit.
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

  /// Receives the board's answer to HELLO, and proves the key.
  mutating func welcome(_ payload: [UInt8], _ host: HostHandshake, at now: Instant) {
    do throws(HandshakeError) {
      let (welcome, authenticate, handshake) = try host.received(welcome: payload)
      phase = .proving(host, handshake, welcome.board)
      try ask(.authenticate, authenticate, at: now)
    } catch { fail(error, in: .hello) }
  }

  /// Receives the board's answer to AUTH; all later frames are sealed.
  mutating func proof(
    _ payload: [UInt8], _ host: HostHandshake, _ handshake: LinkHandshake, _ board: BoardInfo, at now: Instant
  ) {
    do throws(HandshakeError) {
      seal = try host.received(proof: payload, in: handshake)
      phase = .open(board)
      actions.append(.opened(board))
    } catch {
      // The board may have confused two HELLOs, or may not have received one: it gets another HELLO.
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

/// The reason why a handshake fails.
enum HandshakeError: Error, Equatable {
  /// The board's answer can't be read.
  case payload(PayloadError)
  /// The board refuses.
  case refused(LinkRefusal)
  /// The challenge or the proof has this length, which is not 16.
  case challengeLength(Int)
  /// The other side has another key.
  case authentication
}

/// The host's side of HELLO and AUTH.
struct HostHandshake {
  /// The payload of HELLO.
  let hello: [UInt8]
  private let key: [UInt8]

  /// - Parameter nonce: 16 random bytes, never used before.
  init(key: [UInt8], nonce: [UInt8]) throws(HandshakeError) {
    guard nonce.count == LinkHandshake.length else { throw .challengeLength(nonce.count) }
    self.key = key
    do { hello = try Hello(nonce: nonce).payload() } catch { throw .payload(error) }
  }

  /// Receives the board's answer to HELLO.
  /// - Returns: the identity of the board, the payload of AUTH, and the handshake that verifies its answer.
  func received(welcome: [UInt8]) throws(HandshakeError) -> (Welcome, authenticate: [UInt8], LinkHandshake) {
    let board: Welcome = try Self.answer(in: welcome)
    guard board.challenge.count == LinkHandshake.length else {
      throw .challengeLength(board.challenge.count)
    }
    let handshake = LinkHandshake(key: key, hello: hello, welcome: welcome)
    do {
      return (board, try Authenticate(mac: handshake.proof(of: .host)).payload(), handshake)
    } catch { throw .payload(error) }
  }

  /// Receives the board's answer to AUTH.
  /// - Returns: the seal of all later frames.
  func received(proof: [UInt8], in handshake: LinkHandshake) throws(HandshakeError) -> LinkSeal {
    let proof: Proof = try Self.answer(in: proof)
    guard proof.mac.count == LinkHandshake.length else { throw .challengeLength(proof.mac.count) }
    guard HMACSHA256.isEqual(proof.mac, handshake.proof(of: .board)) else { throw .authentication }
    return handshake.seal(for: .host)
  }

  private static func answer<Answer: LinkMessage>(in payload: [UInt8]) throws(HandshakeError) -> Answer {
    let reply: LinkReply<Answer>
    do { reply = try LinkReply<Answer>(payload: payload) } catch { throw .payload(error) }
    switch reply {
    case .done(let answer): return answer
    case .refused(let refusal): throw .refused(refusal)
    }
  }
}
