internal import AudioCore
internal import CSndfile
internal import Glibc

/// An open libsndfile file and its descriptor; both are closed, in this order, when the last reference goes.
///
/// libsndfile is given a descriptor of its own: it closes the one that it is given when it can't open the file, whatever
/// it is told about closing, and a number that is closed twice may by then be another file's.
final class SoundFileHandle {
  let raw: OpaquePointer
  let file: FileDescriptor

  /// Opens `file` for reading; `info` receives what the header tells.
  /// - Throws: `audio.unreadable` with libsndfile's words.
  convenience init(reading file: consuming FileDescriptor, path: String, _ info: inout SF_INFO) throws {
    guard let raw = sf_open_fd(file.duplicate(), CInt(SFM_READ), &info, CInt(SF_TRUE)) else {
      let found = "damage (\(Self.words(sf_strerror(nil))))"
      throw AudioError.unreadable(path, found: found, atByte: min(file.position, file.size))
    }
    self.init(raw, file)
  }

  /// Opens `file` for writing what `info` asks for.
  /// - Throws: `audio.no_output` with the system's words, else libsndfile's.
  convenience init(writing file: consuming FileDescriptor, path: String, _ info: inout SF_INFO) throws {
    errno = 0
    guard let raw = sf_open_fd(file.duplicate(), CInt(SFM_WRITE), &info, CInt(SF_TRUE)) else {
      // libsndfile takes a header that could not be written for no error.
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

  /// What libsndfile says about its last failure on this file, nil when there was none.
  var lastError: String? { sf_error(raw) == 0 ? nil : Self.words(sf_strerror(raw)) }

  private static func words(_ text: UnsafePointer<CChar>?) -> String {
    var words = text.map { String(cString: $0) } ?? "an unknown failure"
    while words.hasSuffix(".") || words.hasSuffix("\n") { words.removeLast() }
    return words
  }
}
