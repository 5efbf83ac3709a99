/// The functions, blocks, local variables and labels at a position of the parser.
/// Source: `lparser.c` of Lua 5.4 for the rules of labels.
struct LuaScopes {
  private struct Function {
    let id: LuaFunctionID
    var isVararg: Bool
    /// Index of its outermost block.
    let block: Int
    /// Number of its visible variables.
    var variables = 0
    /// Height of its highest expression.
    var height = 0
  }

  private struct Block {
    let isLoop: Bool
    /// Number of the function's variables that are visible outside.
    let variables: Int
    /// Names declared in the block, in their order.
    var names: [String] = []
    var labels: [String] = []
    /// Index of the first jump in the block.
    let jumps: Int
  }

  private struct Jump {
    let name: String
    let offset: Int
    /// Number of the function's variables that are visible at the jump and whose blocks have not ended.
    var variables: Int
    var isResolved = false
  }

  private var functions: [Function] = []
  private var blocks: [Block] = []
  /// Visible variables by name, the innermost last.
  private var visible: [String: [LuaVariableID]] = [:]
  /// Names of the visible variables of each open function, in their order, for messages.
  private var active: [[String]] = []
  /// Forward jumps in the open functions.
  private var jumps: [Jump] = []
  /// Indices of the jumps whose labels have not been found yet, by the names of the labels.
  private var pending: [String: [Int]] = [:]
  /// Blocks of the visible labels by their names, the innermost last.
  private var labels: [String: [Int]] = [:]
  /// Height of the highest expression of the function that was closed last.
  private(set) var closedHeight = 0

  private static let mostVariables = 200

  var function: LuaFunctionID { functions.last?.id ?? .main }

  var isVararg: Bool {
    get { functions.last?.isVararg ?? false }
    set { functions[functions.count - 1].isVararg = newValue }
  }

  mutating func note(height: Int) {
    let last = functions.count - 1
    if height > functions[last].height { functions[last].height = height }
  }

  // MARK: Functions and blocks

  mutating func openFunction(_ id: LuaFunctionID, isVararg: Bool) {
    functions.append(Function(id: id, isVararg: isVararg, block: blocks.count))
    active.append([])
    openBlock(isLoop: false)
  }

  mutating func closeFunction(_ lines: LuaLines) throws(LuaSyntaxError) {
    try closeBlock(lines)
    let closed = functions.removeLast()
    active.removeLast()
    closedHeight = closed.height
    if !functions.isEmpty { note(height: closed.height) }
  }

  mutating func openBlock(isLoop: Bool) {
    blocks.append(
      Block(isLoop: isLoop, variables: functions.last?.variables ?? 0, jumps: jumps.count))
  }

  mutating func closeBlock(_ lines: LuaLines) throws(LuaSyntaxError) {
    let block = blocks.removeLast()
    for name in block.names { visible[name]?.removeLast() }
    for name in block.labels { labels[name]?.removeLast() }
    let last = functions.count - 1
    functions[last].variables = block.variables
    active[last].removeLast(active[last].count - block.variables)
    for index in block.jumps..<jumps.count {
      jumps[index].variables = min(jumps[index].variables, block.variables)
    }
    // The function ends with its outermost block.
    guard blocks.count == functions[last].block else { return }
    if let jump = jumps[block.jumps...].first(where: { !$0.isResolved }) {
      throw LuaSyntaxError(
        kind: .syntax,
        message: "no visible label '\(jump.name)' for goto at line \(lines.line(of: jump.offset))",
        offset: jump.offset)
    }
    jumps.removeLast(jumps.count - block.jumps)
  }

  // MARK: Variables

  /// Adds a variable to the block; `false` if the function has too many.
  mutating func declare(_ name: String, _ id: LuaVariableID) -> Bool {
    let last = functions.count - 1
    guard functions[last].variables < Self.mostVariables else { return false }
    functions[last].variables += 1
    active[last].append(name)
    blocks[blocks.count - 1].names.append(name)
    visible[name, default: []].append(id)
    return true
  }

  func variable(_ name: String) -> LuaVariableID? { visible[name]?.last }

  // MARK: Jumps

  func breakLoop(at token: LuaToken, _ lines: LuaLines) throws(LuaSyntaxError) {
    let first = functions.last?.block ?? 0
    guard blocks[first...].contains(where: \.isLoop) else {
      throw LuaSyntaxError(
        kind: .syntax, message: "break outside a loop at line \(lines.line(of: token.start))",
        offset: token.start)
    }
  }

  mutating func jump(to name: String, at offset: Int) {
    if let known = labels[name]?.last, known >= functions[functions.count - 1].block { return }
    pending[name, default: []].append(jumps.count)
    jumps.append(Jump(name: name, offset: offset, variables: functions.last?.variables ?? 0))
  }

  /// Refuses a label that is visible already.
  func checkLabel(_ label: LuaToken, _ lines: LuaLines) throws(LuaSyntaxError) {
    if let known = labels[label.text]?.last, known >= functions[functions.count - 1].block {
      throw LuaSyntaxError(
        kind: .syntax, message: "label '\(label.text)' already defined", offset: label.start)
    }
  }

  /// Adds a label to the block, and resolves the jumps of the block to it.
  /// - Parameter isLast: `true` if no statement follows in the block: its variables are out of scope there.
  mutating func addLabel(_ label: LuaToken, isLast: Bool, _ lines: LuaLines) throws(LuaSyntaxError) {
    let block = blocks[blocks.count - 1]
    let variables = isLast ? block.variables : functions.last?.variables ?? 0
    while let index = pending[label.text]?.last, index >= block.jumps {
      let jump = jumps[index]
      guard jump.variables >= variables else {
        let name = active.last.map { $0[jump.variables] } ?? ""
        throw LuaSyntaxError(
          kind: .syntax,
          message:
            "<goto \(jump.name)> at line \(lines.line(of: jump.offset)) jumps into the scope of local '\(name)'",
          offset: jump.offset)
      }
      jumps[index].isResolved = true
      pending[label.text]?.removeLast()
    }
    labels[label.text, default: []].append(blocks.count - 1)
    blocks[blocks.count - 1].labels.append(label.text)
  }
}
