import EventLoop
import Reception
import StreamCore
import TestSupport
import TestTraits
import Testing

private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }

private let closed = StreamError(.network, "lost")

@Suite("A connection that stalls", .tags(.stream, .reconnection)) struct StallTests {
  private let url: StreamAddress = "http://a.example/live"

  /// A machine whose connection has sent 4 s at once and then at the pace of hearing, until 20 s.
  private func playing() -> ConnectionMachine {
    var machine = ConnectionMachine(url, random: SeededRandom(seed: 1))
    _ = machine.start(at: at(0))
    for step in 0...200 {
      #expect(machine.received(.milliseconds(step == 0 ? 4000 : 100), at: at(Double(step) / 10)) == [])
    }
    return machine
  }

  /// The same, with a second connection that was opened at `connected`.
  private func stalled() throws -> (ConnectionMachine, connected: Instant) {
    var machine = playing()
    let connected = try #require(machine.deadline)
    #expect((at(21.5)...at(22)).contains(connected))
    #expect(machine.deadlinePassed(at: at(21)) == [])
    #expect(machine.deadlinePassed(at: connected) == [.connectStandby(url)])
    #expect(machine.phase == .stalled(.connecting(since: connected)))
    return (machine, connected)
  }

  private func isTimeout(_ action: ConnectionMachine.Action?) -> Bool {
    guard case .report(let error)? = action else { return false }
    return error.kind == .timeout
  }

  @Test("is kept, with a second one beside it; when it resumes the second one is closed and nothing reported")
  func comesBack() throws {
    var (machine, _) = try stalled()
    #expect(machine.received(.milliseconds(100), at: at(23)) == [.disconnectStandby])
    #expect(machine.phase == .receiving)
    var (second, _) = try stalled()
    #expect(second.standbyReceived(at: at(23)) == [])
    #expect(second.received(.milliseconds(100), at: at(24)) == [.disconnectStandby])
    #expect(second.phase == .receiving)
  }

  @Test("is replaced at once by a second one that joins it")
  func joins() throws {
    var (machine, _) = try stalled()
    #expect(machine.standbyReceived(at: at(22)) == [])
    #expect(machine.standbyJoins(at: at(22.1)) == [.adoptStandby])
    #expect(machine.phase == .connecting)
    #expect(machine.received(.seconds(4), at: at(22.1)) == [.resumed])
  }

  @Test("may come back until data_timeout while a second one that does not join it is held")
  func held() throws {
    var (machine, connected) = try stalled()
    _ = machine.standbyReceived(at: at(23))
    #expect(machine.phase == .stalled(.holding(connected: connected, since: at(23))))
    #expect(machine.deadline == at(40))
    #expect(machine.deadlinePassed(at: at(39)) == [])
    #expect(machine.deadlinePassed(at: at(40)) == [.adoptStandby], "one has sent: that is no timeout")
  }

  @Test(
    "may come back for as long again as the network was away, as retransmissions come at intervals that double"
  )
  func heldLate() throws {
    var (machine, _) = try stalled()
    _ = machine.standbyReceived(at: at(36))
    #expect(machine.deadline == at(54))
  }

  @Test("is replaced by the held frames when the player has nothing left")
  func dry() throws {
    var (machine, _) = try stalled()
    #expect(machine.playerIsDry(at: at(22)) == [], "nothing is held yet")
    #expect(machine.standbyReceived(isUrgent: true, at: at(23)) == [.adoptStandby])
    var (later, _) = try stalled()
    _ = later.standbyReceived(at: at(23))
    #expect(later.playerIsDry(at: at(25)) == [.adoptStandby])
  }

  @Test("that is closed is replaced by the second one, whatever that has received")
  func closes() throws {
    var (machine, _) = try stalled()
    #expect(machine.ended(closed, at: at(23)) == [.report(closed), .adoptStandby])
    #expect(machine.phase == .connecting)
    var (other, _) = try stalled()
    _ = other.standbyReceived(at: at(22))
    #expect(other.ended(closed, at: at(23)) == [.report(closed), .adoptStandby])
  }

  @Test("is a timeout when neither has sent within data_timeout; the second one keeps connecting")
  func timeout() throws {
    var (machine, _) = try stalled()
    let actions = machine.deadlinePassed(at: at(40))
    #expect(actions.count == 2 && isTimeout(actions.first) && actions.last == .adoptStandby)
    #expect(machine.phase == .connecting)
    #expect(try #require(machine.deadline) > at(41))
  }

  @Test("whose second one fails gets another one as after a loss, and a timeout without any")
  func fails() throws {
    var (machine, connected) = try stalled()
    machine.standbyEnded(closed, at: connected)
    #expect(machine.deadline == connected)
    #expect(machine.deadlinePassed(at: connected) == [.connectStandby(url)])
    machine.standbyEnded(closed, at: at(22))
    #expect((at(22.25)...at(22.5)).contains(try #require(machine.deadline)))
    var now = at(22.5)
    while case .stalled = machine.phase, now < at(60) {
      for action in machine.deadlinePassed(at: now) {
        if case .connectStandby = action {
          machine.standbyEnded(closed, at: now)
        } else if action != .disconnect {
          #expect((isTimeout(action) || action == .report(closed)) && now >= at(40))
        }
      }
      now = max(now.advanced(by: .milliseconds(1)), machine.deadline ?? now)
    }
    #expect(machine.phase == .waiting)
  }

  @Test("that is lost too reports why the second one failed, which is not reported while it may still resume")
  func failureOfSecond() throws {
    let (refused, reset) = (StreamError.answer(503, url: url.description), StreamError(.network, "reset"))
    var (machine, _) = try stalled()
    machine.standbyEnded(refused, at: at(22))
    #expect(machine.ended(closed, at: at(25)) == [.report(closed), .report(refused)])
    var (silent, _) = try stalled()
    silent.standbyEnded(refused, at: at(22))
    let actions = silent.deadlinePassed(at: try #require(silent.deadline))
    #expect(actions.first == .disconnect && isTimeout(actions[1]) && actions.last == .report(refused))
    var (back, _) = try stalled()
    back.standbyEnded(reset, at: at(22))
    #expect(back.received(.milliseconds(100), at: at(22.1)) == [])
    #expect(
      back.ended(closed, at: at(23)) == [.report(closed)], "it came back: what was beside it is of no matter")
    var (again, _) = try stalled()
    again.standbyEnded(reset, at: at(22))
    #expect(again.deadlinePassed(at: try #require(again.deadline)) == [.connectStandby(url)])
    #expect(again.ended(closed, at: at(23)) == [.report(closed), .adoptStandby], "the third tells its own")
  }

  @Test("has no second one at a station that has refused a second listener before")
  func refused() throws {
    var (machine, _) = try stalled()
    machine.standbyEnded(.answer(503, url: url.description), at: at(22))
    #expect(machine.phase == .stalled(.refused) && machine.deadline == at(40))
    #expect(machine.received(.milliseconds(100), at: at(23)) == [])
    for step in 231...400 { _ = machine.received(.milliseconds(100), at: at(Double(step) / 10)) }
    #expect(machine.deadlinePassed(at: try #require(machine.deadline)) == [])
    #expect(machine.phase == .stalled(.refused) && machine.deadline == at(60))
    let actions = machine.deadlinePassed(at: at(60))
    #expect(actions.first == .disconnect && isTimeout(actions.last) && machine.phase == .waiting)
    var (other, _) = try stalled()
    other.standbyEnded(.answer(404, url: url.description), at: at(22))
    #expect(other.deadline == at(22), "a source that restarts has refused nobody")
  }
}
