internal import EventLoop
internal import Glibc

/// Reads and writes pieces of existing files.
enum FileBytes {
  /// Returns up to `count` bytes from `offset` on; fewer at the end of the file.
  static func read(_ file: Int32, _ path: String, at offset: Int, count: Int) throws(RecordError) -> [UInt8] {
    // All empty arrays of Swift share one storage, which this initializer would write into.
    guard count > 0 else { return [] }
    var failure: Int32?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      while initialized < count {
        let target = buffer.baseAddress.map { $0 + initialized }
        let got = pread(file, target, count - initialized, off_t(offset + initialized))
        if got < 0 && errno == EINTR { continue }
        if got < 0 { failure = errno }
        if got <= 0 { break }
        initialized += got
      }
    }
    if let failure { throw RecordError("read", path, errno: failure) }
    return bytes
  }

  /// Calls `body` with the open file at `path` and its length.
  static func withFile<Result>(
    _ path: String, writable: Bool = false, _ body: (Int32, Int) throws(RecordError) -> Result
  ) throws(RecordError) -> Result {
    let file = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw RecordError("open", path, errno: errno) }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw RecordError("read", path, errno: errno) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw RecordError(.write, "\(path.onOneLine) is not a file", facts: [.init("path", .string(path))])
    }
    return try body(file, Int(status.st_size))
  }

  /// Writes all bytes at `offset`.
  static func write(_ bytes: ArraySlice<UInt8>, _ file: Int32, _ path: String, at offset: Int)
    throws(RecordError)
  {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { bytes in
        pwrite(file, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(offset + done))
      }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw RecordError("write", path, errno: count == 0 ? EIO : errno) }
      done += count
    }
  }

  /// Removes all bytes after the first `length`.
  static func truncate(_ file: Int32, _ path: String, to length: Int) throws(RecordError) {
    guard ftruncate(file, off_t(length)) == 0 else { throw RecordError("cut", path, errno: errno) }
  }
}
