// Expressions and functions.

extension LuaParser {
  /// Adds an expression to the tree.
  mutating func add(_ kind: LuaExpression.Kind, at offset: Int) throws(LuaSyntaxError) -> LuaExpressionID {
    let height = 1 + self.height(of: kind)
    guard height <= Self.greatestHeight else {
      throw LuaSyntaxError(kind: .limit, message: "the expression has too many parts", offset: offset)
    }
    scopes.note(height: height)
    heights.append(height)
    tree.expressions.append(LuaExpression(kind: kind, offset: offset))
    return LuaExpressionID(index: Int32(tree.expressions.count - 1))
  }

  private func height(of kind: LuaExpression.Kind) -> Int {
    func height(_ id: LuaExpressionID) -> Int { heights[Int(id.index)] }
    return switch kind {
    case .index(let object, let key): max(height(object), height(key))
    case .call(let function, let arguments): max(height(function), arguments.map(height).max() ?? 0)
    case .method(let object, _, _, let arguments): max(height(object), arguments.map(height).max() ?? 0)
    case .unary(_, let operand), .parentheses(let operand): height(operand)
    case .binary(_, let left, let right): max(height(left), height(right))
    case .table(let fields): fields.map { max(height($0.value), $0.key.map(height) ?? 0) }.max() ?? 0
    case .function: scopes.closedHeight
    default: 0
    }
  }

  mutating func expressionList() throws(LuaSyntaxError) -> [LuaExpressionID] {
    var list = [try expression()]
    while try accept(.comma) { list.append(try expression()) }
    return list
  }

  mutating func expression() throws(LuaSyntaxError) -> LuaExpressionID { try operation(above: 0) }

  /// Reads operands and the binary operators that bind more tightly than `limit`.
  private mutating func operation(above limit: Int) throws(LuaSyntaxError) -> LuaExpressionID {
    try enter()
    let start = token.start
    var left: LuaExpressionID
    if let unary = LuaOperator(unary: token.kind) {
      try advance()
      left = try add(.unary(unary, try operation(above: LuaOperator.unaryPriority)), at: start)
    } else {
      left = try simpleExpression()
    }
    while let (binary, priority) = LuaOperator.binary(token.kind), priority.left > limit {
      try advance()
      let right = try operation(above: priority.right)
      left = try add(.binary(binary, left, right), at: start)
    }
    leave()
    return left
  }

  private mutating func simpleExpression() throws(LuaSyntaxError) -> LuaExpressionID {
    let first = token
    switch first.kind {
    case .number: return try constant(.number(first.number))
    case .string: return try constant(.string(first.text))
    case .nil: return try constant(.nil)
    case .true: return try constant(.true)
    case .false: return try constant(.false)
    case .dots:
      guard scopes.isVararg else { throw near("cannot use '...' outside a vararg function") }
      return try constant(.dots)
    case .openBrace: return try table()
    case .function:
      try advance()
      let function = try functionBody(isMethod: false, opened: first)
      return try add(.function(function), at: first.start)
    default: return try suffixedExpression()
    }
  }

  private mutating func constant(_ kind: LuaExpression.Kind) throws(LuaSyntaxError) -> LuaExpressionID {
    let id = try add(kind, at: token.start)
    try advance()
    return id
  }

  /// Reads a name or an expression in parentheses, with the indices and calls that follow it.
  mutating func suffixedExpression() throws(LuaSyntaxError) -> LuaExpressionID {
    let first = token
    var result: LuaExpressionID
    switch first.kind {
    case .name:
      try advance()
      result = try variable(first, isWritten: false)
    case .openParenthesis:
      try advance()
      let inner = try expression()
      try expect(.closeParenthesis, closing: first)
      result = try add(.parentheses(inner), at: first.start)
    default: throw near("unexpected symbol")
    }
    while true {
      switch token.kind {
      case .dot:
        try advance()
        let part = try name()
        let key = try add(.string(part.text), at: part.start)
        result = try add(.index(result, key: key), at: first.start)
      case .openBracket:
        try advance()
        let key = try expression()
        try expect(.closeBracket)
        result = try add(.index(result, key: key), at: first.start)
      case .colon:
        try advance()
        let part = try name()
        let arguments = try callArguments()
        result = try add(
          .method(result, name: part.text, nameOffset: part.start, arguments: arguments), at: first.start)
      case .openParenthesis, .string, .openBrace:
        let arguments = try callArguments()
        result = try add(.call(result, arguments: arguments), at: first.start)
      default: return result
      }
    }
  }

  private mutating func callArguments() throws(LuaSyntaxError) -> [LuaExpressionID] {
    let first = token
    switch first.kind {
    case .string: return [try constant(.string(first.text))]
    case .openBrace: return [try table()]
    case .openParenthesis:
      try advance()
      if try accept(.closeParenthesis) { return [] }
      let arguments = try expressionList()
      try expect(.closeParenthesis, closing: first)
      return arguments
    default: throw near("function arguments expected")
    }
  }

