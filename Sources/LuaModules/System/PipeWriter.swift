internal import EventLoop
internal import Glibc
internal import LuaRuntime

/// Writes to a pipe as fast as its reader reads. Confined to the loop.
final class PipeWriter {
  private let loop: EventLoop
  private let fd: Int32
  private var watch: FDWatch?
  private var waiting = NumberedQueue<Writing>()

  /// Bytes that have not been written, and the callback for their end.
  private struct Writing {
    var bytes: ArraySlice<UInt8>
    let done: (Int32) -> Void
  }

  /// Writes to `fd`, which is not owned.
  init(loop: EventLoop, fd: Int32) {
    self.loop = loop
    self.fd = fd
    _ = fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK)
  }

  /// Calls `done` in a later turn of the loop: with 0 when all bytes are written, else with the errno.
  /// Several writes are done in their order.
  /// - Returns: a function that cancels the rest of this write.
  func write(_ bytes: [UInt8], _ done: @escaping (Int32) -> Void) -> () -> Void {
    let number = waiting.append(Writing(bytes: bytes[...], done: done))
    loop.next { [weak self] in self?.serve() }
    return { [weak self] in
      self?.waiting.remove(number)
      self?.rest()
    }
  }

  /// Ends the writing.
  func end() {
    watch?.cancel()
    watch = nil
    _ = waiting.removeAll()
  }

  private func serve() {
    while let first = waiting.first {
      let count = first.bytes.withUnsafeBytes { Glibc.write(fd, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      if count < 0 && errno == EAGAIN { break }
      let failure = count < 0 ? errno : 0
      let rest = first.bytes.dropFirst(max(0, count))
      guard failure != 0 || rest.isEmpty else {
        waiting.first = Writing(bytes: rest, done: first.done)
        continue
      }
      waiting.first = nil
      first.done(failure)
    }
    rest()
  }

  /// Watches the pipe while bytes wait for room.
  private func rest() {
    guard !waiting.isEmpty else {
      watch?.cancel()
      watch = nil
      return
    }
    guard watch == nil else { return }
    do {
      watch = try loop.watch(fd, for: .writable) { [unowned self] _ in serve() }
    } catch {
      for write in waiting.removeAll() { write.done(EIO) }
    }
  }
}

extension PipeWriter {
  /// `write(…)`: texts and numbers from argument `first` on; only the calling routine waits.
  func write(_ call: LuaCall, from first: Int, returning file: @escaping () -> LuaValue) throws -> LuaReturn {
    let bytes = try (first..<max(first, call.count + 1)).flatMap { number in
      switch call.value(number) {
      case .int, .number: Array(call.state.text(call.value(number)).utf8)
      default: try call.bytes(number)
      }
    }
    return try call.suspend { continuation in
      write(bytes) { failure in
        continuation.resume(returning: failure == 0 ? [file()] : FileFailure.results(failure))
      }
    }
  }
}

/// The results of Lua's file functions for an error of the system.
enum FileFailure {
  /// - Parameter path: begins the text.
  static func results(_ number: Int32, of path: String? = nil) -> [LuaValue] {
    let text = SystemError(number).text
    return [.nil, .string(path.map { "\($0): \(text)" } ?? text), .int(Int(number))]
  }
}
