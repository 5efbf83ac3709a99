internal import AudioCore
internal import EventLoop
internal import Glibc

/// An open regular file, closed when the value is destroyed.
struct FileDescriptor: ~Copyable {
  let raw: CInt
  /// The length in bytes when it was opened.
  let size: Int

  /// Opens a regular file for reading.
  /// - Throws: `audio.not_found` with the system's words, or stating that it is a folder or a device.
  init(reading path: String) throws(AudioError) {
    // Without O_NONBLOCK a pipe without a writer would block the caller for ever.
    let raw = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard raw >= 0 else { throw .notFound(path, cause: Self.lastError(), hint: Self.hint(for: path)) }
    var status = stat()
    guard fstat(raw, &status) == 0 else {
      let cause = Self.lastError()
      close(raw)
      throw .notFound(path, cause: cause)
    }
    let kind = status.st_mode & S_IFMT
    guard kind == S_IFREG else {
      close(raw)
      throw .notFound(path, cause: kind == S_IFDIR ? "it is a folder" : "it is not a regular file")
    }
    self.raw = raw
    size = Int(status.st_size)
  }

  /// Creates a file for writing, or empties an existing one. The target of a symbolic link is not touched,
  /// except for a character device.
  /// - Throws: `audio.no_output` with the system's words, or stating that it is a link.
  init(writing path: String) throws(AudioError) {
    raw = Self.openForWriting(path)
    size = 0
    guard raw >= 0 else {
      throw .noOutput(path, cause: errno == ELOOP ? "it is a symbolic link" : Self.lastError())
    }
  }

  /// Returns the descriptor; -1, with ELOOP for a link to anything but a character device.
  private static func openForWriting(_ path: String) -> CInt {
    let file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o666)
    guard file < 0, errno == ELOOP else { return file }
    let target = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    var status = stat()
    if target >= 0, fstat(target, &status) == 0, status.st_mode & S_IFMT == S_IFCHR { return target }
    if target >= 0 { close(target) }
    errno = ELOOP
    return -1
  }

  /// Returns a hint for a path with U+FFFD, which replaces bytes of a name that is not UTF-8: no file has
  /// that name.
  private static func hint(for path: String) -> String? {
    path.unicodeScalars.contains("\u{FFFD}") ? "give the file a name in UTF-8" : nil
  }

  deinit { if raw >= 0 { close(raw) } }

  /// Returns up to `count` bytes from `offset` on; fewer at the end of the file, none when reading fails.
  func bytes(at offset: Int, count: Int) -> [UInt8] {
    // All empty arrays of Swift share one storage, which such an initializer would write into.
    guard count > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      while initialized < count {
        let target = buffer.baseAddress.map { $0 + initialized }
        let got = pread(raw, target, count - initialized, offset + initialized)
        if got < 0 && errno == EINTR { continue }
        if got <= 0 { break }
        initialized += got
      }
    }
  }

  /// Returns another descriptor of the same open file, which the caller closes; -1 when the system has none
  /// left.
  func duplicate() -> CInt { fcntl(raw, F_DUPFD_CLOEXEC, 0) }

  /// The offset of the next read or write of the descriptor.
  var position: Int { max(0, Int(lseek(raw, 0, SEEK_CUR))) }

  /// Returns the system's words for the last failure on this thread, in lower case as the rest of a message.
  static func lastError() -> String { words(for: errno) }

  /// Returns the system's words for an error number.
  static func words(for number: CInt) -> String {
    let words = SystemError(number).text
    return words.prefix(1).lowercased() + words.dropFirst()
  }
}
