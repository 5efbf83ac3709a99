internal import LuaSyntax
internal import Reference

// Results that may be nil and that the script uses without a test.

extension ScriptCheck {
  /// Complains about a field or a method of a result that may be nil, unless the script tests it somewhere.
  /// Specs are not checked: they should fail when the result is nil.
  func checkPresent(_ object: LuaExpressionID, at offset: Int) {
    guard !isSpec, case .maybe = value(of: object), let call = untestedCall(object),
      let (function, _) = callee(of: call),
      mayBeNil(call, function)
    else { return }
    complain(
      .missing, at: offset, "'\(function.name)' may return nil; test its result before you use it")
  }

  /// Returns the call that an expression has its value from, as the first result: a call itself, or that of a
  /// variable of which only fields and methods are used. Any other use may be a test.
  private func untestedCall(_ id: LuaExpressionID) -> LuaExpressionID? {
    switch tree[id].kind {
    case .call, .method: return id
    case .parentheses(let inner): return untestedCall(inner)
    case .local(let variable):
      guard tree[variable].kind == .local, tree[variable].assignments == 0,
        case .result(let call, 0)? = origins[variable]?.first, call != .none,
        objectUses[variable, default: 0] == tree[variable].reads
      else { return nil }
      return furtherResults[call, default: []].allSatisfy { tree[$0].reads == 0 } ? call : nil
    default: return nil
    }
  }

  private func mayBeNil(_ call: LuaExpressionID, _ function: ReferenceFunction) -> Bool {
    // io.popen returns nil only for a program that can't be started, which is rare.
    guard function.returns.first?.type.isOptional == true, function.name != "io.popen" else { return false }
    let arguments = tree.arguments(of: call)
    // Without a timeout the result is nil only when the event's source ends.
    if function.shortName == "wait" { return arguments.count > 1 }
    guard function.name == "speaker.find" else { return true }
    guard let first = arguments.first, case .text(let name?) = value(of: first), let names = house.speakers
    else {
      return true
    }
    return house.complaint(name, "speaker", among: names) != nil
  }
}
