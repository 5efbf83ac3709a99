internal import LuaSyntax

/// The local variables that a block declares outside of any function or inner block: they end with it.
struct BlockLocals: Equatable {
  /// The names, in the order of their declarations.
  var names: [String] = []
  /// The names that the last statement declares, which nothing can use.
  var unused: [String] = []

  /// The local variables of a text; empty for a text that is not a list of statements.
  init(of text: String) {
    guard text.utf8.firstRange(of: "local".utf8) != nil, let tree = try? LuaTree(parsing: Array(text.utf8))
    else { return }
    for statement in tree[LuaFunctionID.main].body {
      unused =
        switch statement.kind {
        case .local(let variables, _): variables.map { tree[$0].name }
        case .localFunction(let variable, _): [tree[variable].name]
        default: []
        }
      names += unused
    }
  }

  /// The remark on names that nothing can use; nil without one.
  var remark: String? {
    guard !unused.isEmpty else { return nil }
    let list = unused.map { "'\($0)'" }.joined(separator: ", ")
    return unused.count == 1
      ? "\(list) is local and has ended with this line; without 'local' it stays"
      : "\(list) are local and have ended with this line; without 'local' they stay"
  }

  /// The remark on a name that an earlier line has declared.
  static func ended(_ name: String) -> String {
    "'\(name)' was local and has ended with its line; without 'local' it stays"
  }
}
