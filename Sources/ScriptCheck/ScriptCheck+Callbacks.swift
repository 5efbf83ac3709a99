internal import LuaSyntax
internal import Reference

// Functions that scripts pass to others: the values of their parameters, and which of them can't suspend.

extension ScriptCheck {
  /// Notes the parameters of all callbacks. Calls are visited before the calls inside of their arguments.
  func bindCallbacks() {
    for id in tree.expressionIDs.reversed() {
      switch tree[id].kind {
      case .call, .method: break
      default: continue
      }
      noteUnsuspendable(id)
      guard let (function, skipped) = callee(of: id) else { continue }
      let given = Array(tree.arguments(of: id).dropFirst(skipped))
      var event: ScriptValue?
      if let first = given.first, case .text(let name?) = value(of: first),
        ["on", "once"].contains(function.shortName)
      {
        event = payload(of: name, function.owner)
      }
      let types = signature(of: function, count: given.count).map(\.type)
      for (argument, type) in zip(given, types) { bind(argument, type, event: event) }
    }
  }

  /// Returns the parameters of the form of a function that accepts this number of arguments; else those of
  /// its first form.
  func signature(of function: ReferenceFunction, count: Int) -> [ReferenceParameter] {
    let all = [function.parameters] + function.overloads.map(\.parameters)
    return all.first { $0.accepts(count) } ?? function.parameters
  }

  private func bind(_ argument: LuaExpressionID, _ type: ReferenceType, event: ScriptValue?) {
    if let function = scriptFunction(argument) {
      let signature = reference.alternatives(of: type).lazy.compactMap(\.signature).first
      for (index, parameter) in tree[function].parameters.enumerated() where tree[parameter].assignments == 0
      {
        if index == 0, let event {
          parameters[parameter] = event
        } else if let types = signature?.parameters, index < types.count {
          parameters[parameter] = reference.value(of: types[index].type)
        }
      }
      return
    }
    guard case .table(let fields) = tree[argument].kind else { return }
    let options = reference.tableFields(of: type)
    for field in fields {
      guard let key = field.key, case .string(let name) = tree[key].kind,
        let option = options.first(where: { $0.name == name })
      else { continue }
      bind(field.value, option.type, event: nil)
    }
  }

  /// Returns the function of an argument: an expression, or a local function that is used nowhere else.
  private func scriptFunction(_ argument: LuaExpressionID) -> LuaFunctionID? {
    switch tree[argument].kind {
    case .function(let function): return function
    case .local(let variable):
      guard tree[variable].reads == 1, case .script(let function) = value(of: variable) else { return nil }
      return function
    default: return nil
    }
  }

  // MARK: Suspension

  /// Notes the functions that a call passes to Lua's C code, and the functions of taps.
  private func noteUnsuspendable(_ id: LuaExpressionID) {
    let arguments = tree.arguments(of: id)
    func note(_ index: Int, _ reason: String) {
      guard index < arguments.count, case .script(let function) = value(of: arguments[index]) else { return }
      unsuspendable[function] = reason
    }
    switch tree[id].kind {
    case .method(let object, let name, _, _):
      switch (name, value(of: object).present) {
      case ("gsub", .text), ("gsub", .texts): note(1, "a replacement of 'string.gsub'")
      case ("tap", .object("stream.Stream")): note(0, "the function of a tap")
      default: break
      }
    case .call(let callee, _):
      let name: String =
        switch value(of: callee) {
        case .libraryFunction(let name), .documented(let name): name
        default: ""
        }
      switch name {
      case "table.sort": note(1, "a comparator of 'table.sort'")
      case "string.gsub": note(2, "a replacement of 'string.gsub'")
      case "xpcall": note(1, "a message handler of 'xpcall'")
      case "load": note(0, "a reader of 'load'")
      case "setmetatable":
        guard arguments.count > 1, case .table(let table) = value(of: arguments[1]) else { return }
        noteMetatable(table)
      default: break
      }
    default: break
    }
  }

  private func noteMetatable(_ table: LuaExpressionID) {
    guard case .table(let fields) = tree[table].kind else { return }
    for field in fields {
      guard let key = field.key, case .string("__tostring") = tree[key].kind,
        case .script(let function) = value(of: field.value)
      else { continue }
      unsuspendable[function] = "'__tostring'"
    }
  }

  /// Complains about calls that suspend in functions that can't.
  func checkSuspension() {
    var known: [LuaFunctionID: String?] = [:]
    for (function, reason) in unsuspendable {
      for call in directCalls(of: function) {
        guard let name = suspending(call, &known, depth: 0) else { continue }
        complain(.suspension, at: tree.nameOffset(of: call), "\(name) suspends, and \(reason) can't")
      }
    }
  }

  /// Returns the name of the called function if it suspends. Functions that call each other more than
  /// `greatestDepth` deep count as not suspending.
  private func suspending(
    _ call: LuaExpressionID, _ known: inout [LuaFunctionID: String?], depth: Int
  ) -> String? {
    guard depth < Self.greatestDepth else { return nil }
    if let (function, _) = callee(of: call) { return function.suspends ? "'\(function.name)'" : nil }
    guard case .call(let callee, _) = tree[call].kind, case .script(let function) = value(of: callee) else {
      return nil
    }
    if let answer = known[function] { return answer }
    known[function] = .some(nil)
    var name: String?
    for inner in directCalls(of: function) where name == nil {
      if let cause = suspending(inner, &known, depth: depth + 1) { name = cause }
    }
    known[function] = .some(name)
    return name
  }

  /// Returns the calls in a function, without those of functions inside of it.
  private func directCalls(of function: LuaFunctionID) -> [LuaExpressionID] { calls(in: tree[function].body) }

  /// Returns the calls in statements, without those of functions inside of them; a call in an argument
  /// follows the call that has the argument.
  func calls(in body: [LuaStatement]) -> [LuaExpressionID] {
    var calls: [LuaExpressionID] = []
    func visit(_ id: LuaExpressionID) {
      switch tree[id].kind {
      case .call, .method: calls.append(id)
      default: break
      }
      tree.parts(of: id).forEach(visit)
    }
    func visit(_ body: [LuaStatement]) {
      for statement in body {
        tree.expressions(of: statement).forEach { visit($0) }
        tree.blocks(of: statement).forEach { visit($0) }
      }
    }
    visit(body)
    return calls
  }
}

extension [ReferenceParameter] {
  /// The least number of arguments.
  var least: Int {
    let required = enumerated().filter {
      !$0.element.isOptional && !$0.element.type.isOptional && $0.element.name != "..."
    }
    return (required.last?.offset ?? -1) + 1
  }

  /// The greatest number of arguments; nil for any number.
  var most: Int? { last?.name == "..." ? nil : count }

  /// `true` if this number of arguments is accepted.
  func accepts(_ count: Int) -> Bool { count >= least && most.map { count <= $0 } ?? true }
}
