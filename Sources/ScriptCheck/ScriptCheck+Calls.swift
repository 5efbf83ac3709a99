internal import EventLoop
internal import LuaSyntax
internal import Reference

// Calls: numbers and values of arguments.

extension ScriptCheck {
  func checkCall(_ id: LuaExpressionID) {
    let arguments = tree.arguments(of: id)
    if let (function, skipped) = callee(of: id) {
      guard checkColon(id, function, skipped) else { return }
      checkCall(id, function, Array(arguments.dropFirst(skipped)))
      checkForwarded(id, function.name, arguments)
      return
    }
    switch tree[id].kind {
    case .call(let callee, _): checkCallee(id, callee, arguments)
    case .method(let object, let name, _, _):
      switch value(of: object).present {
      case .text, .texts: checkLibrary(id, "string.\(name)", arguments, own: 1)
      default: break
      }
    default: break
    }
  }

  /// Checks the call that a function makes with its further arguments: `task.try(speaker.play, "x.mp3")`.
  private func checkForwarded(_ id: LuaExpressionID, _ name: String, _ arguments: [LuaExpressionID]) {
    let index: Int
    switch name {
    case "pcall", "task.try", "task.spawn": index = 0
    case "task.timeout": index = 1
    default: return
    }
    guard index < arguments.count, case .documented(let callee) = value(of: arguments[index]),
      let function = reference.function(callee)
    else { return }
    let given = Array(arguments.dropFirst(index + 1))
    guard !function.isMethod || !given.isEmpty else { return }
    muting(expected(in: id)) {
      checkCall(arguments[index], function, Array(given.dropFirst(function.isMethod ? 1 : 0)))
    }
  }

  /// Returns `true` for a correct call; complains about a method that is called with a dot.
  private func checkColon(_ id: LuaExpressionID, _ function: ReferenceFunction, _ skipped: Int) -> Bool {
    guard function.isMethod, case .call(let callee, let arguments) = tree[id].kind,
      case .index(let object, _) = tree[callee].kind
    else { return true }
    if skipped == 1 {
      switch value(of: arguments[0]).present {
      case .object, .unknown: return true
      default: break
      }
    }
    guard case .object = value(of: object).present else { return true }
    complain(
      .call, at: tree.nameOffset(of: callee),
      "'\(function.shortName)' is a method; call it with a colon: ':\(function.shortName)(…)'")
    return false
  }

  private func checkCallee(_ id: LuaExpressionID, _ callee: LuaExpressionID, _ arguments: [LuaExpressionID]) {
    switch value(of: callee) {
    case .libraryFunction(let name):
      checkLibrary(id, name, arguments, own: 0)
      checkForwarded(id, name, arguments)
      if name == "require" { checkRequire(arguments) }
      if name == "setmetatable" { checkMetatable(arguments) }
      if name == "ipairs" || name == "pairs" || name.hasPrefix("table.") { checkVisited(name, arguments) }
    case .number, .text, .texts, .boolean, .list:
      guard case .index(let object, let key) = tree[callee].kind, case .string(let name) = tree[key].kind,
        case .object(let owner) = value(of: object).present
      else { return }
      complain(
        .call, at: tree[key].offset, "'\(name)' of a \(owner) is a field, not a function; write it without ()"
      )
    default: break
    }
  }

  private func checkLibrary(_ id: LuaExpressionID, _ name: String, _ arguments: [LuaExpressionID], own: Int) {
    guard let arity = LuaLibrary.arity(name) else { return }
    checkCount(id, name, arguments, least: arity.least - own, most: arity.most.map { $0 - own })
  }

  private func checkCount(
    _ id: LuaExpressionID, _ name: String, _ arguments: [LuaExpressionID], least: Int, most: Int?
  ) {
    let isOpen = arguments.last.map(hasSeveralValues) ?? false
    let count = arguments.count - (isOpen ? 1 : 0)
    let isWrong = count > most ?? .max || !isOpen && count < least
    guard isWrong else { return }
    let numbers = most.map { $0 == least ? "\(least)" : "\(least) to \($0)" } ?? "at least \(least)"
    let noun = (most ?? least) == 1 ? "argument" : "arguments"
    let wanted = most == 0 ? "no arguments" : "\(numbers) \(noun)"
    complain(.arguments, at: tree.nameOffset(of: id), "'\(name)' expects \(wanted), got \(count)")
  }

