import EventLoop
import Glibc
import JSONText
import MQTT
import TestSupport
import TestTraits
import Testing

@testable import Home

@Suite("MQTT in a home, with a real broker", .waiting, .tags(.mqtt))
struct MQTTServiceTests {
  /// A service with all that it needs. Confined to `loop`.
  final class House {
    let loop: EventLoop
    let triggers: TriggerService
    let journal: Journal
    let mqtt: MQTTService
    private(set) var log: [String] = []
    private let thread: LoopThread
    private let lines: Lines
    private final class Lines { var all: [String] = [] }
    var logged: [String] { lines.all }

    init(
      _ port: Int, on loop: EventLoop, role: MQTTService.Role = .house, base: String = "roomtone",
      rules: [MQTTTrigger] = []
    ) throws {
      self.loop = loop
      (triggers, journal) = (TriggerService(loop: loop), Journal(loop: loop))
      triggers.journal = journal
      var settings = MQTTSettings(host: "127.0.0.1")
      settings.port = port
      var options = MQTTOptions(settings)
      (options.base, options.triggers, options.namesClient) = (base, rules, true)
      options.settings.clientID = "\(base)-\(UInt32.random(in: 0 ... .max))"
      let (thread, lines) = (try LoopThread(name: "network"), Lines())
      (self.thread, self.lines) = (thread, lines)
      mqtt = MQTTService(
        loop: loop, options: options, role: role, triggers: triggers, network: { thread.loop },
        log: { lines.all.append("\($0.rawValue) \($1)") })
    }

    func end() { mqtt.close() }
    func join() { thread.close() }
  }

  private func run(
    _ houses: (EventLoop) throws -> [House], _ body: @escaping ([House]) async throws -> Void
  ) throws {
    let loop = EventLoop()
    let made = try houses(loop)
    let hold = loop.hold("the network threads work")
    try loop.finish {
      try await body(made)
    } last: {
      for house in made { house.end() }
      hold.release()
    }
    for house in made { house.join() }
  }

  private func failure(_ mqtt: MQTTService, _ message: MQTTMessage) async -> MQTTError? {
    do { try await mqtt.publish(message) } catch { return error as? MQTTError }
    return nil
  }

  @Test("a press fires its trigger once, and its cause names topic and payload")
  func press() throws {
    let broker = try Mosquitto()
    let rule = MQTTTrigger(
      "doorbell", filter: try MQTTFilter("zigbee2mqtt/door"), field: "action", equals: "single")
    try run({ [try House(broker.port, on: $0, rules: [rule])] }) { houses in
      let house = houses[0]
      var fired: [Trigger] = []
      var cause: String?
      _ = house.triggers.on("doorbell") { trigger, _ in
        fired.append(trigger)
        cause = house.triggers.delivered?.detail
      }
      house.mqtt.start()
      try await house.loop.wait { house.mqtt.isConnected }
      for payload in [#"{"action":"single","battery":87}"#, #"{"action":""}"#, #"{"action":"hold"}"#] {
        house.mqtt.send(MQTTMessage("zigbee2mqtt/door", Array(payload.utf8)))
      }
      var isDone = false
      _ = house.mqtt.subscribe(to: "done") { _ in isDone = true }
      try await house.loop.sleep(for: .milliseconds(50))
      house.mqtt.send(MQTTMessage("done", []))
      try await house.loop.wait { isDone }
      #expect(fired.map(\.value) == [#""single""#] && fired[0].origin == .mqtt)
      #expect(cause == #"topic zigbee2mqtt/door: {"action":"single","battery":87}"#)
      let line = house.journal.recent.last?.cause?.detail
      #expect(line == cause)
    }
  }

  @Test("the state of the house is online, and offline after its end")
  func status() throws {
    let broker = try Mosquitto()
    try run({ [try House(broker.port, on: $0), try House(broker.port, on: $0, role: .guest)] }) { houses in
      var states: [String] = []
      _ = houses[1].mqtt.subscribe(to: "roomtone/house/status") {
        states.append(String(decoding: $0.payload, as: UTF8.self))
      }
      houses[0].mqtt.start()
      try await houses[0].loop.wait { states.last == "online" }
      houses[0].mqtt.close()
      try await houses[0].loop.wait { states.last == "offline" }
      #expect(houses[1].mqtt.clientID.hasSuffix("-\(getpid())"))
    }
  }

  @Test("two houses with one base topic say so, once each; with two they don't")
  func twoHouses() throws {
    let broker = try Mosquitto()
    try run({ loop in try ["a", "b", "b"].map { try House(broker.port, on: loop, base: $0) } }) { houses in
      for house in houses { house.mqtt.start() }
      func complaints(_ house: House) -> Int {
        house.logged.count { $0.contains("another house uses the base topic") }
      }
      try await houses[0].loop.wait { complaints(houses[1]) == 1 && complaints(houses[2]) == 1 }
      try await houses[0].loop.sleep(for: .milliseconds(200))
      #expect(houses.map(complaints) == [0, 1, 1])
    }
  }

  @Test("a broker that is lost and comes back stands in the log once each")
  func log() throws {
    let broker = try Mosquitto()
    try run({ [try House(broker.port, on: $0)] }) { houses in
      let (house, mqtt) = (houses[0], houses[0].mqtt)
      var changes: [String] = []
      _ = mqtt.follow { changes.append("\($0)".prefix(9).description) }
      mqtt.start()
      try await house.loop.wait { mqtt.isConnected }
      broker.kill()
      try await house.loop.wait { !mqtt.isConnected }
      guard case .away(_, let reason) = mqtt.state else {
        Issue.record("\(mqtt.state)")
        return
      }
      #expect(reason == "the connection was closed")
      #expect(await failure(mqtt, MQTTMessage("a", []))?.kind == .notConnected)
      mqtt.send(MQTTMessage("kept", [1], isRetained: true, qos: 1))
      try broker.start()
      try await house.loop.wait { mqtt.isConnected }
      try await mqtt.publish(MQTTMessage("a", []))
      var kept: [UInt8] = []
      _ = mqtt.subscribe(to: "kept") { kept = $0.payload }
      try await house.loop.wait { kept == [1] }
      #expect(changes == ["connected", "disconnec", "connected"])
      let lines = house.logged
      #expect(lines.count == 3, "\(lines)")
      #expect(lines.first?.hasPrefix("info MQTT: connected to 127.0.0.1:") == true)
      #expect(lines.count { $0.hasPrefix("warn") && $0.contains("is lost: the connection was closed") } == 1)
    }
  }

  @Test("a message to a home that has just begun waits for the first connection")
  func early() throws {
    let broker = try Mosquitto()
    try run({ [try House(broker.port, on: $0, role: .guest)] }) { houses in
      try await houses[0].mqtt.publish(MQTTMessage("a", [1], qos: 1))
      #expect(houses[0].mqtt.isConnected)
    }
    let closed = try LoopbackListener(blocks: false).port
    try run({ [try House(closed, on: $0, role: .guest)] }) { houses in
      let failure = await failure(houses[0].mqtt, MQTTMessage("a", [1]))
      #expect(failure?.message.contains("Connection refused") == true)
    }
  }
}
