import Glibc

/// Returns the seconds of processor time that `body` takes on this thread: others do not change it, however busy the
/// machine is.
public func processorTime(_ body: () throws -> Void) rethrows -> Double {
  let start = ownProcessorTime()
  try body()
  return ownProcessorTime() - start
}

/// Returns the seconds of processor time that this thread has taken.
public func ownProcessorTime() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
