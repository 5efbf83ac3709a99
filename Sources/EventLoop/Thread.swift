internal import CLinux
public import Glibc

/// Starts a thread that runs `body` and receives no signals but faults: a write to a closed TLS connection
/// would otherwise end the process by SIGPIPE.
/// - Parameter failure: the failed operation, for the message.
/// - Returns: the `pthread_t`, to be joined.
/// - Throws: `loop.thread` if the system has no thread left.
public func startThread(
  _ failure: String, _ body: @escaping @Sendable () -> Void
) throws(LoopError) -> UInt {
  var (blocked, before) = (sigset_t(), sigset_t())
  sigfillset(&blocked)
  for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { sigdelset(&blocked, fault) }
  pthread_sigmask(SIG_SETMASK, &blocked, &before)
  defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
  let start = Unmanaged.passRetained(ThreadBody(run: body))  // released by the thread, or below
  var thread = pthread_t()
  let status = pthread_create(
    &thread, nil,
    { raw in
      if let raw { Unmanaged<ThreadBody>.fromOpaque(raw).takeRetainedValue().run() }
      return nil
    }, start.toOpaque())
  guard status == 0 else {
    start.release()
    throw LoopError(.thread, failure, errno: status)
  }
  return thread
}

/// Starts a thread that runs `body`, receives no signals, and is never joined.
/// - Parameter failure: the sentence that the message begins with.
/// - Throws: `loop.thread` if the system has no thread left.
public func startDetachedThread(
  _ failure: String, _ body: @escaping @Sendable () -> Void
) throws(LoopError) {
  pthread_detach(try startThread(failure, body))
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void
  init(run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Sets the attributes of a program to be spawned: a process group of its own, no blocked signal, and the
/// default actions for the signals that this process ignores or handles.
public func separateSignals(_ attributes: inout posix_spawnattr_t) {
  posix_spawnattr_setflags(
    &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
  posix_spawnattr_setpgroup(&attributes, 0)
  var signals = sigset_t()
  sigemptyset(&signals)
  posix_spawnattr_setsigmask(&attributes, &signals)
  for signal in [SIGPIPE, SIGXFSZ, SIGINT, SIGTERM] { sigaddset(&signals, signal) }
  posix_spawnattr_setsigdefault(&attributes, &signals)
}
