internal import EventLoop
internal import LuaRuntime
internal import Reference

extension Engine {
  /// The global function `help([about])` of scripts and the prompt: prints a page of the reference.
  var help: LuaFunction {
    LuaFunction("help", arity: 1) { [unowned self] call in
      for line in try page(call) { call.state.onPrint(line) }
      return .none
    }
  }

  private func page(_ call: LuaCall) throws -> [String] {
    let width = min(80, columns())
    if call.isNil(1) { return reference.overview(width: width) }
    if call.isText(1) {
      let name = try call.string(1, .name)
      if let page = reference.page(about: name, width: width) { return page }
      throw LuaError(
        code: "argument", message: "no help has anything on '\(name.excerpt.onOneLine)'",
        hint: reference.suggestion(for: name).map { "did you mean '\($0)'?" } ?? "help() lists the modules")
    }
    switch call.definition(of: 1, where: { reference.entry($0) != nil }) {
    case .function(let name), .module(let name): return reference.page(about: name, width: width) ?? []
    case .object(let name, let state): return reference.page(ofObject: name, state: state, width: width)
    case nil: break
    }
    throw call.problem(
      1, "it has no description", hint: "help takes a name, a function of a module, a module or an object")
  }
}
