internal import Glibc

/// A TCP socket of 127.0.0.1 whose calls end with the station at the latest.
final class Socket {
  /// The descriptor; below 0 when it is closed.
  private var descriptor: Int32
  /// A descriptor that is readable when the station ends.
  private let stop: Int32

  init(_ descriptor: Int32, stop: Int32) {
    (self.descriptor, self.stop) = (descriptor, stop)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
  }

  deinit { end() }

  /// Closes the socket; in order, unless `reset` was called. A second call does nothing.
  func end() {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
  }

  /// Waits for `duration`, or for the end of the station.
  func wait(_ duration: Duration) { _ = wait(for: 0, duration) }

  /// Sends all of `bytes`.
  /// - Returns: `false` when the station ends or the other side is gone.
  func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count > 0 {
        sent += count
      } else if errno != EAGAIN || !wait(for: Int16(POLLOUT), nil) {
        return false
      }
    }
    return true
  }

  /// Returns up to `limit` bytes as they arrive, empty at the end.
  func receive(_ limit: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: limit)
    while true {
      let count = recv(descriptor, &bytes, limit, 0)
      if count >= 0 { return Array(bytes.prefix(count)) }
      guard errno == EAGAIN, wait(for: Int16(POLLIN), nil) else { return [] }
    }
  }

  /// Waits for `duration` (nil: for ever).
  /// - Returns: `false` when the station ends or the other side is gone.
  func sleep(_ duration: Duration?) -> Bool {
    // Not POLLIN: the awaited event is the end of the other side, which sends nothing more.
    let isEnded = wait(for: 0x2000, duration)  // POLLRDHUP, poll(2)
    return !isEnded && !isStopped && duration != nil
  }

  /// Makes the connection end with a reset, when all sent bytes have arrived.
  func reset() {
    var waiting: Int32 = 1
    // The kernel reports the bytes under way, and no event when there are none.
    let outputQueue: UInt = 0x5411  // SIOCOUTQ, tcp(7)
    while ioctl(descriptor, outputQueue, &waiting) == 0, waiting > 0, !isStopped { usleep(500) }
    var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
  }

  private var isStopped: Bool {
    var request = pollfd(fd: stop, events: Int16(POLLIN), revents: 0)
    return poll(&request, 1, 0) > 0
  }

  /// Waits for an event of the socket.
  /// - Returns: `false` on a timeout, or when the station ends.
  private func wait(for events: Int16, _ duration: Duration?) -> Bool {
    var requests = [
      pollfd(fd: descriptor, events: events, revents: 0), pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
    ]
    let milliseconds = duration.map { Int32(clamping: ($0.nanosecondsForPoll + 999_999) / 1_000_000) } ?? -1
    while poll(&requests, 2, milliseconds) < 0 && errno == EINTR {}
    return requests[1].revents == 0 && requests[0].revents != 0
  }

  /// Returns the next connection to a listening socket, in blocking mode; below 0 when there is none.
  static func accepted(from listener: Int32) -> Int32 {
    let descriptor = accept(listener, nil, nil)
    // At once: a child process of another test would hold the connection open.
    if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    return descriptor
  }

  /// Returns a socket bound to a port of 127.0.0.1, which another one can share.
  /// - Parameter port: 0 for a free one.
  static func bound(port: UInt16) throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(
      AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { throw TestFailure("no socket: \(String(cString: strerror(errno)))") }
    var one: Int32 = 1
    // Not before the kernel has chosen: it must not choose one that another station shares.
    if port != 0 { setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &one, 4) }
    var address = localAddress(port)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        let status = bind(descriptor, address, length)
        return status == 0 ? getsockname(descriptor, address, &length) : status
      }
    }
    guard status == 0 else {
      let reason = String(cString: strerror(errno))
      close(descriptor)
      throw TestFailure("cannot bind to 127.0.0.1:\(port): \(reason)")
    }
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &one, 4)
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  /// Returns a socket connected to a port of 127.0.0.1, in blocking mode.
  static func connected(to port: UInt16) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw TestFailure("no socket: \(String(cString: strerror(errno)))") }
    var address = localAddress(port)
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else {
      close(descriptor)
      throw TestFailure("cannot connect to 127.0.0.1:\(port)")
    }
    return descriptor
  }

  private static func localAddress(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }
}

extension Duration {
  fileprivate var nanosecondsForPoll: Int64 {
    components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
  }
}
