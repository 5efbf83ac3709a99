internal import EventLoop
public import Home
internal import LuaModules
internal import LuaRuntime
internal import MQTT
public import Scheduling

/// The file that names the triggers and the messages of MQTT of a simulation: Lua in an environment that has only
/// `trigger` and `mqtt`, and the names in `DeclarationFile.standard`.
///
/// ```lua
/// for _, time in ipairs { "09:15", "18:03" } do
///   trigger("doorbell", { at = "2026-03-29T" .. time, value = { button = "front" } })
/// end
/// mqtt("zigbee2mqtt/door", { at = "2026-03-29T18:03", payload = { action = "single" } })
/// ```
public enum TriggersFile {
  private static let most = 10_000

  /// Reads a file.
  /// - Parameter zone: the zone of its times.
  /// - Returns: the triggers, and the messages, in the order of the file.
  /// - Throws: `LuaError`: the mistake with file and line.
  public static func read(
    _ text: [UInt8], path: String, in zone: any LocalZone
  ) throws -> (triggers: [PlannedTrigger], messages: [PlannedMessage]) {
    var (triggers, messages): ([PlannedTrigger], [PlannedMessage]) = ([], [])
    let trigger = LuaFunction("trigger") { call in
      let name = try call.string(1)
      if let problem = Trigger.problem(withName: name) {
        throw call.problem(1, problem, code: "trigger.name")
      }
      guard triggers.count < most else { throw call.problem(1, "a file lists \(most) triggers at most") }
      triggers.append(try read(call, name, zone))
      return .none
    }
    let mqtt = LuaFunction("mqtt") { call in
      let topic = try call.string(1)
      do throws(MQTTError) { _ = try MQTTTopic(topic) } catch {
        throw call.problem(1, error.message, code: error.code, hint: error.hint)
      }
      guard messages.count < most else { throw call.problem(1, "a file lists \(most) messages at most") }
      messages.append(try message(call, topic, zone))
      return .none
    }
    try DeclarationFile.run(
      text, path: path, kind: "triggers file", standard: DeclarationFile.standard, [trigger, mqtt])
    return (triggers, messages)
  }

  /// Reads a message, whose payload is text, or another value as JSON.
  private static func message(
    _ call: LuaCall, _ topic: String, _ zone: any LocalZone
  ) throws -> PlannedMessage {
    let given = try call.options(2, ["at", "payload", "retained"])
    let time = try time(given, zone)
    let payload: [UInt8]
    switch given["payload"] {
    case .string(let text): payload = Array(text.utf8)
    case .bytes(let bytes): payload = bytes
    default: payload = try json("payload", of: given, limit: MQTTMessage.largestPayload, "1 MiB") ?? []
    }
    guard payload.count <= MQTTMessage.largestPayload else {
      throw given.problem("payload", "1 MiB is the limit")
    }
    return PlannedMessage(
      at: time, MQTTMessage(topic, payload, isRetained: try given.bool("retained") ?? false))
  }

  private static func time(_ given: LuaOptions, _ zone: any LocalZone) throws -> WallTime {
    guard let at = try given.string("at") else {
      throw given.problem("at", "it is missing: the date and time, as in 2026-03-29T18:03")
    }
    do throws(ScheduleError) { return zone.match(try LocalDateTime(parsing: at)).moment } catch {
      throw given.problem("at", error.message, code: error.code)
    }
  }

  private static func json(
    _ name: String, of given: LuaOptions, limit: Int, _ limitText: String
  ) throws -> [UInt8]? {
    do throws(JSONProblem) { return try given.json(name, limit: limit) } catch {
      switch error {
      case .tooLong: throw given.problem(name, "it takes more than \(limitText) as JSON")
      case .unwritable(let place, let reason): throw given.problem(name, "\(place) \(reason)")
      }
    }
  }

  private static func read(_ call: LuaCall, _ name: String, _ zone: any LocalZone) throws -> PlannedTrigger {
    let given = try call.options(2, ["at", "origin", "value"])
    let time = try time(given, zone)
    var origin = Trigger.Origin.file
    if let name = try given.string("origin") {
      guard let known = Trigger.Origin(rawValue: name) else {
        let names = Trigger.Origin.allCases.map(\.rawValue).joined(separator: ", ")
        throw given.problem("origin", "\"\(name)\" is not known; known: \(names)")
      }
      origin = known
    }
    let value = try json("value", of: given, limit: Trigger.largestValue, "64 KiB")
      .map { String(decoding: $0, as: UTF8.self) }
    return PlannedTrigger(at: time, Trigger(name, value: value, origin: origin))
  }
}
