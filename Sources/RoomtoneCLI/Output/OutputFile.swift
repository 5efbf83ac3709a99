internal import EventLoop
internal import Glibc

/// Atomic output of a file: written under another name in the same folder, then renamed.
struct OutputFile {
  private let path: String
  /// Target of symbolic links, which remain.
  private let target: String
  private let replaces: Bool
  private let kind: CommandFailureKind
  /// Permissions of the file that is replaced; nil for a new file.
  private let permissions: mode_t?

  /// Creates the output, and checks that it can be written, so that the work before it is not in vain.
  /// - Parameters:
  ///   - replaces: `true` if an existing file may be replaced, which keeps its permissions; else it remains unchanged.
  ///   - kind: the kind of its failures.
  /// - Throws: `CommandFailure` of `kind`.
  init(_ path: String, replaces: Bool, kind: CommandFailureKind) throws {
    (self.path, self.replaces, self.kind) = (path, replaces, kind)
    target = Self.realPath(path) ?? path
    var old = stat()
    let isThere = stat(target, &old) == 0
    permissions = isThere ? old.st_mode & 0o777 : nil
    if isThere, old.st_mode & S_IFMT != S_IFREG {
      throw CommandFailure(kind, "\(path.onOneLine) is there and is not a file")
    }
    if isThere, !replaces { throw taken() }
    let (file, name) = try create()
    close(file)
    unlink(name)
  }

  /// Writes the file, whole or not at all.
  /// - Throws: `CommandFailure`.
  func write(_ bytes: [UInt8]) throws {
    let (file, new) = try create()
    let mask = umask(0o077)
    umask(mask)
    var problem = fchmod(file, permissions ?? 0o666 & ~mask) == 0 ? 0 : errno
    if problem == 0 { problem = Self.put(bytes, into: file) }
    if problem == 0, fsync(file) != 0 { problem = errno }
    if close(file) != 0, problem == 0 { problem = errno }
    if problem == 0 {
      problem =
        replaces ? (rename(new, target) == 0 ? 0 : errno) : LinuxFiles.rename(new, toNew: target)
    }
    guard problem != 0 else { return }
    unlink(new)
    throw problem == EEXIST ? taken() : failure(problem)
  }

  /// Creates an empty file beside the target.
  private func create() throws -> (file: Int32, name: String) {
    var name = Array("\(target).XXXXXX".utf8CString)
    let file = mkstemp(&name)
    guard file >= 0 else { throw failure(errno) }
    return (file, String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
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

  private func taken() -> CommandFailure {
    CommandFailure(kind, "\(path.onOneLine) is there already", hint: "--force replaces it")
  }

  private func failure(_ number: Int32) -> CommandFailure {
    CommandFailure(kind, "can't write \(path.onOneLine): \(SystemError(number).text)")
  }
}
