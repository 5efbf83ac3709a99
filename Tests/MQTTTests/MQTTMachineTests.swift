import EventLoop
import TestTraits
import Testing

@testable import MQTT

@Suite("The connection to a broker, without one", .tags(.mqtt))
struct MQTTMachineTests {
  private typealias Action = MQTTMachine.Action
  private let hello = MQTTMessage("a", [1])

  /// A machine whose login was accepted.
  private func connected(birth: MQTTMessage? = nil) -> MQTTMachine {
    var machine = MQTTMachine(birth: birth)
    _ = machine.start()
    _ = machine.opened()
    _ = machine.accepted()
    return machine
  }

  private func reports(_ actions: [Action]) -> [MQTTReport] {
    actions.compactMap { if case .report(let report) = $0 { report } else { nil } }
  }

  private func wait(_ actions: [Action]) -> Duration? {
    for case .wait(let time) in actions { return time }
    return nil
  }

  private func published(_ actions: [Action]) -> [MQTTMessage] {
    actions.compactMap { if case .publish(_, let message) = $0 { message } else { nil } }
  }

  @Test("an accepted login is reported, then filters, the birth and waiting messages are sent")
  func order() {
    let birth = MQTTMessage("b/house/status", [2], isRetained: true, qos: 1)
    var machine = MQTTMachine(birth: birth)
    #expect(machine.start() == [.open(isFive: true), .wait(.seconds(10))])
    #expect(machine.subscribe("x/#").isEmpty)
    #expect(machine.send(hello).isEmpty)
    #expect(machine.opened().isEmpty)
    #expect(
      machine.accepted() == [
        .report(.connected(failures: 0)), .wait(.seconds(2)), .subscribe("x/#"), .publish(1, birth),
        .publish(2, hello),
      ])
  }

  @Test("at the end messages that wait are sent, acknowledged, and what can't be sent is counted")
  func drain() {
    var machine = connected()
    _ = machine.send(MQTTMessage("a", [1], qos: 1))
    _ = machine.send(MQTTMessage("a", [2], qos: 1))
    #expect(machine.drain().isEmpty)
    #expect(machine.sent(1).isEmpty)
    #expect(machine.sent(2) == [.report(.drained(0))])
    #expect(machine.drain() == [.report(.drained(0))])
    _ = machine.send(hello)
    #expect(machine.drain().isEmpty)
    #expect(reports(machine.failed(.network("x"), jitter: 0)).last == .drained(1))
    #expect(machine.drain() == [.report(.drained(1))])
    _ = machine.timeout(jitter: 0)
    #expect(machine.drain().isEmpty)
    #expect(machine.endDrain() == [.report(.drained(1))])
    #expect(machine.endDrain().isEmpty)
  }

  @Test("delays double from 1 s to 30 s, each shortened by a quarter at most")
  func backoff() {
    var machine = MQTTMachine()
    _ = machine.start()
    var delays: [Duration?] = []
    for _ in 0..<7 {
      delays.append(wait(machine.failed(.network("x"), jitter: 0)))
      _ = machine.timeout(jitter: 0)
    }
    #expect(delays == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
    #expect(wait(machine.failed(.network("x"), jitter: 0.999_999)).map { $0 > .seconds(22) } == true)
  }

  @Test("a refused login is reported once, and tried every 30 s")
  func login() {
    var machine = MQTTMachine()
    _ = machine.start()
    var all: [MQTTReport] = []
    for _ in 0..<100 {
      _ = machine.opened()
      let actions = machine.failed(.login("no"), jitter: 0)
      all += reports(actions)
      #expect(wait(actions) == .seconds(30))
      _ = machine.timeout(jitter: 0)
    }
    #expect(all == [.unreachable(.login("no"))])
  }

  @Test("a broker that does not speak MQTT 5 is asked again at once, by 3.1.1")
  func older() {
    var machine = MQTTMachine()
    _ = machine.start()
    _ = machine.opened()
    #expect(
      machine.failed(.protocolVersion, jitter: 0) == [.close, .open(isFive: false), .wait(.seconds(10))])
    _ = machine.opened()
    _ = machine.accepted()
    _ = machine.failed(.network("x"), jitter: 0)
    #expect(machine.timeout(jitter: 0).first == .open(isFive: false))
  }

  @Test("a broker that accepts and never answers is given up after 10 s")
  func silence() {
    var machine = MQTTMachine()
    _ = machine.start()
    _ = machine.opened()
    let actions = machine.timeout(jitter: 0)
    #expect(actions.first == .close && wait(actions) == .seconds(1))
    #expect(reports(actions) == [.unreachable(.network("it does not answer"))])
  }

  @Test("an attempt that the system does not end is reported, and no second one begins beside it")
  func stuck() {
    var machine = MQTTMachine()
    _ = machine.start()
    #expect(machine.timeout(jitter: 0) == [.report(.unreachable(.network("it does not answer")))])
    #expect(machine.timeout(jitter: 0).isEmpty)
    #expect(machine.opened() == [.wait(.seconds(10))])
  }

  @Test("a broker that closes at once for an hour is reported once, with a count at the return")
  func flapping() {
    var machine = connected()
    #expect(wait(machine.timeout(jitter: 0)) == .seconds(8))
    #expect(machine.timeout(jitter: 0).isEmpty)  // steady
    var (all, seconds, attempts): ([MQTTReport], Double, Int) = ([], 0, 0)
    while seconds < 3600 {
      let actions = machine.failed(.network("closed"), jitter: 0)
      all += reports(actions)
      seconds += wait(actions)?.inSeconds ?? 0
      _ = machine.timeout(jitter: 0)
      _ = machine.opened()
      all += reports(machine.accepted())
      attempts += 1
    }
    #expect(attempts < 130)
    #expect(all.count { $0 == .disconnected(reason: "closed", isNew: true) } == 1)
    let logged = all.filter { if case .connected(.some) = $0 { true } else { false } }
    #expect(logged == [.connected(failures: 0)])
    #expect(reports(machine.timeout(jitter: 0)).isEmpty)
    #expect(machine.timeout(jitter: 0) == [.report(.steady(failures: attempts))])
    #expect(wait(machine.failed(.network("closed"), jitter: 0)) == .seconds(1))
  }

  @Test("a connection that has lasted for 2 s is opened again after the shortest delay")
  func settled() {
    var machine = connected()
    for _ in 0..<5 {
      _ = machine.timeout(jitter: 0)
      #expect(wait(machine.failed(.network("x"), jitter: 0)) == .seconds(1))
      _ = machine.timeout(jitter: 0)
      _ = machine.opened()
      _ = machine.accepted()
    }
  }

  @Test("the return after a loss is reported with the failed attempts")
  func back() {
    var machine = connected()
    for _ in 0..<2 { _ = machine.timeout(jitter: 0) }
    let lost = machine.failed(.network("closed"), jitter: 0)
    #expect(reports(lost) == [.disconnected(reason: "closed", isNew: true)])
    for _ in 0..<3 {
      _ = machine.timeout(jitter: 0)
      #expect(reports(machine.failed(.network("refused"), jitter: 0)).isEmpty)
    }
    _ = machine.timeout(jitter: 0)
    _ = machine.opened()
    #expect(reports(machine.accepted()) == [.connected(failures: 3)])
  }

  @Test("messages of a lost connection that were not acknowledged are sent again, before later ones")
  func again() {
    var machine = connected()
    #expect(published(machine.send(MQTTMessage("a", [1], qos: 1))).count == 1)
    _ = machine.send(MQTTMessage("b", [2]))
    #expect(machine.sent(2).isEmpty)
    _ = machine.failed(.network("x"), jitter: 0)
    #expect(machine.send(MQTTMessage("c", [3])).isEmpty)
    _ = machine.timeout(jitter: 0)
    _ = machine.opened()
    #expect(published(machine.accepted()).map(\.topic) == ["a", "c"])
  }

  @Test("a message whose sender waits fails with its connection, and is not sent later")
  func awaited() {
    var machine = connected()
    #expect(published(machine.send(hello, token: 7)).count == 1)
    #expect(reports(machine.failed(.network("x"), jitter: 0)).contains(.unsent(7, .notConnected)))
    #expect(machine.send(hello, token: 8) == [.report(.unsent(8, .notConnected))])
    #expect(machine.waiting == 0)
    var other = connected()
    _ = other.send(hello, token: 1)
    #expect(reports(other.sent(1)) == [.sent(1)])
    _ = other.send(hello, token: 2)
    #expect(reports(other.sent(2, isRefused: true)) == [.refused("a"), .unsent(2, .refused)])
  }

  @Test("1,000 messages wait, of a retained topic the newest, and the rest is counted and reported once")
  func overflow() {
    var machine = connected()
    _ = machine.failed(.network("x"), jitter: 0)
    for number in 0..<2000 {
      #expect(machine.send(MQTTMessage("state", [UInt8(number & 0xFF)], isRetained: true)).isEmpty)
    }
    #expect(machine.waiting == 1)
    for _ in 0..<1500 { #expect(machine.send(hello).isEmpty) }
    #expect(machine.waiting == 1000)
    _ = machine.timeout(jitter: 0)
    _ = machine.opened()
    let actions = machine.accepted()
    #expect(reports(actions).contains(.overflow(501)))
    #expect(published(actions).first?.payload == [UInt8(1999 & 0xFF)])
  }

  @Test("1 MB waits at most, and the library has 100 messages at a time")
  func bounds() {
    var machine = connected()
    _ = machine.failed(.network("x"), jitter: 0)
    for _ in 0..<100 { _ = machine.send(MQTTMessage("a", [UInt8](repeating: 0, count: 100_000))) }
    #expect(machine.waiting == 9)
    var other = connected()
    var sent = 0
    for _ in 0..<500 { sent += published(other.send(hello)).count }
    #expect(sent == 100)
    #expect(published(other.sent(1)).count == 1)
  }

  @Test("the end of a connection publishes the farewell, and later events change nothing")
  func end() {
    var machine = connected()
    #expect(machine.end() == [.stopWaiting, .farewell])
    #expect(machine.failed(.network("x"), jitter: 0).isEmpty)
    #expect(machine.timeout(jitter: 0).isEmpty)
    #expect(machine.end().isEmpty)
    var early = MQTTMachine()
    _ = early.start()
    #expect(early.end() == [.stopWaiting, .close])
    #expect(early.opened() == [.close])
  }
}
