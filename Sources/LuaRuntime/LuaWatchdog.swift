internal import CLuaShim

/// Interrupts scripts that run too long: each thread that runs Lua states has one, which the states share.
///
/// Has a thread of its own that sleeps while no Lua runs. Ends with its last user.
public final class LuaWatchdog {
  let raw: OpaquePointer

  /// - Throws: `script.watchdog` when the system has no thread left.
  public init() throws(LuaError) {
    guard let raw = shim_watchdog_start() else {
      throw LuaError(code: "script.watchdog", message: "no thread can be had for the scripts' time limit")
    }
    self.raw = raw
  }

  deinit { shim_watchdog_stop(raw) }
}
