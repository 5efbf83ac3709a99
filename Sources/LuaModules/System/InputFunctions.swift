internal import Glibc
internal import LuaRuntime

/// Reading standard input, by `io.read` and `io.lines` or as a file: only the calling routine waits.
enum InputFunctions {
  /// Replaces all of Lua's functions that read standard input by functions that read `input`.
  static func replace(in state: LuaState, _ input: InputReader) {
    let line = LuaFunction("lines") { call in try read([.line(keepsEnd: false)], from: input, call) }
    let nextLine = state.value(of: line)
    state.replaceInput(
      read: LuaFunction("read") { call in try read(from: input, call, first: 1) },
      lines: LuaFunction("lines") { call in
        guard call.count > 0 else { return call.return(nextLine) }
        let requests = try requests(call, first: 1)
        return call.return(
          call.state.value(of: LuaFunction("lines") { call in try read(requests, from: input, call) }))
      })
  }

  /// Reads by the formats from argument `first` on; reads a line without formats.
  static func read(from input: InputReader, _ call: LuaCall, first: Int) throws -> LuaReturn {
    try read(try requests(call, first: first), from: input, call)
  }

  static func requests(_ call: LuaCall, first: Int) throws -> [InputReader.Request] {
    let requests = try (first..<max(first, call.count + 1)).map { try request(call, $0) }
    return requests.isEmpty ? [.line(keepsEnd: false)] : requests
  }

  /// The format of an optional argument.
  static func request(
    _ call: LuaCall, _ number: Int, unless absent: InputReader.Request
  ) throws -> InputReader.Request {
    call.isNil(number) ? absent : try request(call, number)
  }

  private static func request(_ call: LuaCall, _ number: Int) throws -> InputReader.Request {
    if case .int = call.value(number) { return .bytes(try call.int(number, in: 0...InputReader.longest)) }
    let format = try call.string(number)
    switch format.drop(while: { $0 == "*" }).first {
    case "l": return .line(keepsEnd: false)
    case "L": return .line(keepsEnd: true)
    case "a": return .all
    case "n": return .numeral
    default: throw call.problem(number, "invalid format '\(format)': l, L, n, a or a number of bytes")
    }
  }

  /// Returns a result for each request, up to the first one at the end of the input.
  static func read(
    _ requests: [InputReader.Request], from input: InputReader, _ call: LuaCall
  ) throws -> LuaReturn {
    try call.suspend { continuation in
      var results: [LuaValue] = []
      var revokeLast: () -> Void = {}
      func next(_ index: Int) {
        guard index < requests.count else { return continuation.resume(returning: results) }
        revokeLast = input.read(requests[index]) { bytes in
          if case .all = requests[index], (bytes?.count ?? 0) > InputReader.longest {
            return continuation.resume(throwing: tooLong)
          }
          results.append(value(bytes, for: requests[index]))
          if case .nil? = results.last { return continuation.resume(returning: results) }
          next(index + 1)
        }
      }
      next(0)
      return { revokeLast() }
    }
  }

  private static var tooLong: LuaError {
    LuaError(
      code: "argument", message: "more than \(InputReader.longest >> 20) MiB come at once",
      hint: "read it in parts, with read(65536) or lines()")
  }

  private static func value(_ bytes: [UInt8]?, for request: InputReader.Request) -> LuaValue {
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
