internal import Glibc

/// A thread that its owner joins.
///
/// Unchecked: `handle` is written in `init` before the object is shared; `join` is for its one owner.
final class WorkerThread: @unchecked Sendable {
  private var handle = pthread_t()
  private var isJoined = false

  /// Starts a thread that runs `body` and ends.
  /// - Parameter isRealTime: `true` requests the scheduler's first-in-first-out class; without effect when
  ///   the process has no right to it.
  /// - Throws: `speaker.lost` when the system has no thread left.
  init(isRealTime: Bool = false, _ body: @escaping @Sendable () -> Void) throws(SpeakerError) {
    let start = Unmanaged.passRetained(Start(body))  // released by the thread, or below
    let status = pthread_create(&handle, nil, Self.main, start.toOpaque())
    guard status == 0 else {
      start.release()
      throw SpeakerError(.lost, "no thread for audio: \(String(cString: strerror(status)))")
    }
    if isRealTime {
      var parameters = sched_param()
      parameters.sched_priority = 10
      _ = pthread_setschedparam(handle, SCHED_FIFO, &parameters)
    }
  }

  /// Waits for the end of the thread. A second call does nothing.
  func join() {
    guard !isJoined else { return }
    isJoined = true
    pthread_join(handle, nil)
  }

  private final class Start: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { raw in
    guard let raw else { return nil }
    Unmanaged<Start>.fromOpaque(raw).takeRetainedValue().body()
    return nil
  }
}

/// Returns the time of CLOCK_MONOTONIC, the audio thread's clock, in nanoseconds.
func monotonicNanoseconds() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Sleeps until a time of CLOCK_MONOTONIC, in nanoseconds.
func sleepUntil(monotonicNanoseconds due: Int64) {
  var time = timespec(tv_sec: Int(due / 1_000_000_000), tv_nsec: Int(due % 1_000_000_000))
  while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
}
