/// A piece of a description: a paragraph, without line breaks, or lines of code.
public enum ReferenceBlock: Sendable, Equatable {
  case paragraph(String)
  case code([String])
}

/// A module that scripts require, or a topic: a page of text without functions.
public struct ReferenceModule: Sendable {
  /// The name: `speaker`; for a topic its title: `simulation`.
  public let name: String
  /// The first sentence of the header.
  public let summary: String
  /// The header, including the summary.
  public let text: [ReferenceBlock]
  /// Further words, in lower case, by which a search finds it: names of its uses, or its names elsewhere.
  public let words: [String]
  /// Codes that every function of the module raises.
  public let raises: [ReferenceRaise]
  /// Names of functions whose errors every function of the module raises, except methods.
  public let raisesAs: [String]
  /// Codes that every function of the module that suspends raises.
  public let raisesOnWait: [ReferenceRaise]
  /// Position of the header: `speaker.lua:1`.
  public let location: String

  /// The first lines of code in the header.
  public var example: [String]? { text.lazy.compactMap(\.code).first }
}

/// A function of a module, a method of a class, or a global function.
public struct ReferenceFunction: Sendable {
  /// `speaker.play`, `speaker.Session:pause`, `os.exit`, `pcall`.
  public let name: String
  /// The table or the class that has it: `speaker`, `stream.effect`, `speaker.Session`; empty for a global one.
  public let owner: String
  /// `true` if it is a method, called with `:`.
  public let isMethod: Bool
  /// The description, without the sentence of the errors.
  public let text: [ReferenceBlock]
  /// The parameters, in order.
  public let parameters: [ReferenceParameter]
  /// The results, in order.
  public let returns: [ReferenceReturn]
  /// Further forms of the call.
  public let overloads: [ReferenceSignature]
  /// `true` if it suspends the calling routine.
  public let suspends: Bool
  /// The sentence of the errors, from "Raises" on; empty if it raises none.
  public let raisesText: String
  /// The codes of that sentence.
  public let raises: [ReferenceRaise]
  /// `true` if it also raises the errors of a function or a task of the script.
  public var raisesAny: Bool {
    ["the errors of the function", "the error of a task"].contains { raisesText.firstRange(of: $0) != nil }
  }
  /// Names of the functions whose errors it also raises.
  public let raisesAs: [String]
  /// The advice for a deprecated function; nil if it is not deprecated.
  public let deprecated: String?
  /// `true` if only the prompt has it: a global described in the topic `prompt`.
  public let isOfPrompt: Bool
  /// `speaker.lua:120`.
  public let location: String

  /// The name without its owner: `play`.
  public var shortName: String {
    String(name.split(whereSeparator: { $0 == "." || $0 == ":" }).last ?? "")
  }
  /// The first paragraph of the description.
  public var summary: String { text.lazy.compactMap(\.paragraph).first ?? "" }
  /// The lines of code in the description.
  public var example: [String]? { text.lazy.compactMap(\.code).first }
}

/// A parameter of a function.
public struct ReferenceParameter: Sendable {
  /// `path`; `...` for any number of arguments.
  public let name: String
  /// The type, as LuaCATS writes it.
  public let type: ReferenceType
  /// `true` if it may be omitted or nil.
  public let isOptional: Bool
  /// The description, without the name; empty if the name says enough.
  public let text: String
  /// The value of an omitted argument, as the description has it; nil without one.
  public var defaultText: String? { text.defaultText }
}

/// A result of a function.
public struct ReferenceReturn: Sendable {
  /// The type, as LuaCATS writes it.
  public let type: ReferenceType
  /// Name of the result; empty if it has none.
  public let name: String
  /// The description, without the name.
  public let text: String
}

/// Parameters and results of a function's further form, or of a function type.
public struct ReferenceSignature: Sendable {
  /// The parameters, in order.
  public let parameters: [ReferenceParameter]
  /// The results, in order.
  public let returns: [ReferenceType]
  /// `true` if the function may suspend.
  public let suspends: Bool
}

