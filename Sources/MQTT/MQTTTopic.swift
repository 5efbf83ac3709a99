public import EventLoop

/// A name of a topic, as messages have it: UTF-8 of 1 to 65,535 bytes without control characters and wildcards.
///
/// Source: MQTT 5.0, 4.7 and 1.5.4.
public struct MQTTTopic: Sendable, Hashable {
  /// The limit of a topic or a filter in bytes.
  public static let longest = 65_535
  /// The text.
  public let name: String

  /// A topic.
  /// - Throws: `mqtt.topic`.
  public init(_ name: String) throws(MQTTError) {
    if let problem = Self.problem(with: name, called: "topic") { throw MQTTError(.topic, problem) }
    guard !name.utf8.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") }) else {
      throw MQTTError(.topic, "a topic has no wildcards, got \(quoted(name))")
    }
    self.name = name
  }

  /// Returns the fault that a text has as a topic or a filter, apart from its wildcards; nil for a correct one.
  static func problem(with text: String, called kind: String) -> String? {
    if text.isEmpty { return "a \(kind) has a letter at least" }
    if text.utf8.count > longest { return "a \(kind) has at most \(longest) bytes, got \(text.utf8.count)" }
    if text.utf8.contains(0) { return "a \(kind) has no NUL, got \(quoted(text))" }
    guard text.unicodeScalars.allSatisfy(isAllowed) else {
      return "a \(kind) has no control characters, got \(quoted(text))"
    }
    return nil
  }

  /// Returns `false` for control characters and noncharacters, after which a broker may end the connection.
  ///
  /// Source: MQTT 5.0, 1.5.4.
  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0...0x1F, 0x7F...0x9F, 0xFDD0...0xFDEF: false
    default: scalar.value & 0xFFFE != 0xFFFE
    }
  }
}

/// A filter of topics, whose levels may be the wildcards `+` (one level) and, at the end, `#` (the level before it and
/// all below).
///
/// Source: MQTT 5.0, 4.7.
public struct MQTTFilter: Sendable, Hashable {
  /// The text.
  public let text: String

  /// A filter.
  /// - Throws: `mqtt.filter`.
  public init(_ text: String) throws(MQTTError) {
    if let problem = MQTTTopic.problem(with: text, called: "filter") { throw MQTTError(.filter, problem) }
    let levels = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for (index, level) in levels.enumerated() where level.count > 1 || index < levels.count - 1 {
      let isWhole = level.count == 1
      if level.contains(UInt8(ascii: "#")) {
        throw MQTTError(.filter, "# is the last level of a filter, and alone there, got \(quoted(text))")
      }
      if level.contains(UInt8(ascii: "+")), !isWhole {
        throw MQTTError(.filter, "+ is a whole level of a filter, got \(quoted(text))")
      }
    }
    self.text = text
  }

  /// Returns `true` if the filter selects a topic. A wildcard at the beginning selects no topic that begins with `$`:
  /// those are the broker's own.
  public func matches(_ topic: String) -> Bool {
    var filter = text.utf8[...]
    var name = topic.utf8[...]
    if name.first == UInt8(ascii: "$"),
      filter.first == UInt8(ascii: "#") || filter.first == UInt8(ascii: "+")
    {
      return false
    }
    while true {
      let level = Self.level(&filter)
      if level.elementsEqual("#".utf8) { return true }
      let part = Self.level(&name)
      guard level.elementsEqual("+".utf8) || level.elementsEqual(part) else { return false }
      switch (filter.isEmpty, name.isEmpty) {
      case (true, true): return true
      // "a/#" selects "a" too.
      case (false, true): return filter.elementsEqual("/#".utf8)
      case (true, false): return false
      case (false, false):
        filter = filter.dropFirst()
        name = name.dropFirst()
      }
    }
  }

  /// Removes the first level, up to its slash, and returns it.
  private static func level(_ text: inout Substring.UTF8View) -> Substring.UTF8View {
    let end = text.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
    defer { text = text[end...] }
    return text[..<end]
  }
}