  /// `true` if an expression may have several values.
  private func hasSeveralValues(_ id: LuaExpressionID) -> Bool {
    switch tree[id].kind {
    case .dots: true
    case .call, .method:
      // A function of the reference returns the documented number of values.
      callee(of: id).map { $0.function.returns.count != 1 || $0.function.returns[0].name == "..." } ?? true
    default: false
    }
  }

  // MARK: Modules

  private func checkRequire(_ arguments: [LuaExpressionID]) {
    guard let first = arguments.first, case .string(let name) = tree[first].kind else { return }
    if isOfLibrary(name) {
      guard checker.modules.text(of: name) != nil else { return }
      return complain(
        .module, at: tree[first].offset,
        "the module '\(name)' is the library's, not the file beside the script; rename that file to require it"
      )
    }
    guard file(name) == nil else { return }
    guard !checker.modules.names.contains(name) else {
      return complain(.module, at: tree[first].offset, "the file of the module '\(name)' can't be read")
    }
    let known = reference.modules.map(\.name) + checker.modules.names
    let hint =
      nearest(name, among: known).map { "did you mean '\($0)'?" }
      ?? "modules are found in the script's folder and in Roomtone's library"
    complain(.module, at: tree[first].offset, "there is no module '\(name)'; \(hint)")
  }

  /// Complains about a function of the reference where a table is expected.
  private func checkVisited(_ name: String, _ arguments: [LuaExpressionID]) {
    guard let first = arguments.first, name != "table.pack", case .documented(let function) = value(of: first)
    else {
      return
    }
    complain(.call, at: tree.nameOffset(of: first), "'\(function)' is a function; call it with ()")
  }

  private func checkMetatable(_ arguments: [LuaExpressionID]) {
    guard arguments.count > 1, case .table(let table) = value(of: arguments[1]),
      case .table(let fields) = tree[table].kind
    else { return }
    for field in fields {
      guard let key = field.key, case .string("__gc") = tree[key].kind else { continue }
      complain(
        .value, at: tree[key].offset,
        "'setmetatable' refuses '__gc'; a '<close>' variable releases at a known time")
    }
  }

  // MARK: Functions of the reference

  private func checkCall(_ id: LuaExpressionID, _ function: ReferenceFunction, _ arguments: [LuaExpressionID])
  {
    // Functions of the reference that Lua also has are checked by Lua's own numbers of arguments.
    if let arity = LuaLibrary.arity(function.name) {
      return checkCount(id, function.name, arguments, least: arity.least, most: arity.most)
    }
    let forms = [function.parameters] + function.overloads.map(\.parameters)
    let isOpen = arguments.last.map(hasSeveralValues) ?? false
    let fitting = forms.filter { form in
      isOpen ? form.most.map { arguments.count - 1 <= $0 } ?? true : form.accepts(arguments.count)
    }
    guard let first = fitting.first else {
      let least = forms.map(\.least).min() ?? 0
      let most = forms.contains { $0.most == nil } ? nil : forms.compactMap(\.most).max()
      return checkCount(id, function.name, arguments, least: least, most: most)
    }
    if fitting.count == 1 || !fitting.contains(where: { isAccepted(arguments, $0, function) }) {
      check(arguments, first, function)
    }
  }

  private func isAccepted(
    _ arguments: [LuaExpressionID], _ form: [ReferenceParameter], _ function: ReferenceFunction
  ) -> Bool {
    trying { check(arguments, form, function) }
  }

  private func check(
    _ arguments: [LuaExpressionID], _ form: [ReferenceParameter], _ function: ReferenceFunction
  ) {
    for (index, argument) in arguments.enumerated() {
      guard let parameter = index < form.count ? form[index] : form.last else { return }
      let expectation = Expectation(
        subject: "'\(parameter.name)' of '\(function.name)'", type: parameter.type,
        isOptional: parameter.isOptional, range: parameter.range,
        content: Content(parameter: parameter, of: function), owner: function.name)
      check(argument, expectation)
    }
    checkJSON(function, arguments)
  }
}
