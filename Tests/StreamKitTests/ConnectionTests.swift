import EventLoop
import StreamKit
import TestSupport
import Testing

private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }

private func lost(_ kind: StreamError.Kind = .network) -> StreamError { StreamError(kind, "lost") }

@Suite("When a stream connects again")
struct ReconnectDelayTests {
  @Test(
    "at once, then every quarter to half second for 5 s, then twice as long each time up to 30 s, scattered")
  func waits() {
    for seed in 1...50 {
      var random = SeededRandom(seed: UInt64(seed))
      var delay = ReconnectDelay()
      var now = 0.0
      var waits: [Double] = []
      while waits.count < 40 {
        let wait = Double(delay.wait(at: at(now), using: &random).nanoseconds) / 1e9
        waits.append(wait)
        now += wait + 0.01
      }
      #expect(waits[0] == 0)
      let eager = waits.dropFirst().prefix { $0 <= 0.5 }
      #expect(eager.allSatisfy { $0 >= 0.25 } && (10...20).contains(eager.count))
      let late = Array(waits.dropFirst(1 + eager.count))
      for (wait, nominal) in zip(late, [1, 2, 4, 8, 16, 30, 30, 30] as [Double]) {
        #expect((nominal * 0.749...nominal * 1.251).contains(wait))
      }
      delay.reset()
      #expect(delay.wait(at: at(now), using: &random) == .zero)
    }
  }

  @Test("what the server asks for is the least; a refusal is not asked again in a hurry")
  func wanted() {
    var random = SeededRandom(seed: 1)
    var delay = ReconnectDelay()
    #expect(delay.wait(at: at(0), atLeast: .seconds(7), using: &random) == .seconds(7))
    var refused = ReconnectDelay()
    #expect(refused.wait(at: at(0), isRefused: true, using: &random) > .milliseconds(700))
  }
}

@Suite("When a silent connection counts as lost")
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

  @Test(
    "0.4 of the burst once the pace has held for 10 s, from 1.5 s to 3 s",
    arguments: [(3.8, 1.52), (1.6, 1.5), (20.0, 3.0)])
  func patience(burst: Double, expected: Double) {
    let (test, now) = paced(burst: burst, for: 12)
    // A few paces belong to the burst's half second.
    #expect(abs(Double(test.patience.nanoseconds) / 1e9 - expected) < 0.2)
    #expect(test.deadline == now.advanced(by: test.patience))
  }

  @Test("before, after a pause, and for what comes in lumps, the limit counts")
  func limit() {
    #expect(StallTest(at: at(3), limit: .seconds(20)).deadline == at(23))
    #expect(paced(burst: 3.8, for: 9).0.patience == .seconds(20))
    #expect(paced(burst: 3.8, for: 60, pause: 2).0.patience == .seconds(20))
    var (test, now) = paced(burst: 3.8, for: 12)
    now = now.advanced(by: .seconds(1))
    test.received(.seconds(1), at: now)
    #expect(test.patience == .seconds(20))
    #expect(StallTest(at: at(0), limit: .seconds(2)).longestLook == nil)
  }

  @Test("what is looked at seldom has waited, which is no pause of the station")
  func waited() {
    var (test, now) = paced(burst: 3.8, for: 12)
    for _ in 0..<20 {
      now = now.advanced(by: .seconds(1))
      test.received(.seconds(1), at: now, look: .milliseconds(500))
      #expect(test.patience < .seconds(2))
    }
    test.limit = .seconds(2)
    #expect(test.longestLook == nil, "what may not be late by more than that is read as it comes")
  }

  @Test(
    "what comes at a pace need not be looked at as it comes, the less the longer the burst holds",
    arguments: [(4.1, 500), (1.6, 250), (0.0, 250)])
  func looks(burst: Double, expected: Int) {
    #expect(paced(burst: burst, for: 60).0.longestLook == .milliseconds(expected))
    #expect(paced(burst: burst, for: 9).0.longestLook == nil)
    #expect(paced(burst: burst, for: 60, pause: 2).0.longestLook == nil)
  }

  @Test("never more than the limit")
  func short() {
    var test = StallTest(at: at(0), limit: .seconds(1))
    for step in 0...200 { test.received(.milliseconds(100), at: at(Double(step) / 10)) }
    #expect(test.patience == .seconds(1))
  }
}

@Suite("The connection of a stream")
struct ConnectionMachineTests {
  private let url = "http://a.example/live"

