internal import EventLoop
internal import Glibc
internal import HeadsetLink

/// A socket at which hosts connect to a board. Confined to a loop.
final class ListeningSocket {
  /// The address for hosts.
  let address: LinkAddress
  private let fd: Int32
  private let loop: EventLoop
  private var watch: FDWatch?
  /// The file of a unix socket as it was created; another file may have replaced it since.
  private var file: (path: String, device: dev_t, inode: ino_t)?

  /// Listens; `onHost` receives each accepted descriptor.
  /// - Throws: `listen`.
  init(unix path: String, loop: EventLoop, onHost: @escaping (Int32) -> Void) throws(BoardError) {
    try Self.makeWay(path)
    self.loop = loop
    (address, fd) = (.unix(path: path), try Self.bound(.unix(path: path)))
    var status = stat()
    if lstat(path, &status) == 0 { file = (path, status.st_dev, status.st_ino) }
    try begin(onHost)
  }

  /// Listens at a port; 0 chooses a free port.
  init(tcp host: String, port: UInt16, loop: EventLoop, onHost: @escaping (Int32) -> Void) throws(BoardError)
  {
    self.loop = loop
    fd = try Self.bound(.tcp(host: host, port: port))
    address = .tcp(host: host, port: Self.port(of: fd))
    try begin(onHost)
  }

  deinit { close() }

  func close() {
    guard watch != nil else { return }
    watch?.cancel()
    watch = nil
    Glibc.close(fd)
    if let file {
      var status = stat()
      if lstat(file.path, &status) == 0, status.st_dev == file.device, status.st_ino == file.inode {
        unlink(file.path)
      }
    }
  }

  private func begin(_ onHost: @escaping (Int32) -> Void) throws(BoardError) {
    let fd = fd
    do throws(LoopError) {
      watch = try loop.watch(fd, for: .readable) { _ in
        let host = accept(fd, nil, nil)
        guard host >= 0 else { return }
        _ = fcntl(host, F_SETFD, FD_CLOEXEC)
        onHost(host)
      }
    } catch {
      Glibc.close(fd)
      throw BoardError(.listen, error.message)
    }
  }

  // MARK: The socket

  /// Removes the socket of a board that has ended. Any other file stays.
  private static func makeWay(_ path: String) throws(BoardError) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw BoardError(.listen, "\(path.onOneLine) exists and is not a socket", hint: "name another path")
    }
    let address = SocketAddress(.unix(path: path))
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let fd = socket(address.family, kind, 0)
    guard fd >= 0 else { throw failure(.unix(path: path)) }
    defer { Glibc.close(fd) }
    let isAlive = address.withPointer { connect(fd, $0, $1) } == 0
    guard !isAlive, errno == ECONNREFUSED else {
      throw BoardError(
        .listen, "something listens at \(path.onOneLine) already",
        hint: "end it, or listen at another path")
    }
    unlink(path)
  }

  private static func bound(_ at: LinkAddress) throws(BoardError) -> Int32 {
    let address = SocketAddress(at)
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let fd = socket(address.family, kind, 0)
    guard fd >= 0 else { throw failure(at) }
    if case .tcp = at {
      var one: Int32 = 1
      setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    } else {
      // The file that `bind` makes has this mode from its first moment.
      fchmod(fd, 0o600)
    }
    guard address.withPointer({ bind(fd, $0, $1) }) == 0, listen(fd, 8) == 0 else {
      let failure = failure(at)
      Glibc.close(fd)
      throw failure
    }
    return fd
  }

  private static func port(of fd: Int32) -> UInt16 {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    withUnsafeMutablePointer(to: &storage) { pointer in
      _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(fd, $0, &length) }
    }
    // The port follows the family, for IPv4 and for IPv6.
    return withUnsafeBytes(of: storage) { UInt16($0[2]) << 8 | UInt16($0[3]) }
  }

  private static func failure(_ at: LinkAddress) -> BoardError {
    BoardError(.listen, "can't listen at \("\(at)".onOneLine) (\(SystemError(errno).text))")
  }
}
