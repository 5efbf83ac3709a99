internal import EventLoop
internal import Glibc

/// Atomic output of a firmware file: written under another name in the same folder, then renamed.
enum OutputFile {
  /// Writes `bytes` to `path`.
  /// - Parameter replaces: `true` if an existing file may be replaced, which keeps its permissions; else it remains
  ///   unchanged.
  static func write(_ bytes: [UInt8], to path: String, replaces: Bool) throws {
    // A symbolic link remains; its target is replaced.
    let target = realPath(path) ?? path
    var old = stat()
    let isThere = stat(target, &old) == 0
    if isThere, old.st_mode & S_IFMT != S_IFREG {
      throw CommandFailure(.firmwareFile, "\(path) is there and is not a file")
    }
    if isThere, !replaces { throw taken(path) }
    var name = Array("\(target).XXXXXX".utf8CString)
    let file = mkstemp(&name)
    guard file >= 0 else { throw failure(path, errno) }
    let new = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let mask = umask(0o077)
    umask(mask)
    var problem = fchmod(file, isThere ? old.st_mode & 0o777 : 0o666 & ~mask) == 0 ? 0 : errno
    if problem == 0 { problem = put(bytes, into: file) }
    if problem == 0, fsync(file) != 0 { problem = errno }
    if close(file) != 0, problem == 0 { problem = errno }
    if problem == 0 {
      problem =
        replaces ? (rename(new, target) == 0 ? 0 : errno) : LinuxFiles.rename(new, toNew: target)
    }
    guard problem != 0 else { return }
    unlink(new)
    throw problem == EEXIST ? taken(path) : failure(path, problem)
  }

  /// Returns `true` if two paths lead to the same file.
  static func areSame(_ one: String, _ other: String) -> Bool {
    var (first, second) = (stat(), stat())
    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev
      && first.st_ino == second.st_ino
  }

  private static func realPath(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }

  private static func put(_ bytes: [UInt8], into file: Int32) -> Int32 {
    var done = 0
    while done < bytes.count {
      let more = bytes[done...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      if more < 0, errno == EINTR { continue }
      guard more > 0 else { return more < 0 ? errno : EIO }
      done += more
    }
    return 0
  }

  private static func taken(_ path: String) -> CommandFailure {
    CommandFailure(.firmwareFile, "\(path) is there already", hint: "--force replaces it")
  }

  private static func failure(_ path: String, _ number: Int32) -> CommandFailure {
    CommandFailure(.firmwareFile, "can't write \(path): \(SystemError(number).text)")
  }
}
