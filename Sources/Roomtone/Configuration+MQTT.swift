internal import EventLoop
internal import Home
internal import JSONText
internal import LuaModules
internal import LuaRuntime
internal import MQTT

// `mqtt { … }`: the broker of MQTT, and the triggers from its topics.

extension Configuration {
  static func readMQTT(_ configuration: inout Configuration, _ call: LuaCall) throws {
    let options = try call.options(
      1,
      [
        "base", "ca_file", "client_id", "home_assistant", "host", "password_file", "port", "tls", "triggers",
        "user",
      ])
    guard let host = try options.string("host", .name), !host.isEmpty else {
      throw options.problem(
        "host", "missing: the name or address of the broker expected, as in \"192.168.1.10\"")
    }
    guard !host.utf8.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: "/") }) else {
      throw options.problem(
        "host", "a name or an address expected, got \(quoted(host))",
        hint: "the port has an option of its own")
    }
    var settings = MQTTSettings(host: host)
    settings.usesTLS = try options.bool("tls") ?? false
    settings.port = try options.int("port", in: 1...65_535) ?? (settings.usesTLS ? 8883 : 1883)
    settings.user = try options.string("user", .header)
    settings.passwordFile = try options.path("password_file")
    if settings.passwordFile != nil, settings.user == nil {
      throw options.problem("user", "missing: password_file has the password of a user")
    }
    settings.certificateFile = try options.path("ca_file")
    if settings.certificateFile != nil, !settings.usesTLS {
      throw options.problem("ca_file", "certificates are for tls = true")
    }
    var read = MQTTOptions(settings)
    if let name = try options.string("client_id", .name) {
      if let problem = MQTTSettings.problem(withClientID: name) {
        throw options.problem("client_id", problem, hint: "leave it out for one of this house")
      }
      read.settings.clientID = name
      read.namesClient = true
    }
    if let base = try options.string("base", .name) {
      do throws(MQTTError) { _ = try MQTTTopic(base) } catch {
        throw options.problem("base", error.message, hint: error.hint)
      }
      guard !base.hasPrefix("/"), !base.hasSuffix("/"), !base.hasPrefix("$") else {
        throw options.problem("base", "a topic without '/' at its ends and '$' expected, got \(quoted(base))")
      }
      read.base = base
    }
    read.homeAssistant = try options.bool("home_assistant") ?? false
    read.triggers = try triggers(options)
    configuration.mqtt = read
  }

  private static func triggers(_ options: LuaOptions) throws -> [MQTTTrigger] {
    guard let value = options["triggers"] else { return [] }
    guard let rules = options.state.fields(of: value) else {
      throw options.problem("triggers", "a table of names and rules expected")
    }
    guard rules.count <= 1000 else { throw options.problem("triggers", "at most 1,000 expected") }
    return try rules.sorted { $0.key < $1.key }.map { name, value in
      let place = "triggers.\(name.excerpt.onOneLine)"
      if let problem = Trigger.problem(withName: name) { throw options.problem("triggers", problem) }
      let rule = try options.nested(place, value, ["equals", "field", "repeats", "topic"])
      guard let topic = try rule.string("topic") else {
        throw rule.problem("topic", "missing: the topic of its messages expected, as in \"zigbee2mqtt/door\"")
      }
      let filter: MQTTFilter
      do throws(MQTTError) { filter = try MQTTFilter(topic) } catch {
        throw rule.problem("topic", error.message, hint: error.hint)
      }
      let equals: JSON? =
        switch rule["equals"] {
        case nil: nil
        case .string(let text): .string(text)
        case .int(let number): .number(number)
        case .number(let number): .exact(number)
        case .bool(let isTrue): .bool(isTrue)
        default: throw rule.wrong("equals", "string, number or boolean")
        }
      return MQTTTrigger(
        name, filter: filter, field: try rule.string("field", .name), equals: equals,
        repeats: try rule.bool("repeats") ?? false)
    }
  }
}
