import EventLoop
import Glibc
import TestTraits
import Testing

private func threadOfNonisolatedAsync() async -> pthread_t {
  await Task.yield()
  return pthread_self()
}

@concurrent private func threadOfConcurrentAsync() async -> pthread_t {
  await Task.yield()
  return pthread_self()
}

private actor Engine {
  let loop: EventLoop
  var calls = 0
  init(_ loop: EventLoop) { self.loop = loop }
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  func touch() -> pthread_t {
    calls += 1
    return pthread_self()
  }
}

@Suite(.tags(.loop)) struct TaskTests {
  @Test("everything that a task does stays on the loop's thread")
  func threads() {
    let loop = virtualLoop()
    var threads: [String: pthread_t] = [:]
    let engine = Engine(loop)
    loop.start {
      threads["task"] = pthread_self()
      threads["function"] = await threadOfNonisolatedAsync()
      threads["concurrent function"] = await threadOfConcurrentAsync()
      async let first = threadOfNonisolatedAsync()
      async let second = threadOfConcurrentAsync()
      (threads["async let"], threads["concurrent async let"]) = await (first, second)
      let children = await withTaskGroup(of: pthread_t.self) { group in
        for _ in 0..<8 {
          group.addTask {
            try? await loop.sleep(for: .milliseconds(1))
            return await threadOfConcurrentAsync()
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      for (number, child) in children.enumerated() { threads["child \(number)"] = child }
      threads["actor"] = await engine.touch()
      try? await loop.clock.sleep(for: .seconds(1))
      threads["after a sleep"] = pthread_self()
    }
    #expect(drain(loop) == .idle)
    #expect(threads.count == 15)
    #expect(threads.filter { $0.value != pthread_self() }.isEmpty)
    #expect(loop.now == Instant(nanoseconds: 1_001_000_000))
  }

  @Test("an actor on the loop can be entered from a plain closure of the loop")
  func assumeIsolated() {
    let loop = virtualLoop()
    let engine = Engine(loop)
    loop.next { engine.assumeIsolated { $0.calls += 1 } }
    loop.start { _ = await engine.touch() }
    drain(loop)
    #expect(engine.assumeIsolated { $0.calls } == 2)
  }

  @Test("a task that waits for another thread comes back to the loop")
  func otherThread() {
    let loop = EventLoop()
    var isBack = false
    var thread: TestThread?
    loop.start {
      let hold = loop.hold("thread")
      await withCheckedContinuation { continuation in
        thread = TestThread {
          usleep(2000)
          continuation.resume()
          hold.release()
        }
      }
      isBack = loop.isOnLoop
    }
    #expect(drain(loop) == .idle)
    #expect(isBack)
    thread?.join()
  }

  @Test("cancelling a task ends its sleep at once, without moving time")
  func cancelSleep() {
    let loop = virtualLoop()
    var seen: [String] = []
    let task = loop.start {
      do {
        try await loop.sleep(for: .seconds(60))
        seen.append("slept")
      } catch is CancellationError {
        seen.append("cancelled \(Task.isCancelled)")
      } catch { seen.append("\(error)") }
    }
    loop.after(.seconds(1)) { task.cancel() }
    #expect(drain(loop) == .idle)
    #expect(seen == ["cancelled true"])
    #expect(loop.now == Instant(nanoseconds: 1_000_000_000))
  }

  @Test("a task that is cancelled before it sleeps does not sleep")
  func cancelledBefore() {
    let loop = virtualLoop()
    var threw = false
    let task = loop.start {
      do { try await loop.sleep(for: .seconds(60)) } catch { threw = true }
    }
    task.cancel()
    drain(loop)
    #expect(threw && loop.now == .start)
  }

  @Test("a task can be cancelled from another thread")
  func cancelFromOutside() {
    let loop = EventLoop()
    var threw = false
    let task = loop.start {
      do { try await loop.sleep(for: .seconds(600)) } catch { threw = true }
    }
    let thread = TestThread {
      usleep(3000)
      task.cancel()
    }
    #expect(loop.run(until: { threw }) == .done)
    thread.join()
    #expect(drain(loop) == .idle, "the timer of the sleep is gone")
  }

  @Test("sleeps end in order of their deadlines, and tasks at the same deadline in order of their sleeps")
  func sleepOrder() {
    let loop = virtualLoop()
    var seen: [Int] = []
    for (number, seconds) in [3, 1, 2, 1].enumerated() {
      loop.start {
        try? await loop.sleep(for: .seconds(seconds))
        seen.append(number)
      }
    }
    drain(loop)
    #expect(seen == [1, 3, 2, 0])
  }

  @Test("a busy task does not starve timers and descriptors")
  func busyTask() throws {
    let loop = EventLoop()
    let pipe = Pipe()
    pipe.send("x")
    var (timer, readable) = (false, false)
    loop.after(.milliseconds(1)) { timer = true }
    let watch = try loop.watch(pipe.reading, for: .readable) { _ in
      _ = pipe.receive()
      readable = true
    }
    loop.start { while !(timer && readable) { await Task.yield() } }
    #expect(loop.run(until: { timer && readable }) == .done)
    watch.cancel()
    #expect(drain(loop) == .idle)
  }
}
