/// Index of an expression in its tree.
public struct LuaExpressionID: Hashable, Sendable {
  let index: Int32
  /// No expression.
  public static let none = LuaExpressionID(index: -1)
}

/// Index of a local variable in its tree.
public struct LuaVariableID: Hashable, Sendable {
  let index: Int32
}

/// Index of a function in its tree.
public struct LuaFunctionID: Hashable, Sendable {
  let index: Int32
  /// The main chunk.
  public static let main = LuaFunctionID(index: 0)
}

/// An expression, and its position.
public struct LuaExpression: Sendable {
  /// The kinds of expressions.
  public indirect enum Kind: Sendable {
    case `nil`, `true`, `false`, dots
    case number(LuaNumber)
    case string(String)
    case function(LuaFunctionID)
    case local(LuaVariableID)
    case global(String)
    /// `object.name`, `object[key]`; a key that is a name is a string.
    case index(LuaExpressionID, key: LuaExpressionID)
    case call(LuaExpressionID, arguments: [LuaExpressionID])
    /// `object:name(…)`; `nameOffset` is the byte offset of the name.
    case method(LuaExpressionID, name: String, nameOffset: Int, arguments: [LuaExpressionID])
    case unary(LuaOperator, LuaExpressionID)
    case binary(LuaOperator, LuaExpressionID, LuaExpressionID)
    /// `(f())`, which has one value.
    case parentheses(LuaExpressionID)
    case table([LuaTableField])
  }

  /// The kind, with the parts.
  public let kind: Kind
  /// Byte offset of the first byte; for an index, a call or a binary operation that of its first part.
  public let offset: Int
}

/// A field of a table constructor.
public struct LuaTableField: Sendable {
  /// The key; nil for an item of the list. A key that is a name is a string.
  public let key: LuaExpressionID?
  /// The value.
  public let value: LuaExpressionID
}

/// The operators.
public enum LuaOperator: String, Sendable {
  case or, and, not
  case less = "<"
  case greater = ">"
  case lessOrEqual = "<="
  case greaterOrEqual = ">="
  case notEqual = "~="
  case equal = "=="
  case bitOr = "|"
  case bitXor = "~"
  case bitAnd = "&"
  case shiftLeft = "<<"
  case shiftRight = ">>"
  case concat = ".."
  case add = "+"
  case subtract = "-"
  case multiply = "*"
  case divide = "/"
  case floorDivide = "//"
  case modulo = "%"
  case power = "^"
  case length = "#"
}

/// A statement, and its position.
public struct LuaStatement: Sendable {
  /// The kinds of statements.
  public indirect enum Kind: Sendable {
    case local([LuaVariableID], values: [LuaExpressionID])
    case localFunction(LuaVariableID, LuaFunctionID)
    case assign([LuaExpressionID], values: [LuaExpressionID])
    /// `function a.b.c() … end`, `function a:c() … end`.
    case function(LuaExpressionID, LuaFunctionID)
    case call(LuaExpressionID)
    case block([LuaStatement])
    case `while`(LuaExpressionID, [LuaStatement])
    case `repeat`([LuaStatement], until: LuaExpressionID)
    /// The branches in order, with their conditions; an `else` is a last branch without a condition.
    case `if`([(condition: LuaExpressionID?, block: [LuaStatement])])
    case numericFor(
      LuaVariableID, from: LuaExpressionID, to: LuaExpressionID, step: LuaExpressionID?, [LuaStatement])
    case genericFor([LuaVariableID], in: [LuaExpressionID], [LuaStatement])
    case `return`([LuaExpressionID])
    case `break`
    case goto(String)
    case label(String)
  }

  /// The kind, with the parts.
  public let kind: Kind
  /// Byte offset of the first byte.
  public let offset: Int
}

/// A local variable, a parameter or a variable of a loop.
public struct LuaVariable: Sendable {
  /// The kinds of local variables.
  public enum Kind: Sendable { case local, parameter, loop }

  /// The name.
  public let name: String
  /// Byte offset of the name where the variable is declared; for an implicit `self` that of the function.
  public let offset: Int
  /// The kind.
  public let kind: Kind
  /// The function that the variable belongs to.
  public let function: LuaFunctionID
  /// `const` or `close`; nil without an attribute.
  public let attribute: String?
  /// Number of assignments to the variable after its declaration.
  public internal(set) var assignments = 0
  /// Number of expressions that read the variable.
  public internal(set) var reads = 0
}

