/// A message of HBP/1: kind, sequence, operation and payload.
///
/// Its body, little-endian: version, kind (a byte each), sequence, operation, length of the payload (two
/// bytes each), payload, CRC-32 of all that. On the wire, the body and its seal are stuffed by COBS and end
/// with a zero.
package struct LinkFrame: Equatable {
  /// The version of the link protocol.
  package static let version: UInt8 = 1
  /// The most bytes of a payload.
  package static let longestPayload = 1024
  /// The number of bytes of a body before its payload.
  static let headLength = 8
  /// The number of bytes of the checksum.
  static let checksumLength = 4

  package let kind: LinkKind
  /// Joins a response to its request.
  package let sequence: UInt16
  /// The code of the operation, also one that is not known here.
  package let code: UInt16
  /// The payload, at most 1,024 bytes.
  package let payload: [UInt8]

  /// - Throws: `long` when the payload is too long.
  package init(kind: LinkKind, sequence: UInt16, code: UInt16, payload: [UInt8]) throws(PayloadError) {
    guard payload.count <= Self.longestPayload else {
      throw .long(payload.count, limit: Self.longestPayload)
    }
    (self.kind, self.sequence, self.code, self.payload) = (kind, sequence, code, payload)
  }

  /// The operation; nil for one that is not known.
  package var operation: LinkOperation? { LinkOperation(rawValue: code) }

  /// The body with its checksum.
  var body: [UInt8] {
    var writer = PayloadWriter()
    writer.u8(Self.version)
    writer.choice(kind)
    writer.u16(sequence)
    writer.u16(code)
    writer.u16(UInt16(payload.count))
    writer.raw(payload)
    writer.u32(CRC32.of(writer.bytes[...]))
    return writer.bytes
  }

  /// The frame as bytes of the wire, with the zero that ends it, without a seal: for frames before AUTH is
  /// done.
  package var unsealed: [UInt8] { COBS.encode(body) + [0] }
}

/// A received frame: whole, but its sender is not yet known.
package struct LinkPacket: Equatable {
  /// The seal of a frame, which follows its body.
  package struct Seal: Equatable {
    /// The number of bytes of a seal: counter and proof.
    static let length = 12
    /// The number of bytes of its proof.
    static let macLength = 8

    let counter: UInt32
    let mac: [UInt8]
  }

  package let frame: LinkFrame
  /// The frame's body, which the seal covers.
  let body: [UInt8]
  /// The checksum of the body; with session and sequence, it identifies a repeated request.
  package let checksum: UInt32
  /// nil for a frame without one.
  package let seal: Seal?
}

extension LinkPacket {
  /// The reason why bytes between two zeros are not a frame.
  package enum Fault: Error, CaseIterable {
    /// The bytes are not output of COBS.
    case stuffing
    /// The number of bytes differs from the head's, or the head's is impossible.
    case length
    /// The checksum differs.
    case checksum
    /// The version or kind is not known.
    case head
    /// The limit of bytes without a zero is exceeded.
    case endless
  }

  /// Reads the bytes between two zeros.
  init(stuffed: [UInt8]) throws(Fault) {
    guard let bytes = COBS.decode(stuffed) else { throw .stuffing }
    let parts: Parts
    do { parts = try Parts(bytes) } catch { throw .length }
    guard CRC32.of(bytes[..<parts.summed]) == parts.checksum else { throw .checksum }
    guard parts.version == LinkFrame.version, let kind = LinkKind(rawValue: parts.kind) else { throw .head }
    do {
      frame = try LinkFrame(kind: kind, sequence: parts.sequence, code: parts.code, payload: parts.payload)
    } catch { throw .length }
    body = Array(bytes[..<(parts.summed + LinkFrame.checksumLength)])
    (checksum, seal) = (parts.checksum, parts.seal)
  }

  /// The fields, before their values are checked.
  private struct Parts {
    let version, kind: UInt8
    let sequence, code: UInt16
    let payload: [UInt8]
    let checksum: UInt32
    let seal: Seal?

    /// The number of bytes that the checksum covers.
    var summed: Int { LinkFrame.headLength + payload.count }

    init(_ bytes: [UInt8]) throws(PayloadError) {
      var reader = PayloadReader(bytes)
      (version, kind) = try (reader.u8(), reader.u8())
      (sequence, code) = try (reader.u16(), reader.u16())
      payload = try reader.bytes(Int(reader.u16()))
      checksum = try reader.u32()
      if reader.rest.isEmpty {
        seal = nil
      } else {
        seal = Seal(counter: try reader.u32(), mac: try reader.bytes(Seal.macLength))
        try reader.end()
      }
    }
  }
}
