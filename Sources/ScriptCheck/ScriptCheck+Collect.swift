internal import LuaSyntax

// The first pass: assignments to variables, globals and fields.

extension ScriptCheck {
  func collect(_ body: [LuaStatement], isTopLevel: Bool = false) {
    for statement in body { collect(statement, isTopLevel: isTopLevel) }
  }

  private func collect(_ statement: LuaStatement, isTopLevel: Bool) {
    switch statement.kind {
    case .local(let variables, let values):
      for (index, variable) in variables.enumerated() { add(origin(index, values), to: variable) }
    case .localFunction(let variable, let function):
      add(.function(function), to: variable)
      collect(tree[function].body)
    case .assign(let targets, let values):
      for (index, target) in targets.enumerated() { assign(target, origin(index, values), isTopLevel) }
    case .function(let target, let function): assign(target, .function(function), isTopLevel)
    case .numericFor(let variable, _, _, _, let body):
      add(.number, to: variable)
      collect(body)
    case .genericFor(let variables, let values, let body):
      for (index, variable) in variables.enumerated() { add(loopOrigin(index, values), to: variable) }
      collect(body)
    case .block(let body), .while(_, let body), .repeat(let body, _): collect(body, isTopLevel: isTopLevel)
    case .if(let branches): for branch in branches { collect(branch.block, isTopLevel: isTopLevel) }
    case .call, .return, .break, .goto, .label: break
    }
    // Also functions inside of expressions.
    for expression in tree.expressions(of: statement) { collectFunctions(expression) }
  }

  private func collectFunctions(_ id: LuaExpressionID) {
    if case .function(let function) = tree[id].kind { collect(tree[function].body) }
    for part in tree.parts(of: id) { collectFunctions(part) }
  }

  private func add(_ origin: Origin, to variable: LuaVariableID) {
    origins[variable, default: []].append(origin)
  }

  private func assign(_ target: LuaExpressionID, _ origin: Origin, _ isTopLevel: Bool) {
    switch tree[target].kind {
    case .local(let variable): add(origin, to: variable)
    case .global(let name):
      globalAssignments[name, default: 0] += 1
      if isTopLevel, declaredGlobals[name] == nil { declaredGlobals[name] = tree[target].offset }
    case .index(_, let key):
      if case .string(let name) = tree[key].kind {
        assignedFields.insert(name)
      } else {
        assignsComputedFields = true
      }
    default: break
    }
    if case .function(let function) = origin { collect(tree[function].body) }
  }

  /// Returns the origin of the variable at an index of a list of variables.
  private func origin(_ index: Int, _ values: [LuaExpressionID]) -> Origin {
    guard !values.isEmpty else { return .result(LuaExpressionID.none, 0) }
    if index < values.count - 1 { return .result(values[index], 0) }
    return .result(values[values.count - 1], index - values.count + 1)
  }

  private func loopOrigin(_ index: Int, _ values: [LuaExpressionID]) -> Origin {
    guard let first = values.first, case .call(let function, let arguments) = tree[first].kind,
      let list = arguments.first,
      case .global(let name) = tree[function].kind, name == "ipairs" || name == "pairs"
    else { return .unknown }
    return index == 1 ? .element(list) : name == "ipairs" ? .number : .unknown
  }

  /// Collects names that the script itself gives to speakers and groups: they cause no complaint.
  func collectNames() {
    let setters: Set<String> = ["set_name", "set_group", "add", "define"]
    for index in tree.expressionIDs {
      let name: String
      let arguments: [LuaExpressionID]
      switch tree[index].kind {
      case .method(_, let method, _, let given): (name, arguments) = (method, given)
      case .call(let function, let given):
        guard case .index(_, let key) = tree[function].kind, case .string(let field) = tree[key].kind else {
          continue
        }
        (name, arguments) = (field, given)
      default: continue
      }
      guard setters.contains(name), let first = arguments.first else { continue }
      for argument in [first] + tree.parts(of: first) {
        guard let text = constantText(argument) else {
          if name == "set_name" || name == "set_group" { (house.speakers, house.groups) = (nil, nil) }
          continue
        }
        ownNames.append(text)
        house.add(text)
      }
    }
  }

  private func constantText(_ id: LuaExpressionID) -> String? {
    if case .string(let text) = tree[id].kind { text } else { nil }
  }
}
