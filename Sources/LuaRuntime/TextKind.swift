internal import EventLoop

/// The use of a text from a script. The host keeps the text, and Lua's memory limit does not count it there,
/// so each kind has a maximum length; a text that the system reads up to a zero byte must not contain one.
public enum TextKind: Sendable {
  /// The name of an object, an event, an option's value.
  case name
  /// A line of a request: a user agent, a password.
  case header
  case url
  /// The path of a file, a template for one.
  case path
  /// A command of the shell.
  case command
  /// Other text.
  case text

  /// The most bytes of UTF-8. Source for paths and commands: PATH_MAX and MAX_ARG_STRLEN of Linux.
  var limit: Int {
    switch self {
    case .name: longestName
    case .header, .url: 8192
    case .path: 4095
    case .command: 131_071
    case .text: 1 << 20
    }
  }

  private var refusesZero: Bool { self == .path || self == .command }

  /// Returns the problem of a text of this kind; nil if it is valid.
  func problem(with text: String) -> String? {
    if let problem = problem(withLength: text.utf8.count) { return problem }
    return refusesZero && text.utf8.contains(0) ? "contains a zero byte" : nil
  }

  /// Returns the problem of a text with `count` bytes; nil if the length is allowed.
  func problem(withLength count: Int) -> String? {
    count > limit ? "at most \(limit) bytes expected, got \(count)" : nil
  }

  /// Returns the problem of bytes that are not UTF-8.
  static func problem(withBytes bytes: some Collection<UInt8>) -> String {
    // The first difference to the text with replacements is the first invalid byte.
    let replaced = String(decoding: bytes, as: UTF8.self).utf8
    let wrong = zip(bytes, replaced).enumerated().first { $0.element.0 != $0.element.1 }
    let hex = wrong.map { String($0.element.0, radix: 16) } ?? "?"
    return "text in UTF-8 expected, got byte 0x\(hex) at \((wrong?.offset ?? bytes.count) + 1)"
  }
}
