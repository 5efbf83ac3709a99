internal import EventLoop

/// The calls that open sources: a few at once, in the order in which they came.
///
/// An opening has a thread, descriptors and a ring of decoded sound, about a megabyte. A call that waits for its turn has
/// none of them, and may find that its source is no longer needed. Confined to the loop.
final class SourceOpenings {
  /// The most sources that are opened at once.
  static let limit = 16

  private var count = 0
  /// The calls that wait, by the numbers of their arrival.
  private var waiting: [Int: PendingCall<Void>] = [:]
  private var (first, end) = (0, 0)

  /// Waits for a turn, then calls `body`.
  /// - Throws: `CancellationError` while it waits; errors of `body`.
  func perform<Result>(on loop: EventLoop, _ body: () async throws -> Result) async throws -> Result {
    if count < Self.limit { count += 1 } else { try await awaitTurn(on: loop) }
    defer { passTurn() }
    return try await body()
  }

  private func awaitTurn(on loop: EventLoop) async throws {
    let (call, number) = (PendingCall<Void>(), end)
    end += 1
    waiting[number] = call
    try await call.result(on: loop) { [unowned self] in
      waiting[number] = nil
      call.settle(.failure(CancellationError()))
    }
  }

  /// Gives the turn of a call that has ended to the one that has waited longest.
  private func passTurn() {
    while first < end {
      first += 1
      if let call = waiting.removeValue(forKey: first - 1) { return call.settle(.success(())) }
    }
    count -= 1
  }
}
