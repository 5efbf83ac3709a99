/// A type as LuaCATS writes it: `speaker.Target|speaker.Target[]`, `"skip"|"queue"`, `async fun(event: table)`.
public struct ReferenceType: Sendable, Equatable, CustomStringConvertible {
  /// The type as written, without the `?` of an optional one.
  public let text: String
  /// `true` if nil is a value of the type.
  public let isOptional: Bool

  /// The type as written.
  public var description: String { isOptional ? text + "?" : text }

  /// Creates a type from its text, with or without a `?` at the end.
  public init(_ text: some StringProtocol) {
    var text = String(text)
    isOptional = text.utf8.last == UInt8(ascii: "?")
    if isOptional { text.removeLast() }
    self.text = text
  }

  /// The types between the bars: `"left"` and `"right"[]` for `"left"|"right"[]`.
  public var alternatives: [ReferenceType] {
    Self.split(text[...], at: UInt8(ascii: "|")).map { ReferenceType($0) }
  }

  /// The texts among the alternatives: `left` and `right` of `"left"|"right"`.
  public var literals: [String] {
    alternatives.compactMap { type in
      let bytes = type.text.utf8
      guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else {
        return nil
      }
      return String(type.text.dropFirst().dropLast())
    }
  }

  /// The type of the items of a list `T[]`; nil for any other type.
  public var element: ReferenceType? {
    guard alternatives.count == 1, text.hasSuffix("[]") else { return nil }
    let item = text.dropLast(2)
    return ReferenceType(item.hasPrefix("(") ? item.dropFirst().dropLast() : item)
  }

  /// The fields of a table type `{ name: string, group?: string }`; nil for any other type.
  public var fields: [ReferenceField]? {
    guard text.hasPrefix("{"), text.hasSuffix("}") else { return nil }
    return Self.split(text.dropFirst().dropLast(), at: UInt8(ascii: ",")).map { item in
      let (name, type) = Self.named(item)
      return ReferenceField(
        name: name.text, type: type ?? ReferenceType("any"),
        isOptional: name.isOptional || type?.isOptional == true, text: "")
    }
  }

  /// The parameters and results of a function type; nil for any other type.
  public var signature: ReferenceSignature? {
    // A `?` at the end belongs to the last result.
    let suspends = text.hasPrefix("async ")
    let body = suspends ? description.dropFirst(6) : description[...]
    guard body.hasPrefix("fun(") else { return nil }
    let bytes = Array(body.utf8)
    var depth = 0
    guard
      let end = bytes.indices.dropFirst(3).first(where: { index in
        if Self.opening.contains(bytes[index]) { depth += 1 }
        if Self.closing.contains(bytes[index]) { depth -= 1 }
        return depth == 0
      })
    else { return nil }
    let inside = String(decoding: bytes[4..<end], as: UTF8.self)
    let parameters = Self.split(inside[...], at: UInt8(ascii: ",")).map { item in
      let (name, type) = Self.named(item)
      return ReferenceParameter(
        name: name.text, type: type ?? ReferenceType("any"),
        isOptional: name.isOptional || type?.isOptional == true, text: "")
    }
    let rest = String(decoding: bytes[(end + 1)...], as: UTF8.self)
    let results = rest.hasPrefix(":") ? rest.dropFirst() : ""
    return ReferenceSignature(
      parameters: parameters,
      returns: Self.split(results, at: UInt8(ascii: ",")).map { ReferenceType($0) },
      suspends: suspends)
  }

  /// Reads the type at the beginning of a line of a tag.
  /// - Returns: the type, and the rest of the line without leading spaces.
  static func read(_ line: Substring) -> (type: ReferenceType, rest: Substring) {
    let bytes = line.utf8
    var (depth, isQuoted) = (0, false)
    var (word, last): (Substring.Index, UInt8) = (bytes.startIndex, 0)
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      if !isQuoted {
        if opening.contains(byte) { depth += 1 }
        if closing.contains(byte) { depth -= 1 }
        if byte == UInt8(ascii: " ") {
          let continues = [UInt8(ascii: ":"), UInt8(ascii: ","), UInt8(ascii: "|")].contains(last)
          if depth == 0 && !continues && line[word..<index] != "async" { break }
          word = bytes.index(after: index)
        }
      }
      last = byte
      index = bytes.index(after: index)
    }
    return (ReferenceType(line[..<index]), line[index...].trimmedPrefix)
  }

  private static let opening = [UInt8(ascii: "("), UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "<")]
  private static let closing = [UInt8(ascii: ")"), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ">")]

  /// Returns the parts of a text between separators that are not inside brackets or quotes, without spaces around them.
  private static func split(_ text: Substring, at separator: UInt8) -> [Substring] {
    let bytes = text.utf8
    var parts: [Substring] = []
    var (depth, isQuoted, start) = (0, false, bytes.startIndex)
    for index in bytes.indices {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      if isQuoted { continue }
      if opening.contains(byte) { depth += 1 }
      if closing.contains(byte) { depth -= 1 }
      guard depth == 0 && byte == separator else { continue }
      parts.append(text[start..<index].trimmed)
      start = bytes.index(after: index)
    }
    parts.append(text[start...].trimmed)
    return parts.filter { !$0.isEmpty }
  }

  /// Reads `name: type`, or a name alone.
  private static func named(_ text: Substring) -> (name: ReferenceType, type: ReferenceType?) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return (ReferenceType(text), nil) }
    return (ReferenceType(text[..<colon]), ReferenceType(text[text.index(after: colon)...].trimmedPrefix))
  }
}

extension Substring {
  /// Returns `true` if the bytes of the text begin with those of `prefix`; `hasPrefix` of a substring
  /// compares characters.
  func begins(with prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

  /// The text without spaces before it.
  var trimmedPrefix: Substring { self[(utf8.firstIndex { $0 != UInt8(ascii: " ") } ?? endIndex)...] }

  /// The text without spaces before and after it.
  var trimmed: Substring {
    let start = trimmedPrefix
    guard let last = start.utf8.lastIndex(where: { $0 != UInt8(ascii: " ") }) else { return start }
    return start[...last]
  }

  /// The first word, and the rest without leading spaces.
  var firstWord: (word: Substring, rest: Substring) {
    let end = utf8.firstIndex(of: UInt8(ascii: " ")) ?? endIndex
    return (self[..<end], self[end...].trimmedPrefix)
  }
}
