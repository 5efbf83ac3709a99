internal import AudioCore
internal import CSndfile
internal import EventLoop
internal import Glibc

/// An open libsndfile file and its descriptor; both are closed, in this order, with the last reference.
///
/// libsndfile receives a descriptor of its own: it closes its descriptor when it can't open the file,
/// regardless of its argument about closing, and a number that is closed twice may by then be another file's.
final class SoundFileHandle {
  private static let library = SharedLibrary<sndfile_library>(
    "libsndfile.so.1", package: "libsndfile1", names: sndfile_names())
  /// The failure to load libsndfile; nil when it is there.
  static var libraryFailure: LibraryError? { library.failure }
  /// The version of libsndfile, as `1.2.0`; nil when it can't be loaded.
  static var libraryVersion: String? {
    guard let text = (try? library.functions)?.sf_version_string().map({ String(cString: $0) }) else {
      return nil
    }
    return text.hasPrefix("libsndfile-") ? String(text.dropFirst(11)) : text
  }

  let raw: OpaquePointer
  let sndfile: sndfile_library
  let file: FileDescriptor

  /// Opens `file` for reading; `info` receives the header's values.
  /// - Throws: `audio.unreadable` with libsndfile's words, `audio.unsupported` when it can't be loaded.
  convenience init(reading file: consuming FileDescriptor, path: String, _ info: inout SF_INFO) throws {
    let sndfile: sndfile_library
    do throws(LibraryError) { sndfile = try Self.library.functions } catch {
      throw AudioError(.unsupported, "cannot decode \(path): \(error.message)", hint: error.hint)
    }
    guard let raw = sndfile.sf_open_fd(file.duplicate(), CInt(SFM_READ), &info, CInt(SF_TRUE)) else {
      let words = Self.words(sndfile.sf_strerror(nil))
      // libsndfile's words for a file with a header, and no samples.
      let found = words == "Unspecified internal error" ? "no samples after its header" : "damage (\(words))"
      throw AudioError.unreadable(path, found: found, atByte: min(file.position, file.size))
    }
    self.init(raw, file, sndfile)
  }

  /// Opens `file` for writing in the format of `info`.
  /// - Throws: `audio.no_output` with the system's words, else libsndfile's, or those of the failure to load it.
  convenience init(writing file: consuming FileDescriptor, path: String, _ info: inout SF_INFO) throws {
    let sndfile: sndfile_library
    do throws(LibraryError) { sndfile = try Self.library.functions } catch {
      throw AudioError.noOutput(path, cause: error.message, hint: error.hint)
    }
    errno = 0
    guard let raw = sndfile.sf_open_fd(file.duplicate(), CInt(SFM_WRITE), &info, CInt(SF_TRUE)) else {
      // libsndfile does not report a header that could not be written.
      let number = errno
      let cause = number != 0 ? FileDescriptor.words(for: number) : Self.words(sndfile.sf_strerror(nil))
      throw AudioError.noOutput(path, cause: cause)
    }
    self.init(raw, file, sndfile)
  }

  private init(_ raw: OpaquePointer, _ file: consuming FileDescriptor, _ sndfile: sndfile_library) {
    self.raw = raw
    self.file = file
    self.sndfile = sndfile
  }

  deinit { _ = sndfile.sf_close(raw) }

  /// Sets up the decoding of Opus, which libsndfile does not; all other files stay as they are.
  ///
  /// Its decoder would run at the encoder's original input rate, "not the sample rate to use for playback"
  /// (RFC 7845 §5.1), which may be too low for the stream. And where the positions of a file do not begin at
  /// 0, as in one that was cut from another, the encoder's lead-in would be heard, and the same duration be
  /// missing at the end, until the first seek.
  func prepareOpus(_ info: inout SF_INFO) {
    guard info.format & CInt(SF_FORMAT_SUBMASK) == CInt(SF_FORMAT_OPUS) else { return }
    var rate: CInt = 48_000
    _ = sndfile.sf_command(raw, CInt(SFC_SET_ORIGINAL_SAMPLERATE), &rate, CInt(MemoryLayout<CInt>.size))
    _ = sndfile.sf_command(raw, CInt(SFC_GET_CURRENT_SF_INFO), &info, CInt(MemoryLayout<SF_INFO>.size))
    _ = sndfile.sf_seek(raw, 0, SEEK_SET)
  }

  /// libsndfile's words for its last failure on this file, nil without a failure.
  var lastError: String? { sndfile.sf_error(raw) == 0 ? nil : Self.words(sndfile.sf_strerror(raw)) }

  private static func words(_ text: UnsafePointer<CChar>?) -> String {
    var words = text.map { String(cString: $0) } ?? "an unknown failure"
    while words.hasSuffix(".") || words.hasSuffix("\n") { words.removeLast() }
    return words
  }
}
