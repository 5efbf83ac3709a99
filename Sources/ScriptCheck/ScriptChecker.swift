internal import LuaSyntax
public import Reference
public import Scheduling

/// Finds mistakes in scripts before they run: names that the reference does not have, wrong arguments, wrong times,
/// names that the house does not have.
///
/// A value is known only where it is certain: a variable has the type of its assignments if they agree, a
/// parameter of a callback has that of the reference. Unknown values cause no complaint.
public struct ScriptChecker {
  /// The knowledge about the API.
  public let reference: Reference
  /// The names of the house and of the configuration.
  public let house: HouseNames
  /// The modules that the script can require besides those of the reference.
  public let modules: any ModuleSource
  /// `true` if the modules are globals, as at the prompt.
  public var hasModuleGlobals = false
  /// The local time at which scripts begin; nil if it is not known, so that no date has passed.
  public var now: LocalDateTime?

  /// Creates a checker.
  public init(reference: Reference, house: HouseNames, modules: any ModuleSource) {
    (self.reference, self.house, self.modules) = (reference, house, modules)
  }

  /// Returns the mistakes in a text, sorted by their positions; those of lines with the comment
  /// `-- check: ignore` or `-- luacheck: ignore` are left out. Only the syntax of definitions, which begin
  /// with `---@meta`, is checked.
  public func check(_ text: [UInt8], name: String) -> [ScriptFinding] {
    let lines = LuaLines(text)
    let tree: LuaTree
    do {
      tree = try LuaTree(parsing: text)
    } catch {
      return [
        ScriptFinding(
          position: lines.position(of: error.offset), code: error.kind == .limit ? .limit : .syntax,
          message: error.message)
      ]
    }
    if let first = tree.comments.first, text[first].starts(with: "---@meta".utf8) { return [] }
    let check = ScriptCheck(tree, self, lines, isSpec: name.hasSuffix("_spec.lua"))
    check.run()
    let ignored = Self.ignoredLines(text, tree, lines)
    var seen: Set<Int> = []
    return check.complaints.sorted { $0.offset < $1.offset }
      .filter { seen.insert($0.offset).inserted }
      .map { ScriptFinding(position: lines.position(of: $0.offset), code: $0.code, message: $0.message) }
      .filter { !ignored.contains($0.position.line) }
  }

  private static func ignoredLines(_ text: [UInt8], _ tree: LuaTree, _ lines: LuaLines) -> Set<Int> {
    var ignored: Set<Int> = []
    for comment in tree.comments {
      let words = String(decoding: text[comment].dropFirst(2).prefix(200), as: UTF8.self)
        .split(whereSeparator: { $0 == " " || $0 == "\t" })
      let mark = words.firstIndex(of: "check:") ?? words.firstIndex(of: "luacheck:")
      if let mark, mark + 1 < words.count, words[mark + 1] == "ignore" {
        ignored.insert(lines.line(of: comment.lowerBound))
      }
    }
    return ignored
  }
}

/// The modules that scripts require besides those of the reference.
public protocol ModuleSource: Sendable {
  /// Returns the text of a module in the script's folder; nil if the folder has no such module.
  func text(of module: String) -> [UInt8]?
  /// Returns `true` if the library has a module that the reference does not describe.
  func isInternal(_ module: String) -> Bool
  /// Returns `true` if a script finds a file at a path of its own; nil if that is not known.
  func hasFile(_ path: String) -> Bool?
  /// Returns the names of the modules in the script's folder.
  var names: [String] { get }
}

/// The check of one text. Confined to its caller.
final class ScriptCheck {
  struct Complaint {
    let offset: Int
    let code: ScriptFinding.Code
    let message: String
  }

  let tree: LuaTree
  let lines: LuaLines
  let checker: ScriptChecker
  let isSpec: Bool
  var house: HouseNames
  private(set) var complaints: [Complaint] = []

  // Facts of the first pass.

  /// The origins of the variables' values.
  var origins: [LuaVariableID: [Origin]] = [:]
  /// Globals that the script assigns at the top level, with the offsets of the assignments.
  var declaredGlobals: [String: Int] = [:]
  /// Names of fields that are assigned somewhere, and `true` if a field with a computed name is.
  var assignedFields: Set<String> = []
  var assignsComputedFields = false
  /// Numbers of assignments to globals.
  var globalAssignments: [String: Int] = [:]
  /// Numbers of expressions that are globals.
  private(set) lazy var globalUses: [String: Int] = tree.expressionIDs.reduce(into: [:]) { uses, id in
    if case .global(let name) = tree[id].kind { uses[name, default: 0] += 1 }
  }
  /// Globals that are read or assigned in the modules that the script requires.
  private(set) lazy var foreignGlobals = globalsOfModules()
  /// Names that the script itself gives to speakers, groups, zones and presets.
  var ownNames: [String] = []
  /// Numbers of uses of each variable as the object of a field or a method.
  private(set) lazy var objectUses: [LuaVariableID: Int] = tree.expressionIDs.reduce(into: [:]) { uses, id in
    switch tree[id].kind {
    case .index(let object, _), .method(let object, _, _, _):
      if case .local(let variable) = tree[object].kind { uses[variable, default: 0] += 1 }
    default: break
    }
  }
  /// Numbers of occurrences of each text.
  private(set) lazy var texts: [String: Int] = tree.expressionIDs.reduce(into: [:]) { uses, id in
    if case .string(let text) = tree[id].kind { uses[text, default: 0] += 1 }
  }
  /// Values of parameters of callbacks.
  var parameters: [LuaVariableID: ScriptValue] = [:]
  /// Nesting of calls of `expect` at the position of the walk.
  var expectations = 0
  /// Functions whose callers can't suspend, with the reason.
  var unsuspendable: [LuaFunctionID: String] = [:]

