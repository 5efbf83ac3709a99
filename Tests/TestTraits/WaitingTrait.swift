public import Testing

/// Runs tests that mostly wait, for processes, servers and clocks, on threads of their own.
///
/// The threads of Swift's concurrency are as many as the processors, and a test that blocks one keeps the others
/// from it. `ROOMTONE_TEST_THREADS` is the number of threads in addition; without it, or with 0, such tests run where
/// all others do: under a sanitizer, which reports the lock of these threads as a race, and jobs that they leave as
/// leaks.
public struct WaitingTrait: SuiteTrait, TestTrait, TestScoping {
  /// `true`: a suite's trait is one of all its tests.
  public var isRecursive: Bool { true }

  /// Runs `function`, the test, on a waiting thread.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    guard testCase != nil, let threads = WaitingThreads.shared else { return try await function() }
    try await withTaskExecutorPreference(threads, operation: function)
  }
}

extension Trait where Self == WaitingTrait {
  /// Runs tests on threads that may wait.
  public static var waiting: Self { Self() }
}
