internal import EventLoop
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
      service.journal?.commands(headset)
      return { [weak script] in
        // The script may end while parts of the image are still being acknowledged.
        var left: Duration?
        let outcome = try await headset.updateFirmware(
          path,
          onProgress: { fraction in
            guard let listener else { return }
            let seconds = left.map { [LuaValue.number($0.inSeconds)] } ?? []
            script?.call(listener, [.number(fraction)] + seconds, name: "on_progress")
          }, onEstimate: { left = $0.left })
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
