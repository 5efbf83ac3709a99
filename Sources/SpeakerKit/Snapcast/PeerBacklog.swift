internal import Glibc

/// The bytes that the other end of a TCP connection has received and not read, where it is a process of this machine. For
/// one thread.
///
/// The kernel reports them by the addresses of its socket: `SOCK_DIAG_BY_FAMILY`, sock_diag(7).
struct PeerBacklog {
  private let socket: OwnedDescriptor
  private let request: [UInt8]

  /// Creates the measurement of an IPv4 connection; nil for another one, and where the kernel answers nothing.
  init?(of connection: OwnedDescriptor) {
    guard let own = Self.address(of: connection, getsockname),
      let peer = Self.address(of: connection, getpeername)
    else { return nil }
    let fd = Glibc.socket(AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), Self.socketDiagnosis)
    guard fd >= 0 else { return nil }
    socket = OwnedDescriptor(fd)
    // struct nlmsghdr, and struct inet_diag_req_v2 with the peer's socket as the local one; without a cookie.
    var bytes: [UInt8] = []
    func append<Number: FixedWidthInteger>(_ number: Number) {
      withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) }
    }
    append(UInt32(72))
    append(UInt16(20))
    append(UInt16(1))
    append(UInt32(1))
    append(UInt32(0))
    bytes += [UInt8(AF_INET), UInt8(IPPROTO_TCP), 0, 0]
    append(UInt32.max)
    append(peer.sin_port)
    append(own.sin_port)
    append(peer.sin_addr.s_addr)
    bytes += [UInt8](repeating: 0, count: 12)
    append(own.sin_addr.s_addr)
    bytes += [UInt8](repeating: 0, count: 12)
    append(UInt32(0))
    append(UInt64.max)
    request = bytes
    guard bytesNow() != nil else { return nil }
  }

  /// The protocol of a netlink socket: `NETLINK_SOCK_DIAG`.
  private static let socketDiagnosis: Int32 = 4
  /// The offset of `idiag_rqueue` in struct inet_diag_msg, which follows struct nlmsghdr.
  private static let queueOffset = 16 + 56

  /// Returns the number of bytes at this moment; nil when the peer's socket has gone.
  func bytesNow() -> Int? {
    guard send(socket.number, request, request.count, 0) == request.count else { return nil }
    var answer = [UInt8](repeating: 0, count: 1024)
    let count = recv(socket.number, &answer, answer.count, Int32(MSG_DONTWAIT))
    guard count >= Self.queueOffset + 4 else { return nil }
    return answer.withUnsafeBytes { bytes in
      // An error has another type.
      guard bytes.loadUnaligned(fromByteOffset: 4, as: UInt16.self) == 20 else { return nil }
      return Int(bytes.loadUnaligned(fromByteOffset: Self.queueOffset, as: UInt32.self))
    }
  }

  private static func address(
    of connection: OwnedDescriptor,
    _ name: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
  ) -> sockaddr_in? {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { name(connection.number, $0, &length) }
    }
    return status == 0 && address.sin_family == sa_family_t(AF_INET) ? address : nil
  }
}
