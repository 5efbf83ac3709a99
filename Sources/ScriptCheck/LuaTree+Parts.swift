internal import LuaSyntax

extension LuaTree {
  /// Returns the expressions that an expression consists of; a function has no parts here.
  func parts(of id: LuaExpressionID) -> [LuaExpressionID] {
    switch self[id].kind {
    case .index(let object, let key): [object, key]
    case .call(let function, let arguments): [function] + arguments
    case .method(let object, _, _, let arguments): [object] + arguments
    case .unary(_, let operand), .parentheses(let operand): [operand]
    case .binary(_, let left, let right): [left, right]
    case .table(let fields): fields.flatMap { field in [field.key, field.value].compactMap { $0 } }
    default: []
    }
  }

  /// Returns the expressions of a statement, without those of its blocks.
  func expressions(of statement: LuaStatement) -> [LuaExpressionID] {
    switch statement.kind {
    case .local(_, let values): values
    case .assign(let targets, let values): targets + values
    case .function(let target, _): [target]
    case .call(let call): [call]
    case .while(let condition, _), .repeat(_, let condition): [condition]
    case .if(let branches): branches.compactMap(\.condition)
    case .numericFor(_, let from, let to, let step, _): [from, to] + (step.map { [$0] } ?? [])
    case .genericFor(_, let values, _): values
    case .return(let values): values
    case .localFunction, .block, .break, .goto, .label: []
    }
  }

  /// Returns the arguments of a call.
  func arguments(of id: LuaExpressionID) -> [LuaExpressionID] {
    switch self[id].kind {
    case .call(_, let arguments), .method(_, _, _, let arguments): arguments
    default: []
    }
  }

  /// Returns the offset for a complaint about a name; for an index, that of its last name.
  func nameOffset(of id: LuaExpressionID) -> Int {
    switch self[id].kind {
    case .index(_, let key): self[key].offset
    case .method(_, _, let offset, _): offset
    case .call(let function, _): nameOffset(of: function)
    default: self[id].offset
    }
  }
}

extension LuaTree {
  /// Returns the blocks of a statement, without those of functions.
  func blocks(of statement: LuaStatement) -> [[LuaStatement]] {
    switch statement.kind {
    case .block(let body), .while(_, let body), .repeat(let body, _), .numericFor(_, _, _, _, let body),
      .genericFor(_, _, let body):
      [body]
    case .if(let branches): branches.map(\.block)
    default: []
    }
  }
}
