internal import EventLoop
internal import Home
internal import LuaRuntime

/// `trigger`: events outside of the script.
final class TriggerModule {
  private let service: TriggerService
  private let events: ScriptEvents

  static func register(in script: Script, service: TriggerService, events: ScriptEvents) {
    let module = TriggerModule(service, events)
    script.keep(module)
    var listening = 0
    let source = EventSource<TriggerService>(
      names: [], label: { "trigger \"\($0)\"" },
      cause: { service, name, place, now in
        let trigger = service.delivered
        return Cause(
          .trigger, name, detail: trigger?.detail, script: place?.file, line: place?.line ?? 0, at: now,
          parent: trigger?.parent)
      }, leads: true
    ) { service, name, deliver, _ in
      listening += 1
      let end = service.on(name) { deliver(Self.payload($0, at: $1)) }
      return {
        listening -= 1
        end()
      }
    }
    script.state.register(
      "trigger",
      [
        LuaFunction("on", arity: 2) { [unowned module] call in
          try module.checkName(call)
          return try events.on(service, call, 1, source, once: false)
        },
        LuaFunction("once", arity: 2) { [unowned module] call in
          try module.checkName(call)
          return try events.on(service, call, 1, source, once: true)
        },
        LuaFunction("wait", arity: 2) { [unowned module] call in
          try module.checkName(call)
          return try events.wait(service, call, 1, source)
        },
        LuaFunction("fire", arity: 2) { [unowned module] call in try module.fire(call) },
      ])
    // Listening alone does not keep a script alive, unless a simulation has triggers for it.
    script.staysAlive { listening > 0 && service.isExpecting }
  }

  private init(_ service: TriggerService, _ events: ScriptEvents) {
    (self.service, self.events) = (service, events)
  }

  @discardableResult
  private func checkName(_ call: LuaCall) throws -> String {
    let name = try call.string(1)
    if let problem = Trigger.problem(withName: name) { throw call.problem(1, problem, code: "trigger.name") }
    return name
  }

  /// `fire(name [, value])`
  private func fire(_ call: LuaCall) throws -> LuaReturn {
    let name = try checkName(call)
    var value: String?
    if !call.isNil(2) {
      do throws(JSONProblem) {
        value = String(
          decoding: try call.json(2, called: "value", limit: Trigger.largestValue), as: UTF8.self)
      } catch { throw Self.error(error) }
    }
    service.fire(Trigger(name, value: value, origin: .script))
    return .none
  }

  private static func error(_ problem: JSONProblem) -> LuaError {
    switch problem {
    case .tooLong:
      LuaError(code: "trigger.too_large", message: "trigger.fire: the value takes more than 64 KiB as JSON")
    case .unwritable(let place, let reason):
      LuaError(code: "trigger.not_json", message: "trigger.fire: \(place) \(reason)")
    }
  }

  private static func payload(_ trigger: Trigger, at time: WallTime) -> LuaValue {
    var fields: [(name: String, value: LuaValue)] = [
      ("name", .string(trigger.name)), ("origin", .string(trigger.origin.rawValue)),
      ("at", .number(time.inSeconds)),
    ]
    if let text = trigger.value, let value = LuaValue(json: text) { fields.append(("value", value)) }
    return .record(fields)
  }
}
