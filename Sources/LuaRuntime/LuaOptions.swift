internal import EventLoop

/// The named options of a call: `speaker.play("a.mp3", { start = 10, loop = true })`.
public struct LuaOptions {
  let call: LuaCall
  let number: Int
  let fields: [String: LuaValue]
  /// The suffix of errors for options inside others: ` of speakers[2]`.
  var place = ""
  /// `true` if the only option is an argument of the call: errors need not name it.
  var isArgument = false

  /// The calling state.
  public var state: LuaState { call.state }

  /// The value in the table, nil when it is absent.
  public subscript(name: String) -> LuaValue? { fields[name] }

  /// Returns a string in UTF-8, nil when it is absent.
  /// - Parameter kind: limits its length.
  public func string(_ name: String, _ kind: TextKind = .text) throws -> String? {
    guard let value = fields[name] else { return nil }
    guard case .string(let text) = value else { throw wrong(name, "string") }
    return try checked(text, kind, name)
  }

  /// Checks a text from the option `name`.
  public func checked(_ text: String, _ kind: TextKind, _ name: String) throws -> String {
    if let problem = kind.problem(with: text) { throw self.problem(name, problem) }
    return text
  }

  /// Returns a boolean, nil when it is absent.
  public func bool(_ name: String) throws -> Bool? {
    guard let value = fields[name] else { return nil }
    guard case .bool(let flag) = value else { throw wrong(name, "boolean") }
    return flag
  }

  /// Returns a whole number, nil when it is absent.
  public func int(_ name: String, in range: ClosedRange<Int> = .min ... .max) throws -> Int? {
    guard let value = fields[name] else { return nil }
    switch value {
    case .int(let number):
      guard range.contains(number) else { throw problem(name, expected(range, got: "\(number)")) }
      return number
    case .number(let number):
      guard let whole = Int(exactly: number) else {
        throw problem(name, "whole number expected, got \(plain(number))")
      }
      guard range.contains(whole) else { throw problem(name, expected(range, got: "\(whole)")) }
      return whole
    default: throw wrong(name, "number")
    }
  }

  /// Returns a finite number, nil when it is absent.
  public func number(_ name: String, in range: ClosedRange<Double>? = nil) throws -> Double? {
    guard let value = fields[name] else { return nil }
    let number: Double
    switch value {
    case .int(let whole): number = Double(whole)
    case .number(let given): number = given
    default: throw wrong(name, "number")
    }
    guard number.isFinite else { throw problem(name, "finite number expected, got \(number)") }
    if let range, !range.contains(number) {
      throw problem(
        name, "\(plain(range.lowerBound)) to \(plain(range.upperBound)) expected, got \(plain(number))")
    }
    return number
  }

  /// Returns a table inside an option, as options of its own. Errors name `table`.
  public func nested(_ table: String, _ value: LuaValue, _ known: [String]) throws -> LuaOptions {
    guard let inner = call.state.fields(of: value) else {
      throw problem(table, "table expected, got \(call.state.typeName(value))")
    }
    if let name = inner.keys.filter({ !known.contains($0) }).min() {
      throw problem(table, unknown("key", name, among: known))
    }
    return LuaOptions(call: call, number: number, fields: inner, place: " of \(table)")
  }

  /// Returns the error for an option that is wrong.
  public func problem(
    _ name: String, _ problem: String, code: String = "argument", hint: String? = nil
  ) -> any Error {
    call.problem(
      number, isArgument ? problem : "option '\(name)'\(place): \(problem)", code: code, hint: hint)
  }

  /// Returns the error for an option of another type. A string that is not UTF-8 counts as another type.
  public func wrong(_ name: String, _ expected: String) -> any Error {
    if case .bytes(let bytes)? = fields[name] { return problem(name, TextKind.problem(withBytes: bytes)) }
    if isArgument { return call.mismatch(number, expected) }
    return problem(
      name, "\(expected) expected, got \(fields[name].map { call.state.typeName($0) } ?? "nothing")")
  }
}

extension LuaState {
  /// Returns the name of a value's type in error messages.
  public func typeName(_ value: LuaValue) -> String {
    let stack = main
    stack.push(value, in: self)
    defer { stack.pop() }
    return stack.typeName(-1)
  }

  /// Returns the result of `tostring` for a value; never raises, may run `__tostring`.
  public func text(_ value: LuaValue) -> String {
    let stack = main
    stack.push(value, in: self)
    defer { stack.pop() }
    return stack.text(-1)
  }
}
