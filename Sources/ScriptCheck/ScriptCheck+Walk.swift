internal import EventLoop
internal import LuaSyntax
internal import Reference

// The second pass: statements, names and calls.

extension ScriptCheck {
  func walk(_ body: [LuaStatement]) {
    for (index, statement) in body.enumerated() {
      walk(statement)
      if index + 1 < body.count { checkReachable(body[index + 1], behind: statement) }
    }
  }

  private func walk(_ statement: LuaStatement) {
    checkEndless(statement)
    switch statement.kind {
    case .local(let variables, let values):
      values.forEach(walk)
      checkClosable(variables, values)
    case .assign(let targets, let values):
      for target in targets { assign(target) }
      values.forEach(walk)
    case .function(let target, let function):
      assign(target)
      walk(tree[function].body)
    case .localFunction(_, let function): walk(tree[function].body)
    case .call(let call):
      walk(call)
      checkUsed(call)
    case .while(let condition, _), .repeat(_, let condition):
      checkCondition(condition)
      walk(condition)
    case .if(let branches):
      for branch in branches {
        if let condition = branch.condition {
          checkCondition(condition)
          walk(condition)
        }
        walk(branch.block)
      }
      return
    case .genericFor(_, let values, _):
      if let first = values.first { checkIterator(first) }
      values.forEach(walk)
    default: tree.expressions(of: statement).forEach(walk)
    }
    tree.blocks(of: statement).forEach { walk($0) }
  }

  func walk(_ id: LuaExpressionID) {
    if isFull { return }
    switch tree[id].kind {
    case .function(let function):
      // A function inside of `expect` in a spec may fail on purpose.
      muting(expectations > 0 ? ScriptFinding.Code.allCases : []) { walk(tree[function].body) }
    case .global(let name): checkGlobal(name, at: tree[id].offset)
    case .index(let object, let key):
      walk(object)
      walk(key)
      if case .string(let name) = tree[key].kind { checkMember(name, of: object, at: tree[key].offset) }
      checkPresent(object, at: tree[key].offset)
    case .binary(let operation, let left, let right):
      walk(left)
      walk(right)
      checkBinary(operation, left, right)
    case .call, .method: call(id)
    default: tree.parts(of: id).forEach(walk)
    }
  }

  private func call(_ id: LuaExpressionID) {
    let codes = expected(in: id)
    switch tree[id].kind {
    case .call(let callee, let arguments):
      walk(callee)
      let isExpectation = isSpec && isExpect(callee)
      if isExpectation { expectations += 1 }
      muting(codes) { arguments.forEach(walk) }
      if isExpectation { expectations -= 1 }
    case .method(let object, let name, let offset, let arguments):
      muting(isSpec && name == "to_raise" ? ScriptFinding.Code.allCases : []) { walk(object) }
      checkMethod(name, of: object, at: offset)
      checkPresent(object, at: offset)
      arguments.forEach(walk)
    default: break
    }
    checkCall(id)
  }

  private func isExpect(_ callee: LuaExpressionID) -> Bool {
    if case .global("expect") = tree[callee].kind { true } else { false }
  }

  /// Returns the codes of mistakes that may be intended in the arguments of a call: a test for errors, or a
  /// protected call.
  func expected(in id: LuaExpressionID) -> [ScriptFinding.Code] {
    guard case .call(let callee, _) = tree[id].kind else { return [] }
    switch value(of: callee) {
    case .libraryFunction("pcall"), .libraryFunction("xpcall"), .documented("pcall"), .documented("xpcall"),
      .documented("task.try"):
      return isSpec ? ScriptFinding.Code.allCases : Self.caught
    default: return []
    }
  }

  /// Codes of mistakes that a script may catch on purpose.
  static let caught: [ScriptFinding.Code] = [.house, .value, .time]

  // MARK: Globals

  private static let specGlobals = ["describe", "it", "expect"]

  private func isGlobal(_ name: String) -> Bool {
    LuaLibrary.hasGlobal(name) || declaredGlobals[name] != nil || isSpec && Self.specGlobals.contains(name)
      || reference.function(name).map { $0.owner.isEmpty && (!$0.isOfPrompt || checker.hasModuleGlobals) }
        == true
      || name == "_ENV"
      || checker.hasModuleGlobals && reference.module(name) != nil
      || reference.values(of: "").contains { $0.name == name }
  }

