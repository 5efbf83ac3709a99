internal import AudioCore
internal import CSndfile
internal import Glibc

/// An open libsndfile file and its descriptor; both are closed, in this order, with the last reference.
///
/// libsndfile receives a descriptor of its own: it closes its descriptor when it can't open the file,
/// regardless of its argument about closing, and a number that is closed twice may by then be another file's.
final class SoundFileHandle {
  /// The version of libsndfile, as `1.2.0`.
  static var libraryVersion: String {
    let text = String(cString: sf_version_string())
    return text.hasPrefix("libsndfile-") ? String(text.dropFirst(11)) : text
  }

  let raw: OpaquePointer
  let file: FileDescriptor

  /// Opens `file` for reading; `info` receives the header's values.
  /// - Throws: `audio.unreadable` with libsndfile's words.
  convenience init(reading file: consuming FileDescriptor, path: String, _ info: inout SF_INFO) throws {
    guard let raw = sf_open_fd(file.duplicate(), CInt(SFM_READ), &info, CInt(SF_TRUE)) else {
      let words = Self.words(sf_strerror(nil))
      // libsndfile's words for a file with a header, and no samples.
      let found = words == "Unspecified internal error" ? "no samples behind its header" : "damage (\(words))"
      throw AudioError.unreadable(path, found: found, atByte: min(file.position, file.size))
    }
    self.init(raw, file)
  }

  /// Opens `file` for writing in the format of `info`.
  /// - Throws: `audio.no_output` with the system's words, else libsndfile's.
  convenience init(writing file: consuming FileDescriptor, path: String, _ info: inout SF_INFO) throws {
    errno = 0
    guard let raw = sf_open_fd(file.duplicate(), CInt(SFM_WRITE), &info, CInt(SF_TRUE)) else {
      // libsndfile does not report a header that could not be written.
      let number = errno
      let cause = number != 0 ? FileDescriptor.words(for: number) : Self.words(sf_strerror(nil))
      throw AudioError.noOutput(path, cause: cause)
    }
    self.init(raw, file)
  }

  private init(_ raw: OpaquePointer, _ file: consuming FileDescriptor) {
    self.raw = raw
    self.file = file
  }

  deinit { sf_close(raw) }

  /// Sets up the decoding of Opus, which libsndfile does not; all other files stay as they are.
  ///
  /// Its decoder would run at the encoder's original input rate, "not the sample rate to use for playback"
  /// (RFC 7845 §5.1), which may be too low for the stream. And where the positions of a file do not begin at
  /// 0, as in one that was cut from another, the encoder's lead-in would be heard, and as much be missing at
  /// the end, until the first seek.
  func prepareOpus(_ info: inout SF_INFO) {
    guard info.format & CInt(SF_FORMAT_SUBMASK) == CInt(SF_FORMAT_OPUS) else { return }
    var rate: CInt = 48_000
    sf_command(raw, CInt(SFC_SET_ORIGINAL_SAMPLERATE), &rate, CInt(MemoryLayout<CInt>.size))
    sf_command(raw, CInt(SFC_GET_CURRENT_SF_INFO), &info, CInt(MemoryLayout<SF_INFO>.size))
    sf_seek(raw, 0, SEEK_SET)
  }

  /// libsndfile's words for its last failure on this file, nil when there was none.
  var lastError: String? { sf_error(raw) == 0 ? nil : Self.words(sf_strerror(raw)) }

  private static func words(_ text: UnsafePointer<CChar>?) -> String {
    var words = text.map { String(cString: $0) } ?? "an unknown failure"
    while words.hasSuffix(".") || words.hasSuffix("\n") { words.removeLast() }
    return words
  }
}
