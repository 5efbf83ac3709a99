internal import EventLoop
internal import LuaRuntime
internal import LuaSyntax
internal import Reference

/// The ways to complete a word of Lua.
public struct Completion: Equatable, Sendable {
  /// The offset in scalars at which the word begins that the candidates replace, up to the cursor.
  public var start: Int
  /// The words, sorted.
  public var candidates: [String]
}

/// The names that completion offers, besides those of the reference. Nothing here runs code of a script.
protocol CompletionNames {
  /// Names of globals.
  var globals: [String] { get }
  /// Returns the members of the value at a path of names from the globals on.
  func members(at path: [String]) -> LuaMembers?
  /// Returns the members of a class of objects by its name in scripts: `speaker`, `session`.
  func members(ofClass name: String) -> LuaMembers?
  /// Names of the speakers.
  var speakers: [String] { get }
  /// Names of the groups.
  var groups: [String] { get }
  /// Names of the stations of the configuration.
  var stations: [String] { get }
  /// Names of the presets of equalizers.
  var presets: [String] { get }
  /// Names for `require`.
  var modules: [String] { get }
  /// Returns the paths of files that begin with `start`; those of folders end with `/`.
  func files(_ start: String) -> [String]
}

/// Completes Lua: a value of a text, a cursor, names and the reference.
struct Completer {
  let names: any CompletionNames
  let reference: Reference

  /// Returns the candidates for the word before the cursor, an offset in scalars; nil without one.
  func complete(_ text: String, cursor: Int) -> Completion? {
    let head = String(String.UnicodeScalarView(text.unicodeScalars.prefix(cursor)))
    let context = CompletionContext(head)
    let found = words(in: context)
    guard !found.isEmpty else { return nil }
    return Completion(start: context.start, candidates: found)
  }

  private func words(in context: CompletionContext) -> [String] {
    let word = context.word
    switch context.place {
    case .none: return []
    case .name(let call):
      let options = call.map { keys(of: $0, context) } ?? []
      let named = Self.matching(word, options.map { "\($0) = " })
      if !named.isEmpty { return named }
      let variables = Array(context.variables.keys)
      let keywords = word.count < 2 ? [] : LuaKeywords.all
      return Self.matching(word, Set(names.globals + variables + keywords).sorted())
    case .member(let chain, let isMethod):
      let target = resolve(chain, context)
      return Self.matching(word, members(of: target, isMethod: isMethod))
    case .text(let quote, let call):
      guard let call else { return [] }
      return texts(word, in: call, context).map { escaped($0, quote) }
    }
  }

  /// Returns the names that begin with a word exactly; without such names, those that do in any case.
  private static func matching(_ word: String, _ names: [String]) -> [String] {
    let exact = names.filter { $0.hasPrefix(word) }
    if !exact.isEmpty { return exact }
    let lowered = word.lowercased()
    return names.filter { $0.lowercased().hasPrefix(lowered) }
  }

  /// Returns a text as it stands between quotation marks, with the closing one; a folder's path is left open.
  private func escaped(_ text: String, _ quote: Character) -> String {
    var line = ""
    for scalar in text.unicodeScalars {
      if scalar.value < 0x20 || scalar.value == 0x7F {
        line += "\\\(scalar.value < 10 ? "00" : scalar.value < 100 ? "0" : "")\(scalar.value)"
        continue
      }
      if Character(scalar) == quote || scalar == "\\" { line += "\\" }
      line.unicodeScalars.append(scalar)
    }
    return text.hasSuffix("/") ? line : line + String(quote)
  }

  // MARK: Values

  /// The value of an expression, as far as it is known without running it.
  private struct Target {
    /// The path from the globals on, while there are names alone.
    var path: [String]?
    /// The module or class in the reference: `speaker`, `speaker.Device`.
    var owner: String?
    /// The full name of the function in the reference: `speaker.device`.
    var function: String?
  }

  private func resolve(_ chain: LuaChain, _ context: CompletionContext, depth: Int = 0) -> Target {
    var target = Target()
    for step in chain.steps {
      switch step {
      case .name(let name):
        if let value = context.variables[name], value != chain, depth < 4, value.steps.first != .name(name) {
          target = resolve(value, context, depth: depth + 1)
        } else {
          target = self.target(at: [name])
        }
      case .field(let name):
        let owner = target.owner
        let field = owner.flatMap { owner in reference.fields(of: owner).first { $0.name == name } }
        var next = target.path.map { self.target(at: $0 + [name]) } ?? Target()
        if next.owner == nil { next.owner = field.flatMap { self.class(of: $0.type) } }
        next.function = owner.map { "\($0).\(name)" }
        target = next
      case .method(let name): target = Target(function: target.owner.map { "\($0):\(name)" })
      case .call:
        let function = target.function ?? target.path.map { $0.joined(separator: ".") }
        let returned = function.flatMap { reference.function($0) }?.returns.first?.type
        // `require "eq"` is not resolved here, as the name is a text.
        target = Target(owner: returned.flatMap { self.class(of: $0) }, function: nil)
        if target.owner == nil, let list = returned?.element {
          target.owner = self.class(of: list).map { $0 + "[]" }
        }
      case .index:
        target = Target(owner: target.owner.flatMap { $0.hasSuffix("[]") ? String($0.dropLast(2)) : nil })
      }
    }
    return target
  }

