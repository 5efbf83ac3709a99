internal import EventLoop
internal import Glibc

/// Wakes a thread or a loop from any thread, without a lock: a pipe that holds at most a few bytes.
///
/// Rings that come before the wait are remembered; several may arrive as one. Source: pipe(7).
final class Bell: Sendable {
  /// The read end, readable while a ring is pending; for `EventLoop.watch`.
  let descriptor: Int32
  /// The write end, for `ring(_:)` on threads without reference counting.
  let writing: Int32

  /// Creates the pipe.
  /// - Throws: `speaker.lost` when the process has no descriptors left.
  init() throws(SpeakerError) {
    var ends: (Int32, Int32) = (-1, -1)
    let status = withUnsafeMutableBytes(of: &ends) { pipe($0.bindMemory(to: Int32.self).baseAddress) }
    guard status == 0 else {
      throw SpeakerError(.lost, "no pipe for the audio threads: \(SystemError(errno).text)")
    }
    (descriptor, writing) = ends
    for end in [descriptor, writing] {
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
  }

  deinit {
    close(descriptor)
    close(writing)
  }

  /// Rings. Never waits or fails: a full pipe rings already.
  func ring() { Self.ring(writing) }

  /// Rings the bell with that write end.
  static func ring(_ writing: Int32) {
    var byte: UInt8 = 1
    _ = write(writing, &byte, 1)
  }

  /// Clears the rings so far.
  func silence() {
    var bytes = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
    while read(descriptor, &bytes, 32) == 32 {}
  }

  /// Waits for a ring, at most for `milliseconds`; nil waits without a limit.
  func wait(milliseconds: Int32? = nil) {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&request, 1, milliseconds ?? -1)
    silence()
  }
}
