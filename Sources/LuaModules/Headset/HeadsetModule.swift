internal import EventLoop
internal import HeadsetKit
internal import HeadsetLink
internal import Home
internal import LuaRuntime

/// `headset`: headsets, their state and their settings.
final class HeadsetModule {
  unowned let script: Script
  let service: HeadsetService
  let headsets: LuaClass<Headset>

  static func register(in script: Script, service: HeadsetService, events: ScriptEvents) throws {
    let module = try HeadsetModule(script, service)
    script.keep(module)
    module.defineObject()
    module.defineSound()
    module.defineEqualizer()
    module.defineFirmware()
    events.add(to: module.headsets, module.headsetEvents())
    script.state.register(
      "headset",
      [
        LuaFunction("connect", arity: 1) { [unowned module] call in try module.connect(call) },
        LuaFunction("auto_connect", arity: 1) { [unowned module] call in try module.connectAutomatically(call)
        },
        LuaFunction("list", arity: 0) { [unowned module] call in module.list(call) },
      ] + module.events(events))
    script.staysAlive { [unowned module] in module.service.isSeeking(module.script.number) }
    script.atLast { [service, number = script.number] in await service.releaseAll(of: number) }
  }

  private init(_ script: Script, _ service: HeadsetService) throws {
    self.script = script
    self.service = service
    headsets = try LuaClass("headset", as: "headset.Headset", in: script.state) { headset in
      let name = headset.name.map { "\"\($0)\" " } ?? ""
      let state = headset.isBusy ? "busy" : headset.isConnected ? "connected" : "not connected"
      return "headset \(name)(\(headset.address), \(state))"
    }
  }

  /// Returns the value that stands for a headset, which the script uses from now on.
  func value(_ headset: Headset) -> LuaValue {
    service.assign(headset, to: script.number)
    return headsets(headset)
  }

  // MARK: The module

  /// `headset.connect{transport=, key_file=}`
  private func connect(_ call: LuaCall) throws -> LuaReturn {
    let options = try call.options(1, ["transport", "key_file"])
    let address = try options.string("transport", .path).map { text in
      do throws(HeadsetError) { return try LinkAddress(parsing: text) } catch {
        throw options.problem("transport", error.message, hint: error.hint)
      }
    }
    let keyFile = try options.string("key_file", .path).map { script.path(of: $0) }
    if let answer = try awaitKey(keyFile, call) { return answer }
    let headset = try service.headsets.headset(at: address, keyFile: keyFile)
    service.journal?.commands(headset)
    return try call.suspend { [weak self, loop = script.loop] continuation in
      // A headset that was connected before stays connected when this routine is cancelled.
      let isNew = !headset.isInUse
      loop.start {
        do throws(HeadsetError) {
          try await headset.connect()
          if let self { continuation.resume(returning: [self.value(headset)]) }
        } catch { continuation.resume(throwing: error) }
      }
      return { if isNew { loop.start { await headset.disconnect() } } }
    }
  }

  /// `headset.auto_connect(true)`
  private func connectAutomatically(_ call: LuaCall) throws -> LuaReturn {
    if try call.bool(1) {
      if let answer = try awaitKey(nil, call) { return answer }
      let reason = try service.seek(for: script.number) { [weak script] error in
        script?.report(LuaError(error))
      }
      if let reason {
        script.onLog(.warn, "auto_connect waits: \(reason.message); \(reason.hint ?? "")", [])
      }
    } else {
      service.stopSeeking(for: script.number)
    }
    return .none
  }

  /// Suspends the routine until the mount of the key file has answered; nil stands for the configured file.
  private func awaitKey(_ file: String?, _ call: LuaCall) throws -> LuaReturn? {
    guard let path = file ?? service.headsets.settings.keyFile else { return nil }
    return try script.mounts.await(secret: path, call) { HeadsetError(keyFile: path, cause: $0, hint: $1) }
  }

  private func list(_ call: LuaCall) -> LuaReturn {
    call.return(.list(service.headsets.list.map(value)))
  }

  // MARK: The object

  private func defineObject() {
    func field(_ name: String, changedBy: String? = nil, _ value: @escaping (Headset) -> LuaValue) {
      headsets.field(name, changedBy: changedBy) { headset, call in call.return(value(headset)) }
    }
    field("connected", changedBy: "disconnect") { .bool($0.isConnected) }
    field("name") { .optional($0.name) }
    field("address") { .string($0.address) }
    field("model") { .optional($0.model) }
    field("firmware_version", changedBy: "update_firmware") { .optional($0.firmwareVersion) }
    field("capabilities") { .list($0.capabilities.map { .string($0) }) }
    action("disconnect", arity: 0) { [service] headset, _ in { try await service.disconnectForAll(headset) } }
  }

  /// Adds a method that requests values from the headset.
  /// - Parameter prepare: checks the arguments, and returns the request to make.
  func method(
    _ name: String, arity count: Int,
    _ prepare: @escaping (Headset, LuaCall) throws -> () async throws -> LuaValue
  ) {
    headsets.method(name, arity: count) { headset, call in
      let work = try prepare(headset, call)
      return try call.suspend { [try await work()] }
    }
  }

  /// Adds a method that makes the headset do something.
  func action(
    _ name: String, arity count: Int,
    _ prepare: @escaping (Headset, LuaCall) throws -> () async throws -> Void
  ) {
    headsets.method(name, arity: count) { [service] headset, call in
      let work = try prepare(headset, call)
      service.journal?.commands(headset)
      return try call.suspend {
        try await work()
        return []
      }
    }
  }
}
