import EventLoop
import Reception
import StreamCore
import TestSupport
import TestTraits
import Testing

private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }

private func lost(_ kind: StreamError.Kind = .network) -> StreamError { StreamError(kind, "lost") }

@Suite("When a stream connects again", .tags(.stream, .reconnection))
struct ReconnectDelayTests {
  /// Waits of a station that is away for `seconds`, each attempt taking 10 ms, with the time since the loss at which
  /// each begins.
  private func waits(seed: UInt64, for seconds: Double) -> [(since: Double, wait: Double)] {
    var random = SeededRandom(seed: seed)
    var delay = ReconnectDelay()
    var (now, waits): (Double, [(since: Double, wait: Double)]) = (0, [])
    while now < seconds {
      let wait = Double(delay.wait(at: at(now), using: &random).nanoseconds) / 1e9
      waits.append((now, wait))
      now += wait + 0.01
    }
    return waits
  }

  @Test(
    "at once, then every quarter to half second for 5 s, every 2 s for a minute, 5 s for ten, 15 s for an hour, 30 s"
  )
  func times() {
    for seed in 1...20 {
      let waits = waits(seed: UInt64(seed), for: 7200)
      #expect(waits[0].wait == 0)
      for (since, wait) in waits.dropFirst() {
        let nominal: ClosedRange<Double> =
          switch since {
          case ..<5: 0.25...0.5
          case ..<65: 1.5...2.5
          case ..<665: 3.75...6.25
          case ..<4265: 11.25...18.75
          default: 22.5...37.5
          }
        #expect(nominal.contains(wait), "\(wait) s at \(since) s")
      }
    }
  }

  @Test(
    "a station that was away for 20 or 45 s is found again within 2.5 s", arguments: [20.0, 45.0])
  func outages(outage: Double) {
    for seed in 1...50 {
      let next = waits(seed: UInt64(seed), for: outage).last.map { $0.since + $0.wait } ?? 0
      #expect(next - outage <= 2.6)
    }
  }

  @Test("a connection that played begins anew") func reset() {
    var random = SeededRandom(seed: 1)
    var delay = ReconnectDelay()
    for second in 0..<100 { _ = delay.wait(at: at(Double(second)), using: &random) }
    delay.played(for: .seconds(3))
    #expect(delay.wait(at: at(100), using: &random) > .seconds(3), "for no longer than the wait was")
    delay.played(for: .seconds(10))
    #expect(delay.wait(at: at(200), using: &random) == .zero)
  }

  @Test(
    "the server's delay is the least, 5 s at most in the first minute, 30 s in the first ten, five minutes then; a client that is not admitted retries every 30 s"
  )
  func wanted() {
    var random = SeededRandom(seed: 1)
    var delay = ReconnectDelay()
    #expect(delay.wait(at: at(0), atLeast: .seconds(4), using: &random) == .seconds(4))
    for (time, longest) in [(7, 5), (59, 5), (61, 30), (599, 30), (601, 300), (5_000, 300)] {
      #expect(
        delay.wait(at: at(Double(time)), atLeast: .seconds(86_400), using: &random)
          == .seconds(longest), "\(time) s after the loss")
    }
    var locked = ReconnectDelay()
    for attempt in 0..<20 {
      let wait = locked.wait(at: at(Double(attempt) * 30), isLocked: true, using: &random)
      #expect((Duration.milliseconds(22_500)...Duration.milliseconds(37_500)).contains(wait))
    }
  }
}

@Suite("When a silent connection has stalled", .tags(.stream, .reconnection))
struct StallTestTests {
  /// A server that sends `burst` seconds at once, then at the pace of hearing, ten times a second, for `time`.
  private func paced(burst: Double, for time: Double, pause: Double = 0.1) -> (StallTest, Instant) {
    var test = StallTest(at: at(0), limit: .seconds(20))
    test.received(.seconds(burst), at: at(0.1))
    var now = 0.1
    while now < time {
      now += pause
      test.received(.seconds(pause), at: at(now))
    }
    return (test, at(now))
  }

