internal import Glibc
internal import LuaRuntime

/// `io.read` and `io.lines` on standard input: only the calling routine waits.
enum InputFunctions {
  static func functions(_ input: StandardInput) -> [LuaFunction] {
    [
      LuaFunction("read") { call in
        let requests = try (0..<max(1, call.count)).map { index in
          call.count == 0 ? .line(keepsEnd: false) : try request(call, index + 1)
        }
        return try read(requests, from: input, call)
      }
    ]
  }

  private static func request(_ call: LuaCall, _ number: Int) throws -> StandardInput.Request {
    if case .int = call.value(number) { return .bytes(try call.int(number, in: 0...(1 << 30))) }
    let format = try call.string(number)
    switch format.drop(while: { $0 == "*" }).first {
    case "l": return .line(keepsEnd: false)
    case "L": return .line(keepsEnd: true)
    case "a": return .all
    case "n": return .numeral
    default: throw call.problem(number, "invalid format '\(format)': l, L, n, a or a number of bytes")
    }
  }

  /// One result for each request, up to the first that finds the end.
  private static func read(
    _ requests: [StandardInput.Request], from input: StandardInput, _ call: LuaCall
  ) throws -> LuaReturn {
    try call.suspend { continuation in
      var results: [LuaValue] = []
      var takeBack: () -> Void = {}
      func next(_ index: Int) {
        guard index < requests.count else { return continuation.resume(returning: results) }
        takeBack = input.read(requests[index]) { bytes in
          results.append(value(bytes, for: requests[index]))
          if case .nil? = results.last { return continuation.resume(returning: results) }
          next(index + 1)
        }
      }
      next(0)
      return { takeBack() }
    }
  }

  private static func value(_ bytes: [UInt8]?, for request: StandardInput.Request) -> LuaValue {
    guard let bytes else { return .nil }
    guard case .numeral = request else { return .bytes(bytes) }
    let text = String(decoding: bytes, as: UTF8.self)
    if let whole = Int(text) { return .int(whole) }
    var end: UnsafeMutablePointer<CChar>?
    let number = text.withCString { start in
      let number = strtod(start, &end)
      return end.map { $0 - UnsafeMutablePointer(mutating: start) } == text.utf8.count ? number : nil
    }
    return number.map { .number($0) } ?? .nil
  }
}
