import EventLoop
@testable import Reception
@testable import StreamCore
import TestSupport
import TestTraits
import Testing

@Suite("Feeds: requests and events", .waiting, .tags(.stream, .titles))
struct FeedMachineTests {
  /// A random source without scatter: small enough that all ranges return their first value, and large enough
  /// to be accepted.
  private struct Least: RandomNumberGenerator { mutating func next() -> UInt64 { 1 << 31 } }

  /// A machine with a clock, and a log of its actions with the second of each.
  private struct Run {
    var machine = FeedMachine(random: Least())
    var second = 0
    var reported: [String] = []

    var now: FeedMachine.Moment {
      .init(
        steady: Instant(nanoseconds: Int64(second) * 1_000_000_000),
        wall: WallTime(seconds: Int64(1000 + second)))
    }
    var rest: Duration? { machine.delay(at: now) }

    mutating func note(_ actions: [FeedMachine.Action]) {
      reported += actions.map { action in
        switch action {
        case .fetch: "\(second) fetch"
        case .emit(let title): "\(second) \(title.text)"
        case .warn(let error): "\(second) warn \(error.code)"
        case .recovered: "\(second) recovered"
        }
      }
    }
    mutating func start() { note(machine.start()) }
    mutating func answer(_ entries: FeedContent.Entry..., refresh: Int? = nil) {
      note(machine.received(FeedContent(entries: entries, refresh: refresh.map { .seconds($0) }), at: now))
    }
    mutating func fail(_ error: StreamError, retryAfter: Int = 0) {
      note(machine.failed(error, retryAfter: .seconds(retryAfter), at: now))
    }
    /// Advances the time to `end`, deadline by deadline.
    mutating func run(to end: Int) {
      while let rest, second + Int((rest / .seconds(1)).rounded(.up)) <= end {
        second += Int((rest / .seconds(1)).rounded(.up))
        note(machine.timePassed(at: now))
      }
      second = end
    }
  }

  private func entry(_ title: String, _ start: Int? = nil, _ end: Int? = nil) throws -> FeedContent.Entry {
    FeedContent.Entry(
      title: try #require(StreamTitle(artist: nil, title: title)),
      start: start.map { WallTime(seconds: Int64(1000 + $0)) },
      end: end.map { WallTime(seconds: Int64(1000 + $0)) })
  }

  private let failure = StreamError(.network, "away")

  @Test("each event is emitted when it begins; the feed is fetched again when the last one ends")
  func events() throws {
    var run = Run()
    run.start()
    run.answer(try entry("A", -50, 20), try entry("B", 20, 60), try entry("C", 60, 100))
    run.run(to: 100)
    #expect(run.reported == ["0 fetch", "0 A", "20 B", "60 C", "100 fetch"])
    #expect(run.rest == nil, "nothing happens until the answer is there")
  }

  @Test("a feed that is late with what comes next is asked after 10, 20, 40 and then 60 seconds")
  func late() throws {
    var run = Run()
    run.start()
    run.answer(try entry("A", -50, 5))
    for _ in 0..<6 {
      run.run(to: run.second + 60)
      run.answer(try entry("A", -50, 5))
    }
    let fetches = run.reported.filter { $0.hasSuffix("fetch") }.compactMap {
      Int($0.split(separator: " ")[0])
    }
    #expect(fetches == [0, 10, 70, 140, 220, 300, 360])
    #expect(run.reported.filter { $0.hasSuffix(" A") } == ["0 A"], "the same is told once")
  }

  @Test("waits are at least 10 s and at most 5 minutes, or what the feed asks for, 10 s to an hour")
  func limits() throws {
    for (end, wait) in [(3, 10), (200, 200), (4000, 300)] {
      var run = Run()
      run.start()
      run.answer(try entry("A", -5, end))
      #expect(run.rest == .seconds(wait))
    }
    for (asked, wait) in [(0, 10), (25, 25), (100_000, 3600)] {
      var run = Run()
      run.start()
      run.answer(try entry("A"), refresh: asked)
      #expect(run.rest == .seconds(wait))
    }
  }

  @Test("after failures the delays double up to 5 minutes; a failure is reported once, and so is its end")
  func failures() throws {
    var run = Run()
    run.start()
    var waits: [Duration?] = []
    for _ in 0..<7 {
      run.fail(failure)
      waits.append(run.rest)
      run.run(to: run.second + Int((run.rest ?? .zero) / .seconds(1)))
    }
    #expect(waits == [10, 20, 40, 80, 160, 300, 300].map { .seconds($0) })
    run.fail(StreamError(.http, "busy"), retryAfter: 900)
    #expect(run.rest == .seconds(900))
    run.fail(StreamError(.http, "busy"), retryAfter: 1_000_000)
    #expect(run.rest == .seconds(3600))
    run.answer(try entry("A", run.second - 5, run.second + 200))
    #expect(run.rest == .seconds(200))
    run.fail(failure)
    #expect(run.rest == .seconds(10))
    let other = run.reported.filter { !$0.hasSuffix("fetch") }.map {
      $0.split(separator: " ").dropFirst().joined(separator: " ")
    }
    #expect(other == ["warn stream.network", "warn stream.http", "recovered", "A", "warn stream.network"])
  }

  @Test("while a feed fails, its earlier events are still emitted")
  func failingWithEvents() throws {
    var run = Run()
    run.start()
    run.answer(try entry("A", -5, 30), try entry("B", 30, 33))
    run.run(to: 33)
    #expect(run.reported.suffix(2) == ["30 B", "33 fetch"])
    run.answer(try entry("B", 30, 33), try entry("C", 60, 90))
    run.run(to: 59)
    run.fail(failure)
    run.run(to: 61)
    #expect(run.reported.last == "60 C")
  }

  @Test("the scatter is at most a quarter of the wait, and 5 s")
  func scatter() throws {
    var waits: [Double] = []
    for seed in 0..<200 {
      var machine = FeedMachine(random: SeededRandom(seed: UInt64(seed)))
      let now = Run().now
      _ = machine.start()
      _ = machine.received(FeedContent(entries: [try entry("A", -5, 200)]), at: now)
      waits.append(try #require(machine.delay(at: now)) / .seconds(1))
    }
    #expect(waits.allSatisfy { $0 >= 200 && $0 <= 205 } && Set(waits).count > 150)
  }

  @Test("a stream that starts anew gets all events anew, and the feed is fetched at once")
  func again() throws {
    var run = Run()
    run.start()
    run.answer(try entry("A"))
    run.start()
    run.answer(try entry("A"))
    #expect(run.reported == ["0 fetch", "0 A", "0 fetch", "0 A"])
  }

  @Test("an answer that is the one before changes nothing but the time of the next request")
  func unchanged() throws {
    var run = Run()
    run.start()
    run.answer(try entry("A", -5, 20))
    run.run(to: 20)
    run.note(run.machine.received(nil, at: run.now))
    #expect(run.reported == ["0 fetch", "0 A", "20 fetch"])
    #expect(run.rest == .seconds(10))
  }
}
