internal import EventLoop
internal import Glibc

/// The listening control socket, with the lock that lets one process have it. Both end with this object.
///
/// The locked file is `control.lock` beside the socket, which holds the id and the name of the process. The
/// lock ends with the process, however that ends, so that the socket of a process that was killed is
/// replaced.
final class ControlSocket {
  let fd: Int32
  private let lock: Int32
  private let path: String
  /// The socket's file as it was made; another file may have replaced it.
  private let file: (device: dev_t, inode: ino_t)

  /// Listens at `path`, whose folder is made for this user alone.
  /// - Parameter name: the name of this process, for other processes that try to listen.
  /// - Throws: `daemon.running` when a daemon listens, `speaker.busy` when another process does; `daemon.socket`.
  init(path: String, name: String) throws(DaemonError) {
    guard let address = UnixAddress(path), path.hasPrefix("/") else {
      throw DaemonError(
        .socket,
        "\(path.onOneLine) can't be a socket: its path has more than \(UnixAddress.longestPath) bytes",
        hint: "set XDG_RUNTIME_DIR to a folder with a shorter path")
    }
    let folder = LinuxFiles.folder(of: path)
    try Self.makeFolder(folder)
    lock = try Self.lock(folder + "/control.lock", name)
    self.path = path
    do throws(DaemonError) { (fd, file) = try Self.listening(address, path) } catch {
      close(lock)
      throw error
    }
  }

  deinit {
    close(fd)
    var status = stat()
    if lstat(path, &status) == 0, status.st_dev == file.device, status.st_ino == file.inode { unlink(path) }
    close(lock)
  }

  private static func makeFolder(_ path: String) throws(DaemonError) {
    do throws(SystemError) { try LinuxFiles.makeFolders(path, mode: 0o700) } catch {
      throw failure("make the folder \(path.onOneLine)", error)
    }
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == getuid() else {
      throw DaemonError(.socket, "\(path.onOneLine) is not a folder of this user")
    }
    if status.st_mode & 0o077 != 0, chmod(path, 0o700) != 0 { throw failure("protect \(path.onOneLine)") }
  }

  private static func lock(_ path: String, _ name: String) throws(DaemonError) -> Int32 {
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw failure("open \(path.onOneLine)") }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      defer { close(file) }
      guard errno == EWOULDBLOCK else { throw failure("lock \(path.onOneLine)") }
      throw taken(by: file)
    }
    let text = Array("\(getpid())\n\(name.onOneLine.prefix(60))\n".utf8)
    guard ftruncate(file, 0) == 0, pwrite(file, text, text.count, 0) == text.count else {
      defer { close(file) }
      throw failure("write \(path.onOneLine)")
    }
    return file
  }

  /// Returns the error for a lock that another process has, which its file names.
  private static func taken(by file: Int32) -> DaemonError {
    var bytes = [UInt8](repeating: 0, count: 512)
    let count = pread(file, &bytes, bytes.count, 0)
    let lines = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
    let process = lines.first?.prefix { $0.isNumber } ?? ""
    let name = lines.dropFirst().first.map { String($0).onOneLine } ?? Engine.serviceName
    guard name == Engine.serviceName else {
      return DaemonError(
        .busy, "\(name)\(process.isEmpty ? "" : " (process \(process))") has the house", hint: "end it first")
    }
    return DaemonError(
      .running,
      "the house is served already" + (process.isEmpty ? "" : ", by process \(process) (\(name))"),
      hint: "roomtone ctl status shows it; end it first")
  }

  private static func listening(
    _ address: UnixAddress, _ path: String
  ) throws(DaemonError) -> (Int32, (dev_t, ino_t)) {
    let fd = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard fd >= 0 else { throw failure("make a socket") }
    var status = stat()
    if lstat(path, &status) == 0 {
      // While this process has the lock, a socket here belongs to a process that has ended.
      guard status.st_mode & S_IFMT == S_IFSOCK else {
        close(fd)
        throw DaemonError(.socket, "\(path.onOneLine) exists and is not a socket", hint: "move it away")
      }
      unlink(path)
    }
    // The file that `bind` makes has this mode from its first moment.
    fchmod(fd, 0o600)
    guard address.withPointer({ bind(fd, $0, $1) }) == 0, listen(fd, 128) == 0, lstat(path, &status) == 0
    else {
      defer { close(fd) }
      throw failure("listen at \(path.onOneLine)")
    }
    return (fd, (status.st_dev, status.st_ino))
  }

  private static func failure(_ what: String, _ error: SystemError = SystemError(errno)) -> DaemonError {
    DaemonError(.socket, "can't \(what): \(error.text)")
  }
}
