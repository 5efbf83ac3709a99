import EventLoop
import TestTraits
import Testing

@Suite(.tags(.loop)) struct PendingCallTests {
  private struct Lost: Error {}

  /// Waits in `calls` in a task of its own, and writes the outcome to `words`.
  @discardableResult
  private func wait(
    _ name: String, in calls: PendingCalls<Int>, on loop: EventLoop, timeout: Duration? = nil,
    onCancel: ((PendingCall<Int?>) -> Void)? = nil, to words: Words
  ) -> Task<Void, Never> {
    loop.start {
      do {
        let value = try await calls.wait(on: loop, timeout: timeout, onCancel: onCancel)
        words.all.append("\(name) \(value.map { "\($0)" } ?? "timeout")")
      } catch { words.all.append("\(name) \(type(of: error))") }
    }
  }

  private final class Words { var all: [String] = [] }

  @Test("all calls end with the value of the event, in their order; later events concern later calls")
  func settles() {
    let (loop, calls, words) = (virtualLoop(), PendingCalls<Int>(), Words())
    wait("first", in: calls, on: loop, to: words)
    wait("second", in: calls, on: loop, to: words)
    loop.after(.seconds(1)) {
      calls.settle(.success(1))
      calls.settle(.success(2))
      wait("third", in: calls, on: loop, to: words)
    }
    loop.after(.seconds(2)) { calls.settle(.failure(Lost())) }
    drain(loop)
    #expect(words.all == ["first 1", "second 1", "third Lost"])
  }

  @Test("a call ends with nil at its timeout, and the others wait on")
  func timeout() {
    let (loop, calls, words) = (virtualLoop(), PendingCalls<Int>(), Words())
    wait("short", in: calls, on: loop, timeout: .seconds(1), to: words)
    wait("long", in: calls, on: loop, timeout: .seconds(9), to: words)
    loop.after(.seconds(3)) { calls.settle(.success(3)) }
    drain(loop)
    #expect(words.all == ["short timeout", "long 3"])
    #expect(
      loop.now == Instant(nanoseconds: 3_000_000_000), "the timer of a call that has ended is cancelled")
  }

  @Test("a call whose task is cancelled ends alone, by default at once")
  func cancelled() {
    let (loop, calls, words) = (virtualLoop(), PendingCalls<Int>(), Words())
    let first = wait("first", in: calls, on: loop, to: words)
    let stubborn = wait("stubborn", in: calls, on: loop, onCancel: { _ in }, to: words)
    let own = wait("own", in: calls, on: loop, onCancel: { $0.settle(.success(7)) }, to: words)
    loop.after(.seconds(1)) { for task in [first, stubborn, own] { task.cancel() } }
    loop.after(.seconds(2)) { calls.settle(.success(2)) }
    drain(loop)
    #expect(words.all.dropLast().sorted() == ["first CancellationError", "own 7"])
    #expect(words.all.last == "stubborn 2")
  }

  @Test("a result that comes before the call is suspended is not lost, and the first one counts")
  func early() {
    let (loop, call, words) = (virtualLoop(), PendingCall<Int>(), Words())
    call.settle(.success(1))
    call.settle(.success(2))
    loop.start {
      do { words.all.append("\(try await call.result(on: loop))") } catch { words.all.append("\(error)") }
    }
    drain(loop)
    #expect(words.all == ["1"])
  }
}
