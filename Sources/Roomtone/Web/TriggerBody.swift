internal import EventLoop
internal import Home
internal import JSONText
internal import WebServer

/// The value of a trigger in the body of a request, by its content type.
enum TriggerBody {
  /// A value, nil without one; or the answer to a wrong body.
  enum Reading {
    case value(JSON?)
    case refused(WebAnswer)
  }

  /// The code of errors of bodies.
  private static let code = "hook.body"

  /// Reads a body.
  /// - Parameter contentType: the header Content-Type; nil without one, which counts as text.
  static func read(_ body: [UInt8], contentType: String?) -> Reading {
    guard !body.isEmpty else { return .value(nil) }
    let type = (contentType ?? "text/plain").prefix { $0 != ";" }.lowercased().filter {
      $0 != " " && $0 != "\t"
    }
    switch type {
    case "application/json": return json(body)
    case _ where type.hasPrefix("application/") && type.hasSuffix("+json"): return json(body)
    case "application/x-www-form-urlencoded": return form(body)
    case "text/plain":
      guard let text = String(validating: body, as: UTF8.self) else {
        return .refused(WebAnswer(400, code, "the text is not UTF-8"))
      }
      return .value(.string(text))
    default:
      return .refused(
        WebAnswer(
          415, code, "a body of JSON, a form or text expected, got \(quoted(type))",
          hint: "Content-Type is application/json, application/x-www-form-urlencoded or text/plain"))
    }
  }

  private static func json(_ body: [UInt8]) -> Reading {
    guard String(validating: body, as: UTF8.self) != nil else {
      return .refused(WebAnswer(400, code, "the JSON is not UTF-8"))
    }
    do throws(JSONSyntaxError) { return .value(try JSON.parse(body)) } catch {
      return .refused(
        WebAnswer(
          400, code, "the JSON is invalid in line \(error.line), column \(error.column): \(error.reason)"))
    }
  }

  /// Reads a form as a table of texts; a name that comes several times has a list of them.
  /// Source: WHATWG URL, application/x-www-form-urlencoded parsing.
  private static func form(_ body: [UInt8]) -> Reading {
    // `curl -d '{…}'` sends this type unless it is given another.
    if let first = body.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
      return .refused(
        WebAnswer(
          400, code, "the body looks like JSON, and its type says that it is a form",
          hint: "send the header Content-Type: application/json"))
    }
    var order: [String] = []
    var values: [String: [JSON]] = [:]
    for pair in body.split(separator: UInt8(ascii: "&")) {
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = decoded(parts[0]), let value = decoded(parts.count > 1 ? parts[1] : []) else {
        return .refused(WebAnswer(400, code, "the form has a wrong escape, or text that is not UTF-8"))
      }
      if values[name] == nil { order.append(name) }
      values[name, default: []].append(.string(value))
    }
    return .value(
      .object(
        order.map { name in
          let all = values[name] ?? []
          return (name, all.count == 1 ? all[0] : .array(all))
        }))
  }

  private static func decoded(_ text: ArraySlice<UInt8>) -> String? {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
          return nil
        }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46, 0x61...0x66: (byte | 0x20) - 0x57
    default: nil
    }
  }
}
