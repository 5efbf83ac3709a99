internal import Glibc

/// An address of the network, without a port. An IPv4 address that an IPv6 socket shows counts as IPv4.
package struct NetworkAddress: Sendable, Hashable, CustomStringConvertible {
  /// The bytes, four or sixteen.
  private let bytes: [UInt8]

  /// Reads a numeric address; nil for another text.
  package init?(_ text: String) {
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &bytes) == 1 {
      self.bytes = Array(bytes[..<4])
    } else if inet_pton(AF_INET6, text, &bytes) == 1 {
      self.bytes = Self.unmapped(bytes)
    } else {
      return nil
    }
  }

  /// The address of the other end of a socket; nil for one that is not connected.
  init?(peerOf socket: Int32) { self.init { getpeername(socket, $0, $1) } }
  /// The address of this end of a socket.
  init?(localOf socket: Int32) { self.init { getsockname(socket, $0, $1) } }

  private init?(_ read: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32) {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let status = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { read($0, &length) }
    }
    guard status == 0 else { return nil }
    let family = Int32(storage.ss_family)
    let bytes = withUnsafeBytes(of: &storage) { raw -> [UInt8]? in
      switch family {
      case AF_INET: Array(raw[4..<8])  // sin_addr
      case AF_INET6: Array(raw[8..<24])  // sin6_addr
      default: nil
      }
    }
    guard let bytes else { return nil }
    self.bytes = bytes.count == 16 ? Self.unmapped(bytes) : bytes
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  /// Source: RFC 4291 §2.5.5.2.
  private static func unmapped(_ bytes: [UInt8]) -> [UInt8] {
    bytes[..<12] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF] ? Array(bytes[12...]) : bytes
  }

  /// `true` if the address is of this machine alone.
  package var isLoopback: Bool {
    bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
  }

  /// `true` for the address that stands for all of this machine.
  package var isAny: Bool { bytes.allSatisfy { $0 == 0 } }

  /// `true` for an IPv6 address.
  package var isV6: Bool { bytes.count == 16 }

  /// The network of one client: the address, or the first 64 bits of an IPv6 address, as one machine may have all the
  /// others of it.
  package var network: NetworkAddress {
    isV6 ? NetworkAddress(bytes: bytes[..<8] + [UInt8](repeating: 0, count: 8)) : self
  }

  /// The numeric text.
  package var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(isV6 ? AF_INET6 : AF_INET, bytes, &text, socklen_t(text.count)) != nil else { return "" }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The text in a URL: an IPv6 address in brackets.
  package var inURL: String { isV6 ? "[\(self)]" : "\(self)" }

  /// Calls `body` with the socket address of a port.
  func withSocketAddress<Result>(
    port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    var storage = sockaddr_storage()
    storage.ss_family = sa_family_t(isV6 ? AF_INET6 : AF_INET)
    withUnsafeMutableBytes(of: &storage) { raw in
      (raw[2], raw[3]) = (UInt8(port >> 8 & 0xFF), UInt8(port & 0xFF))
      let first = isV6 ? 8 : 4
      for (index, byte) in bytes.enumerated() { raw[first + index] = byte }
    }
    let length = isV6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
    return withUnsafePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
    }
  }
}

/// The address and the port at which a server listens.
package struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
  package let address: NetworkAddress
  package let port: Int

  package init(_ address: NetworkAddress, port: Int) { (self.address, self.port) = (address, port) }

  /// Reads `127.0.0.1:8420`, `[::1]:8420` or `localhost:8420`; nil for another text. Port 0 is a free one.
  package init?(parsing text: String) {
    guard let colon = text.lastIndex(of: ":"), case let digits = text[text.index(after: colon)...],
      !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(digits),
      port <= 65_535
    else { return nil }
    var host = String(text[..<colon])
    if host == "localhost" { host = "127.0.0.1" }
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    if isBracketed { host = String(host.dropFirst().dropLast()) }
    guard let address = NetworkAddress(host), !isBracketed || host.contains(":"),
      isBracketed || !host.contains(":")
    else { return nil }
    self.init(address, port: port)
  }

  package var description: String { "\(address.inURL):\(port)" }
}
