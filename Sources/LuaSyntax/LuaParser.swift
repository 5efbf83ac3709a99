/// Parses a text to a tree. This file has the statements.
///
/// A recursive descent with the grammar, the limits and the messages of Lua's own parser.
/// Source: chapter 9 of the Lua 5.4 manual, and `lparser.c`.
struct LuaParser {
  var lexer: LuaLexer
  let lines: LuaLines
  var token = LuaToken(kind: .endOfFile, start: 0, end: 0)
  var lookahead: LuaToken?
  var tree = LuaTree()
  var scopes = LuaScopes()
  /// Nesting of statements and expressions, which Lua limits because the parser recurses.
  private var level = 0
  /// Heights of the expressions, by index.
  var heights: [Int] = []

  /// The most levels of nesting: Lua's own limit, less those that Lua's callers use.
  static let mostLevels = 195
  /// The most operators, calls and indices in one path of an expression.
  static let greatestHeight = 400

  init(_ text: [UInt8]) {
    lexer = LuaLexer(text)
    lines = LuaLines(text)
  }

  mutating func parse() throws(LuaSyntaxError) -> LuaTree {
    token = try lexer.next()
    tree.functions.append(LuaFunction(isVararg: true))
    scopes.openFunction(.main, isVararg: true)
    let body = try block()
    guard token.kind == .endOfFile else { throw expected("<eof>") }
    try scopes.closeFunction(lines)
    tree.functions[0].body = body
    tree.comments = lexer.comments
    return tree
  }

  // MARK: Tokens

  mutating func advance() throws(LuaSyntaxError) {
    if let next = lookahead {
      token = next
      lookahead = nil
    } else {
      token = try lexer.next()
    }
  }

  mutating func peek() throws(LuaSyntaxError) -> LuaToken {
    if let lookahead { return lookahead }
    let next = try lexer.next()
    lookahead = next
    return next
  }

  mutating func accept(_ kind: LuaToken.Kind) throws(LuaSyntaxError) -> Bool {
    guard token.kind == kind else { return false }
    try advance()
    return true
  }

  mutating func expect(_ kind: LuaToken.Kind) throws(LuaSyntaxError) {
    guard try accept(kind) else { throw expected("'\(kind.rawValue)'") }
  }

  /// Reads the token that closes the construct that `open` began.
  mutating func expect(_ kind: LuaToken.Kind, closing open: LuaToken) throws(LuaSyntaxError) {
    if try accept(kind) { return }
    let line = lines.line(of: open.start)
    if line == lines.line(of: token.start) { throw expected("'\(kind.rawValue)'") }
    throw near("'\(kind.rawValue)' expected (to close '\(open.kind.rawValue)' at line \(line))")
  }

  mutating func name() throws(LuaSyntaxError) -> LuaToken {
    guard token.kind == .name else { throw expected("<name>") }
    let name = token
    try advance()
    return name
  }

  func expected(_ what: String) -> LuaSyntaxError { near("\(what) expected") }

  func near(_ reason: String) -> LuaSyntaxError {
    let text: String =
      switch token.kind {
      case .name: "'\(token.text)'"
      case .string: "a string"
      case .number: "a number"
      case .endOfFile: "<eof>"
      default: "'\(token.kind.rawValue)'"
      }
    return LuaSyntaxError(kind: .syntax, message: "\(reason) near \(text)", offset: token.start)
  }

  mutating func enter() throws(LuaSyntaxError) {
    level += 1
    guard level <= Self.mostLevels else { throw near("chunk has too many syntax levels") }
  }

  mutating func leave() { level -= 1 }

  // MARK: Blocks and statements

  /// Reads statements up to the end of the block.
  mutating func block() throws(LuaSyntaxError) -> [LuaStatement] {
    var statements: [LuaStatement] = []
    while !endsBlock(withUntil: true) {
      if token.kind == .return {
        statements.append(try returnStatement())
        break
      }
      if let statement = try statement() { statements.append(statement) }
    }
    return statements
  }

