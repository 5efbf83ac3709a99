package import Glibc

/// The address of a socket as bytes of a `sockaddr`.
package struct SocketAddress {
  /// AF_UNIX, AF_INET, AF_INET6 or AF_BLUETOOTH.
  package let family: Int32
  /// The third argument of `socket`.
  package let networkProtocol: Int32
  private let bytes: [UInt8]

  /// Creates the address of a socket; not for serial lines, which have no socket address.
  package init(_ address: LinkAddress) {
    switch address {
    case .unix(let path): self = Self.unixSocket(path)
    case .tcp(let host, let port): self = Self.port(host, port)
    case .rfcomm(let address, let channel): self = Self.bluetooth(address, channel)
    case .serial: preconditionFailure("a serial line has no socket")
    }
  }

  private init(_ family: Int32, _ bytes: [UInt8], networkProtocol: Int32 = 0) {
    (self.family, self.bytes, self.networkProtocol) = (family, bytes, networkProtocol)
  }

  /// Calls `body` with the address and its length.
  package func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    // Room for the largest kind, at its alignment.
    var storage = sockaddr_storage()
    withUnsafeMutableBytes(of: &storage) { $0.copyBytes(from: bytes) }
    return withUnsafePointer(to: storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(bytes.count)) }
    }
  }

  private static func unixSocket(_ path: String) -> SocketAddress {
    SocketAddress(AF_UNIX, native(UInt16(AF_UNIX)) + Array(path.utf8) + [0])
  }

  private static func port(_ host: String, _ port: UInt16) -> SocketAddress {
    if host == "::1" {
      let zeros = [UInt8](repeating: 0, count: 4 + 15)  // flow, then all of the address but its last byte
      return SocketAddress(
        AF_INET6, native(UInt16(AF_INET6)) + native(port.bigEndian) + zeros + [1, 0, 0, 0, 0])
    }
    var address = in_addr()
    inet_pton(AF_INET, host, &address)
    return SocketAddress(
      AF_INET,
      native(UInt16(AF_INET)) + native(port.bigEndian) + native(address.s_addr)
        + [UInt8](repeating: 0, count: 8))
  }

  /// sockaddr_rc of <bluetooth/rfcomm.h>: family, address with its last byte first, channel, a byte of padding.
  private static func bluetooth(_ address: [UInt8], _ channel: UInt8) -> SocketAddress {
    let (bluetooth, rfcomm): (Int32, Int32) = (31, 3)
    return SocketAddress(
      bluetooth, native(UInt16(bluetooth)) + address.reversed() + [channel, 0], networkProtocol: rfcomm)
  }

  /// An integer as it lies in memory.
  private static func native(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value) { Array($0) }
  }
}
