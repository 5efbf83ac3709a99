internal import HeadsetLink

/// The board's side of HELLO and AUTH.
struct BoardHandshake {
  /// The number of wrong proofs that ends the link.
  static let mostFailures = 3

  /// The answer to a request, and its effect on the link.
  enum Action {
    /// Answer; nothing else changes.
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

  /// Receives the payload of a HELLO, which restarts the handshake; the count of wrong proofs continues. A
  /// HELLO that is repeated before its AUTH gets the same answer, so either copy may be lost.
  /// - Parameter welcome: the identity of the board, with a challenge that was never used before.
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

  /// Receives the payload of an AUTH. Each HELLO allows one AUTH.
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
