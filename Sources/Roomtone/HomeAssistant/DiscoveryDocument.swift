internal import Home
internal import JSONText

/// An entity of a device in Home Assistant.
struct DiscoveryEntity {
  /// The key in the message, which stays the same over renames.
  let key: String
  /// The kind, as Home Assistant names it.
  let platform: String
  /// The name beside that of the device.
  let name: String
  /// Further members, in the abbreviations of Home Assistant.
  let members: [(name: String, value: JSON)]

  /// An entity.
  init(_ platform: String, _ key: String, _ name: String, _ members: [(name: String, value: JSON)]) {
    (self.platform, self.key, self.name, self.members) = (platform, key, name, members)
  }
}

/// The message by which Home Assistant knows a device with its entities.
struct DiscoveryDocument {
  /// The name of this program in its messages, by which it recognises its own.
  static let origin = "Roomtone"

  /// The id of the device, in the topic of the message and in all of its ids.
  let objectID: String
  /// The name of the device.
  let name: String
  /// The model in words.
  let model: String
  /// The area that is suggested for the device; nil for none.
  var area: String?
  /// The id of the device through which this one is reached; nil for none.
  var via: String?
  /// The topic of the availability.
  let availability: String
  /// The entities.
  var entities: [DiscoveryEntity] = []

  /// The kinds of the entities by their keys.
  var platforms: [String: String] {
    Dictionary(entities.map { ($0.key, $0.platform) }) { first, _ in first }
  }

  /// The entities as they stand in the message, by their keys.
  var components: [(name: String, value: JSON)] {
    entities.map { entity in
      let own: [(name: String, value: JSON)] = [
        ("p", .string(entity.platform)), ("uniq_id", .string(uniqueID(entity.key))),
        ("name", .string(entity.name)),
      ]
      return (entity.key, .object(own + entity.members))
    }
  }

  /// Returns the id of the entity with a key.
  func uniqueID(_ key: String) -> String { "\(objectID)-\(key)" }

  /// Returns the message.
  /// - Parameters:
  ///   - kept: entities of the last message that stay, by their keys.
  ///   - gone: the kinds of entities that the last message had, by their keys: those that are gone are removed.
  func json(keeping kept: [String: JSON] = [:], removing gone: [String: String] = [:]) -> JSON {
    var device: [(name: String, value: JSON)] = [
      ("ids", .array([.string(objectID)])), ("name", .string(name)), ("mf", .string(Self.origin)),
      ("mdl", .string(model)), ("sw", .string(Product.version)),
    ]
    if let area { device.append(("sa", .string(area))) }
    if let via { device.append(("via_device", .string(via))) }
    let present = platforms
    let others = kept.filter { present[$0.key] == nil }.sorted { $0.key < $1.key }
    let removed = gone.filter { present[$0.key] == nil && kept[$0.key] == nil }.sorted { $0.key < $1.key }
    return .object([
      ("dev", .object(device)),
      ("o", .object([("name", .string(Self.origin)), ("sw", .string(Product.version))])),
      ("avty_t", .string(availability)),
      (
        "cmps",
        .object(
          components + others.map { ($0.key, $0.value) }
            + removed.map { ($0.key, .object([("p", .string($0.value))])) })
      ),
    ])
  }
}

/// A message that a broker has kept, as far as it is needed to remove a device or an entity.
struct KeptDocument {
  /// The largest message that is read, in bytes.
  static let largest = 1 << 20

  /// Entities by their keys, without those that the message removes.
  let components: [String: JSON]
  /// The topics of their states.
  let stateTopics: [String]

  /// Reads a message of this program about the device with an id; nil for any other.
  init?(_ payload: [UInt8], of objectID: String) {
    guard payload.count <= Self.largest, let json = JSON(parsing: payload),
      json["o"]?["name"]?.text == DiscoveryDocument.origin,
      json["dev"]?["ids"]?.elements?.contains(where: { $0.text == objectID }) == true,
      case .object(let members)? = json["cmps"]
    else { return nil }
    var (components, topics) = ([String: JSON](), [String]())
    for (key, value) in members {
      guard case .object(let fields) = value, fields.count > 1, value["p"]?.text != nil else { continue }
      components[key] = value
      if let topic = value["stat_t"]?.text { topics.append(topic) }
    }
    (self.components, stateTopics) = (components, topics)
  }
}
