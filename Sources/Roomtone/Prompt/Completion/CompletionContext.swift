internal import LuaRuntime
internal import LuaSyntax

/// An expression of names, calls and look-ups, such as `speaker.device("Kitchen"):on`.
struct LuaChain: Equatable {
  enum Step: Equatable {
    case name(String)
    case field(String)
    case method(String)
    case call
    /// `[…]`
    case index
  }

  var steps: [Step]
}

/// The call whose argument the cursor is in.
struct CallContext: Equatable {
  /// The function.
  var function: LuaChain
  /// The number of the argument, from 1.
  var argument: Int
  /// The fields of the tables of the argument that lead to the cursor: `devices` in `session { devices = { "`.
  var fields: [String] = []
  /// The fields that the table around the cursor has already.
  var given: [String] = []
}

/// The surroundings of the cursor at the end of a Lua text.
struct CompletionContext: Equatable {
  enum Place: Equatable {
    /// A global or local name, or a key of a table in a call.
    case name(keysOf: CallContext?)
    /// A name behind `.` or `:`.
    case member(of: LuaChain, isMethod: Bool)
    /// A text within quotation marks.
    case text(quote: Character, of: CallContext?)
    /// A comment or a number: nothing to complete.
    case none
  }

  /// The kind of place.
  let place: Place
  /// The beginning of the word that is completed.
  let word: String
  /// The offset in scalars at which the word begins; a text in quotation marks begins behind the first of them.
  let start: Int
  /// The expressions that local and global variables of the text were assigned last.
  let variables: [String: LuaChain]

  /// Finds the surroundings at the end of `text`, which may be cut anywhere.
  init(_ text: some StringProtocol) {
    var scanner = ContextScanner(text)
    scanner.scan()
    place = scanner.place
    word = scanner.word
    start = scanner.start
    variables = scanner.variables
  }
}

/// Reads Lua up to the cursor, and keeps the brackets that are open there.
private struct ContextScanner {
  private enum Bracket: Equatable {
    /// The arguments of a call.
    case call
    /// A table; its place in a call, if it is in one.
    case table
    /// Anything else: grouping, an index, parameters.
    case other
  }

  private struct Frame {
    var bracket: Bracket
    /// The expression in front of the bracket.
    var before: LuaChain?
    var argument = 1
    /// The field whose value the cursor is in, in a table.
    var field: String?
    var given: [String] = []
    /// `true` at the start of a field of a table.
    var startsField = true
  }

  private static let keywords = Set(LuaKeywords.all)

  private let text: [Character]
  private var at = 0
  private var frames: [Frame] = []
  /// The expression that has been read so far; nil between expressions.
  private var chain: LuaChain?
  /// The separator behind `chain`, `.` or `:`.
  private var separator: Character?
  /// The variable that is being assigned.
  private var assigned: String?
  private(set) var variables: [String: LuaChain] = [:]
  private(set) var place = CompletionContext.Place.name(keysOf: nil)
  private(set) var word = ""
  private(set) var start = 0

  init(_ text: some StringProtocol) { self.text = Array(text) }

  mutating func scan() {
    while at < text.count {
      let character = text[at]
      if character.isWhitespace {
        at += 1
      } else if character == "-" && peek == "-" {
        if !skipComment() { return end(.none) }
      } else if character == "\"" || character == "'" {
        if !readText(character) { return }
      } else if character == "[" && (peek == "[" || peek == "=") {
        if !skipLongText() { return end(.none) }
        chain = chain.map { LuaChain(steps: $0.steps + [.call]) }
      } else if character.isNumber {
        while at < text.count, text[at].isLetter || text[at].isNumber || text[at] == "." { at += 1 }
        chain = nil
        if at == text.count { return end(.none) }
      } else if character.isLetter || character == "_" {
        let start = at
        while at < text.count, text[at].isLetter || text[at].isNumber || text[at] == "_" { at += 1 }
        let name = String(text[start..<at])
        if at == text.count { return end(placeOfName, word: name, from: start) }
        receive(name)
      } else {
        at += 1
        receive(character)
      }
    }
    end(placeOfName)
  }

  private var peek: Character? { at + 1 < text.count ? text[at + 1] : nil }

  /// Ends with a word that begins at the character with an index, by default with none at the cursor.
  private mutating func end(_ place: CompletionContext.Place, word: String = "", from index: Int? = nil) {
    (self.place, self.word) = (place, word)
    start = text[..<(index ?? text.count)].reduce(0) { $0 + $1.unicodeScalars.count }
  }

