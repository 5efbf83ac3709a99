internal import Home
internal import LuaRuntime

/// `log.debug`, `log.info`, `log.warn`, `log.error`: a message and fields.
enum LogModule {
  /// The most bytes of a message or a field; the rest is cut off.
  private static let longest = 64 << 10

  static func register(in script: Script) {
    let state = script.state
    state.register(
      "log",
      LogLevel.allCases.map { level in
        LuaFunction(level.rawValue, arity: 2) { [unowned script] call in
          let message = try call.shownText(1, atMost: longest)
          script.onLog(level, message, call.isNil(2) ? [] : try call.fields(2, atMost: longest))
          return .none
        }
      })
  }
}
