internal import HeadsetLink

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
