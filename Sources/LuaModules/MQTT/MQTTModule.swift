internal import EventLoop
internal import Home
internal import LuaRuntime
internal import MQTT

/// `mqtt`: messages of a broker.
final class MQTTModule {
  private static let changes = ["connected", "disconnected"]

  private let service: MQTTService
  private let json: JSONModule
  private let events: ScriptEvents
  private var listening = 0
  /// Keeps the loop waiting for messages, of which the loop itself knows nothing.
  private var hold: Hold?

  static func register(in script: Script, service: MQTTService, json: JSONModule, events: ScriptEvents) {
    let module = MQTTModule(service, json, events)
    script.keep(module)
    let source = EventSource<MQTTService>(
      names: [], label: { "mqtt \"\($0)\"" },
      cause: { service, event, place, now in
        Cause(
          .event, event, detail: service.delivered.map(Self.words), script: place?.file,
          line: place?.line ?? 0, at: now)
      }, leads: true
    ) { [unowned module] service, event, deliver, _ in module.subscribe(service, event, deliver) }
    script.state.register(
      "mqtt",
      [
        LuaFunction("on", arity: 2) { [unowned module] call in
          try module.checkFilter(call)
          return try events.on(service, call, 1, source, once: false)
        },
        LuaFunction("once", arity: 2) { [unowned module] call in
          try module.checkFilter(call)
          return try events.on(service, call, 1, source, once: true)
        },
        LuaFunction("wait", arity: 2) { [unowned module] call in
          try module.checkFilter(call)
          return try events.wait(service, call, 1, source)
        },
        LuaFunction("publish", arity: 3) { [unowned module] call in try module.publish(call) },
        LuaFunction("connected", arity: 0) { call in
          service.start()
          return call.return(service.isConnected)
        },
      ])
    script.staysAlive { [unowned module] in
      module.listening > 0 && (!service.isSimulated || service.isExpecting)
    }
  }

  private init(_ service: MQTTService, _ json: JSONModule, _ events: ScriptEvents) {
    (self.service, self.json, self.events) = (service, json, events)
  }

  // MARK: Messages

  /// Checks the first argument: one of the two changes of the connection, or a filter.
  private func checkFilter(_ call: LuaCall) throws {
    guard service.isConfigured else { throw notConfigured }
    let text = try call.string(1)
    if Self.changes.contains(text) { return }
    do throws(MQTTError) {
      _ = try MQTTFilter(text)
      guard text.utf8.count <= longestName else {
        throw MQTTError(
          .filter, "a filter of a script has at most \(longestName) bytes, got \(text.utf8.count)")
      }
    } catch { throw call.problem(1, error.message, code: error.code, hint: error.hint) }
  }

  private var notConfigured: MQTTError { MQTTError(.notConfigured, "no broker is configured") }

  private func subscribe(
    _ service: MQTTService, _ event: String, _ deliver: @escaping (LuaValue) -> Void
  ) -> () -> Void {
    listening += 1
    if hold == nil, !service.isSimulated { hold = service.holdLoop() }
    let end =
      switch event {
      case "connected": service.follow { if case .connected = $0 { deliver(.record([])) } }
      case "disconnected":
        service.follow {
          if case .disconnected(let reason) = $0 { deliver(.record([("reason", .string(reason))])) }
        }
      default: service.subscribe(to: event) { deliver(Self.payload($0)) }
      }
    service.start()
    return { [weak self] in
      end()
      guard let self else { return }
      listening -= 1
      if listening == 0 {
        hold?.release()
        hold = nil
      }
    }
  }

  private static func payload(_ message: MQTTMessage) -> LuaValue {
    var fields: [(name: String, value: LuaValue)] = [
      ("topic", .string(message.topic)), ("payload", .bytes(message.payload)),
      ("retained", .bool(message.isRetained)), ("qos", .int(message.qos)),
    ]
    if let text = String(validating: message.payload, as: UTF8.self), let value = LuaValue(json: text) {
      fields.append(("json", value))
    }
    return .record(fields)
  }

  private static func words(_ message: MQTTMessage) -> String {
    let payload = String(decoding: message.payload.prefix(String.longestExcerpt), as: UTF8.self)
    return "\(message.topic): \(payload)".onOneLine
  }

  /// `publish(topic, value [, options])`
  private func publish(_ call: LuaCall) throws -> LuaReturn {
    let topic = try call.string(1)
    do throws(MQTTError) { _ = try MQTTTopic(topic) } catch {
      throw call.problem(1, error.message, code: error.code, hint: error.hint)
    }
    let payload = try payload(of: call)
    let options = try call.options(3, ["qos", "queue", "retain"])
    let qos = try options.int("qos", in: 0...2) ?? 0
    let isQueued = try options.bool("queue") ?? false
    let message = MQTTMessage(topic, payload, isRetained: try options.bool("retain") ?? false, qos: qos)
    guard payload.count <= MQTTMessage.largestPayload else {
      throw LuaError(
        code: MQTTErrorKind.tooLarge.rawValue,
        message: "mqtt.publish: the message has \(payload.count) bytes, and 1 MiB is the limit")
    }
    guard service.isConfigured else { throw notConfigured }
    return try call.suspend { [service] in
      if isQueued { await service.queue(message) } else { try await service.publish(message) }
      return []
    }
  }

  private func payload(of call: LuaCall) throws -> [UInt8] {
    switch call.value(2) {
    case .nil: return []
    case .string(let text): return Array(text.utf8)
    case .bytes(let bytes): return bytes
    case .int, .number, .bool: return try json.text(2, of: call, in: "mqtt.publish", called: "value")
    case .reference(let value) where call.state.typeName(.reference(value)) == "table":
      return try json.text(2, of: call, in: "mqtt.publish", called: "value")
    default: throw call.mismatch(2, "string, number, boolean or table")
    }
  }
}
