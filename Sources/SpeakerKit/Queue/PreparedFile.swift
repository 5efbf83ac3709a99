internal import AudioCore
internal import Codecs
internal import EventLoop

/// A file that is opened on a thread of its own: ahead of its turn in a queue, or because its file system may never
/// answer.
final class PreparedFile {
  /// The path of the file.
  let path: String
  private let target: AudioFormat
  private let call: FileCall<any Decoder>?

  /// Begins to open the file at `path`, for sessions of `format`; without a thread to spare `adopt` opens it.
  init(_ path: String, to format: AudioFormat) {
    (self.path, target) = (path, format)
    call = try? FileCall { try Self.open(path, to: format) }
  }

  /// Waits until the file is open. Called once.
  /// - Returns: the decoder; nil when the file system has not answered in time.
  /// - Throws: `AudioError`.
  func adopt() throws -> (any Decoder)? {
    guard let call else { return try Self.open(path, to: target) }
    return try call.wait()
  }

  /// Opens a file whose sound can be converted to `format`.
  /// - Throws: `AudioError`.
  static func open(_ path: String, to format: AudioFormat) throws -> any Decoder {
    let file = try AudioFile.open(path)
    // Refuses rates and channels that a session can't play, which would end the whole queue later.
    _ = try ConformedDecoder(file, to: format)
    return file
  }
}
