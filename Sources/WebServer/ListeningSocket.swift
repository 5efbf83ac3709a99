package import EventLoop
internal import Glibc

/// Sockets that listen.
package enum ListeningSocket {
  /// Listens at an address.
  /// - Returns: the descriptor, which the caller closes, and the port.
  /// - Throws: the error of the system call that failed.
  package static func open(_ place: ListenAddress) throws(SystemError) -> (descriptor: Int32, port: Int) {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let fd = socket(place.address.isV6 ? AF_INET6 : AF_INET, kind, 0)
    guard fd >= 0 else { throw SystemError(errno) }
    var one: Int32 = 1
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    let isBound = place.address.withSocketAddress(port: place.port) {
      bind(fd, $0, $1) == 0 && listen(fd, 64) == 0
    }
    guard isBound, let port = port(of: fd) else {
      let number = errno
      close(fd)
      throw SystemError(number)
    }
    return (fd, port)
  }

  private static func port(of socket: Int32) -> Int? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let status = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
    }
    guard status == 0 else { return nil }
    return withUnsafeBytes(of: &storage) { Int($0[2]) << 8 | Int($0[3]) }  // sin_port, sin6_port
  }
}
