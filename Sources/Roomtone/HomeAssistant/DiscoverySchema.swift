internal import JSONText

/// The rules by which Home Assistant 2025.4 accepts the message of a device, in its abbreviations: one entity that breaks
/// them has it refuse the whole device. Source: https://www.home-assistant.io/integrations/mqtt/#discovery-options
enum DiscoverySchema {
  /// The form of a value.
  indirect enum Form: Sendable {
    case text, number, flag, template
    /// A topic with a state, which may have wildcards.
    case stateTopic
    /// A topic for commands, which has none.
    case commandTopic
    /// A whole number in a range.
    case whole(ClosedRange<Int>)
    /// A list of at least one text.
    case texts
    case oneOf([String])
    case icon
    /// The form, or null.
    case optional(Form)
  }

  /// The keys of an object.
  struct Keys: Sendable {
    let required: [String]
    let forms: [String: Form]
  }

  /// The keys of every entity.
  private static let common: [String: Form] = [
    "p": .text, "uniq_id": .text, "name": .optional(.text), "ic": .icon, "en": .flag, "qos": .whole(0...2),
    "ent_cat": .oneOf(["config", "diagnostic"]), "avty_t": .stateTopic, "obj_id": .text,
  ]

  /// The keys of each kind of entity that this program publishes.
  static let platforms: [String: Keys] = [
    "number": Keys(
      required: ["cmd_t"],
      forms: [
        "cmd_t": .commandTopic, "stat_t": .stateTopic, "min": .number, "max": .number, "step": .number,
        "mode": .oneOf(["auto", "box", "slider"]), "val_tpl": .template, "unit_of_meas": .optional(.text),
        "ret": .flag,
      ]),
    "switch": Keys(
      required: ["cmd_t"],
      forms: [
        "cmd_t": .commandTopic, "stat_t": .stateTopic, "pl_on": .text, "pl_off": .text, "stat_on": .text,
        "stat_off": .text, "dev_cla": .oneOf(["outlet", "switch"]), "val_tpl": .template, "ret": .flag,
      ]),
    "sensor": Keys(
      required: ["stat_t"],
      forms: ["stat_t": .stateTopic, "dev_cla": .oneOf(["enum"]), "ops": .texts, "val_tpl": .template]),
    "select": Keys(
      required: ["cmd_t", "ops"],
      forms: [
        "cmd_t": .commandTopic, "stat_t": .stateTopic, "ops": .texts, "val_tpl": .template, "ret": .flag,
      ]),
    "button": Keys(
      required: ["cmd_t"],
      forms: [
        "cmd_t": .commandTopic, "pl_prs": .text, "dev_cla": .oneOf(["identify", "restart", "update"]),
        "ret": .flag,
      ]),
    "scene": Keys(required: ["cmd_t"], forms: ["cmd_t": .commandTopic, "pl_on": .text, "ret": .flag]),
    "binary_sensor": Keys(
      required: ["stat_t"],
      forms: [
        "stat_t": .stateTopic, "pl_on": .text, "pl_off": .text, "dev_cla": .oneOf(["running", "sound"]),
        "val_tpl": .template,
      ]),
    "notify": Keys(required: ["cmd_t"], forms: ["cmd_t": .commandTopic, "ret": .flag]),
    "event": Keys(
      required: ["stat_t", "evt_typ"],
      forms: [
        "stat_t": .stateTopic, "evt_typ": .texts, "dev_cla": .oneOf(["button", "doorbell", "motion"]),
        "val_tpl": .template,
      ]),
  ]

  private static let message = Keys(
    required: ["dev", "o", "cmps"],
    forms: ["avty_t": .stateTopic, "qos": .whole(0...2), "stat_t": .stateTopic, "cmd_t": .commandTopic])
  private static let device = Keys(
    required: ["ids"],
    forms: [
      "ids": .texts, "name": .text, "sa": .text, "via_device": .text, "mf": .text, "mdl": .text, "sw": .text,
      "hw": .text, "sn": .text,
    ])
  private static let origin = Keys(required: ["name"], forms: ["name": .text, "sw": .text, "url": .text])

