internal import EventLoop
internal import Glibc
internal import Home
internal import LuaRuntime
internal import RecordingKit
public import SpeakerKit

extension Engine {
  /// Opens the house, no speaker of which is in a session, runs `body` on the loop until it returns, then ends
  /// everything tidily. Blocks the calling thread.
  ///
  /// The signals of `EndSignals` cancel `body` and close the house.
  /// - Returns: 0, or 129, 130 and 143 after these signals.
  /// - Throws: the error of opening the house or of `body`, unless a signal ended it.
  /// - Parameter wait: time to wait for another process that has the house; nil for `HouseDoor.defaultWait`.
  public func perform(
    wait: Duration? = nil, _ body: @escaping (House) async throws -> Void
  ) throws -> RunResult {
    try carryOut { [self] in try await work(wait, body) }
  }

  /// Runs `body` as `perform` does, without the house, which another process may have.
  public func performWithoutHouse(_ body: @escaping () async throws -> Void) throws -> RunResult {
    try carryOut(body)
  }

  private func carryOut(_ body: @escaping () async throws -> Void) throws -> RunResult {
    var outcome: Result<Void, any Error>?
    var task: Task<Void, Never>?
    var closing: Task<Void, Never>?
    var hasLeft = false
    let signals = EndSignals(of: self) { [self] in
      guard outcome == nil, closing == nil else { return }
      task?.cancel()
      // Only the closing of the house ends a wait for its opening.
      closing = loop.start { [self] in await house.close() }
    }
    task = loop.start { [self] in
      do {
        outcome = .success(try await body())
      } catch {
        outcome = .failure(error)
      }
      await headsets.close()
      if let closing { await closing.value } else { await house.close() }
      loop.next(turns: 3) { hasLeft = true }
    }
    _ = loop.run(until: { hasLeft })
    closeServices()
    signals.cancel()
    loop.close()
    if let status = signals.status { return RunResult(status: status) }
    guard let outcome else {
      throw LuaError(code: "script.stuck", message: "waits for something that can't happen any more")
    }
    try outcome.get()
    return RunResult(status: 0)
  }

  private func work(_ wait: Duration?, _ body: (House) async throws -> Void) async throws {
    try await house.open(wait: wait)
    guard let open = house.open else { throw CancellationError() }
    try await body(open)
  }

  /// Ends receptions and recordings, and waits for the threads that work for the loop.
  func closeServices() {
    mqtt.drain()
    mqtt.close()
    streams.close()
    recordings.recorder.close()
    journal.close()
    awaitThreads()
  }

  /// Waits for threads that work for the loop, such as one that waits for the end of a program: for two seconds at most.
  private func awaitThreads() {
    guard !loop.heldBy.isEmpty else { return }
    var isWaiting = true
    let timeout = loop.after(.seconds(2), keepsAlive: false) { isWaiting = false }
    _ = loop.run(until: { [loop] in !isWaiting || loop.heldBy.isEmpty })
    timeout.cancel()
  }
}

extension EventLoop {
  /// Runs `body` some turns later. A task that ends everything uses this: it must have ended before the loop
  /// does, else it retains the objects that it refers to for ever.
  func next(turns: Int, _ body: @escaping () -> Void) {
    next { [self] in if turns > 0 { next(turns: turns - 1, body) } else { body() } }
  }
}