  @Test("after 0.4 of the burst, from 1.5 s to 3 s", arguments: [(3.8, 1.52), (1.6, 1.5), (20.0, 3.0)])
  func stallTime(burst: Double, expected: Double) throws {
    let (test, now) = paced(burst: burst, for: 12)
    // A few paces belong to the burst's half second.
    let time = try #require(test.stallTime)
    #expect(abs(Double(time.nanoseconds) / 1e9 - expected) < 0.2)
    #expect(test.deadline == now.advanced(by: time) && test.timeout == now.advanced(by: .seconds(20)))
  }

  @Test("before its pace is known after 5 s, and before it has sounded only when it counts as dead")
  func unproven() {
    #expect(StallTest(at: at(3), limit: .seconds(20)).deadline == at(23))
    #expect(paced(burst: 3.8, for: 9).0.stallTime == .seconds(5))
    var test = StallTest(at: at(0), limit: .seconds(20), isPaced: false)
    for second in 0..<30 { test.received(.seconds(1), at: at(Double(second))) }
    #expect(test.stallTime == nil && test.deadline == test.timeout)
  }

  @Test("a stream in lumps stalls after twice its longest pause, for a minute at least")
  func lumps() throws {
    let time = try #require(paced(burst: 3.8, for: 60, pause: 4).0.stallTime)
    #expect((Duration.milliseconds(7_999)...Duration.milliseconds(8_001)).contains(time))
    #expect(paced(burst: 3.8, for: 60, pause: 10).0.stallTime == nil)
    var (test, now) = paced(burst: 3.8, for: 12)
    now = now.advanced(by: .seconds(6))
    test.received(.seconds(6), at: now)
    #expect(test.stallTime == .seconds(12))
    for _ in 0..<1300 {
      now = now.advanced(by: .milliseconds(100))
      test.received(.milliseconds(100), at: now)
    }
    #expect(try #require(test.stallTime) < .seconds(2))
  }

  @Test("a seldom read connection has waited, which is no pause of the station")
  func waited() throws {
    var (test, now) = paced(burst: 3.8, for: 12)
    for _ in 0..<20 {
      now = now.advanced(by: .seconds(1))
      test.received(.seconds(1), at: now, look: .milliseconds(500))
      #expect(try #require(test.stallTime) < .seconds(2))
    }
    test.limit = .seconds(2)
    #expect(test.longestLook == nil, "what may not be late by more than that is read as it comes")
  }

  @Test(
    "a paced stream is read at intervals, the longer the more the burst holds",
    arguments: [(4.1, 900), (2.6, 500), (1.6, 250), (0.0, 250)])
  func looks(burst: Double, expected: Int) {
    #expect(paced(burst: burst, for: 60).0.longestLook == .milliseconds(expected))
    #expect(paced(burst: burst, for: 9).0.longestLook == nil)
    #expect(paced(burst: burst, for: 60, pause: 2).0.longestLook == nil)
  }

  @Test("a shorter data timeout ends before a stall")
  func short() {
    var test = StallTest(at: at(0), limit: .seconds(1))
    for step in 0...200 { test.received(.milliseconds(100), at: at(Double(step) / 10)) }
    #expect(test.stallTime == nil && test.deadline == at(21))
  }
}

@Suite("The connection of a stream", .tags(.stream, .reconnection, .connection))
struct ConnectionMachineTests {
  private let url: StreamAddress = "http://a.example/live"

  private func machine() -> ConnectionMachine {
    ConnectionMachine(url, random: SeededRandom(seed: 1))
  }

  /// A machine to which sound has come.
  private func playing(at now: Double = 1) -> ConnectionMachine {
    var machine = machine()
    #expect(machine.start(at: at(0)) == [.connect(url)])
    #expect(machine.received(.seconds(4), at: at(now)) == [])
    #expect(machine.phase == .receiving)
    return machine
  }

