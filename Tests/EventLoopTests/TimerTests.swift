import EventLoop
import Glibc
import TestTraits
import Testing

@Suite(.tags(.loop, .time)) struct TimerTests {
  @Test("timers come by time, and in order of creation where the time is the same")
  func order() {
    let loop = virtualLoop()
    var seen: [String] = []
    loop.after(.seconds(2)) { seen.append("2a") }
    loop.after(.seconds(1)) { seen.append("1a") }
    loop.after(.seconds(2)) { seen.append("2b") }
    loop.at(Instant(nanoseconds: 1_000_000_000)) { seen.append("1b") }
    loop.at(loop.wallNow.advanced(by: .seconds(2))) { seen.append("2c") }
    #expect(drain(loop) == .idle)
    #expect(seen == ["1a", "1b", "2a", "2b", "2c"])
    #expect(loop.now == Instant(nanoseconds: 2_000_000_000))
  }

  @Test("work that a timer posts runs after the other timers of its moment, and before a timer that it makes")
  func fairness() {
    let loop = virtualLoop()
    var seen: [String] = []
    loop.after(.seconds(1)) {
      seen.append("a")
      loop.after(.zero) { seen.append("new") }
      loop.next { seen.append("next") }
    }
    loop.after(.seconds(1)) { seen.append("b") }
    drain(loop)
    #expect(seen == ["a", "b", "next", "new"])
  }

  @Test("a cancelled timer never fires and releases its closure at once")
  func cancel() {
    final class Witness {}
    let loop = virtualLoop()
    weak var held: Witness?
    var fired = false
    let timer: LoopTimer
    do {
      let witness = Witness()
      held = witness
      timer = loop.after(.seconds(1)) {
        _ = witness
        fired = true
      }
    }
    #expect(held != nil && timer.isPending)
    timer.cancel()
    timer.cancel()
    #expect(held == nil && !timer.isPending)
    #expect(drain(loop) == .idle && !fired)
    #expect(loop.now == .start, "a cancelled timer moves no time")
  }

  @Test("a timer can be cancelled by another one of the same moment")
  func cancelWhenDue() {
    let loop = virtualLoop()
    var fired = false
    var second: LoopTimer?
    loop.after(.seconds(1)) { second?.cancel() }
    second = loop.after(.seconds(1)) { fired = true }
    drain(loop)
    #expect(!fired && second?.isPending == false)
  }

  @Test("the handle may be released early, and may outlive the loop")
  func handles() {
    var timer: LoopTimer?
    var fired = 0
    do {
      let loop = virtualLoop()
      loop.after(.seconds(1)) { fired += 1 }
      drain(loop)
      timer = loop.after(.seconds(1)) { fired += 1 }
    }
    #expect(fired == 1)
    timer?.cancel()
  }

  @Test("of 100,000 timers in random order, half of them cancelled, the others fire in order")
  func many() {
    let loop = virtualLoop()
    var random: UInt64 = 1
    var timers: [LoopTimer] = []
    var last: (due: Int64, number: Int) = (-1, -1)
    var disorder = 0
    var fired = 0
    for number in 0..<100_000 {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let due = Int64(random >> 33) % 50_000
      timers.append(
        loop.at(Instant(nanoseconds: due)) {
          if (due, number) <= last { disorder += 1 }
          if loop.now.nanoseconds != due { disorder += 1 }
          last = (due, number)
          fired += 1
        })
    }
    for index in stride(from: 0, to: 100_000, by: 2) { timers[(index &* 7919) % 100_000 & ~1].cancel() }
    let cancelled = timers.count { !$0.isPending }
    #expect(cancelled == 50_000)
    drain(loop)
    #expect(disorder == 0 && fired == 50_000)
  }

  @Test("a timer in the past that renews itself does not starve others")
  func past() {
    let loop = EventLoop()
    var rounds = 0
    var fired = false
    func again() {
      rounds += 1
      if rounds < 1_000_000 { loop.at(.start) { again() } }
    }
    loop.at(.start) { again() }
    loop.after(.milliseconds(2)) { fired = true }
    #expect(loop.run(until: { fired }) == .done)
    #expect(rounds < 1_000_000)
    loop.close()
  }

  @Test("a delay beyond the end of time is never, not a crash")
  func never() {
    let loop = EventLoop()
    let timer = loop.after(.seconds(Int64.max)) {}
    let civil = loop.at(WallTime(seconds: .max)) {}
    loop.after(.milliseconds(1)) {
      timer.cancel()
      civil.cancel()
    }
    #expect(drain(loop) == .idle)
  }

  @Test("on the machine's clocks neither kind of timer comes early", arguments: [1, 20])
  func wallClock(milliseconds: Int) {
    let loop = EventLoop()
    let delay = Duration.milliseconds(milliseconds)
    let (due, civilDue) = (loop.now.advanced(by: delay), loop.wallNow.advanced(by: delay))
    var late: [Duration] = []
    loop.at(due) { late.append(due.duration(to: loop.now)) }
    loop.at(civilDue) { late.append(civilDue.duration(to: loop.wallNow)) }
    #expect(drain(loop) == .idle)
    #expect(late.count == 2)
    #expect(late.allSatisfy { $0 >= .zero && $0 < .seconds(60) }, "\(late)")
  }

  @Test("timers come on kernels without epoll_pwait2 too, and a bell still wakes the loop")
  func timerDescriptor() {
    let loop = EventLoop(usingTimerDescriptor: "old kernel")
    let due = loop.now.advanced(by: .milliseconds(5))
    var fired: Instant?
    let hasFired = Lock(false)
    loop.at(due) {
      fired = loop.now
      hasFired.withLock { $0 = true }
    }
    loop.after(.seconds(60)) {}
    let thread = TestThread {
      for _ in 0..<4_000 where !hasFired.withLock({ $0 }) { usleep(10_000) }
      // The loop is asleep again by then.
      usleep(10_000)
      loop.stop()
    }
    #expect(drain(loop) == .stopped)
    thread.join()
    #expect(fired.map { $0 >= due && $0 < due.advanced(by: .seconds(30)) } == true)
  }

  @Test("a closed loop has released all scheduled work")
  func close() {
    final class Witness {}
    weak var held: Witness?
    do {
      let loop = EventLoop()
      let witness = Witness()
      held = witness
      loop.after(.seconds(60)) { _ = (loop, witness) }
      loop.at(loop.wallNow.advanced(by: .seconds(60))) { _ = (loop, witness) }
      loop.next { _ = (loop, witness) }
      _ = try? loop.watch(0, for: .readable) { _ in _ = (loop, witness) }
      loop.close()
      #expect(drain(loop) == .idle)
    }
    #expect(held == nil)
  }

  @Test("a civil timer that is cancelled or in the past does not hold the others up")
  func civil() {
    let loop = EventLoop()
    var seen: [Int] = []
    let start = loop.wallNow
    func add(_ milliseconds: Int) -> LoopTimer {
      let due = start.advanced(by: .milliseconds(milliseconds))
      return loop.at(due) {
        #expect(loop.wallNow >= due)
        seen.append(milliseconds)
      }
    }
    let first = add(1)
    for milliseconds in [20, 3, -5000] { _ = add(milliseconds) }
    first.cancel()
    #expect(drain(loop) == .idle)
    #expect(seen == [-5000, 3, 20])
  }
}