  private func checkGlobal(_ name: String, at offset: Int) {
    if let known = globalComplaints[name] { return complain(.global, at: offset, known) }
    guard !isGlobal(name), !usesEnvironment, !foreignGlobals.contains(name) else { return }
    let message = "undefined global '\(name)'" + hint(forGlobal: name)
    globalComplaints[name] = message
    complain(.global, at: offset, message)
  }

  private func hint(forGlobal name: String) -> String {
    if reference.module(name) != nil { return "; write: local \(name) = require \"\(name)\"" }
    if variableNames.contains(name) { return ": the local variable of that name is not visible here" }
    return nearest(name, among: suggestedGlobals).map { "; did you mean '\($0)'?" } ?? ""
  }

  /// `true` if the script may have globals without declarations.
  private var usesEnvironment: Bool {
    variableNames.contains("_ENV")
      || ["_ENV", "_G", "dofile"].contains { globalUses[$0] != nil || foreignGlobals.contains($0) }
  }

  private func readsGlobal(_ name: String) -> Bool {
    globalUses[name, default: 0] > globalAssignments[name, default: 0]
  }

  // MARK: Assignments

  private func assign(_ target: LuaExpressionID) {
    switch tree[target].kind {
    case .global(let name): assignGlobal(name, at: tree[target].offset)
    case .index(let object, let key):
      walk(object)
      walk(key)
      guard case .string(let name) = tree[key].kind else { return }
      assignMember(name, of: value(of: object).present, at: tree[key].offset)
    default: break
    }
  }

  private func assignGlobal(_ name: String, at offset: Int) {
    guard !isGlobal(name) || declaredGlobals[name] == offset, !usesEnvironment, !foreignGlobals.contains(name)
    else {
      return
    }
    let near = nearest(name, among: variableNames.filter { $0 != name }.sorted())
    if declaredGlobals[name] == nil {
      let hint = near.map { "did you mean '\($0)'?" } ?? "write 'local \(name)' where it belongs"
      complain(.global, at: offset, "assigns the global '\(name)', which nothing declares; \(hint)")
    } else if let near, name.utf8.count > 3, !readsGlobal(name), !LuaLibrary.hasGlobal(name) {
      complain(
        .global, at: offset, "assigns the global '\(name)', which nothing reads; did you mean '\(near)'?")
    }
  }

  private func assignMember(_ name: String, of object: ScriptValue, at offset: Int) {
    switch object {
    case .object(let owner):
      guard let type = reference.class(owner), type.isObject else { return }
      let known = members(of: owner)
      guard known.contains(name) else { return unknownMember(name, "a \(owner)", known, at: offset) }
      let setter = method("set_\(name)", of: owner) == nil ? "" : "; call ':set_\(name)(…)'"
      complain(.assignment, at: offset, "'\(name)' of a \(owner) can't be assigned\(setter)")
    case .module(let module):
      let setter = reference.function("\(module).set_\(name)").map { "; call '\($0.name)(…)'" } ?? ""
      complain(.assignment, at: offset, "'\(name)' of the module '\(module)' can't be assigned\(setter)")
    default: break
    }
  }

  // MARK: Members

  func checkMember(_ name: String, of object: LuaExpressionID, at offset: Int) {
    switch value(of: object).present {
    case .object(let owner):
      let known = members(of: owner)
      if !known.contains(name) { unknownMember(name, "a \(owner)", known, at: offset) }
    case .fields(let fields):
      if fields[name] == nil {
        unknownMember(name, "this table", fields.keys.sorted(), at: offset)
      }
    case .module(let module): checkModule(name, of: module, at: offset)
    case .libraryTable(let table):
      guard let own = LuaLibrary.members[table], own[name] == nil,
        reference.function("\(table).\(name)") == nil,
        !assignedFields.contains(name)
      else { return }
      unknownMember(name, "'\(table)'", own.keys.sorted(), at: offset)
    case .file(let module):
      guard let names = file(module)?.names, !names.contains(name) else { return }
      unknownMember(name, "the module '\(module)'", names.sorted(), at: offset)
    case .documented(let function):
      complain(.call, at: offset, "'\(function)' is a function; call it before '.\(name)'")
    default: break
    }
  }

