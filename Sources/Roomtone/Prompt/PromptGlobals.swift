internal import LuaModules
internal import LuaRuntime

/// The names that code at a prompt finds besides the globals of its script: the modules, each loaded by its first use.
enum PromptGlobals {
  /// The modules that can be required, sorted.
  static let modules = (StandardLibrary.modules.filter { !$0.contains(".") } + Script.moduleNames).sorted()

  /// Adds the modules to the globals of a prompt's own script.
  static func add(to script: Script) throws(LuaError) {
    script.state.setMissingGlobals(
      try script.state.load(
        text("rawset(globals, name, require(name)) return rawget(globals, name)"), chunkName: "=(prompt)"))
  }

  /// Returns the environment in which code of a prompt runs beside the globals of a script: it finds those first, then
  /// `values` and the modules, and assigns to those.
  static func environment(
    beside script: Script, _ values: [(name: String, value: LuaValue)]
  ) throws(LuaError) -> LuaReference {
    let index = try script.state.load(text("return require(name)", first: "_G[name]"), chunkName: "=(prompt)")
    return script.state.environment(values, index: index)
  }

  /// Returns a chunk whose arguments are the table of globals and the name that is missing in it.
  /// - Parameters:
  ///   - found: statements for the name of a module.
  ///   - first: an expression that precedes the modules.
  private static func text(_ found: String, first: String? = nil) -> [UInt8] {
    let condition = modules.map { "name == \"\($0)\"" }.joined(separator: " or ")
    let before = first.map { "local value = \($0) if value ~= nil then return value end " } ?? ""
    return Array("local globals, name = ... \(before)if \(condition) then \(found) end".utf8)
  }
}

/// The words at a prompt that stand for calls.
enum PromptText {
  /// Returns the text of a block as `expanded(_:)`, unless a variable of the script has the word's name.
  static func expanded(_ text: String, in state: LuaState) -> String {
    let call = expanded(text)
    guard call != text, let word = text.split(separator: " ").first else { return text }
    return switch state[global: String(word)] {
    case .nil, .reference: call
    default: text
    }
  }

  /// Returns the text of a block with `help` and `live` alone as calls, and `help WORDS` as a call with the words.
  static func expanded(_ text: String) -> String {
    let words = text.split(separator: " ")
    switch words.first {
    case "help" where words.count == 1, "live" where words.count == 1: return "\(words[0])()"
    case "help" where words.dropFirst().allSatisfy(isName):
      return "help \"\(words.dropFirst().joined(separator: " "))\""
    default: return text
    }
  }

  private static func isName(_ word: Substring) -> Bool {
    word.first?.isLetter == true && word != "and" && word != "or"
      && word.allSatisfy { $0.isLetter || $0.isNumber || "_.:-".contains($0) }
  }
}