/// A field of an object, a payload or an option table.
public struct ReferenceField: Sendable {
  /// `volume`; `[1]` for an item by its position.
  public let name: String
  /// The type, as LuaCATS writes it.
  public let type: ReferenceType
  /// `true` if it may be omitted or nil.
  public let isOptional: Bool
  /// The description, without the name.
  public let text: String
  /// The value of an omitted option, as the description has it; nil without one.
  public var defaultText: String? { text.defaultText }
}

/// A class of objects, or the shape of a table.
public struct ReferenceClass: Sendable {
  /// `speaker.Session`, `speaker.PlayOptions`.
  public let name: String
  /// The class whose fields it also has.
  public let parent: String?
  /// The description.
  public let text: [ReferenceBlock]
  /// The fields, without those of the parent.
  public let fields: [ReferenceField]
  /// `true` if its values are objects with methods, `false` for tables.
  public let isObject: Bool
  /// Position of the definition: `speaker.lua:120`.
  public let location: String

  /// The first paragraph of the description.
  public var summary: String { text.lazy.compactMap(\.paragraph).first ?? "" }
}

/// A name for a type, with the values of a set of texts.
public struct ReferenceAlias: Sendable {
  /// `speaker.Role`.
  public let name: String
  /// The type, as LuaCATS writes it.
  public let type: ReferenceType
  /// The description.
  public let text: [ReferenceBlock]
  /// The texts, each with its meaning, which may be empty.
  public let values: [(text: String, meaning: String)]
  /// Position of the definition: `speaker.lua:120`.
  public let location: String
}

/// An event that listeners subscribe to.
public struct ReferenceEvent: Sendable {
  /// `ended`.
  public let name: String
  /// The occasion of the event, one line.
  public let text: String
  /// The class of the payload; nil if the event lists its fields itself.
  public let payload: String?
  /// The fields of the payload.
  public let fields: [ReferenceField]
}

/// A code that a function raises.
public struct ReferenceRaise: Sendable, Equatable {
  /// `speaker.unknown`, `argument`.
  public let code: String
  /// The circumstances; nil if the code says enough.
  public let reason: String?

  /// Creates a code with its circumstances.
  public init(code: String, reason: String?) {
    (self.code, self.reason) = (code, reason)
  }
}

/// A value of a module, or a global variable.
public struct ReferenceValue: Sendable {
  /// `speaker.MAX_VOLUME`, `arg`.
  public let name: String
  /// The module that has it; empty for a global variable.
  public let owner: String
  /// The description.
  public let text: [ReferenceBlock]
  /// The value as written: `50`; `nil` for a field whose value changes.
  public let value: String
  /// The type; nil for a constant.
  public let type: ReferenceType?

  /// The value in one line: `speaker.MAX_VOLUME = 50`, `speaker.own: speaker.Session`.
  var line: String {
    guard value == "nil", let type else { return "\(name) = \(value)" }
    return "\(name): \(type.text)"
  }

  /// Position of the definition: `speaker.lua:120`.
  public let location: String
}

/// An irregularity of the definitions: a line that can't be read.
public struct ReferenceProblem: Sendable, Equatable {
  /// Position of the definition: `speaker.lua:120`.
  public let location: String
  /// The irregularity, one line.
  public let message: String
}

extension ReferenceBlock {
  /// The text of a paragraph; nil for code.
  public var paragraph: String? {
    if case .paragraph(let text) = self { text } else { nil }
  }
  /// The lines of code; nil for a paragraph.
  public var code: [String]? {
    if case .code(let lines) = self { lines } else { nil }
  }
}

extension String {
  /// The text after "(default: ", up to its parenthesis.
  fileprivate var defaultText: String? {
    let mark = Array("(default: ".utf8)
    let bytes = Array(utf8)
    guard bytes.count > mark.count else { return nil }
    for start in 0...(bytes.count - mark.count) where bytes[start] == mark[0] {
      guard bytes[start..<(start + mark.count)].elementsEqual(mark) else { continue }
      var depth = 1
      for end in (start + mark.count)..<bytes.count {
        if bytes[end] == UInt8(ascii: "(") { depth += 1 }
        if bytes[end] == UInt8(ascii: ")") { depth -= 1 }
        if depth == 0 { return String(decoding: bytes[(start + mark.count)..<end], as: UTF8.self) }
      }
    }
    return nil
  }
}
