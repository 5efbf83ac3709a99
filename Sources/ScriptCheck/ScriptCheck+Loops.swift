internal import LuaSyntax
internal import Reference

// Loops that never end and never suspend, and variables that can't be closed.

extension ScriptCheck {
  /// Complains about a loop without an end in which no call suspends: the time limit would end the script.
  func checkEndless(_ statement: LuaStatement) {
    let body: [LuaStatement]
    switch statement.kind {
    case .while(let condition, let block) where isAlways(condition): body = block
    case .repeat(let block, let condition) where isNever(condition): body = block
    default: return
    }
    // A field of a table with a metatable may suspend, or raise.
    guard globalUses["setmetatable"] == nil, !tree.leavesLoop(body), !tree.returns(body),
      calls(in: body).allSatisfy(isBusy)
    else { return }
    complain(
      .suspension, at: statement.offset,
      "the loop never ends and never suspends, which ends the script after 2 s; call 'task.sleep' in it")
  }

  private func isAlways(_ condition: LuaExpressionID) -> Bool {
    switch tree[condition].kind {
    case .true, .number, .string, .table: true
    case .parentheses(let inner): isAlways(inner)
    case .unary(.not, let operand): isNever(operand)
    default: false
    }
  }

  private func isNever(_ condition: LuaExpressionID) -> Bool {
    switch tree[condition].kind {
    case .false, .nil: true
    case .parentheses(let inner): isNever(inner)
    default: false
    }
  }

  /// Functions of Lua's library that neither suspend nor raise on purpose, nor call functions that may.
  private static let busyFunctions: Set<String> = [
    "print", "tostring", "tonumber", "type", "ipairs", "pairs", "next", "select", "rawget", "rawset",
    "rawequal",
    "rawlen", "io.write",
  ]

  /// `true` for a call that certainly does not suspend.
  private func isBusy(_ call: LuaExpressionID) -> Bool {
    if let (function, _) = callee(of: call) {
      return !function.suspends && function.name != "os.exit" && function.name != "error"
        && Self.quietOwners.contains(function.owner)
    }
    switch tree[call].kind {
    case .call(let callee, _):
      switch value(of: callee) {
      case .libraryFunction(let name):
        return Self.busyFunctions.contains(name)
          || ["math.", "string.", "table.", "utf8."].contains { name.hasPrefix($0) }
      case .script(let function):
        if let known = busyScripts[function] { return known }
        // A function that calls itself counts as suspending.
        busyScripts[function] = false
        let isBusy =
          busyScripts.count < Self.greatestDepth && calls(in: tree[function].body).allSatisfy(isBusy)
        busyScripts[function] = isBusy
        return isBusy
      default: return false
      }
    case .method(let object, _, _, _):
      switch value(of: object).present {
      case .text, .texts: return true
      default: return false
      }
    default: return false
    }
  }

  /// Owners of functions that return at once for all arguments.
  private static let quietOwners: Set<String> = [
    "", "log", "os", "io", "string", "table", "math", "task", "schedule", "speaker", "speaker.Device",
    "speaker.Session", "speaker.Group", "stream.Stream", "headset",
  ]

  // MARK: <close>

  /// Complains about a `<close>` variable whose value has no `__close`.
  func checkClosable(_ variables: [LuaVariableID], _ values: [LuaExpressionID]) {
    for (index, variable) in variables.enumerated() where tree[variable].attribute == "close" {
      guard index < values.count else { continue }
      let value = values[index]
      let kind: String
      switch self.value(of: value) {
      case .boolean:
        guard case .true = tree[value].kind else { continue }
        kind = "true"
      case .object(let owner):
        guard reference.class(owner)?.isObject == true, !["Program", "file*"].contains(owner) else {
          continue
        }
        kind = "a \(owner)"
      case .table(let id):
        guard id == value else { continue }
        kind = "a table without a metatable"
      case .number, .text, .texts, .module, .libraryFunction, .documented, .script, .list:
        kind = self.value(of: value).kind ?? "this value"
      default: continue
      }
      complain(
        .value, at: tree[value].offset,
        "'\(tree[variable].name)' can't be closed: \(kind) has no '__close'")
    }
  }
}

extension LuaTree {
  /// `true` if a block returns, not counting the functions in it.
  fileprivate func returns(_ body: [LuaStatement]) -> Bool {
    body.contains { statement in
      if case .return = statement.kind { return true }
      return blocks(of: statement).contains { returns($0) }
    }
  }
}
