internal import CZlib

/// Consistent overhead byte stuffing: any bytes without a zero among them, so that a zero ends a frame.
///
/// Source: S. Cheshire, M. Baker, "Consistent Overhead Byte Stuffing", IEEE/ACM Transactions on Networking 7(2), 1999.
enum COBS {
  /// The most bytes between two codes.
  private static let longestRun = 254

  /// `bytes` without zeros; a 254th part longer at most, and one byte. The zero that ends a frame is not added.
  static func encode(_ bytes: [UInt8]) -> [UInt8] {
    var encoded: [UInt8] = []
    encoded.reserveCapacity(bytes.count + bytes.count / longestRun + 1)
    var rest = bytes[...]
    while true {
      let run = rest.prefix(longestRun).prefix { $0 != 0 }
      encoded.append(UInt8(run.count + 1))
      encoded += run
      rest = rest[run.endIndex...]
      // No zero follows a full run; any other run ends at a zero, or where the bytes end.
      if rest.isEmpty { return encoded }
      if run.count < longestRun { rest = rest.dropFirst() }
    }
  }

  /// The bytes that were encoded.
  /// - Returns: nil when nothing encodes to these bytes: there is a zero, or a code reaches beyond the end.
  static func decode(_ encoded: [UInt8]) -> [UInt8]? {
    guard !encoded.isEmpty else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(encoded.count)
    var index = 0
    while index < encoded.count {
      let code = Int(encoded[index])
      guard code > 0 else { return nil }
      let run = encoded[(index + 1)...].prefix(code - 1)
      guard run.count == code - 1, !run.contains(0) else { return nil }
      bytes += run
      index += code
      if code <= longestRun, index < encoded.count { bytes.append(0) }
    }
    return bytes
  }
}

/// The checksum of a frame and of a part of an image: CRC-32 as Ethernet (IEEE 802.3) and zlib have it.
package struct CRC32 {
  /// The checksum of all bytes that were added; 0 without any.
  package private(set) var value: UInt32 = 0

  package init() {}

  /// Appends bytes.
  package mutating func add(_ bytes: ArraySlice<UInt8>) {
    // zlib interprets a null pointer, which an empty slice may have, as a request to begin anew.
    guard !bytes.isEmpty else { return }
    value = bytes.withUnsafeBufferPointer {
      UInt32(truncatingIfNeeded: crc32_z(UInt(value), $0.baseAddress, $0.count))
    }
  }

  /// The checksum of `bytes`.
  package static func of(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    var sum = CRC32()
    sum.add(bytes)
    return sum.value
  }
}
