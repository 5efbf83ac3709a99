public import Glibc

// @unchecked Sendable: the memory at `state` is touched under `mutex` only, and enters and leaves by
// `sending`.
/// The only lock type of the project: a mutex of pthreads around the state that it guards.
///
/// `Synchronization.Mutex` would do the same, but the thread sanitizer cannot see it on Linux and reports
/// false races. Not recursive. Never held across a call out of the project's own code.
public final class Lock<State>: @unchecked Sendable {
  @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
  @usableFromInline let state: UnsafeMutablePointer<State>

  /// Creates a lock around `state`.
  public init(_ state: sending State) {
    self.state = .allocate(capacity: 1)  // freed in deinit, with the mutex
    self.state.initialize(to: state)
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    let status = pthread_mutex_init(mutex, nil)
    precondition(status == 0, "pthread_mutex_init failed")
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Calls `body` with exclusive access to the state.
  @inlinable
  public func withLock<Result, Failure: Error>(
    _ body: (inout sending State) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&state.pointee)
  }
}
