/// What both sides prove to each other, and the key of the session that comes of it.
///
/// Both payloads of HELLO, as they were on the wire (the answer's with its status), stand for the session: each
/// side has put 16 random bytes into them.
struct LinkHandshake {
  /// Bytes of a nonce, of a challenge and of a proof.
  static let length = 16

  private let key: [UInt8]
  private let transcript: [UInt8]

  init(key: [UInt8], hello: [UInt8], welcome: [UInt8]) {
    (self.key, transcript) = (key, hello + welcome)
  }

  /// The proof that a side has the key: 16 bytes.
  func proof(of side: LinkSide) -> [UInt8] {
    Array(derived(side == .host ? "host" : "board").prefix(Self.length))
  }

  /// The seal of the session, for one side.
  func seal(for side: LinkSide) -> LinkSeal { LinkSeal(key: derived("seal"), side: side) }

  private func derived(_ label: String) -> [UInt8] {
    HMACSHA256.mac(Array(label.utf8) + transcript, key: key)
  }
}

/// Why no session comes about.
enum HandshakeError: Error, Equatable {
  /// The board's answer is no answer.
  case payload(PayloadError)
  /// The board says no.
  case refused(LinkRefusal)
  /// Challenge or proof have this length, which is not 16.
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

  /// Takes the board's answer to HELLO.
  /// - Returns: who the board is, the payload of AUTH, and what its answer is held against.
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

  /// Takes the board's answer to AUTH.
  /// - Returns: the seal of all frames from here on.
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

/// The board's side of HELLO and AUTH.
struct BoardHandshake {
  /// After so many wrong proofs the link ends.
  static let mostFailures = 3

  /// What to do with a request.
  enum Action {
    /// Answer; nothing has changed.
    case answer([UInt8])
    /// Answer, then seal all frames.
    case begin([UInt8], LinkSeal)
    /// Answer, then end the link.
    case end([UInt8])
  }

  private let key: [UInt8]
  private var pending: (handshake: LinkHandshake, hello: [UInt8], answer: [UInt8])?
  private var failures = 0

  init(key: [UInt8]) { self.key = key }

  /// Takes the payload of a HELLO, which begins anew; wrong proofs are counted on. One that comes twice before its
  /// AUTH has the same answer twice, so whichever of them arrives is good.
  /// - Parameter welcome: who the board is, with a challenge that was never used before.
  mutating func received(hello: [UInt8], welcome: Welcome) throws(PayloadError) -> Action {
    if let pending, pending.hello == hello { return .answer(pending.answer) }
    pending = nil
    guard let request = try? Hello(payload: hello) else { return try refuse(.badRequest) }
    guard request.nonce.count == LinkHandshake.length else { return try refuse(.challengeLength) }
    guard request.oldest <= LinkFrame.version, request.newest >= LinkFrame.version else {
      return try refuse(.unsupported)
    }
    let answer = try LinkReply.done(welcome).payload()
    pending = (LinkHandshake(key: key, hello: hello, welcome: answer), hello, answer)
    return .answer(answer)
  }

  /// Takes the payload of an AUTH. Each HELLO is good for one.
  mutating func received(authenticate payload: [UInt8]) throws(PayloadError) -> Action {
    guard let request = try? Authenticate(payload: payload) else { return try refuse(.badRequest) }
    guard request.mac.count == LinkHandshake.length else { return try refuse(.challengeLength) }
    guard let handshake = pending?.handshake else { return try refuse(.wrongMode) }
    pending = nil
    guard HMACSHA256.isEqual(request.mac, handshake.proof(of: .host)) else {
      failures += 1
      let answer = try refuse(.authentication)
      guard failures >= Self.mostFailures, case .answer(let bytes) = answer else { return answer }
      return .end(bytes)
    }
    failures = 0
    let answer = try LinkReply.done(Proof(mac: handshake.proof(of: .board))).payload()
    return .begin(answer, handshake.seal(for: .board))
  }

  private func refuse(_ status: LinkStatus) throws(PayloadError) -> Action {
    .answer(try LinkReply<Done>.refused(LinkRefusal(status)).payload())
  }
}
