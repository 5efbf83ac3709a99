internal import HeadsetKit
internal import Home
internal import LuaRuntime

/// The firmware of a headset: the image it was started from, and updates.
extension HeadsetModule {
  func defineFirmware() {
    method("image_type", arity: 0) { headset, _ in { .string(try await headset.imageType()) } }
    action("enter_bootloader", arity: 0) { headset, _ in { try await headset.enterBootloader() } }
    action("reboot", arity: 0) { headset, _ in { try await headset.reboot() } }
    method("update_firmware", arity: 2) { [unowned self] headset, call in
      let path = script.path(of: try call.string(2, .path))
      let listener = try call.options(3, ["on_progress"]).function("on_progress")
      service.changes?.commands(headset)
      return { [weak script] in
        // The script may end while parts of the image are still being acknowledged.
        let outcome = try await headset.updateFirmware(path) { fraction in
          guard let listener else { return }
          script?.call(listener, [.number(fraction)], name: "on_progress")
        }
        guard case .updated = outcome else { return .bool(false) }
        return .bool(true)
      }
    }
  }
}

extension LuaOptions {
  fileprivate func function(_ name: String) throws -> LuaReference? {
    guard let value = self[name] else { return nil }
    guard case .reference(let function) = value, state.typeName(value) == "function" else {
      throw wrong(name, "function")
    }
    return function
  }
}
