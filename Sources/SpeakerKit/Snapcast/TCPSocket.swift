internal import EventLoop
internal import Glibc

/// A descriptor that is closed with the object.
final class OwnedDescriptor: Sendable {
  let number: Int32
  init(_ number: Int32) { self.number = number }
  deinit { close(number) }
}

/// Connections over TCP.
enum TCPSocket {
  /// Connects to a machine by name or address; waits for it, and so belongs on a thread of its own.
  /// - Parameter seconds: timeout of each address of the name.
  /// - Returns: a connected descriptor that does not block.
  /// - Throws: `speaker.lost` with the system's words.
  static func connect(host: String, port: Int, seconds: Int32 = 5) throws(SpeakerError) -> OwnedDescriptor {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, "\(port)", &hints, &list)
    defer { if let list { freeaddrinfo(list) } }
    guard status == 0 else {
      throw failure(host, port, String(cString: gai_strerror(status)).lowercased())
    }
    var error = ENOENT
    var next = list
    while let address = next?.pointee {
      next = address.ai_next
      let fd = socket(
        address.ai_family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
      guard fd >= 0 else {
        error = errno
        continue
      }
      let socket = OwnedDescriptor(fd)
      var one: Int32 = 1
      setsockopt(fd, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
      if Glibc.connect(fd, address.ai_addr, address.ai_addrlen) == 0 { return socket }
      error = errno
      guard error == EINPROGRESS else { continue }
      var request = pollfd(fd: fd, events: Int16(POLLOUT), revents: 0)
      guard poll(&request, 1, seconds * 1000) > 0 else {
        error = ETIMEDOUT
        continue
      }
      var length = socklen_t(MemoryLayout<Int32>.size)
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length)
      if error == 0 { return socket }
    }
    throw failure(host, port, SystemError(error).text)
  }

  private static func failure(_ host: String, _ port: Int, _ reason: String) -> SpeakerError {
    SpeakerError(.lost, "no connection to \(host.onOneLine) port \(port): \(reason)")
  }

  /// Returns ports of loopback that are free at this moment, each another one.
  static func freePorts(_ count: Int) throws(SpeakerError) -> [Int] {
    var sockets: [OwnedDescriptor] = []
    var ports: [Int] = []
    for _ in 0..<count {
      let (socket, port) = try bound(port: 0)
      sockets.append(socket)
      ports.append(port)
    }
    return withExtendedLifetime(sockets) { ports }
  }

  /// Returns `true` if nothing listens at a port of loopback.
  static func isFree(_ port: Int) -> Bool { (try? bound(port: port)) != nil }

  private static func bound(port: Int) throws(SpeakerError) -> (OwnedDescriptor, Int) {
    let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard fd >= 0 else { throw SpeakerError(.lost, "no socket: \(SystemError(errno).text)") }
    let socket = OwnedDescriptor(fd)
    var one: Int32 = 1
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(fd, pointer, length) == 0 ? getsockname(fd, pointer, &length) : -1
      }
    }
    guard status == 0 else { throw SpeakerError(.lost, "no port \(port): \(SystemError(errno).text)") }
    return (socket, Int(UInt16(bigEndian: address.sin_port)))
  }
}