  @Test("the first connection that fails stops the stream, with the failure reported before")
  func firstFails() {
    var machine = machine()
    _ = machine.start(at: at(0))
    #expect(machine.ended(lost(), at: at(1)) == [.report(lost()), .giveUp(lost())])
    #expect(machine.phase == .idle && machine.deadline == nil)
    #expect(machine.ended(lost(), at: at(2)) == [])
  }

  @Test("bytes that are no sound don't save the first connection from its time limit")
  func firstIsSilent() {
    var machine = machine()
    _ = machine.start(at: at(0))
    #expect(machine.deadline == at(20))
    machine.answered(at: at(15))
    _ = machine.received(.zero, at: at(19))
    #expect(machine.deadline == at(20))
    let actions = machine.deadlinePassed(at: at(20))
    #expect(actions.count == 3 && actions[0] == .disconnect)
    guard case .giveUp(let error) = actions[2] else { return #expect(Bool(false)) }
    #expect(error.kind == .timeout)
    #expect(error.message == "\(url) gave no sound for 20 s")
  }

  @Test(
    "once sound has come it connects again for ever, at once the first time, and reports when the sound is back"
  )
  func reconnects() {
    var machine = playing()
    #expect(machine.ended(lost(), at: at(10)) == [.report(lost())])
    #expect(machine.phase == .waiting && machine.deadline == at(10) && machine.lostAt == at(10))
    #expect(machine.deadlinePassed(at: at(10)) == [.connect(url)])
    for _ in 0..<200 {
      #expect(machine.ended(lost(), at: machine.deadline ?? at(0)) == [], "it fails as before")
      #expect(machine.deadlinePassed(at: machine.deadline ?? at(0)) == [.connect(url)])
    }
    #expect(machine.lostAt == at(10))
    let now = machine.deadline ?? at(0)
    #expect(machine.received(.seconds(1), at: now) == [.resumed])
    #expect(machine.lostAt == nil)
    let later = now.advanced(by: .seconds(60))
    #expect(machine.received(.seconds(1), at: later) == [])
    #expect(machine.ended(lost(), at: later) == [.report(lost())])
    #expect(machine.deadline == later)
  }

  @Test("a connection that plays for no longer than the wait for it was does not reset the waits")
  func shortConnections() {
    var machine = playing()
    var waits: [Double] = []
    var now = at(10)
    for _ in 0..<200 {
      _ = machine.ended(lost(), at: now)
      let due = machine.deadline ?? at(0)
      waits.append(Double(now.duration(to: due).nanoseconds) / 1e9)
      _ = machine.deadlinePassed(at: due)
      // All that the server has comes at once.
      now = due.advanced(by: .milliseconds(5))
      _ = machine.received(.seconds(30), isNew: true, at: now)
    }
    #expect(waits[0] == 0 && waits[1] >= 0.25 && waits[199] > 1.4)
    #expect(waits.count { $0 < 0.5 } < 25)
  }

  @Test("a connection without sound does not reset the delays")
  func silentConnection() {
    var machine = playing()
    _ = machine.ended(lost(), at: at(10))
    _ = machine.deadlinePassed(at: at(10))
    machine.answered(at: at(10))
    _ = machine.received(.zero, at: at(10))
    _ = machine.ended(lost(), at: at(10))
    #expect((at(10.25)...at(10.5)).contains(machine.deadline ?? at(0)))
  }

  @Test("a connection that repeats received frames only has no sound")
  func sameAgain() {
    var machine = playing()
    _ = machine.ended(lost(), at: at(10))
    _ = machine.deadlinePassed(at: at(10))
    #expect(machine.received(.seconds(3), isNew: false, at: at(10)) == [])
    #expect(machine.phase == .connecting)
    _ = machine.ended(lost(), at: at(10))
    #expect((at(10.25)...at(10.5)).contains(machine.deadline ?? at(0)))
  }

  @Test("a source that restarts is retried as any lost connection, one that admits no client every 30 s")
  func refused() {
    var machine = playing()
    let gone = StreamError.answer(404, url: url.description)
    #expect(machine.ended(gone, at: at(10)) == [.report(gone)])
    #expect(machine.deadline == at(10))
    _ = machine.deadlinePassed(at: at(10))
    #expect(machine.ended(gone, at: at(10)) == [], "each status is told once")
    #expect((machine.deadline ?? at(0)) <= at(10.5))
    _ = machine.deadlinePassed(at: at(11))
    let locked = StreamError.answer(403, url: url.description)
    #expect(machine.ended(locked, at: at(11)) == [.report(locked)])
    #expect((machine.deadline ?? at(0)) >= at(33.5))
    _ = machine.deadlinePassed(at: at(60))
    let busy = StreamError.answer(503, url: url.description)
    #expect(machine.ended(busy, retryAfter: .seconds(90), at: at(60)) == [.report(busy)])
    #expect(machine.deadline == at(65), "of the 90 s that it asks for 5 s, in the first minute")
  }

  @Test("attempts that fail alike are reported once, another failure and one behind sound again")
  func repeated() {
    var machine = playing()
    var now = 10.0
    func next(_ error: StreamError) -> [ConnectionMachine.Action] {
      let actions = machine.ended(error, at: at(now))
      now += 60
      _ = machine.deadlinePassed(at: at(now))
      return actions
    }
    let failures = [
      lost(), lost(), lost(.timeout), lost(.timeout), .answer(503, url: url.description), lost(),
    ]
    #expect(failures.map { next($0).count } == [1, 0, 1, 0, 1, 1])
    _ = machine.received(.seconds(4), at: at(now))
    #expect(next(lost()) == [.report(lost())])
    var first = self.machine()
    _ = first.start(at: at(0))
    #expect(first.ended(lost(), at: at(1)) == [.report(lost()), .giveUp(lost())])
  }

  @Test("a list's entries are tried in order; the one that sounds is kept, until it fails without sound")
  func playlists() throws {
    var machine = machine()
    _ = machine.start(at: at(0))
    let list = try Playlist(Array("http://b.example/\nhttp://c.example/\n".utf8), format: .m3u, base: url)
    #expect(machine.found(list, at: at(0.1)) == [.disconnect, .connect("http://b.example/")])
    #expect(machine.ended(lost(), at: at(0.2)) == [.report(lost()), .connect("http://c.example/")])
    _ = machine.received(.seconds(1), at: at(0.3))
    _ = machine.ended(lost(), at: at(5))
    #expect(machine.deadlinePassed(at: at(5)) == [.connect("http://c.example/")])
    _ = machine.ended(lost(), at: at(6))
    #expect(machine.deadlinePassed(at: at(7)) == [.connect(url)])
  }

  @Test("lists that lead to lists for ever end")
  func nested() throws {
    var machine = machine()
    _ = machine.start(at: at(0))
    let list = try Playlist(Array("\(url)\n".utf8), format: .m3u, base: url)
    for _ in 0..<Playlist.depthLimit {
      #expect(machine.found(list, at: at(0.1)) == [.disconnect, .connect(url)])
    }
    let actions = machine.found(list, at: at(0.1))
    guard case .giveUp(let error)? = actions.last else { return #expect(Bool(false)) }
    #expect(error.kind == .notFound)
    #expect(machine.phase == .idle)
  }

  @Test("an entry that hangs leaves time for those after it")
  func hangingEntry() throws {
    var machine = machine()
    _ = machine.start(at: at(0))
    let list = try Playlist(Array("http://b.example/\nhttp://c.example/\n".utf8), format: .m3u, base: url)
    _ = machine.found(list, at: at(0))
    #expect(machine.deadline == at(10))
    let actions = machine.deadlinePassed(at: at(10))
    #expect(actions.last == .connect("http://c.example/"))
    #expect(machine.deadline == at(20))
  }
}
