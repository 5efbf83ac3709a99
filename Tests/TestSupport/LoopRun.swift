public import EventLoop

extension EventLoop {
  /// Runs `body` on this loop, on the calling thread, and closes the loop.
  /// - Parameter last: called on the loop when `body` has ended, in any way; events that it causes at once
  ///   are still delivered.
  /// - Throws: the error of `body`, or `TestFailure` when the loop became idle before `body` had ended.
  public func finish(
    _ body: @escaping () async throws -> Void, last: @escaping () async -> Void = {}
  ) throws {
    var outcome: Result<Void, any Error>?
    start {
      let ended: Result<Void, any Error>
      do {
        try await body()
        ended = .success(())
      } catch { ended = .failure(error) }
      await last()
      // A turn later the task is released, with all that it holds.
      self.after(.milliseconds(1)) { outcome = ended }
    }
    defer { close() }
    let result = run(until: { outcome != nil })
    guard let outcome else { throw TestFailure("the loop ended (\(result)) before the test") }
    try outcome.get()
  }
}
