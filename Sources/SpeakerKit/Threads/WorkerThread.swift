internal import EventLoop
internal import Glibc

/// A thread that its owner joins, or abandons.
///
/// Unchecked: `handle` is written in `init` before the object is shared; `join` is for its one owner.
final class WorkerThread: @unchecked Sendable {
  private let handle: pthread_t
  private var isJoined = false

  /// Starts a thread that runs `body` and ends.
  /// - Parameter isRealTime: `true` requests the scheduler's first-in-first-out class; without effect when
  ///   the process has no right to it.
  /// - Throws: `speaker.lost` when the system has no thread left.
  init(isRealTime: Bool = false, _ body: @escaping @Sendable () -> Void) throws(SpeakerError) {
    do throws(LoopError) { handle = try startThread("no thread for audio", body) } catch {
      throw SpeakerError(.lost, error.message)
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

  /// Leaves the thread to itself, in place of `join`.
  func abandon() {
    guard !isJoined else { return }
    isJoined = true
    pthread_detach(handle)
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
