/// What both sides prove to each other, and the key of the session that comes of it.
///
/// Both payloads of HELLO, as they were on the wire (the answer's with its status), stand for the session: each
/// side has put 16 random bytes into them.
package struct LinkHandshake {
  /// Bytes of a nonce, of a challenge and of a proof.
  package static let length = 16

  private let key: [UInt8]
  private let transcript: [UInt8]

  package init(key: [UInt8], hello: [UInt8], welcome: [UInt8]) {
    (self.key, transcript) = (key, hello + welcome)
  }

  /// The proof that a side has the key: 16 bytes.
  package func proof(of side: LinkSide) -> [UInt8] {
    Array(derived(side == .host ? "host" : "board").prefix(Self.length))
  }

  /// The seal of the session, for one side.
  package func seal(for side: LinkSide) -> LinkSeal { LinkSeal(key: derived("seal"), side: side) }

  private func derived(_ label: String) -> [UInt8] {
    HMACSHA256.mac(Array(label.utf8) + transcript, key: key)
  }
}
