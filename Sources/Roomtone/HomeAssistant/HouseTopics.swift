/// The topics of a house below its base, and the ids of its devices in Home Assistant.
///
/// Public: `BASE/room/ID/volume`, `mute`, `state`, `title`, `source`, retained; `…/set` for commands; `BASE/house/status`,
/// the last will. The ids contain the base, so that two houses with different ones on one broker do not mix.
struct HouseTopics {
  /// A topic for commands, in its parts.
  enum Command: Equatable {
    /// A command to the room with an id.
    case room(id: String, String)
    /// A command to the house.
    case house(String)
  }

  /// The first part of all topics, without a slash at its end.
  let base: String

  /// The topic on which Home Assistant reports that it starts or ends.
  static let birth = "homeassistant/status"
  /// The filter of the messages about devices.
  static let devices = "homeassistant/device/+/config"
  /// The payload of a button.
  static let press = "PRESS"
  /// The value of a text that has none, which Home Assistant shows as unknown.
  static let nothing = "None"

  /// The topic of the availability.
  var status: String { "\(base)/house/status" }
  /// The filters of all commands.
  var commands: [String] { ["\(base)/room/+/+/set", "\(base)/house/+/set"] }
  /// The id of the device of the house.
  var houseID: String { "\(idPrefix)house" }
  /// The beginning of the ids of all devices of the house.
  var idPrefix: String { "roomtone-\(Self.plain(base))-" }

  /// Returns the topic of a property of the house.
  func house(_ property: String) -> String { "\(base)/house/\(property)" }

  /// Returns the topic of a property of the room whose id is a level.
  func room(_ id: String, _ property: String) -> String { "\(base)/room/\(id)/\(property)" }

  /// Returns the topic of the commands to a topic's property.
  static func set(_ topic: String) -> String { "\(topic)/set" }

  /// Returns the id of the device of a room.
  func roomID(_ id: String) -> String { "\(idPrefix)room-\(Self.plain(id))" }

  /// Returns the topic of the message about a device.
  static func device(_ objectID: String) -> String { "homeassistant/device/\(objectID)/config" }

  /// Returns the id of the device that a message is about; nil for another topic.
  static func objectID(of topic: String) -> String? {
    let parts = topic.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 4, parts[0] == "homeassistant", parts[1] == "device", parts[3] == "config" else {
      return nil
    }
    return String(parts[2])
  }

  /// Returns the command of a topic; nil for a topic that is not one of commands.
  func command(_ topic: String) -> Command? {
    guard topic.hasPrefix(base + "/") else { return nil }
    let parts = topic.dropFirst(base.count + 1).split(separator: "/", omittingEmptySubsequences: false)
      .map(String.init)
    guard parts.last == "set" else { return nil }
    switch parts.first {
    case "room" where parts.count == 4: return .room(id: parts[1], parts[2])
    case "house" where parts.count == 3: return .house(parts[1])
    default: return nil
    }
  }

  /// Returns an id as one level of a topic: the id itself, unless it has characters with a meaning in topics.
  static func level(_ id: String) -> String {
    let isLevel = !id.unicodeScalars.contains { scalar in
      scalar == "/" || scalar == "+" || scalar == "#" || scalar.properties.generalCategory == .control
    }
    return isLevel ? id : plain(id)
  }

  /// Returns a text in letters, digits and `_`, different for different texts: each other byte is `_` and its number.
  static func plain(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      let isPlain =
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
      if isPlain {
        result.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        result += (byte < 16 ? "_0" : "_") + String(byte, radix: 16, uppercase: true)
      }
    }
    return result
  }
}
