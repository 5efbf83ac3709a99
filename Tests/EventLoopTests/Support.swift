import EventLoop
import Glibc
import Synchronization

/// Returns a virtual loop whose civil time begins at 2026-01-01T00:00:00Z.
func virtualLoop() -> EventLoop { EventLoop(clock: .virtual(start: WallTime(seconds: 1_767_225_600))) }

/// Runs `loop` until it is idle or stopped.
@discardableResult
func drain(_ loop: EventLoop) -> EventLoop.RunResult { loop.run(until: { false }) }

/// A thread that runs `body`; the caller may join it.
final class TestThread: Sendable {
  private let thread: pthread_t

  init(_ body: @escaping @Sendable () -> Void) {
    let box = Unmanaged.passRetained(Box(body)).toOpaque()  // released by the thread
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { raw in
        guard let raw else { return nil }
        Unmanaged<Box>.fromOpaque(raw).takeRetainedValue().body()
        return nil
      }, box)
    self.thread = thread
  }

  func join() { pthread_join(thread, nil) }

  private final class Box: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}

/// Returns the reading and the writing end of a pipe; neither blocks, nor is inherited by child processes.
func openPipe() -> [Int32] {
  var ends: [Int32] = [0, 0]
  pipe(&ends)
  for fd in ends {
    _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
    _ = fcntl(fd, F_SETFL, O_NONBLOCK)
  }
  return ends
}

/// Both ends of a pipe, closed at the end of the test.
final class Pipe {
  let reading: Int32
  let writing: Int32

  init() {
    let ends = openPipe()
    (reading, writing) = (ends[0], ends[1])
  }

  deinit {
    close(reading)
    close(writing)
  }

  func send(_ text: String) { text.withCString { _ = write(writing, $0, strlen($0)) } }

  /// Returns the text that can be read now.
  func receive() -> String { readText(reading) }
}

/// Reads up to `limit` bytes of a descriptor, empty at its end.
func readText(_ fd: Int32, limit: Int = 64) -> String {
  var bytes = [UInt8](repeating: 0, count: limit)
  let count = read(fd, &bytes, limit)
  return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
}

/// A counter for any thread.
final class Counter: Sendable {
  private let count = Atomic(0)
  func add(_ number: Int = 1) { count.add(number, ordering: .relaxed) }
  var value: Int { count.load(ordering: .relaxed) }
}
