import EventLoop
import Home
import JSONText
import MQTT
import SpeakerKit
import TestSupport
import Testing

@testable import Roomtone

/// A daemon whose house is open and published on a broker in memory, in virtual time.
final class HomeAssistantHarness {
  let home: DaemonHarness
  let broker: MemoryBroker

  /// - Parameters:
  ///   - isConnected: `true` if the broker is there from the beginning.
  ///   - findsSpeakers: `true` for a driver whose speakers are not those of the configuration.
  init(
    broker: MemoryBroker = MemoryBroker(), configuration: String? = nil, stations: String? = nil,
    state: String? = nil, isConnected: Bool = true, findsSpeakers: Bool = false,
    _ scripts: [(String, String)] = []
  ) throws {
    self.broker = broker
    home = try DaemonHarness(configuration: configuration, stations: stations, state: state, scripts)
    if isConnected { broker.connect() }
    home.daemon.publish(on: broker)
    if findsSpeakers { home.daemon.homeAssistant?.findsSpeakers = true }
    try home.begin()
    let door = home.daemon.engine.house
    home.loop.start { try? await door.open(wait: .zero) }
    home.pass(.seconds(2))
  }

  var house: House {
    get throws { try #require(home.daemon.engine.house.open) }
  }

  /// Returns the id of the room with a name, as it stands in topics.
  func id(_ room: String) throws -> String {
    try #require(RoomEntity.rooms(of: try house).first { $0.name == room }).id
  }

  /// Returns the topic of a property of a room.
  func topic(_ room: String, _ property: String) throws -> String {
    "\(broker.base)/room/\(try id(room))/\(property)"
  }

  /// Returns the state of a property of a room on the broker.
  func state(_ room: String, _ property: String) throws -> String? {
    broker.retained[try topic(room, property)].map { String(decoding: $0, as: UTF8.self) }
  }

  /// Sends a command to a room, and lets it act.
  func command(_ room: String, _ property: String, _ payload: String) throws {
    broker.deliver(try topic(room, property) + "/set", payload)
    home.pass(.milliseconds(500))
  }

  /// The documents on the broker, by the names of their devices.
  var documents: [String: JSON] {
    var documents: [String: JSON] = [:]
    for (topic, payload) in broker.retained where topic.hasPrefix("homeassistant/device/") {
      guard let json = JSON(parsing: payload), let name = json["dev"]?["name"]?.text else { continue }
      documents[name] = json
    }
    return documents
  }

  /// The refusals in the log.
  var refusals: [String] {
    home.daemon.log.kept.filter { $0.script == "Home Assistant" }.map(\.message)
  }

  /// The lines that answer why a thing is as it is.
  func why(_ thing: String) throws -> String {
    let answer = try home.call("why", [("thing", .string(thing))])
    return (answer["lines"]?.elements ?? []).compactMap(\.text).joined(separator: "\n")
  }
}

extension JSON {
  /// The names of the members.
  var keys: [String] { if case .object(let members) = self { members.map(\.name) } else { [] } }
}