  private var placeOfName: CompletionContext.Place {
    if let chain, let separator { return .member(of: chain, isMethod: separator == ":") }
    guard let frame = frames.last, frame.bracket == .table, frame.startsField else {
      return .name(keysOf: nil)
    }
    return .name(keysOf: call)
  }

  /// The call around the cursor: brackets outwards from the innermost, tables up to a call.
  private var call: CallContext? {
    var fields: [String] = []
    var given: [String]?
    for frame in frames.reversed() {
      switch frame.bracket {
      case .other: return nil
      case .call:
        guard let before = frame.before else { return nil }
        return CallContext(function: before, argument: frame.argument, fields: fields, given: given ?? [])
      case .table:
        if given == nil { given = frame.given }
        if let field = frame.field { fields.insert(field, at: 0) }
        // `f { … }` without parentheses.
        if let before = frame.before {
          return CallContext(function: before, argument: 1, fields: fields, given: given ?? [])
        }
      }
    }
    return nil
  }

  private mutating func receive(_ name: String) {
    defer { separator = nil }
    frames.indices.last.map { frames[$0].startsField = frames[$0].startsField && chain == nil }
    if let separator, let before = chain {
      chain = LuaChain(steps: before.steps + [separator == ":" ? .method(name) : .field(name)])
    } else if Self.keywords.contains(name) {
      chain = nil
      assigned = nil
    } else {
      if chain != nil { assigned = nil }  // a new statement
      chain = LuaChain(steps: [.name(name)])
    }
    noteAssignment()
  }

  private mutating func noteAssignment() { if let assigned, let chain { variables[assigned] = chain } }

  private mutating func receive(_ character: Character) {
    let before = chain
    separator = nil
    switch character {
    case ".", ":":
      if before != nil { separator = character }
      return
    case "(":
      frames.append(Frame(bracket: before == nil ? .other : .call, before: before))
      chain = nil
    case "{":
      frames.append(Frame(bracket: .table, before: before))
      chain = nil
    case "[":
      frames.append(Frame(bracket: .other, before: before))
      chain = nil
    case ")", "}", "]":
      let frame = frames.popLast()
      chain = frame?.before.map { LuaChain(steps: $0.steps + [character == "]" ? .index : .call]) }
      noteAssignment()
    case ",", ";":
      chain = nil
      if character == ";" { assigned = nil }
      guard let last = frames.indices.last else { break }
      if frames[last].bracket == .call { frames[last].argument += 1 }
      frames[last].field = nil
      frames[last].startsField = true
    case "=":
      if text.indices.contains(at), text[at] == "=" {
        at += 1
      } else if case .name(let name)? = before?.steps.first, before?.steps.count == 1 {
        if let last = frames.indices.last, frames[last].bracket == .table {
          frames[last].field = name
          frames[last].given.append(name)
          frames[last].startsField = false
        } else {
          assigned = name
        }
      }
      chain = nil
    default:
      chain = nil
      frames.indices.last.map { frames[$0].startsField = false }
    }
  }

  /// Reads a text in quotation marks; `false` when the cursor is in it.
  private mutating func readText(_ quote: Character) -> Bool {
    var content = ""
    at += 1
    let first = at
    while at < text.count, text[at] != quote, text[at] != "\n" {
      if text[at] == "\\", at + 1 < text.count { at += 1 }
      content.append(text[at])
      at += 1
    }
    guard at < text.count else {
      let own = chain.map { CallContext(function: $0, argument: 1) }
      end(.text(quote: quote, of: own ?? call), word: content, from: first)
      return false
    }
    at += 1
    chain = chain.map { LuaChain(steps: $0.steps + [.call]) }
    noteAssignment()
    frames.indices.last.map { frames[$0].startsField = false }
    return true
  }

  /// Skips a comment; `false` when the cursor is in it.
  private mutating func skipComment() -> Bool {
    at += 2
    if at < text.count, text[at] == "[", peek == "[" || peek == "=" { return skipLongText() }
    while at < text.count, text[at] != "\n" { at += 1 }
    return at < text.count
  }

  /// Skips a text in long brackets; `false` when the cursor is in it.
  private mutating func skipLongText() -> Bool {
    var level = 0
    at += 1
    while at < text.count, text[at] == "=" {
      level += 1
      at += 1
    }
    let close = ["]"] + Array(repeating: "=", count: level) + ["]"]
    while at < text.count {
      if text[at...].prefix(close.count).elementsEqual(close, by: { String($0) == $1 }) {
        at += close.count
        return true
      }
      at += 1
    }
    return false
  }
}
