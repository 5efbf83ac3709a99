internal import EventLoop
internal import Glibc

extension FirmwareFile {
  /// The firmware in the file at `path`. Its size is looked at before memory is taken; neither hash nor signature are.
  /// - Throws: `headset.update_failed` with step "check".
  public init(contentsOf path: String) throws(HeadsetError) {
    let bytes = try Self.read(path)
    do { try self.init(parsing: bytes) } catch { throw HeadsetError(error, file: path) }
  }

  private static func read(_ path: String) throws(HeadsetError) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw .unreadable(path, String(cString: strerror(errno))) }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .unreadable(path, String(cString: strerror(errno))) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .unreadable(path, "it is no file") }
    guard status.st_size <= longest else {
      throw .unreadable(path, "it has \(status.st_size) bytes, and firmware has \(longest) at most")
    }
    let size = Int(status.st_size)
    var failure: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      while count < size {
        let more = Glibc.read(file, buffer.baseAddress?.advanced(by: count), size - count)
        if more < 0, errno == EINTR { continue }
        if more < 0 { failure = errno }
        if more <= 0 { break }
        count += more
      }
    }
    if failure != 0 { throw .unreadable(path, String(cString: strerror(failure))) }
    return bytes
  }
}

extension HeadsetError {
  /// What is wrong with a firmware file, or why it is not for the headset.
  /// - Parameter file: its path.
  public init(_ fault: FirmwareFault, file path: String) {
    self.init(check: path, fault.reason, hint: fault.hint)
  }

  fileprivate static func unreadable(_ path: String, _ why: String) -> HeadsetError {
    HeadsetError(check: path, "it can't be read: \(why)", hint: "name a firmware file")
  }

  private init(check path: String, _ reason: String, hint: String?) {
    self.init(
      .updateFailed, "\(path.onOneLine): \(reason)", hint: hint,
      facts: [
        ErrorFact("step", .string("check")), ErrorFact("reason", .string(reason)),
        ErrorFact("path", .string(path)),
      ])
  }
}
