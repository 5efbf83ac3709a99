/// A side of a link.
package enum LinkSide: UInt8 {
  case host = 0
  case board = 1

  /// The side that this one talks to.
  var other: LinkSide { self == .host ? .board : .host }
}

/// The proof that a frame after AUTH belongs to this session: a rising counter and its MAC, so that no third
/// party can add, change or repeat a frame.
///
/// The MAC is the first 8 bytes of an HMAC-SHA256 over direction (a byte: 0 from the host, 1 from the board),
/// counter and body. A lost frame leaves a gap in the counters, which is accepted.
package struct LinkSeal {
  /// The reason why a frame is refused.
  package enum Refusal: Error, Equatable {
    /// The frame has no seal.
    case unsealed
    /// The proof differs: the frame is changed, of another session, or goes the other way.
    case forged
    /// The counter, or a later one, was received before.
    case repeated(UInt32)
  }

  /// The counters are used up: a new session is due.
  package struct Exhausted: Error, Equatable {}

  private let key: HMACSHA256
  private let side: LinkSide
  private var sent: UInt32
  private var received: UInt32 = 0

  /// - Parameters:
  ///   - key: the key of the session, derived by the handshake.
  ///   - sent: the number of frames that were sealed before.
  package init(key: [UInt8], side: LinkSide, sent: UInt32 = 0) {
    (self.key, self.side, self.sent) = (HMACSHA256(key: key), side, sent)
  }

  /// The frame as bytes of the wire, with the zero that ends it. A frame that is sent again is sealed again.
  package mutating func seal(_ frame: LinkFrame) throws(Exhausted) -> [UInt8] {
    guard sent < .max else { throw Exhausted() }
    sent += 1
    let body = frame.body
    var writer = PayloadWriter()
    writer.raw(body)
    writer.u32(sent)
    writer.raw(mac(of: body, counter: sent, from: side))
    return COBS.encode(writer.bytes) + [0]
  }

  /// The frame, when it is the other side's and new.
  package mutating func open(_ packet: LinkPacket) throws(Refusal) -> LinkFrame {
    guard let seal = packet.seal else { throw .unsealed }
    let mac = mac(of: packet.body, counter: seal.counter, from: side.other)
    guard HMACSHA256.isEqual(mac, seal.mac) else { throw .forged }
    guard seal.counter > received else { throw .repeated(seal.counter) }
    received = seal.counter
    return packet.frame
  }

  private func mac(of body: [UInt8], counter: UInt32, from side: LinkSide) -> [UInt8] {
    var writer = PayloadWriter()
    writer.choice(side)
    writer.u32(counter)
    writer.raw(body)
    return Array(key.mac(of: writer.bytes).prefix(LinkPacket.Seal.macLength))
  }
}

/// The proofs of both sides, and the key of the session derived from them.
///
/// Both payloads of HELLO, as they were on the wire (the answer's with its status), identify the session:
/// each side has put 16 random bytes into them.
package struct LinkHandshake {
  /// The number of bytes of a nonce, of a challenge and of a proof.
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
    HMACSHA256(key: key).mac(of: Array(label.utf8) + transcript)
  }
}