  /// The longest state of an entity, in characters.
  static let longestState = 255

  /// Returns `true` for an id that may stand in the topic of a message.
  static func isObjectID(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
          || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
      }
  }

  /// Returns the faults of a message, each with its key; empty for one that Home Assistant accepts.
  static func faults(of document: JSON) -> [String] {
    guard case .object(let members) = document else { return ["the message is not an object"] }
    let own = members.filter { !["dev", "o", "cmps"].contains($0.name) }
    var faults = check(own, message, "", required: message.required.filter { document[$0] == nil })
    faults += check(document["dev"], device, "dev") + check(document["o"], origin, "o")
    guard case .object(let components)? = document["cmps"] else {
      return faults + ["cmps: an object expected"]
    }
    var ids: Set<String> = []
    for (key, value) in components {
      guard let platform = value["p"]?.text, let keys = platforms[platform] else {
        faults.append("cmps.\(key).p: one of \(platforms.keys.sorted().joined(separator: ", ")) expected")
        continue
      }
      guard case .object(let fields) = value, fields.count > 1 else { continue }
      faults += check(value, whole(keys), "cmps.\(key)")
      if let id = value["uniq_id"]?.text, !ids.insert(id).inserted {
        faults.append("cmps.\(key).uniq_id: another entity has it")
      }
      faults += contradictions(value).map { "cmps.\(key).\($0)" }
    }
    return faults
  }

  /// Returns `true` for an entity, as it stands in a message, that Home Assistant accepts.
  static func accepts(_ component: JSON) -> Bool {
    guard let keys = component["p"]?.text.flatMap({ platforms[$0] }) else { return false }
    return check(component, whole(keys), "").isEmpty && contradictions(component).isEmpty
  }

  /// Returns the keys of a kind of entity with those of every entity.
  private static func whole(_ keys: Keys) -> Keys {
    Keys(required: keys.required + ["uniq_id"], forms: keys.forms.merging(common) { own, _ in own })
  }

  /// Returns the faults of an entity whose values do not agree.
  private static func contradictions(_ component: JSON) -> [String] {
    switch component["p"]?.text {
    case "number":
      if let least = component["min"]?.int, let most = component["max"]?.int, least > most {
        return ["max: less than min"]
      }
    case "sensor":
      if component["ops"] != nil, component["dev_cla"]?.text != "enum" { return ["ops: not without enum"] }
    default: break
    }
    return []
  }

  private static func check(_ object: JSON?, _ keys: Keys, _ path: String) -> [String] {
    guard case .object(let members)? = object else { return ["\(path): an object expected"] }
    return check(
      members, keys, path, required: keys.required.filter { key in !members.contains { $0.name == key } })
  }

  private static func check(
    _ members: [(name: String, value: JSON)], _ keys: Keys, _ path: String, required: [String]
  ) -> [String] {
    let start = path.isEmpty ? "" : path + "."
    return required.map { "\(start)\($0): missing" }
      + members.compactMap { name, value in
        guard let form = keys.forms[name] else { return "\(start)\(name): unknown" }
        return fits(value, form) ? nil : "\(start)\(name): another value expected"
      }
  }

  private static func fits(_ value: JSON, _ form: Form) -> Bool {
    switch form {
    case .text: value.text != nil
    case .number: value.int != nil
    case .flag: value.bool != nil
    case .template: value.text?.contains("{{") == true
    case .stateTopic: isTopic(value.text)
    case .commandTopic: isTopic(value.text) && value.text?.contains { $0 == "+" || $0 == "#" } == false
    case .whole(let range): value.int.map(range.contains) == true
    case .texts:
      value.elements.map { !$0.isEmpty && $0.allSatisfy { $0.text?.isEmpty == false } } == true
    case .oneOf(let known): value.text.map(known.contains) == true
    case .icon: value.text?.hasPrefix("mdi:") == true
    case .optional(let form): if case .null = value { true } else { fits(value, form) }
    }
  }

  private static func isTopic(_ text: String?) -> Bool {
    guard let text else { return false }
    return !text.isEmpty && text.utf8.count <= 65_535 && !text.utf8.contains(0)
  }
}
