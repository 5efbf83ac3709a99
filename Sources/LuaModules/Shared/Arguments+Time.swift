internal import EventLoop
public import LuaRuntime
internal import Scheduling

extension LuaCall {
  /// A duration: seconds, or text such as `"90s"`, `"5m"`, `"1h30m"`, `"250ms"`.
  /// - Parameter code: the code of the error for text that is not a duration.
  func duration(_ number: Int, code: String = "argument") throws -> Duration {
    let duration = try Duration(value(number)) { problem, isSyntax in
      self.problem(number, problem, code: isSyntax ? code : "argument")
    }
    guard let duration else {
      throw problem(
        number,
        "seconds or text like \"5m\" expected, got "
          + (isNil(number) ? "no value" : state.typeName(value(number))))
    }
    return duration
  }

  /// A position in seconds: a number, whose range the callee checks, or text as for a duration.
  func position(_ number: Int) throws -> Double {
    if case .string = value(number) { return try duration(number).inSeconds }
    guard state.typeName(value(number)) == "number" else {
      throw mismatch(number, "seconds or text like \"5m\"")
    }
    return try self.number(number)
  }

  /// A duration; nil without the argument.
  func optionalDuration(_ number: Int) throws -> Duration? { isNil(number) ? nil : try duration(number) }
}

extension LuaOptions {
  /// A duration, as `LuaCall.duration`.
  public func duration(_ name: String) throws -> Duration? {
    guard let value = self[name] else { return nil }
    guard let duration = try Duration(value, { problem, _ in self.problem(name, problem) }) else {
      throw wrong(name, "seconds or text like \"5m\"")
    }
    return duration
  }
}

extension LuaOptions {
  /// Seconds within a range, which may begin below 0: a number, or text as for a duration after an optional `-`.
  func seconds(_ name: String, in range: ClosedRange<Double>) throws -> Double? {
    guard case .string(let text)? = self[name] else {
      return try number(name, in: range)
    }
    let isNegative = text.hasPrefix("-") && range.lowerBound < 0
    let seconds: Double
    do {
      seconds = try DurationText.parse(isNegative ? String(text.dropFirst()) : text).inSeconds
    } catch {
      throw problem(name, error.message)
    }
    let value = isNegative ? -seconds : seconds
    guard range.contains(value) else {
      throw problem(
        name, "\(Int(range.lowerBound)) to \(Int(range.upperBound)) seconds expected, got \"\(text)\"")
    }
    return value
  }
}

extension Duration {
  fileprivate init?(_ value: LuaValue, _ problem: (String, _ isSyntax: Bool) -> any Error) throws {
    let seconds: Double
    switch value {
    case .int(let whole): seconds = Double(whole)
    case .number(let number): seconds = number
    case .string(let text):
      do {
        self = try DurationText.parse(text)
        return
      } catch {
        throw problem(error.message, true)
      }
    default: return nil
    }
    // A hundred years: a longer time is a mistake.
    guard seconds >= 0 else { throw problem("0 or more seconds expected, got \(seconds)", false) }
    guard seconds <= 3_155_760_000 else {
      throw problem("at most a hundred years expected, got \(seconds) seconds", false)
    }
    self.init(inSeconds: seconds)
  }
}
