internal import EventLoop
internal import Glibc
internal import HeadsetLink

extension LinkAddress {
  /// The longest time until a connection is accepted.
  static let connectTimeout = Duration.seconds(5)

  /// Connects.
  /// - Throws: `notAvailable` when nothing is at this address, `timeout`, `connectionFailed` otherwise.
  func connect(_ loop: EventLoop) async throws(HeadsetError) -> any LinkChannel {
    // An address whose text can't be parsed is invalid: another machine's, or a path that is too long.
    guard try LinkAddress(parsing: "\(self)") == self else { throw Self.unreadable("\(self)") }
    switch self {
    case .serial(let path, let baud):
      let fd = SerialLine.open(path, baud: baud)
      guard fd >= 0 else { throw failure(-fd) }
      return try FDChannel(owning: fd, loop: loop)
    case .unix, .tcp, .rfcomm:
      let fd = try beginConnection()
      do throws(HeadsetError) { try await whenConnected(fd, loop) } catch {
        close(fd)
        throw error
      }
      return try FDChannel(owning: fd, loop: loop)
    }
  }

  /// A socket that is connected or about to be.
  private func beginConnection() throws(HeadsetError) -> Int32 {
    let address = SocketAddress(self)
    let fd = socket(
      address.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue),
      address.networkProtocol)
    guard fd >= 0 else { throw failure(errno) }
    let status = address.withPointer { Glibc.connect(fd, $0, $1) }
    guard status == 0 || errno == EINPROGRESS else {
      let error = errno
      close(fd)
      throw failure(error)
    }
    var one: Int32 = 1
    if case .tcp = self {
      setsockopt(fd, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }
    return fd
  }

  private func whenConnected(_ fd: Int32, _ loop: EventLoop) async throws(HeadsetError) {
    let outcome = PendingAnswer<Int32>()
    let watch: FDWatch
    do {
      watch = try loop.watch(fd, for: .writable) { _ in
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length)
        outcome.resolve(.success(error))
      }
    } catch { throw HeadsetError(.connectionFailed, error.message) }
    let timer = loop.after(Self.connectTimeout) {
      outcome.resolve(.failure(HeadsetError(.timeout, "\(self) does not take the connection")))
    }
    defer {
      watch.cancel()
      timer.cancel()
    }
    let error = try await outcome.value()
    guard error == 0 else { throw failure(error) }
  }

  /// The error for an errno of a connection attempt.
  private func failure(_ error: Int32) -> HeadsetError {
    let reason = SystemError(error).text
    switch error {
    case ENOENT, ECONNREFUSED, ENXIO, ENODEV, EHOSTDOWN, EHOSTUNREACH:
      return HeadsetError(
        .notAvailable, "no headset at \(self) (\(reason))",
        hint: "switch it on, or check the address; roomtone board --listen \(self) emulates one")
    case EAFNOSUPPORT:
      return HeadsetError(.connectionFailed, "\(self): this machine can't connect in that way (\(reason))")
    default:
      return HeadsetError(.connectionFailed, "\(self) can't be connected (\(reason))")
    }
  }
}