  private func target(at path: [String]) -> Target {
    var target = Target(path: path)
    let name = path.joined(separator: ".")
    if let live = names.members(at: path)?.className {
      target.owner = owner(ofClass: live)
    } else if reference.module(name) != nil || !reference.functions(of: name).isEmpty {
      target.owner = name
    }
    return target
  }

  /// Returns the class in the reference of objects whose class is called `name` in scripts.
  private func owner(ofClass name: String) -> String? {
    if name == "speaker" { return "speaker.Device" }
    return reference.classes.first { found in
      found.isObject && (found.name.split(separator: ".").last ?? "").lowercased() == name
    }?.name
  }

  private func `class`(of type: ReferenceType) -> String? {
    reference.alternatives(of: type).lazy.compactMap { reference.class($0.text) }.first?.name
  }

  private func members(of target: Target, isMethod: Bool) -> [String] {
    var found = LuaMembers()
    if let live = target.path.flatMap({ names.members(at: $0) }) { found = live }
    if let owner = target.owner {
      let functions = reference.functions(of: owner)
      let isClass = reference.class(owner) != nil
      found.methods += functions.filter { $0.isMethod || !isClass }.map(\.shortName)
      found.fields += reference.fields(of: owner).map(\.name)
      if !isClass {
        found.fields += functions.map(\.shortName) + reference.values(of: owner).map { $0.name.lastPart }
      }
    }
    let isObject =
      found.className != nil || target.owner.map { reference.class($0)?.isObject == true } == true
    let wanted = isMethod ? found.methods : isObject ? found.fields : found.fields + found.methods
    return Set(wanted).filter(\.isLuaName).sorted()
  }

  // MARK: Arguments

  /// Returns the function of a call as the reference describes it.
  private func function(of call: CallContext, _ context: CompletionContext) -> ReferenceFunction? {
    let target = resolve(call.function, context)
    return (target.function ?? target.path?.joined(separator: ".")).flatMap { reference.function($0) }
  }

  /// Returns the types that the reference has for the position of the cursor: of the argument, or of a field
  /// of its table.
  private func types(of call: CallContext, _ context: CompletionContext) -> (
    name: String, types: [ReferenceType], function: ReferenceFunction?
  ) {
    let function = function(of: call, context)
    guard let function else { return ("", [], nil) }
    // A stray comma in a function's body may count as one of the call.
    let parameters = function.parameters
    let parameter = parameters.indices.contains(call.argument - 1) ? parameters[call.argument - 1] : nil
    guard let parameter else { return ("", [], function) }
    var (name, types) = (parameter.name, [parameter.type])
    for field in call.fields {
      let fields = types.flatMap { reference.tableFields(of: $0) }.filter { $0.name == field }
      (name, types) = (field, fields.map(\.type))
    }
    return (name, types, function)
  }

  /// Returns the options that can still be given in the table at the cursor.
  private func keys(of call: CallContext, _ context: CompletionContext) -> [String] {
    let known = types(of: call, context).types.flatMap { reference.tableFields(of: $0) }.map(\.name)
    return Set(known).subtracting(call.given).filter(\.isLuaName).sorted()
  }

  private func texts(_ word: String, in call: CallContext, _ context: CompletionContext) -> [String] {
    let path = call.function.steps.map { step in
      switch step {
      case .name(let name), .field(let name), .method(let name): name
      case .call: "()"
      case .index: "[]"
      }
    }
    if path == ["require"] { return Self.matching(word, names.modules) }
    if ["io.open", "io.lines", "dofile", "loadfile"].contains(path.joined(separator: ".")) {
      return names.files(word)
    }
    let (name, types, function) = types(of: call, context)
    let literals = types.flatMap { reference.literals(of: $0) }.map(\.text)
    var known = literals
    var takesFiles = false
    let alternatives = types.flatMap { type in
      reference.alternatives(of: type).flatMap { reference.alternatives(of: $0.element ?? $0) }.map(\.text)
    }
    if alternatives.contains("speaker.Group") { known += names.groups }
    if alternatives.contains("speaker.Device") { known += names.speakers }
    switch function?.name {
    case "speaker.device", "speaker.find": known += names.speakers
    case "speaker.group", "speaker.Device:set_group": known += names.groups
    case "eq.apply" where name == "name", "eq.define" where name == "name": known += names.presets
    default: break
    }
    if ["url", "url_or_stream", "station", "source", "sources"].contains(name) {
      known += names.stations
      takesFiles = true
    }
    if ["path", "file", "folder", "play", "sound"].contains(name) { takesFiles = true }
    let found = Self.matching(word, Set(known).sorted())
    if !found.isEmpty || takesFiles { return found + (takesFiles ? names.files(word) : []) }
    // A unique part of a name is enough in scripts, too.
    let lowered = word.lowercased()
    return literals.isEmpty ? Set(known).filter { $0.lowercased().contains(lowered) }.sorted() : []
  }
}

extension String {
  /// The part after the last point.
  fileprivate var lastPart: String { String(split(separator: ".").last ?? "") }
}
