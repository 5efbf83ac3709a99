internal import EventLoop
internal import Glibc

/// A file that one process at a time holds: until this goes, or the process ends, however it does.
final class FileLock {
  private let descriptor: Int32

  /// It can't be made.
  struct Failure: CodedError {
    let code = "lock.failed"
    let message: String
  }

  /// Waits until nobody else holds it. Its folders are made.
  convenience init(waitingFor path: String) throws(Failure) {
    try self.init(opening: path)
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { throw Self.failure("lock", path) }
    }
  }

  /// Takes it at once.
  /// - Returns: nil while another process holds it.
  static func take(_ path: String) throws(Failure) -> FileLock? {
    let lock = try FileLock(opening: path)
    if flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 { return lock }
    guard errno == EWOULDBLOCK else { throw failure("lock", path) }
    return nil
  }

  private init(opening path: String) throws(Failure) {
    let folders = path.split(separator: "/").dropLast()
    for count in folders.indices { mkdir("/" + folders[...count].joined(separator: "/"), 0o700) }
    var file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    // What can't be written to can be held all the same, if it is there.
    if file < 0, errno == EROFS { file = open(path, O_RDONLY | O_CLOEXEC) }
    guard file >= 0 else { throw Self.failure("open", path) }
    descriptor = file
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  private static func failure(_ what: String, _ path: String) -> Failure {
    Failure(message: "can't \(what) \(path): \(String(cString: strerror(errno)))")
  }
}
