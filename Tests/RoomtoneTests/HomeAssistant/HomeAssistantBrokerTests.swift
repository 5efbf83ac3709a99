import EventLoop
import Home
import JSONText
import MQTT
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

@Suite("The house in Home Assistant, through a real broker", .waiting, .tags(.homeAssistant))
struct HomeAssistantBrokerTests {
  /// A daemon in real time whose configuration names a broker.
  private static func serve(_ broker: Mosquitto, _ house: String = "") throws -> DaemonHarness {
    let harness = try DaemonHarness(
      wall: true,
      configuration: """
        house { output = "null" \(house) }
        mqtt { host = "127.0.0.1", port = \(broker.port), home_assistant = true }
        """, [])
    try harness.begin()
    let door = harness.daemon.engine.house
    harness.loop.start { try? await door.open(wait: .zero) }
    return harness
  }

  /// Another client of the broker, in the place of Home Assistant.
  private final class Client {
    let service: MQTTService
    /// The payloads by topic; those that are empty are gone.
    var messages: [String: String] = [:]
    private var endings: [() -> Void] = []

    init(of broker: Mosquitto, in harness: DaemonHarness) {
      var settings = MQTTSettings(host: "127.0.0.1")
      settings.port = broker.port
      let loop = harness.loop
      service = MQTTService(
        loop: loop, options: MQTTOptions(settings), role: .guest, triggers: TriggerService(loop: loop),
        network: { loop }, log: { _, _ in })
      for filter in ["homeassistant/device/+/config", "roomtone/#"] {
        endings.append(
          service.subscribe(to: filter) { [weak self] message in
            guard message.topic != "roomtone/house/id" else { return }
            self?.messages[message.topic] =
              message.payload.isEmpty ? nil : String(decoding: message.payload, as: UTF8.self)
          })
      }
    }

    func close() {
      for end in endings { end() }
      service.close()
    }

    /// The names of the devices.
    var devices: [String] {
      messages.filter { $0.key.hasPrefix("homeassistant/") }
        .compactMap { JSON(parsing: $0.value.utf8)?["dev"]?["name"]?.text }.sorted()
    }
  }

  private static let rooms = ["Bathroom", "Bedroom", "Kitchen", "Living Room", "Roomtone"]

  @Test("all rooms are there, a command comes back as state, and a broker that forgets gets all again")
  func restart() throws {
    let broker = try Mosquitto()
    let harness = try Self.serve(broker)
    let client = Client(of: broker, in: harness)
    defer { client.close() }
    #expect(harness.run { client.devices == Self.rooms && client.messages.count == 27 })
    let house = try #require(harness.daemon.engine.house.open)
    let kitchen = try #require(RoomEntity.rooms(of: house).first { $0.name == "Kitchen" }).id
    client.service.send(MQTTMessage("roomtone/room/\(kitchen)/volume/set", Array("9".utf8), qos: 1))
    #expect(harness.run { client.messages["roomtone/room/\(kitchen)/volume"] == "9" })
    broker.kill()
    #expect(harness.run { !harness.daemon.engine.mqtt.isConnected })
    client.messages = [:]
    try house.device("Kitchen").setVolume(31)
    try broker.start()
    #expect(
      harness.run {
        client.devices == Self.rooms && client.messages["roomtone/room/\(kitchen)/volume"] == "31"
      })
    client.service.send(MQTTMessage("roomtone/room/\(kitchen)/volume/set", Array("12".utf8), qos: 1))
    #expect(harness.run { client.messages["roomtone/room/\(kitchen)/volume"] == "12" })
    #expect(harness.daemon.log.kept.filter { $0.script == "Home Assistant" }.map(\.message) == [])
  }

  @Test("a room that is missing after a restart is gone from the broker, and a kept command is ignored")
  func removed() throws {
    let broker = try Mosquitto()
    do {
      let harness = try Self.serve(broker, ", speakers = { { name = 'Attic' }, { name = 'Den' } }")
      let client = Client(of: broker, in: harness)
      defer { client.close() }
      #expect(harness.run { client.devices == ["Attic", "Den", "Roomtone"] && client.messages.count == 15 })
      let house = try #require(harness.daemon.engine.house.open)
      let den = try house.device("Den").id
      client.service.send(
        MQTTMessage("roomtone/room/\(den)/volume/set", Array("3".utf8), isRetained: true, qos: 1))
      #expect(harness.run { client.messages["roomtone/room/\(den)/volume"] == "3" })
    }
    let harness = try Self.serve(broker, ", speakers = { { name = 'Den', volume = 20 } }")
    let client = Client(of: broker, in: harness)
    defer { client.close() }
    #expect(
      harness.run {
        client.devices == ["Den", "Roomtone"]
          && client.messages.keys.count { $0.hasPrefix("roomtone/room/") } == 6
      }, "\(client.messages.keys.sorted())")
    let den = try #require(harness.daemon.engine.house.open).device("Den")
    #expect(harness.run { client.messages["roomtone/room/\(den.id)/volume"] == "\(den.volume)" })
    #expect(den.volume == 20)
    #expect(harness.daemon.log.kept.contains { $0.message.contains("a retained command is ignored") })
  }
}
