public import EventLoop

extension EventLoop {
  /// Runs `body` on this loop, on the calling thread, and closes the loop.
  /// - Parameter last: called on the loop when `body` has ended, however it did; what it lets happen at once is told still.
  /// - Throws: what `body` threw, or that the loop had nothing left to do before `body` had ended.
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
      // A turn later the task is gone, with what it holds.
      self.after(.milliseconds(1)) { outcome = ended }
    }
    defer { close() }
    let result = run(until: { outcome != nil })
    guard let outcome else { throw TestFailure("the loop ended (\(result)) before the test") }
    try outcome.get()
  }
}
