public import EventLoop
public import HeadsetLink

extension FirmwareFile {
  /// Reads the firmware in the file at `path`. Checks its size before memory is allocated; checks neither
  /// hash nor signature.
  /// - Throws: `headset.update_failed` with step "check".
  public init(contentsOf path: String) throws(HeadsetError) {
    let bytes: [UInt8]
    do { bytes = try WholeFile.read(path, atMost: Self.longest) } catch {
      throw HeadsetError(error, file: path)
    }
    do { try self.init(parsing: bytes) } catch { throw HeadsetError(error, file: path) }
  }

  /// Returns the file at `path` as an image.
  /// - Throws: `headset.update_failed` with step "check" when it can't be read, is empty or is too large.
  public static func image(at path: String) throws(HeadsetError) -> [UInt8] {
    let bytes: [UInt8]
    do { bytes = try WholeFile.read(path, atMost: FirmwareManifest.imageSizes.upperBound) } catch {
      throw HeadsetError(error, file: path)
    }
    if bytes.isEmpty { throw HeadsetError(check: path, "it is empty, and an image is not", hint: nil) }
    return bytes
  }
}

extension HeadsetError {
  /// The error for a firmware file that is damaged, or not for the headset.
  /// - Parameter path: the path of the file.
  public init(_ fault: FirmwareFault, file path: String) {
    self.init(check: path, fault.reason, hint: fault.hint)
  }

  /// The error for a file of an update on a mount that does not answer.
  init(unanswered path: String) {
    let (cause, hint) = FileDeadline.silence(of: path)
    self.init(check: path, "it can't be read: \(cause)", hint: hint)
  }

  fileprivate init(_ failure: WholeFile.ReadError, file path: String) {
    self.init(check: path, "it can't be read: \(failure.reason)", hint: failure.hint)
  }

  fileprivate init(check path: String, _ reason: String, hint: String?) {
    self.init(
      .updateFailed, "\(path.onOneLine): \(reason)", hint: hint,
      facts: [
        ErrorFact("step", .string("check")), ErrorFact("reason", .string(reason)),
        ErrorFact("path", .string(path)),
      ])
  }
}