  /// Reads the statements of a block with a scope of its own.
  private mutating func scopedBlock(isLoop: Bool = false) throws(LuaSyntaxError) -> [LuaStatement] {
    scopes.openBlock(isLoop: isLoop)
    let statements = try block()
    try scopes.closeBlock(lines)
    return statements
  }

  private func endsBlock(withUntil: Bool) -> Bool {
    switch token.kind {
    case .else, .elseif, .end, .endOfFile: true
    case .until: withUntil
    default: false
    }
  }

  private mutating func statement() throws(LuaSyntaxError) -> LuaStatement? {
    try enter()
    let first = token
    let kind = try statementKind(first)
    leave()
    return kind.map { LuaStatement(kind: $0, offset: first.start) }
  }

  private mutating func statementKind(_ first: LuaToken) throws(LuaSyntaxError) -> LuaStatement.Kind? {
    switch first.kind {
    case .semicolon:
      try advance()
      return nil
    case .if: return try ifStatement()
    case .while:
      try advance()
      let condition = try expression()
      try expect(.do)
      let body = try scopedBlock(isLoop: true)
      try expect(.end, closing: first)
      return .while(condition, body)
    case .do:
      try advance()
      let body = try scopedBlock()
      try expect(.end, closing: first)
      return .block(body)
    case .for: return try forStatement()
    case .repeat: return try repeatStatement()
    case .function: return try functionStatement()
    case .local:
      try advance()
      return try accept(.function) ? try localFunction(first) : try localStatement()
    case .doubleColon: return try label()
    case .break:
      try advance()
      try scopes.breakLoop(at: first, lines)
      return .break
    case .goto:
      try advance()
      let name = try name()
      scopes.jump(to: name.text, at: first.start)
      return .goto(name.text)
    default: return try expressionStatement()
    }
  }

  private mutating func ifStatement() throws(LuaSyntaxError) -> LuaStatement.Kind {
    let first = token
    var branches: [(condition: LuaExpressionID?, block: [LuaStatement])] = []
    repeat {
      try advance()
      let condition = try expression()
      try expect(.then)
      branches.append((condition, try scopedBlock()))
    } while token.kind == .elseif
    if try accept(.else) { branches.append((nil, try scopedBlock())) }
    try expect(.end, closing: first)
    return .if(branches)
  }

  private mutating func repeatStatement() throws(LuaSyntaxError) -> LuaStatement.Kind {
    let first = token
    try advance()
    scopes.openBlock(isLoop: true)
    // The condition sees the variables of the block.
    scopes.openBlock(isLoop: false)
    let body = try block()
    try expect(.until, closing: first)
    let condition = try expression()
    try scopes.closeBlock(lines)
    try scopes.closeBlock(lines)
    return .repeat(body, until: condition)
  }

  private mutating func forStatement() throws(LuaSyntaxError) -> LuaStatement.Kind {
    let first = token
    try advance()
    let name = try name()
    switch token.kind {
    case .assign:
      try advance()
      let from = try expression()
      try expect(.comma)
      let to = try expression()
      let step = try accept(.comma) ? try expression() : nil
      let (variables, body) = try loopBody([name], opened: first)
      return .numericFor(variables[0], from: from, to: to, step: step, body)
    case .comma, .in:
      var names = [name]
      while try accept(.comma) { names.append(try self.name()) }
      try expect(.in)
      let values = try expressionList()
      let (variables, body) = try loopBody(names, opened: first)
      return .genericFor(variables, in: values, body)
    default: throw expected("'=' or 'in'")
    }
  }

