internal import Glibc

/// A thread for tests of state shared by two threads.
public final class TestThread {
  private var thread = pthread_t()

  /// Starts a thread that runs `body`.
  public init(_ body: @escaping @Sendable () -> Void) throws {
    let start = Unmanaged.passRetained(Body(run: body)).toOpaque()  // released by the thread that it starts
    let failure = pthread_create(
      &thread, nil,
      { pointer in
        if let pointer { Unmanaged<Body>.fromOpaque(pointer).takeRetainedValue().run() }
        return nil
      }, start)
    guard failure == 0 else {
      Unmanaged<Body>.fromOpaque(start).release()
      throw TestFailure("cannot start a thread: error \(failure)")
    }
  }

  /// Waits for the end of `body`; to be called once.
  public func join() { pthread_join(thread, nil) }

  /// Lets other threads run.
  public static func yield() { sched_yield() }

  private final class Body {
    let run: @Sendable () -> Void
    init(run: @escaping @Sendable () -> Void) { self.run = run }
  }
}
