internal import LuaSyntax
internal import Reference

/// Knowledge about the value of an expression.
indirect enum ScriptValue: Equatable {
  case unknown
  case null
  case boolean
  /// A number, with its value if known.
  case number(Double?, isInteger: Bool)
  /// A text, with its contents if known.
  case text(String?)
  /// One of these texts.
  case texts([String])
  /// An object or a table of a class of the reference.
  case object(String)
  /// A table with the fields of an inline type.
  case fields([String: ScriptValue])
  /// A module of the reference.
  case module(String)
  /// A table of functions of Lua's library.
  case libraryTable(String)
  /// A function of Lua's library.
  case libraryFunction(String)
  /// A function or a method of the reference.
  case documented(String)
  /// A function of the script.
  case script(LuaFunctionID)
  /// A table constructor of the script.
  case table(LuaExpressionID)
  case list(ScriptValue)
  /// A file beside the script, by its module's name.
  case file(String)
  /// A value that may be nil.
  case maybe(ScriptValue)

  /// The value without the possibility of nil.
  var present: ScriptValue {
    if case .maybe(let value) = self { value } else { self }
  }

  /// The value without its contents, for a variable that has several.
  var general: ScriptValue {
    switch self {
    case .number: .number(nil, isInteger: false)
    case .text: .text(nil)
    case .maybe(let value): .maybe(value.general)
    default: self
    }
  }

  /// Returns the common knowledge about two values.
  func merged(with other: ScriptValue) -> ScriptValue {
    if self == other { return self }
    switch (self, other) {
    case (.null, .maybe), (.maybe, .null): return self == .null ? other : self
    case (.null, let value), (let value, .null): return value == .unknown ? .unknown : .maybe(value.general)
    case (.maybe(let a), .maybe(let b)), (.maybe(let a), let b), (let a, .maybe(let b)):
      let both = a.merged(with: b)
      return both == .unknown ? .unknown : .maybe(both)
    case (.texts(let a), .texts(let b)): return .texts(a + b)
    default: return general == other.general ? general : .unknown
    }
  }

  /// The words for the value in a complaint; nil if it is unknown.
  var kind: String? {
    switch self {
    case .unknown, .maybe: nil
    case .null: "nil"
    case .boolean: "a boolean"
    case .number(let value?, let isInteger) where isInteger:
      "\(Int64(exactly: value).map { "\($0)" } ?? "\(value)")"
    case .number(let value?, _): "\(value)"
    case .number: "a number"
    case .text, .texts: "a string"
    case .object(let name): "a \(name)"
    case .module(let name): "the module \(name)"
    case .libraryFunction, .documented, .script: "a function"
    case .table, .list, .fields, .libraryTable, .file: "a table"
    }
  }
}

extension Reference {
  /// Returns the value that a type describes.
  func value(of type: ReferenceType) -> ScriptValue {
    let all = alternatives(of: type)
    let wanted = all.filter { $0.text != "nil" }
    let isMaybe = type.isOptional || wanted.count < all.count || wanted.contains(where: \.isOptional)
    let value = wanted.count == 1 ? single(wanted[0]) : texts(wanted)
    return isMaybe && value != .unknown ? .maybe(value) : value
  }

  private func texts(_ types: [ReferenceType]) -> ScriptValue {
    let texts = types.flatMap(\.literals)
    return !texts.isEmpty && texts.count == types.count ? .texts(texts) : .unknown
  }

  private func single(_ type: ReferenceType) -> ScriptValue {
    switch type.text {
    case "string": return .text(nil)
    case "number", "integer": return .number(nil, isInteger: false)
    case "boolean", "true", "false": return .boolean
    default: break
    }
    if let element = type.element { return .list(value(of: element)) }
    if let fields = type.fields {
      return .fields(
        Dictionary(fields.map { ($0.name, value(of: $0.type)) }, uniquingKeysWith: { a, _ in a }))
    }
    if let name = moduleName(type.text) { return .module(name) }
    if self.class(type.text) != nil { return .object(type.text) }
    return texts([type])
  }

  /// Returns the module whose table a class describes: `speaker` for `speakerlib`.
  func moduleName(_ type: String) -> String? {
    guard type.hasSuffix("lib") else { return nil }
    let name = String(type.dropLast(3))
    return module(name) == nil ? nil : name
  }
}
