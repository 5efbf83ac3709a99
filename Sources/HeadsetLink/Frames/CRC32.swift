internal import CZlib

/// The checksum of a frame and of a part of an image: CRC-32 as Ethernet (IEEE 802.3) and zlib have it.
package struct CRC32 {
  /// The checksum of all that was added; 0 of nothing.
  package private(set) var value: UInt32 = 0

  package init() {}

  /// Adds bytes behind those that were.
  package mutating func add(_ bytes: ArraySlice<UInt8>) {
    // zlib takes a null pointer, which an empty slice may have, for the wish to begin anew.
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
