internal import AudioCore
internal import CSndfile

/// An open libsndfile file on a descriptor which it does not own; closed when the last reference goes.
final class SoundFileHandle {
  let raw: OpaquePointer

  /// Opens `descriptor` for reading; `info` receives what the header tells.
  /// - Returns: nil when libsndfile refuses; `openError` says why.
  init?(reading descriptor: CInt, _ info: inout SF_INFO) {
    guard let raw = sf_open_fd(descriptor, CInt(SFM_READ), &info, 0) else { return nil }
    self.raw = raw
  }

  /// Opens `descriptor` for writing what `info` asks for.
  init?(writing descriptor: CInt, _ info: inout SF_INFO) {
    guard let raw = sf_open_fd(descriptor, CInt(SFM_WRITE), &info, 0) else { return nil }
    self.raw = raw
  }

  deinit { sf_close(raw) }

  /// What libsndfile says about its last failure on this file, nil when there was none.
  var lastError: String? { sf_error(raw) == 0 ? nil : Self.words(sf_strerror(raw)) }

  /// What libsndfile says about the last open that failed.
  static var openError: String { words(sf_strerror(nil)) }

  private static func words(_ text: UnsafePointer<CChar>?) -> String {
    var words = text.map { String(cString: $0) } ?? "an unknown failure"
    while words.hasSuffix(".") || words.hasSuffix("\n") { words.removeLast() }
    return words
  }
}
