internal import EventLoop
internal import Glibc

/// A file lock for one process at a time; it ends with this object or with the process, however that ends.
final class FileLock {
  private let descriptor: Int32

  /// Acquires the lock, waiting while another process holds it. Creates the folders of the path.
  convenience init(waitingFor path: String) throws(CommandFailure) {
    try self.init(opening: path)
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { throw Self.failure("lock", path) }
    }
  }

  /// Acquires the lock at once.
  /// - Returns: nil while another process holds it.
  static func acquire(_ path: String) throws(CommandFailure) -> FileLock? {
    let lock = try FileLock(opening: path)
    if flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 { return lock }
    guard errno == EWOULDBLOCK else { throw failure("lock", path) }
    return nil
  }

  private init(opening path: String) throws(CommandFailure) {
    // A failure to make folders shows when the file is opened.
    try? LinuxFiles.makeFolders(LinuxFiles.folder(of: path), mode: 0o700)
    var file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    // An existing file on a read-only file system can be locked as well.
    if file < 0, errno == EROFS { file = open(path, O_RDONLY | O_CLOEXEC) }
    guard file >= 0 else { throw Self.failure("open", path) }
    descriptor = file
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  private static func failure(_ what: String, _ path: String) -> CommandFailure {
    CommandFailure(.lock, "can't \(what) \(path): \(SystemError(errno).text)")
  }
}
