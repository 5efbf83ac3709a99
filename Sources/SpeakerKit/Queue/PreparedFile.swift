internal import AudioCore
internal import Codecs
internal import EventLoop
internal import Glibc

/// A file that is opened on a thread of its own, ahead of its turn in a queue.
///
/// Unchecked: `isAwaited` belongs to the thread that decodes; the outcome is under a lock.
final class PreparedFile: @unchecked Sendable {
  /// Path of the file.
  let path: String
  private let outcome: Lock<Opened?>
  private let thread: UInt?
  private var isAwaited = false

  /// An opened file: handed over with the thread that opened it.
  private struct Opened: @unchecked Sendable { let result: Result<any Decoder, any Error> }

  /// Begins to open the file at `path`; without a thread to spare `adopt` opens it.
  init(_ path: String, to format: AudioFormat) {
    self.path = path
    let outcome = Lock<Opened?>(nil)
    self.outcome = outcome
    thread = try? startThread("no thread to open \(path)") {
      let opened = Opened(result: Result { try Self.open(path, to: format) })
      outcome.withLock { $0 = opened }
    }
  }

  deinit { if let thread, !isAwaited { pthread_detach(thread) } }

  /// Waits until the file is open.
  /// - Throws: `AudioError`.
  func adopt(to format: AudioFormat) throws -> any Decoder {
    if let thread, !isAwaited { pthread_join(thread, nil) }
    isAwaited = true
    let opened = outcome.withLock { state in
      defer { state = nil }
      return state
    }
    return try opened?.result.get() ?? Self.open(path, to: format)
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
