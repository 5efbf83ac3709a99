internal import EventLoop
public import Home
internal import LuaModules
internal import LuaRuntime
public import Scheduling

/// The file that names the triggers of a simulation: Lua in an environment that has only `trigger`, and the
/// names in `DeclarationFile.standard`.
///
/// ```lua
/// for _, time in ipairs { "09:15", "18:03" } do
///   trigger("doorbell", { at = "2026-03-29T" .. time, value = { button = "front" } })
/// end
/// ```
public enum TriggersFile {
  private static let most = 10_000

  /// Reads a file.
  /// - Parameter zone: the zone of its times.
  /// - Returns: the triggers in the order of the file.
  /// - Throws: `LuaError`: the mistake with file and line.
  public static func read(_ text: [UInt8], path: String, in zone: any LocalZone) throws -> [PlannedTrigger] {
    var triggers: [PlannedTrigger] = []
    let trigger = LuaFunction("trigger") { call in
      let name = try call.string(1)
      if let problem = Trigger.problem(withName: name) {
        throw call.problem(1, problem, code: "trigger.name")
      }
      guard triggers.count < most else { throw call.problem(1, "a file lists \(most) triggers at most") }
      triggers.append(try read(call, name, zone))
      return .none
    }
    try DeclarationFile.run(
      text, path: path, kind: "triggers file", standard: DeclarationFile.standard, [trigger])
    return triggers
  }

  private static func read(_ call: LuaCall, _ name: String, _ zone: any LocalZone) throws -> PlannedTrigger {
    let given = try call.options(2, ["at", "origin", "value"])
    guard let at = try given.string("at") else {
      throw given.problem("at", "it is missing: the date and time, as in 2026-03-29T18:03")
    }
    let local: LocalDateTime
    do throws(ScheduleError) { local = try LocalDateTime(parsing: at) } catch {
      throw given.problem("at", error.message, code: error.code)
    }
    var origin = Trigger.Origin.file
    if let name = try given.string("origin") {
      guard let known = Trigger.Origin(rawValue: name) else {
        let names = Trigger.Origin.allCases.map(\.rawValue).joined(separator: ", ")
        throw given.problem("origin", "\"\(name)\" is not known; known: \(names)")
      }
      origin = known
    }
    var value: String?
    do throws(JSONProblem) {
      value = try given.json("value", limit: Trigger.largestValue).map { String(decoding: $0, as: UTF8.self) }
    } catch {
      switch error {
      case .tooLong: throw given.problem("value", "it takes more than 64 KiB as JSON")
      case .unwritable(let place, let reason): throw given.problem("value", "\(place) \(reason)")
      }
    }
    return PlannedTrigger(at: zone.match(local).moment, Trigger(name, value: value, origin: origin))
  }
}
