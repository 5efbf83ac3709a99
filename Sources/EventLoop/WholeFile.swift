internal import Glibc

/// Reads whole files of a limited size; the size is checked before memory is allocated. Does not wait for the
/// writer of a pipe. Any thread.
public enum WholeFile {
  /// The reason why a file was not read.
  public struct ReadError: Error {
    /// The reason as the end of a sentence: "it is not a regular file".
    public let reason: String
    /// The remedy.
    public var hint: String?
    /// The error number of the system call; 0 for a file that was refused for its kind, its rights or its
    /// size.
    public var errno: CInt = 0
  }

  /// Returns all bytes of the file at `path`.
  /// - Parameters:
  ///   - limit: the limit of its size in bytes.
  ///   - isSecret: `true` if only its owner may have access to the file.
  public static func read(
    _ path: String, atMost limit: Int, isSecret: Bool = false, followsLink: Bool = true
  ) throws(ReadError) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLink ? 0 : O_NOFOLLOW))
    guard file >= 0 else { throw ReadError(errno) }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw ReadError(errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw ReadError(reason: "it is not a regular file") }
    guard !isSecret || status.st_mode & 0o077 == 0 else {
      throw ReadError(reason: "it can be read by others than its owner", hint: "chmod 600 \(path)")
    }
    guard status.st_size <= limit else {
      throw ReadError(reason: "it has \(status.st_size) bytes, and \(limit) are the most")
    }
    var failure: CInt = 0
    let size = Int(status.st_size)
    // All empty arrays of Swift share one storage, which this initializer would write into.
    guard size > 0 else { return [] }
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      while count < size {
        let more = Glibc.read(file, buffer.baseAddress?.advanced(by: count), size - count)
        if more < 0, errno == EINTR { continue }
        if more < 0 { failure = errno }
        if more <= 0 { break }
        count += more
      }
    }
    if failure != 0 { throw ReadError(failure) }
    return bytes
  }
}

extension WholeFile.ReadError {
  fileprivate init(_ number: CInt) { self.init(reason: SystemError(number).text, errno: number) }
}