  /// Returns the names of a module's functions and values.
  func members(ofModule module: String) -> [String] {
    if let known = membersOfModules[module] { return known }
    let inside = reference.functions.filter { $0.owner.hasPrefix("\(module).") && !$0.isMethod }
      .compactMap { $0.owner.dropFirst(module.utf8.count + 1).split(separator: ".").first.map(String.init) }
    let names =
      reference.functions(of: module).map(\.shortName) + Set(inside)
      + reference.values(of: module).map { String($0.name.dropFirst(module.utf8.count + 1)) }
    membersOfModules[module] = names
    return names
  }

  private func checkModule(_ name: String, of module: String, at offset: Int) {
    let known = members(ofModule: module)
    if known.contains(name) { return }
    guard let new = Self.formerMembers["\(module).\(name)"] else {
      return unknownMember(name, "the module '\(module)'", known, at: offset)
    }
    complain(.name, at: offset, "the module '\(module)' has no '\(name)' any more; \(new)")
  }

  /// Members that modules had, with what to write in their place.
  private static let formerMembers = [
    "speaker.default_session":
      "write 'speaker.own', the script's own session, or 'speaker.sessions()' for those of all scripts"
  ]

  /// The expectations of specs: methods of `expect(value)`.
  private static let expectations = [
    "to_equal", "to_differ_from", "to_be_near", "to_be_true", "to_be_false", "to_be_nil", "to_contain",
    "to_match",
    "to_raise",
  ]

  private func checkMethod(_ name: String, of object: LuaExpressionID, at offset: Int) {
    if isSpec, case .call(let callee, _) = tree[object].kind, case .global("expect") = tree[callee].kind,
      !Self.expectations.contains(name)
    {
      return unknownMember(name, "an expectation", Self.expectations, kind: "method", at: offset)
    }
    switch value(of: object).present {
    case .object(let owner):
      if method(name, of: owner) != nil { return }
      let methods = members(of: owner).filter { method($0, of: owner) != nil }
      if reference.fields(of: owner).contains(where: { $0.name == name }) {
        complain(.call, at: offset, "'\(name)' of a \(owner) is a field, not a method; write '.\(name)'")
      } else if reference.class(owner)?.isObject == true {
        unknownMember(name, "a \(owner)", methods, kind: "method", at: offset)
      }
    case .module(let module):
      if reference.function("\(module).\(name)") != nil {
        complain(.call, at: offset, "'\(module).\(name)' is a function, not a method; write '.\(name)(…)'")
      } else {
        checkModule(name, of: module, at: offset)
      }
    case .text, .texts:
      guard let own = LuaLibrary.members["string"], own[name] == nil, !assignedFields.contains(name) else {
        return
      }
      unknownMember(name, "a string", own.keys.sorted(), kind: "method", at: offset)
    case .file: checkMember(name, of: object, at: offset)
    default: break
    }
  }

  private func unknownMember(
    _ name: String, _ owner: String, _ known: [String], kind: String = "field or function", at offset: Int
  ) {
    let hint =
      nearest(name, among: known).map { "; did you mean '\($0)'?" }
      ?? (known.count <= 12 ? "; known: \(known.sorted().joined(separator: ", "))" : "")
    complain(.name, at: offset, "\(owner) has no \(kind) '\(name)'\(hint)")
  }

  // MARK: Conditions and comparisons

  /// Complains about a function as a condition, which is always true.
  private func checkCondition(_ id: LuaExpressionID) {
    switch tree[id].kind {
    case .unary(.not, let operand), .parentheses(let operand): checkCondition(operand)
    case .binary(.and, let left, let right), .binary(.or, let left, let right):
      checkCondition(left)
      checkCondition(right)
    default:
      guard case .documented(let name) = value(of: id), case .index = tree[id].kind,
        reference.function(name)?.returns.isEmpty == false
      else { return }
      complain(
        .call, at: tree.nameOffset(of: id), "'\(name)' is a function, which is always true; call it with ()")
    }
  }

