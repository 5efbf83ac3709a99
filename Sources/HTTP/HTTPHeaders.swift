/// The header fields of a response, in their order, duplicates kept. Names are found in any case.
public struct HTTPHeaders: Sendable, Equatable {
  /// A name and a value.
  public struct Field: Sendable, Equatable {
    /// The name in its original case.
    public let name: String
    /// The value, without white space around it. UTF-8 when it is valid, else Latin-1.
    public internal(set) var value: String
  }

  /// The fields in the order of the response.
  public internal(set) var fields: [Field] = []

  /// Creates an empty list of fields.
  public init() {}
  /// Creates fields with these names and values.
  public init(_ fields: [(name: String, value: String)]) {
    self.fields = fields.map { Field(name: $0.name, value: $0.value) }
  }

  /// The value of the first field called `name`, nil without one.
  public subscript(name: String) -> String? { fields.first { $0.name.isSameName(as: name) }?.value }

  /// Returns the values of all fields called `name`.
  public func all(_ name: String) -> [String] {
    fields.filter { $0.name.isSameName(as: name) }.map(\.value)
  }
}

/// A content type, split from its parameters. Source: RFC 9110 §8.3.1.
public struct MediaType: Sendable, Equatable {
  /// Type and subtype in lower case, such as `audio/mpeg`.
  public let name: String
  /// Names in lower case with their values, quotes removed, in their order.
  public let parameters: [HTTPHeaders.Field]

  /// Splits the value of a Content-Type header; nil if it has no type.
  public init?(_ value: String) {
    var parts = Self.split(value)
    name = Self.trimmed(parts.removeFirst()).lowercased()
    guard !name.isEmpty else { return nil }
    parameters = parts.compactMap { part in
      guard let equals = part.firstIndex(of: "=") else { return nil }
      let name = Self.trimmed(part[..<equals]).lowercased()
      return HTTPHeaders.Field(
        name: name, value: Self.unquoted(Self.trimmed(part[part.index(after: equals)...])))
    }
  }

  /// The value of the parameter called `name`, nil without one.
  public subscript(name: String) -> String? { parameters.first { $0.name == name.lowercased() }?.value }

  /// Splits at semicolons that are not in quotes.
  private static func split(_ text: String) -> [Substring] {
    var isQuoted = false
    return text.split(omittingEmptySubsequences: false) { character in
      if character == "\"" { isQuoted.toggle() }
      return character == ";" && !isQuoted
    }
  }

  private static func trimmed(_ text: Substring) -> String {
    let isSpace = { (character: Character) in character == " " || character == "\t" }
    var text = text.drop(while: isSpace)
    while let last = text.last, isSpace(last) { text.removeLast() }
    return String(text)
  }

  private static func unquoted(_ text: String) -> String {
    guard text.count >= 2, text.first == "\"", text.last == "\"" else { return text }
    return String(text.dropFirst().dropLast())
  }
}

extension String {
  /// `true` if the names of header fields are equal: ASCII letters in any case.
  func isSameName(as other: String) -> Bool {
    utf8.count == other.utf8.count
      && zip(utf8, other.utf8).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
  }
}

extension UInt8 {
  fileprivate var asciiLowercased: UInt8 { (65...90).contains(self) ? self + 32 : self }
}
