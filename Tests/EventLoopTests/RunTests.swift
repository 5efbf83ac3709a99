import EventLoop
import Glibc
import Synchronization
import TestTraits
import Testing

@Suite(.tags(.loop)) struct RunTests {
  @Test("posts and next closures come in the order in which they were made")
  func order() {
    let loop = virtualLoop()
    let seen = Lock([Int]())
    loop.post { seen.withLock { $0.append(1) } }
    loop.next { seen.withLock { $0.append(2) } }
    loop.post {
      seen.withLock { $0.append(3) }
      loop.post { seen.withLock { $0.append(5) } }
      loop.next { seen.withLock { $0.append(6) } }
    }
    loop.next { seen.withLock { $0.append(4) } }
    #expect(drain(loop) == .idle)
    #expect(seen.withLock { $0 } == [1, 2, 3, 4, 5, 6])
  }

  @Test("timers and descriptors come in the middle of a long round, in their order")
  func longRound() throws {
    let loop = EventLoop()
    let pipe = Pipe()
    var (seen, ran) = ([String](), 0)
    let watch = try loop.watch(pipe.reading, for: .readable) { _ in
      _ = pipe.receive()
      seen.append("pipe after \(ran >= 50_000 ? "all" : "some")")
    }
    loop.next {
      loop.after(.zero) { seen.append("first after \(ran >= 50_000 ? "all" : "some")") }
      loop.after(.nanoseconds(1)) { seen.append("second after \(ran >= 50_000 ? "all" : "some")") }
      pipe.send("x")
    }
    for _ in 0..<50_000 { loop.next { ran += 1 } }
    #expect(loop.run(until: { ran == 50_000 && seen.count == 3 }) == .done)
    #expect(seen == ["first after some", "second after some", "pipe after some"])
    watch.cancel()
  }

  @Test("a descriptor that is always ready does not keep the work of a round waiting, however slow its turns")
  func alwaysReady() throws {
    let loop = EventLoop()
    let pipe = Pipe()
    pipe.send("x")
    var (turns, ran) = (0, 0)
    let watch = try loop.watch(pipe.reading, for: .readable) { _ in
      turns += 1
      usleep(20_000)
    }
    for _ in 0..<3 {
      loop.next {
        ran += 1
        usleep(20_000)
      }
    }
    #expect(loop.run(until: { ran == 3 || turns == 50 }) == .done)
    #expect(ran == 3 && turns <= 3)
    watch.cancel()
  }

  @Test("work of a long round keeps its order around the timers that come in between")
  func orderOfLongRound() {
    let loop = EventLoop()
    var (seen, fired) = ([Int](), 0)
    for number in 0..<5000 {
      loop.next {
        seen.append(number)
        loop.after(.zero) { fired += 1 }
        loop.next { seen.append(5000 + number) }
      }
    }
    #expect(loop.run(until: { seen.count == 10_000 && fired == 5000 }) == .done)
    #expect(seen == Array(0..<10_000))
  }

  @Test("isDone is asked after each piece of work, and the rest is done in the next run")
  func done() {
    let loop = virtualLoop()
    var count = 0
    for _ in 0..<5 { loop.next { count += 1 } }
    loop.after(.seconds(1)) { count += 1 }
    #expect(loop.run(until: { count == 2 }) == .done)
    #expect(count == 2)
    #expect(loop.run(until: { true }) == .done)
    #expect(count == 2)
    loop.next { count += 10 }
    #expect(drain(loop) == .idle)
    #expect(count == 16)
  }

  @Test("stop ends a run after the job in hand, once")
  func stop() {
    let loop = virtualLoop()
    var count = 0
    loop.next {
      loop.stop()
      count += 1
    }
    loop.next { count += 1 }
    #expect(drain(loop) == .stopped)
    #expect(count == 1)
    #expect(drain(loop) == .idle)
    #expect(count == 2)
    loop.stop()
    #expect(drain(loop) == .stopped, "a stop between runs ends the next one")
  }

  @Test("another thread can stop a loop that sleeps")
  func stopAsleep() {
    let loop = EventLoop()
    let hold = loop.hold("test")
    let thread = TestThread {
      usleep(3000)
      loop.stop()
    }
    #expect(drain(loop) == .stopped)
    thread.join()
    hold.release()
    #expect(drain(loop) == .idle)
  }

  @Test("virtual time does not move while a hold is out", arguments: [false, true])
  func hold(isReleasedTwice: Bool) {
    let loop = virtualLoop()
    let seen = Lock([String]())
    loop.after(.seconds(1)) { seen.withLock { $0.append("timer at \(loop.now.nanoseconds)") } }
    let hold = loop.hold("decoding")
    #expect(loop.heldBy == ["decoding"])
    let thread = TestThread {
      usleep(10_000)
      loop.post { seen.withLock { $0.append("result at \(loop.now.nanoseconds)") } }
      hold.release()
      if isReleasedTwice { hold.release() }
    }
    #expect(drain(loop) == .idle)
    thread.join()
    #expect(seen.withLock { $0 } == ["result at 0", "timer at 1000000000"])
    #expect(loop.heldBy.isEmpty)
  }

  @Test("a hold that is deallocated releases itself")
  func forgottenHold() {
    let loop = EventLoop()
    do { _ = loop.hold("forgotten") }
    #expect(drain(loop) == .idle)
  }

  @Test("a result that is posted before the release is always seen before time moves")
  func holdRace() {
    for _ in 0..<300 {
      let loop = virtualLoop()
      let seen = Lock([Int]())
      let hold = loop.hold("race")
      loop.after(.seconds(1)) { seen.withLock { $0.append(2) } }
      let thread = TestThread {
        loop.post { seen.withLock { $0.append(1) } }
        hold.release()
      }
      #expect(drain(loop) == .idle)
      thread.join()
      #expect(seen.withLock { $0 } == [1, 2])
    }
  }

  @Test("posts of four threads all arrive, each thread's in order")
  func fourThreads() {
    let loop = EventLoop()
    let perThread = 5_000
    let holds = (0..<4).map { _ in loop.hold("poster") }
    let seen = Lock([[Int]](repeating: [], count: 4))
    let threads = (0..<4).map { number in
      TestThread {
        for value in 0..<perThread {
          loop.post { seen.withLock { $0[number].append(value) } }
          if value % 512 == 0 { usleep(200) }
        }
        holds[number].release()
      }
    }
    #expect(drain(loop) == .idle)
    for thread in threads { thread.join() }
    #expect(seen.withLock { $0 } == Array(repeating: Array(0..<perThread), count: 4))
  }

  @Test("several loops run side by side, each on its thread")
  func severalLoops() {
    let sum = Counter()
    let threads = (1...6).map { number in
      TestThread {
        let loop = number % 2 == 0 ? EventLoop() : virtualLoop()
        var ticks = 0
        func tick() {
          ticks += 1
          if ticks < 20 { loop.after(.microseconds(300)) { tick() } }
        }
        tick()
        loop.start {
          async let a: Void = loop.sleep(for: .milliseconds(2))
          try? await a
          if loop.isOnLoop { sum.add(100) }
        }
        if drain(loop) == .idle { sum.add(ticks) }
      }
    }
    for thread in threads { thread.join() }
    #expect(sum.value == 6 * 120)
  }

  // A copy of the array for each of them would need many minutes.
  @Test(
    "timers that come due in the middle of a long round do not delay each other", .timeLimit(.minutes(1)))
  func manyAhead() {
    let loop = EventLoop()
    var fired = 0
    for _ in 0..<100_000 { loop.after(.milliseconds(1)) { fired += 1 } }
    // Work of one round, beyond its budget.
    var work = 0
    for _ in 0..<5000 {
      loop.next {
        work += 1
        if work == 10 { usleep(20_000) }
      }
    }
    #expect(loop.run(until: { fired == 100_000 && work == 5000 }) == .done)
  }

  @Test("the thread that runs a loop becomes its thread")
  func ownership() {
    let loop = EventLoop()
    #expect(loop.isOnLoop)
    let thread = TestThread {
      #expect(!loop.isOnLoop)
      loop.post { #expect(loop.isOnLoop) }
      _ = loop.run(until: { false })
      #expect(loop.isOnLoop)
    }
    thread.join()
    #expect(!loop.isOnLoop)
  }

  @Test("two runs of the same virtual program see the same")
  func determinism() {
    func trace() -> [String] {
      let loop = virtualLoop()
      var seen: [String] = []
      for number in 0..<20 {
        loop.start {
          try? await loop.sleep(for: .milliseconds(number * 7 % 5))
          seen.append("task \(number) at \(loop.now.nanoseconds)")
          await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 { group.addTask { try? await loop.sleep(for: .milliseconds(1)) } }
          }
          loop.after(.milliseconds(number % 3)) { seen.append("timer \(number) at \(loop.now.nanoseconds)") }
        }
      }
      drain(loop)
      return seen
    }
    let first = trace()
    #expect(first.count == 40)
    #expect(trace() == first)
  }
}