  private mutating func loopBody(_ names: [LuaToken], opened first: LuaToken) throws(LuaSyntaxError)
    -> ([LuaVariableID], [LuaStatement])
  {
    try expect(.do)
    scopes.openBlock(isLoop: true)
    var variables: [LuaVariableID] = []
    for name in names { variables.append(try declare(name, .loop)) }
    let body = try scopedBlock()
    try scopes.closeBlock(lines)
    try expect(.end, closing: first)
    return (variables, body)
  }

  private mutating func functionStatement() throws(LuaSyntaxError) -> LuaStatement.Kind {
    let first = token
    try advance()
    let name = try name()
    var target = try variable(name, isWritten: token.kind != .dot && token.kind != .colon)
    var isMethod = false
    while token.kind == .dot || token.kind == .colon {
      isMethod = token.kind == .colon
      try advance()
      let part = try self.name()
      let key = try add(.string(part.text), at: part.start)
      target = try add(.index(target, key: key), at: name.start)
      if isMethod { break }
    }
    let function = try functionBody(isMethod: isMethod, opened: first)
    return .function(target, function)
  }

  private mutating func localFunction(_ first: LuaToken) throws(LuaSyntaxError) -> LuaStatement.Kind {
    let variable = try declare(try name(), .local)
    return .localFunction(variable, try functionBody(isMethod: false, opened: first))
  }

  private mutating func localStatement() throws(LuaSyntaxError) -> LuaStatement.Kind {
    var names: [(token: LuaToken, attribute: String?)] = []
    var closes = false
    repeat {
      let name = try name()
      var attribute: String?
      if try accept(.less) {
        let given = try self.name()
        guard given.text == "const" || given.text == "close" else {
          throw LuaSyntaxError(
            kind: .syntax, message: "unknown attribute '\(given.text)'", offset: given.start)
        }
        if given.text == "close" {
          guard !closes else {
            throw LuaSyntaxError(
              kind: .syntax, message: "multiple to-be-closed variables in local list", offset: given.start)
          }
          closes = true
        }
        attribute = given.text
        try expect(.greater)
      }
      names.append((name, attribute))
    } while try accept(.comma)
    let values = try accept(.assign) ? try expressionList() : []
    // The variables are visible after their values.
    var variables: [LuaVariableID] = []
    for (name, attribute) in names { variables.append(try declare(name, .local, attribute: attribute)) }
    return .local(variables, values: values)
  }

  private mutating func label() throws(LuaSyntaxError) -> LuaStatement.Kind {
    try advance()
    let name = try name()
    try expect(.doubleColon)
    // Empty statements and labels that end a block: the variables are out of scope there.
    while token.kind == .semicolon || token.kind == .doubleColon { _ = try statement() }
    try scopes.checkLabel(name, lines)
    try scopes.addLabel(name, isLast: endsBlock(withUntil: false), lines)
    return .label(name.text)
  }

  private mutating func returnStatement() throws(LuaSyntaxError) -> LuaStatement {
    let start = token.start
    try advance()
    let values = endsBlock(withUntil: true) || token.kind == .semicolon ? [] : try expressionList()
    _ = try accept(.semicolon)
    return LuaStatement(kind: .return(values), offset: start)
  }

  private mutating func expressionStatement() throws(LuaSyntaxError) -> LuaStatement.Kind {
    let first = try suffixedExpression()
    guard token.kind == .assign || token.kind == .comma else {
      switch tree[first].kind {
      case .call, .method: return .call(first)
      default: throw near("syntax error")
      }
    }
    var targets = [first]
    while try accept(.comma) { targets.append(try suffixedExpression()) }
    for target in targets {
      switch tree[target].kind {
      case .index, .global: break
      case .local(let variable):
        guard tree[variable].attribute == nil else {
          throw near("attempt to assign to const variable '\(tree[variable].name)'")
        }
        tree.variables[Int(variable.index)].assignments += 1
        tree.variables[Int(variable.index)].reads -= 1
      default: throw near("syntax error")
      }
    }
    try expect(.assign)
    return .assign(targets, values: try expressionList())
  }
}