/// A function, or the main chunk.
public struct LuaFunction: Sendable {
  /// The parameters, with the implicit `self` of `function a:b()`.
  public internal(set) var parameters: [LuaVariableID] = []
  /// `true` if the parameters end with `...`.
  public internal(set) var isVararg = false
  /// `true` for `function a:b()`.
  public internal(set) var isMethod = false
  /// The statements.
  public internal(set) var body: [LuaStatement] = []
  /// Byte offset of the word `function`.
  public internal(set) var offset = 0
}

/// A syntax tree of Lua 5.4, with every name resolved to its local variable or to a global.
///
/// Expressions, variables and functions are items of arrays and refer to each other by index, so that a tree
/// of any shape is freed without recursion.
///
/// Roomtone parses Lua itself because its users' machines do not have `luacheck`, whose tables would suffice,
/// and because checks of calls against the reference need expressions with their types rather than names
/// alone.
public struct LuaTree: Sendable {
  var expressions: [LuaExpression] = []
  var variables: [LuaVariable] = []
  var functions: [LuaFunction] = []
  /// Ranges of the comments, in bytes.
  public internal(set) var comments: [Range<Int>] = []

  /// Parses a text: a file's, with an optional byte order mark and a first line that begins with `#`.
  /// - Throws: for a text that Lua refuses, and for a text of more than `largestText` bytes or with
  ///   expressions nested more deeply than the parser's limit. Time and memory are proportional to the length
  ///   of the text.
  public init(parsing text: [UInt8]) throws(LuaSyntaxError) {
    guard text.count <= Self.largestText else {
      throw LuaSyntaxError(kind: .limit, message: "the text is larger than 2 MB", offset: 0)
    }
    var parser = LuaParser(text)
    self = try parser.parse()
  }

  init() {}

  /// The largest text that is parsed, in bytes.
  public static let largestText = 2 << 20

  /// The indices of all expressions: the parts of an expression come before it.
  public var expressionIDs: some BidirectionalCollection<LuaExpressionID> {
    expressions.indices.lazy.map { LuaExpressionID(index: Int32($0)) }
  }

  /// The indices of all local variables, in the order of their declarations.
  public var variableIDs: some BidirectionalCollection<LuaVariableID> {
    variables.indices.lazy.map { LuaVariableID(index: Int32($0)) }
  }

  /// The expression of an index.
  public subscript(id: LuaExpressionID) -> LuaExpression { expressions[Int(id.index)] }
  /// The variable of an index.
  public subscript(id: LuaVariableID) -> LuaVariable { variables[Int(id.index)] }
  /// The function of an index.
  public subscript(id: LuaFunctionID) -> LuaFunction { functions[Int(id.index)] }
}

/// A position for people.
public struct LuaPosition: Sendable, Comparable {
  /// The line, from 1.
  public let line: Int
  /// The column in characters, from 1.
  public let column: Int

  /// Orders positions as in the text.
  public static func < (a: LuaPosition, b: LuaPosition) -> Bool { (a.line, a.column) < (b.line, b.column) }
}

/// The lines of a text: converts byte offsets to positions.
public struct LuaLines: Sendable {
  private let text: [UInt8]
  /// Offsets of the lines' first bytes.
  private var starts: [Int]

  /// Finds the lines. Each of `\n`, `\r`, `\r\n` and `\n\r` ends one, as in Lua.
  public init(_ text: [UInt8]) {
    self.text = text
    starts = [text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0]
    var index = 0
    while index < text.count {
      let byte = text[index]
      index += 1
      guard byte == 0x0A || byte == 0x0D else { continue }
      if index < text.count, text[index] == 0x0A || text[index] == 0x0D, text[index] != byte { index += 1 }
      starts.append(index)
    }
  }

  /// Returns the line of an offset, from 1.
  public func line(of offset: Int) -> Int {
    var (low, high) = (0, starts.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if starts[middle] <= offset { low = middle } else { high = middle }
    }
    return low + 1
  }

  /// Returns the position of an offset.
  public func position(of offset: Int) -> LuaPosition {
    let line = line(of: offset)
    let start = starts[line - 1]
    let before = text[min(start, text.count)..<max(start, min(offset, text.count))]
    return LuaPosition(line: line, column: String(decoding: before, as: UTF8.self).count + 1)
  }
}
