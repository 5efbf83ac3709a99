internal import EventLoop

/// A call that waits for the start of a stream, or for an event of a recording. Confined to the loop.
final class StartWaiter {
  private var continuation: CheckedContinuation<Void, any Error>?
  private var result: Result<Void, any Error>?

  func wait(_ continuation: CheckedContinuation<Void, any Error>) {
    if let result { return continuation.resume(with: result) }
    self.continuation = continuation
  }

  /// Ends the call. Called once.
  func end(_ result: Result<Void, any Error>) {
    self.result = result
    continuation?.resume(with: result)
    continuation = nil
  }
}