  private func checkBinary(_ operation: LuaOperator, _ left: LuaExpressionID, _ right: LuaExpressionID) {
    switch operation {
    case .and, .or: return
    default: break
    }
    if operation == .concat { [left, right].forEach(checkConcatenated) }
    for (operand, other) in [(left, right), (right, left)] {
      let otherValue = value(of: other)
      if case .documented(let name) = value(of: operand), otherValue.kind != nil,
        otherValue.kind != "a function"
      {
        complain(.call, at: tree.nameOffset(of: operand), "'\(name)' is a function; call it with ()")
        return
      }
      guard operation == .equal || operation == .notEqual, case .text(let text?) = otherValue,
        case .string = tree[other].kind
      else { continue }
      switch value(of: operand).present {
      case .texts(let known) where !known.contains(text):
        let hint =
          nearest(text, among: known).map { "did you mean \"\($0)\"?" }
          ?? "known: \(known.map { "\"\($0)\"" }.joined(separator: ", "))"
        complain(.value, at: tree[other].offset, "the value is never \(quoted(text)); \(hint)")
      case .number, .boolean, .list, .module, .fields:
        complain(
          .value, at: tree[other].offset,
          "the value is \(value(of: operand).present.kind ?? ""), never a string")
      case .object(let owner) where reference.class(owner)?.isObject == true:
        let name = reference.fields(of: owner).contains { $0.name == "name" } ? "; compare its '.name'" : ""
        complain(.value, at: tree[other].offset, "the value is a \(owner), never a string\(name)")
      default: break
      }
    }
  }

  /// Complains about an operand of `..` that is neither text nor a number.
  private func checkConcatenated(_ id: LuaExpressionID) {
    let kind: String?
    switch value(of: id) {
    case .object(let owner) where reference.class(owner)?.isObject == true: kind = "a \(owner)"
    case .boolean, .null, .list, .module, .libraryTable: kind = value(of: id).kind
    case .table(let table) where table == id: kind = "a table"
    default: return
    }
    complain(.value, at: tree[id].offset, "'..' joins text and numbers, got \(kind ?? "another value")")
  }

  // MARK: Statements

  /// Complains about a list where a loop expects an iterator.
  private func checkIterator(_ id: LuaExpressionID) {
    switch value(of: id).present {
    case .list, .table, .module:
      complain(
        .value, at: tree[id].offset, "a loop can't visit a table itself; write: in ipairs(…), or pairs(…)")
    case .documented(let name) where name != "next":
      complain(
        .call, at: tree.nameOffset(of: id), "'\(name)' is not an iterator; write: in ipairs(\(name)())")
    default: break
    }
  }

  /// Complains about a look-up whose result is dropped.
  private func checkUsed(_ call: LuaExpressionID) {
    guard let (function, _) = callee(of: call), !function.suspends, function.summary.hasPrefix("Returns "),
      let result = function.returns.first
    else { return }
    // A look-up that raises for an unknown name may serve as a check of the name.
    if !result.type.isOptional, function.raises.contains(where: { $0.code.hasSuffix(".unknown") }) { return }
    complain(.unused, at: tree.nameOffset(of: call), "the result of '\(function.name)' is not used")
  }

  /// Complains about a statement after one that never ends, or that ends the script.
  private func checkReachable(_ next: LuaStatement, behind statement: LuaStatement) {
    switch statement.kind {
    case .while(let condition, let body):
      guard case .true = tree[condition].kind, !tree.leavesLoop(body) else { return }
      if case .label = next.kind { return }
      complain(.unreachable, at: next.offset, "never reached: the loop above has no 'break'")
    case .call(let call):
      guard case .call(let callee, _) = tree[call].kind else { return }
      let name: String
      switch value(of: callee) {
      case .libraryFunction(let function), .documented(let function): name = function
      default: return
      }
      guard name == "os.exit" || name == "error" else { return }
      if case .label = next.kind { return }
      complain(.unreachable, at: next.offset, "never reached: '\(name)' above does not return")
    default: break
    }
  }
}

extension LuaTree {
  /// `true` if a loop with this block has a `break` of its own or a `goto`.
  func leavesLoop(_ body: [LuaStatement], isNested: Bool = false) -> Bool {
    body.contains { statement in
      switch statement.kind {
      case .break: !isNested
      case .goto: true
      case .while(_, let body), .repeat(let body, _), .numericFor(_, _, _, _, let body),
        .genericFor(_, _, let body):
        leavesLoop(body, isNested: true)
      default: blocks(of: statement).contains { leavesLoop($0, isNested: isNested) }
      }
    }
  }
}
