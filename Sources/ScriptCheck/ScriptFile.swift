internal import LuaSyntax
internal import Reference

/// A module beside the script: the fields of the table that it returns.
struct ScriptFile {
  /// Names of the fields; nil if they are not known.
  let names: Set<String>?
  /// Names of all globals in it, read or assigned.
  let globals: Set<String>
  /// Names of the modules that it requires.
  let required: Set<String>

  /// Reads the text of a module.
  init(_ text: [UInt8]) {
    guard let tree = try? LuaTree(parsing: text) else {
      (names, globals, required) = (nil, [], [])
      return
    }
    globals = Set(
      tree.expressionIDs.compactMap { if case .global(let name) = tree[$0].kind { name } else { nil } })
    required = tree.required
    guard case .return(let values)? = tree[LuaFunctionID.main].body.last?.kind, values.count == 1 else {
      names = nil
      return
    }
    switch tree[values[0]].kind {
    case .table: names = Self.keys(of: values[0], in: tree)
    case .local(let variable): names = Self.names(of: variable, in: tree)
    default: names = nil
    }
  }

  private static func keys(of table: LuaExpressionID, in tree: LuaTree) -> Set<String>? {
    guard case .table(let fields) = tree[table].kind else { return nil }
    var names: Set<String> = []
    for field in fields {
      guard let key = field.key, case .string(let name) = tree[key].kind else { return nil }
      names.insert(name)
    }
    return names
  }

  /// Returns the fields of a table that a variable holds, if the variable is used for nothing but its fields.
  private static func names(of variable: LuaVariableID, in tree: LuaTree) -> Set<String>? {
    var constructor: LuaExpressionID?
    for statement in tree[LuaFunctionID.main].body {
      guard case .local(let variables, let values) = statement.kind,
        let index = variables.firstIndex(of: variable),
        index < values.count
      else { continue }
      constructor = values[index]
    }
    guard tree[variable].assignments == 0, let constructor, var names = keys(of: constructor, in: tree) else {
      return nil
    }
    var uses = 1  // the return
    for id in tree.expressionIDs {
      switch tree[id].kind {
      case .index(let object, let key):
        guard case .local(variable) = tree[object].kind, case .string(let name) = tree[key].kind else {
          continue
        }
        names.insert(name)
        uses += 1
      case .method(let object, _, _, _):
        guard case .local(variable) = tree[object].kind else { continue }
        uses += 1
      default: break
      }
    }
    return uses == tree[variable].reads ? names : nil
  }
}

extension ScriptCheck {
  /// Returns the module beside the script; nil without such a file, and for the name of a library module.
  func file(_ module: String) -> ScriptFile? {
    if isOfLibrary(module) { return nil }
    if let known = files[module] { return known }
    let file = checker.modules.text(of: module).map { ScriptFile($0) }
    files[module] = .some(file)
    return file
  }

  /// `true` for a module of the library, which precedes a file of that name.
  func isOfLibrary(_ module: String) -> Bool {
    reference.module(module) != nil || checker.modules.isInternal(module)
  }

  /// Returns the globals of the modules that the script requires, and of those that these require.
  func globalsOfModules() -> Set<String> {
    var (globals, seen): (Set<String>, Set<String>) = ([], [])
    var waiting = Array(tree.required)
    while let name = waiting.popLast() {
      guard seen.insert(name).inserted, let file = file(name) else { continue }
      globals.formUnion(file.globals)
      waiting += file.required
    }
    return globals
  }
}

extension LuaTree {
  /// The names in `require "name"`.
  fileprivate var required: Set<String> {
    Set(
      expressionIDs.compactMap { id in
        guard case .call(let callee, let arguments) = self[id].kind,
          case .global("require") = self[callee].kind,
          let first = arguments.first, case .string(let name) = self[first].kind
        else { return nil }
        return name
      })
  }
}
