internal import HeadsetLink

/// The answer to a request that is under way. Confined to a loop.
final class PendingAnswer<Answer> {
  private var result: Result<Answer, HeadsetError>?
  private var waiting: [CheckedContinuation<Void, Never>] = []

  /// Not answered yet.
  init() {}

  /// Answered already.
  init(_ result: Result<Answer, HeadsetError>) { self.result = result }

  /// Takes the answer; only the first one counts.
  func resolve(_ result: Result<Answer, HeadsetError>) {
    guard self.result == nil else { return }
    self.result = result
    let waiting = waiting
    self.waiting = []
    for continuation in waiting { continuation.resume() }
  }

  /// The answer, as soon as it is there.
  func value() async throws(HeadsetError) -> Answer {
    while true {
      if let result { return try result.get() }
      await withCheckedContinuation { continuation in
        // Suspending may take a turn, in which the answer may come.
        if result == nil { waiting.append(continuation) } else { continuation.resume() }
      }
    }
  }
}
