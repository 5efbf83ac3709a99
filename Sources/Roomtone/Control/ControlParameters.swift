internal import EventLoop
internal import JSONText

/// The parameters of a request, each of which is read by its type; unknown ones are refused by name.
struct ControlParameters {
  private let json: JSON
  private let method: String

  /// - Parameter known: the names that the method has.
  /// - Throws: `RPCError` for another name.
  init(_ request: ControlRequest, _ known: String...) throws {
    (json, method) = (request.parameters, request.method)
    guard case .object(let members) = json else { return }
    if let unknown = members.first(where: { !known.contains($0.name) }) {
      let meant = nearest(unknown.name, among: known).map { "did you mean \"\($0)\"?" }
      throw RPCError(
        .invalidParameters,
        "\(method) has no parameter \"\(unknown.name.prefix(60).description.onOneLine)\"", hint: meant)
    }
  }

  /// A value of any type; nil when it is absent.
  func value(_ name: String) -> JSON? {
    if case .null? = json[name] { nil } else { json[name] }
  }

  /// A text; nil when it is absent.
  /// - Parameter limit: the most bytes, by default those of a name.
  func text(_ name: String, atMost limit: Int = longestName) throws -> String? {
    let text = try typed(name, "a text") { $0.text }
    if let count = text?.utf8.count, count > limit {
      throw RPCError(
        .invalidParameters, "\(method): the parameter \"\(name)\" has at most \(limit) bytes, got \(count)")
    }
    return text
  }

  /// A text that must be there.
  func requiredText(_ name: String, atMost limit: Int = longestName) throws -> String {
    guard let text = try text(name, atMost: limit) else {
      throw RPCError(.invalidParameters, "\(method): the parameter \"\(name)\" is missing")
    }
    return text
  }

  /// A Boolean, false when it is absent.
  func flag(_ name: String) throws -> Bool { try typed(name, "true or false") { $0.bool } ?? false }

  /// The most bytes of a path or a URL.
  static let longestAddress = 8192

  /// A list of texts, empty when it is absent.
  /// - Parameter limit: the most bytes of each.
  func texts(_ name: String, atMost limit: Int) throws -> [String] {
    let texts = try untested(name)
    if let count = texts.lazy.map(\.utf8.count).first(where: { $0 > limit }) {
      throw RPCError(
        .invalidParameters,
        "\(method): each text of the parameter \"\(name)\" has at most \(limit) bytes, got \(count)")
    }
    return texts
  }

  private func untested(_ name: String) throws -> [String] {
    try typed(name, "a list of texts") { json in
      guard let elements = json.elements else { return nil }
      let texts = elements.compactMap(\.text)
      return texts.count == elements.count ? texts : nil
    } ?? []
  }

  /// A whole number; nil when it is absent.
  func int(_ name: String) throws -> Int? { try typed(name, "a whole number") { $0.int } }

  /// A duration in seconds; nil when it is absent.
  func seconds(_ name: String) throws -> Duration? {
    try typed(name, "a number of seconds") { json in
      switch json {
      case .number(let seconds) where (0...Self.longest).contains(Double(seconds)): .seconds(seconds)
      case .exact(let seconds) where (0...Self.longest).contains(seconds): Duration(inSeconds: seconds)
      default: nil
      }
    }
  }

  /// A hundred years in seconds: a longer duration is a mistake.
  private static let longest = 3_155_760_000.0

  private func typed<Value>(_ name: String, _ kind: String, _ read: (JSON) -> Value?) throws -> Value? {
    guard let value = value(name) else { return nil }
    guard let typed = read(value) else {
      throw RPCError(.invalidParameters, "\(method): the parameter \"\(name)\" is \(kind)")
    }
    return typed
  }
}
