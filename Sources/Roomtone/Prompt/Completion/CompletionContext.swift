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

/// The call in whose argument the cursor is.
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
    /// A name after `.` or `:`.
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
  /// The offset in scalars at which the word begins: for a text in quotation marks, after the first of them.
  let start: Int
  /// The expressions that local and global variables of the text were assigned last.
  let variables: [String: LuaChain]

  /// Finds the surroundings at the end of `text`, which may be cut anywhere.
  init(_ text: some StringProtocol) {
    let scanner = ContextScanner(text)
    place = scanner.place
    word = scanner.word
    start = scanner.start
    variables = scanner.variables
  }
}

/// Reads the tokens up to the cursor, and keeps the brackets that are open there.
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
    /// The expression before the bracket.
    var before: LuaChain?
    var argument = 1
    /// The field of a table in whose value the cursor is.
    var field: String?
    var given: [String] = []
    /// `true` at the start of a field of a table.
    var startsField = true
  }

  private var frames: [Frame] = []
  /// The expression that has been read so far; nil between expressions.
  private var chain: LuaChain?
  /// The separator after `chain`, `.` or `:`.
  private var separator: LuaToken.Kind?
  /// The variable that is being assigned.
  private var assigned: String?
  private(set) var variables: [String: LuaChain] = [:]
  private(set) var place = CompletionContext.Place.none
  private(set) var word = ""
  private(set) var start = 0

  init(_ text: some StringProtocol) {
    let (fragment, bytes) = (LuaFragment(text), text.utf8.count)
    var tokens = fragment.tokens[...]
    // The word at the cursor is completed.
    let last = tokens.last.flatMap { $0.end == bytes ? $0 : nil }
    if let last, last.kind == .name || last.isKeyword || last.kind == .number { tokens.removeLast() }
    for token in tokens { receive(token) }
    var offset = bytes
    switch fragment.ending {
    case .comment, .longString, .unreadable: break
    case .string(let mark, let contents):
      let own = chain.map { CallContext(function: $0, argument: 1) }
      let quote: Character = text.utf8.dropFirst(mark).first == UInt8(ascii: "'") ? "'" : "\""
      (place, word, offset) = (.text(quote: quote, of: own ?? call), contents, mark + 1)
    case .token:
      guard last?.kind != .number else { break }
      place = placeOfName
      if let last, last.kind == .name || last.isKeyword {
        (word, offset) = (last.kind == .name ? last.text : last.kind.rawValue, last.start)
      }
    }
    start = String(decoding: text.utf8.prefix(offset), as: UTF8.self).unicodeScalars.count
  }

  private var placeOfName: CompletionContext.Place {
    if let chain, let separator { return .member(of: chain, isMethod: separator == .colon) }
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

  private mutating func receive(_ token: LuaToken) {
    switch token.kind {
    case .name: receive(name: token.text)
    case .number: chain = nil
    case .string:
      chain = chain.map { LuaChain(steps: $0.steps + [.call]) }
      noteAssignment()
      endFieldStart()
    default:
      if token.isKeyword { receiveKeyword() } else { receive(symbol: token.kind) }
    }
  }

  private mutating func receive(name: String) {
    if let last = frames.indices.last, chain != nil { frames[last].startsField = false }
    if let separator, let before = chain {
      chain = LuaChain(steps: before.steps + [separator == .colon ? .method(name) : .field(name)])
    } else {
      if chain != nil { assigned = nil }  // a new statement
      chain = LuaChain(steps: [.name(name)])
    }
    separator = nil
    noteAssignment()
  }

  private mutating func receiveKeyword() {
    if chain != nil { endFieldStart() }
    (chain, assigned, separator) = (nil, nil, nil)
  }

  private mutating func noteAssignment() { if let assigned, let chain { variables[assigned] = chain } }

  private mutating func endFieldStart() {
    if let last = frames.indices.last { frames[last].startsField = false }
  }

  private mutating func receive(symbol: LuaToken.Kind) {
    let before = chain
    separator = nil
    switch symbol {
    case .dot, .colon:
      if before != nil { separator = symbol }
      return
    case .openParenthesis:
      frames.append(Frame(bracket: before == nil ? .other : .call, before: before))
    case .openBrace: frames.append(Frame(bracket: .table, before: before))
    case .openBracket: frames.append(Frame(bracket: .other, before: before))
    case .closeParenthesis, .closeBrace, .closeBracket:
      let frame = frames.popLast()
      chain = frame?.before.map { LuaChain(steps: $0.steps + [symbol == .closeBracket ? .index : .call]) }
      return noteAssignment()
    case .comma, .semicolon:
      if symbol == .semicolon { assigned = nil }
      guard let last = frames.indices.last else { break }
      if frames[last].bracket == .call { frames[last].argument += 1 }
      frames[last].field = nil
      frames[last].startsField = true
    case .assign:
      guard case .name(let name)? = before?.steps.first, before?.steps.count == 1 else { break }
      if let last = frames.indices.last, frames[last].bracket == .table {
        frames[last].field = name
        frames[last].given.append(name)
        frames[last].startsField = false
      } else {
        assigned = name
      }
    default: endFieldStart()
    }
    chain = nil
  }
}