  // Caches.

  var values: [LuaExpressionID: ScriptValue] = [:]
  var variableValues: [LuaVariableID: ScriptValue] = [:]
  var evaluating: Set<LuaVariableID> = []
  var returning: Set<LuaFunctionID> = []
  var returnedValues: [LuaFunctionID: ScriptValue] = [:]
  /// Functions of the script: `true` for those that certainly do not suspend.
  var busyScripts: [LuaFunctionID: Bool] = [:]
  /// The variables that hold further results of each call.
  private(set) lazy var furtherResults: [LuaExpressionID: [LuaVariableID]] = origins.reduce(into: [:]) {
    further, entry in
    for case .result(let call, 1...) in entry.value { further[call, default: []].append(entry.key) }
  }
  /// Nesting of evaluations: a value may depend on others through any number of variables.
  var depth = 0
  static let greatestDepth = 500
  private(set) lazy var variableNames = Set(tree.variableIDs.map { tree[$0].name })
  /// Names to suggest in place of an undefined global.
  private(set) lazy var suggestedGlobals =
    (LuaLibrary.globals + variableNames + declaredGlobals.keys + foreignGlobals
    + reference.modules.map(\.name)).sorted()
  /// Complaints about undefined globals by their names.
  var globalComplaints: [String: String] = [:]
  var files: [String: ScriptFile?] = [:]
  var eventsByOwner: [String: [ReferenceEvent]] = [:]
  var membersOfModules: [String: [String]] = [:]
  var membersOfClasses: [String: [String]] = [:]

  /// An origin of a variable's value.
  enum Origin {
    /// A result of an expression, from 0.
    case result(LuaExpressionID, Int)
    /// An item of the list that `ipairs` or `pairs` visits.
    case element(LuaExpressionID)
    case function(LuaFunctionID)
    case number
    case unknown
  }

  init(_ tree: LuaTree, _ checker: ScriptChecker, _ lines: LuaLines, isSpec: Bool) {
    (self.tree, self.checker, self.lines) = (tree, checker, lines)
    self.isSpec = isSpec || Self.describesTests(tree)
    house = checker.house
  }

  /// `true` if a text calls the functions of specs.
  private static func describesTests(_ tree: LuaTree) -> Bool {
    var names: Set<String> = ["describe", "it", "expect"]
    for id in tree.expressionIDs where !names.isEmpty {
      if case .global(let name) = tree[id].kind { names.remove(name) }
    }
    return names.isEmpty
  }

  var reference: Reference { checker.reference }

  /// The most mistakes of one text that are reported.
  private static let mostComplaints = 1_000

  /// `true` if no further mistakes are reported.
  var isFull: Bool { complaints.count >= Self.mostComplaints }

  func complain(_ code: ScriptFinding.Code, at offset: Int, _ message: String) {
    guard muted[code] == nil, !isFull else { return }
    complaints.append(Complaint(offset: offset, code: code, message: message))
  }

  /// Complaints that are expected at the position of the walk: inside of `expect(function() … end)`, `pcall`.
  private var muted: [ScriptFinding.Code: Int] = [:]

  /// Runs a check and drops its complaints; returns `true` if it had no complaints.
  func trying(_ body: () -> Void) -> Bool {
    let count = complaints.count
    body()
    let isAccepted = complaints.count == count
    complaints.removeLast(complaints.count - count)
    return isAccepted
  }

  func muting(_ codes: [ScriptFinding.Code], _ body: () -> Void) {
    for code in codes { muted[code, default: 0] += 1 }
    body()
    for code in codes {
      muted[code] = muted[code].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
  }

  func run() {
    guard !isDeclarationFile else { return }
    collect(tree[LuaFunctionID.main].body, isTopLevel: true)
    collectNames()
    bindCallbacks()
    values = [:]
    variableValues = [:]
    walk(tree[LuaFunctionID.main].body)
    checkSuspension()
    checkJobNames()
  }

  /// `true` for a configuration and for files of stations and triggers, which have globals of their own: at
  /// their top level, all functions that are called by a global name are such globals.
  private var isDeclarationFile: Bool {
    let words: Set<String> = [
      "answer", "station", "trigger", "house", "headset", "limits", "location", "log", "mqtt",
      "page", "recordings", "stations",
    ]
    let names = tree[LuaFunctionID.main].body.flatMap { tree.expressions(of: $0) }.compactMap {
      call -> String? in
      guard case .call(let function, _) = tree[call].kind, case .global(let name) = tree[function].kind
      else { return nil }
      return name
    }
    return !names.isEmpty && words.isSuperset(of: names)
  }
}