  private mutating func table() throws(LuaSyntaxError) -> LuaExpressionID {
    let first = token
    var fields: [LuaTableField] = []
    try advance()
    while token.kind != .closeBrace {
      fields.append(try tableField())
      let continues = try accept(.comma)
      if !continues { guard try accept(.semicolon) else { break } }
    }
    try expect(.closeBrace, closing: first)
    return try add(.table(fields), at: first.start)
  }

  private mutating func tableField() throws(LuaSyntaxError) -> LuaTableField {
    if token.kind == .name, try peek().kind == .assign {
      let key = try add(.string(token.text), at: token.start)
      try advance()
      try advance()
      return LuaTableField(key: key, value: try expression())
    }
    guard try accept(.openBracket) else { return LuaTableField(key: nil, value: try expression()) }
    let key = try expression()
    try expect(.closeBracket)
    try expect(.assign)
    return LuaTableField(key: key, value: try expression())
  }

  /// Reads parameters and body, which follow the word `function` or the function's name.
  mutating func functionBody(isMethod: Bool, opened first: LuaToken) throws(LuaSyntaxError) -> LuaFunctionID {
    let id = LuaFunctionID(index: Int32(tree.functions.count))
    tree.functions.append(LuaFunction(isMethod: isMethod, offset: first.start))
    scopes.openFunction(id, isVararg: false)
    var parameters: [LuaVariableID] = []
    if isMethod {
      var word = first
      word.text = "self"
      parameters.append(try declare(word, .parameter))
    }
    try expect(.openParenthesis)
    var isVararg = false
    while token.kind != .closeParenthesis {
      if try accept(.dots) {
        isVararg = true
        break
      }
      parameters.append(try declare(try name(), .parameter))
      guard try accept(.comma) else { break }
      if token.kind == .closeParenthesis { throw expected("<name>") }
    }
    try expect(.closeParenthesis)
    scopes.isVararg = isVararg
    let body = try block()
    try expect(.end, closing: first)
    try scopes.closeFunction(lines)
    tree.functions[Int(id.index)].parameters = parameters
    tree.functions[Int(id.index)].isVararg = isVararg
    tree.functions[Int(id.index)].body = body
    return id
  }

  // MARK: Names

  /// Adds the expression for a name.
  mutating func variable(_ name: LuaToken, isWritten: Bool) throws(LuaSyntaxError) -> LuaExpressionID {
    guard let id = scopes.variable(name.text) else { return try add(.global(name.text), at: name.start) }
    if isWritten {
      guard tree[id].attribute == nil else {
        throw near("attempt to assign to const variable '\(name.text)'")
      }
      tree.variables[Int(id.index)].assignments += 1
    } else {
      tree.variables[Int(id.index)].reads += 1
    }
    return try add(.local(id), at: name.start)
  }

  /// Declares a local variable, visible from here to the end of its block.
  mutating func declare(_ name: LuaToken, _ kind: LuaVariable.Kind, attribute: String? = nil)
    throws(LuaSyntaxError) -> LuaVariableID
  {
    let id = LuaVariableID(index: Int32(tree.variables.count))
    guard scopes.declare(name.text, id) else {
      let line = lines.line(of: tree[scopes.function].offset)
      let place = scopes.function == .main ? "main function" : "function at line \(line)"
      throw near("too many local variables (limit is 200) in \(place)")
    }
    tree.variables.append(
      LuaVariable(
        name: name.text, offset: name.start, kind: kind, function: scopes.function, attribute: attribute))
    return id
  }
}

extension LuaOperator {
  static let unaryPriority = 12

  init?(unary kind: LuaToken.Kind) {
    switch kind {
    case .not: self = .not
    case .minus: self = .subtract
    case .tilde: self = .bitXor
    case .hash: self = .length
    default: return nil
    }
  }

  /// Returns the binary operator of a token, with its priorities to the left and to the right.
  static func binary(_ kind: LuaToken.Kind) -> (LuaOperator, (left: Int, right: Int))? {
    switch kind {
    case .or: (.or, (1, 1))
    case .and: (.and, (2, 2))
    case .less: (.less, (3, 3))
    case .greater: (.greater, (3, 3))
    case .lessOrEqual: (.lessOrEqual, (3, 3))
    case .greaterOrEqual: (.greaterOrEqual, (3, 3))
    case .notEqual: (.notEqual, (3, 3))
    case .equal: (.equal, (3, 3))
    case .pipe: (.bitOr, (4, 4))
    case .tilde: (.bitXor, (5, 5))
    case .ampersand: (.bitAnd, (6, 6))
    case .shiftLeft: (.shiftLeft, (7, 7))
    case .shiftRight: (.shiftRight, (7, 7))
    case .concat: (.concat, (9, 8))
    case .plus: (.add, (10, 10))
    case .minus: (.subtract, (10, 10))
    case .star: (.multiply, (11, 11))
    case .slash: (.divide, (11, 11))
    case .floorDivision: (.floorDivide, (11, 11))
    case .percent: (.modulo, (11, 11))
    case .caret: (.power, (14, 13))
    default: nil
    }
  }
}