  private func machine() -> ConnectionMachine {
    ConnectionMachine(url: url, random: SeededRandom(seed: 1))
  }

  /// A machine to which sound has come.
  private func playing(at now: Double = 1) -> ConnectionMachine {
    var machine = machine()
    #expect(machine.start(at: at(0)) == [.connect(url)])
    #expect(machine.received(.seconds(4), at: at(now)) == [])
    #expect(machine.phase == .receiving)
    return machine
  }

  @Test("the first connection that fails stops the stream, with the failure told before")
  func firstFails() {
    var machine = machine()
    _ = machine.start(at: at(0))
    #expect(machine.ended(lost(), at: at(1)) == [.tell(lost()), .giveUp(lost())])
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
    "once sound has come it connects again for ever, at once the first time, and tells when the sound is back"
  )
  func reconnects() {
    var machine = playing()
    #expect(machine.ended(lost(), at: at(10)) == [.tell(lost())])
    #expect(machine.phase == .waiting && machine.deadline == at(10) && machine.lostAt == at(10))
    #expect(machine.deadlinePassed(at: at(10)) == [.connect(url)])
    for _ in 0..<200 {
      #expect(machine.ended(lost(), at: machine.deadline ?? at(0)) == [.tell(lost())])
      #expect(machine.deadlinePassed(at: machine.deadline ?? at(0)) == [.connect(url)])
    }
    #expect(machine.lostAt == at(10))
    let now = machine.deadline ?? at(0)
    #expect(machine.received(.seconds(1), at: now) == [.resumed])
    #expect(machine.lostAt == nil)
    #expect(machine.ended(lost(), at: now) == [.tell(lost())])
    #expect(machine.deadline == now)
  }

  @Test("a connection that gives no sound does not reset the waits")
  func silentConnection() {
    var machine = playing()
    _ = machine.ended(lost(), at: at(10))
    _ = machine.deadlinePassed(at: at(10))
    machine.answered(at: at(10))
    _ = machine.received(.zero, at: at(10))
    _ = machine.ended(lost(), at: at(10))
    #expect((at(10.25)...at(10.5)).contains(machine.deadline ?? at(0)))
  }

  @Test("a connection that brings only what had come before gives no sound")
  func sameAgain() {
    var machine = playing()
    _ = machine.ended(lost(), at: at(10))
    _ = machine.deadlinePassed(at: at(10))
    #expect(machine.received(.seconds(3), isNew: false, at: at(10)) == [])
    #expect(machine.phase == .connecting)
    _ = machine.ended(lost(), at: at(10))
    #expect((at(10.25)...at(10.5)).contains(machine.deadline ?? at(0)))
  }

  @Test("a stalled connection is dropped and told as a timeout")
  func stalls() {
    var machine = playing(at: 0.1)
    for step in 2...200 { _ = machine.received(.milliseconds(100), at: at(Double(step) / 10)) }
    let deadline = machine.deadline ?? at(0)
    #expect((at(21.5)...at(22)).contains(deadline))
    #expect(machine.deadlinePassed(at: at(21)) == [])
    let actions = machine.deadlinePassed(at: deadline)
    #expect(actions.first == .disconnect)
    guard case .tell(let error)? = actions.last else { return #expect(Bool(false)) }
    #expect(error.kind == .timeout)
    #expect(machine.deadline == deadline)
  }

  @Test("a server that says no is asked slowly, and told once for each status")
  func refused() {
    var machine = playing()
    let gone = StreamError.answer(404, url: url)
    #expect(machine.ended(gone, at: at(10)) == [.tell(gone)])
    #expect((machine.deadline ?? at(0)) >= at(10.7))
    _ = machine.deadlinePassed(at: at(12))
    #expect(machine.ended(gone, at: at(12)) == [])
    _ = machine.deadlinePassed(at: at(60))
    let busy = StreamError.answer(503, url: url)
    #expect(machine.ended(busy, retryAfter: .seconds(90), at: at(60)) == [.tell(busy)])
    #expect(machine.deadline == at(150))
  }

  @Test("a list's entries are tried in order; the one that sounds is kept, until it fails without sound")
  func playlists() throws {
    var machine = machine()
    _ = machine.start(at: at(0))
    let list = try Playlist(Array("http://b.example/\nhttp://c.example/\n".utf8), format: .m3u, base: url)
    #expect(machine.found(list, at: at(0.1)) == [.disconnect, .connect("http://b.example/")])
    #expect(machine.ended(lost(), at: at(0.2)) == [.tell(lost()), .connect("http://c.example/")])
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
