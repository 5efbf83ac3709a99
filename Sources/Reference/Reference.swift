/// The knowledge about the Lua API: modules, functions, classes, options, events and errors, as described in
/// `stdlib/meta`. Help, completion, checks and the manual page are made from it.
public struct Reference: Sendable {
  /// The modules that scripts require, sorted by their names.
  public let modules: [ReferenceModule]
  /// Pages of text, sorted by their names.
  public let topics: [ReferenceModule]
  /// All functions and methods, in the order of the definitions.
  public let functions: [ReferenceFunction]
  /// The classes of objects and tables, in the order of the definitions.
  public let classes: [ReferenceClass]
  /// Names of types, in the order of the definitions.
  public let aliases: [ReferenceAlias]
  /// Values of modules, and global variables.
  public let values: [ReferenceValue]
  /// Lines that can't be read; empty for the definitions that ship with the product.
  public let problems: [ReferenceProblem]

  private let functionIndex: [String: Int]
  private let classIndex: [String: Int]
  private let aliasIndex: [String: Int]
  private let owned: [String: [Int]]

  /// Reads definitions.
  /// - Parameter files: the name and the text of each file.
  public static func load(from files: [(name: String, text: String)]) -> Reference {
    var reader = MetaReader()
    for file in files.sorted(by: { $0.name < $1.name }) { reader.read(file.text, file: file.name) }
    return Reference(reader)
  }

  private init(_ reader: MetaReader) {
    let special: Set<String> = ["error"]
    modules = reader.modules.filter { !special.contains($0.name) }.sorted { $0.name < $1.name }
    topics =
      (reader.topics + reader.modules.filter { special.contains($0.name) }).sorted { $0.name < $1.name }
    (functions, classes) = (reader.functions, reader.classes)
    (aliases, values) = (reader.aliases, reader.values)
    var problems = reader.problems
    functionIndex = Dictionary(
      functions.enumerated().map { ($0.element.name, $0.offset) },
      uniquingKeysWith: { first, second in
        problems.append(
          ReferenceProblem(
            location: reader.functions[second].location,
            message: "\(reader.functions[second].name) is described twice"))
        return first
      })
    classIndex = Dictionary(
      classes.enumerated().map { ($0.element.name, $0.offset) }, uniquingKeysWith: { first, _ in first })
    aliasIndex = Dictionary(
      aliases.enumerated().map { ($0.element.name, $0.offset) }, uniquingKeysWith: { first, _ in first })
    owned = Dictionary(grouping: functions.indices, by: { [functions] in functions[$0].owner })
    self.problems = problems
  }

  // MARK: Look-ups

  /// Returns the module called `name`: `speaker`.
  public func module(_ name: String) -> ReferenceModule? { modules.first { $0.name == name } }

  /// Returns the topic called `name`: `simulation`.
  public func topic(_ name: String) -> ReferenceModule? { topics.first { $0.name == name } }

  /// Returns a function by its full name: `speaker.play`, `speaker.Session:pause`, `os.exit`.
  public func function(_ name: String) -> ReferenceFunction? { functionIndex[name].map { functions[$0] } }

  /// Returns a method of a class.
  public func method(class name: String, name method: String) -> ReferenceFunction? {
    function("\(name):\(method)")
  }

  /// Returns the functions of a module or the methods of a class, in the order of the definitions; the global
  /// functions for the empty name.
  public func functions(of owner: String) -> [ReferenceFunction] {
    (owned[owner] ?? []).map { functions[$0] }
  }

  /// Returns the class called `name`: `speaker.Session`, `speaker.PlayOptions`.
  public func `class`(_ name: String) -> ReferenceClass? { classIndex[name].map { classes[$0] } }

  /// Returns the alias called `name`: `speaker.Role`.
  public func alias(_ name: String) -> ReferenceAlias? { aliasIndex[name].map { aliases[$0] } }

  /// Returns the values of a module: `speaker.MAX_VOLUME`; the global variables for the empty name.
  public func values(of owner: String) -> [ReferenceValue] { values.filter { $0.owner == owner } }

  /// Returns the fields of a class, those of its parents first.
  public func fields(of name: String) -> [ReferenceField] {
    guard let found = self.class(name) else { return [] }
    return (found.parent.map { fields(of: $0) } ?? []) + found.fields
  }

  /// Returns the alternatives of a type, with aliases replaced by their alternatives.
  public func alternatives(of type: ReferenceType) -> [ReferenceType] {
    type.alternatives.flatMap { alternative in
      alias(alternative.text).map { alternatives(of: $0.type) } ?? [alternative]
    }
  }

  /// Returns the texts that a type accepts, with their meanings: `mono`, `left` and so on for `speaker.Role`.
  public func literals(of type: ReferenceType) -> [(text: String, meaning: String)] {
    type.alternatives.flatMap { alternative in
      guard let alias = alias(alternative.text) else { return alternative.literals.map { ($0, "") } }
      return alias.values.isEmpty ? literals(of: alias.type) : alias.values
    }
  }

  /// Returns the fields of the tables that a type accepts: the options for `speaker.PlayOptions`. Objects,
  /// payloads and lists have no fields here.
  public func tableFields(of type: ReferenceType) -> [ReferenceField] {
    alternatives(of: type).flatMap { alternative in
      if let fields = alternative.fields { return fields }
      guard let found = self.class(alternative.text), !found.isObject else { return [] }
      return fields(of: found.name)
    }
  }

  /// Returns the options of a function: the fields of its tables.
  public func options(of function: String) -> [ReferenceField] {
    self.function(function)?.parameters.flatMap { tableFields(of: $0.type) } ?? []
  }

  // MARK: Events

  /// Returns the events of a module or a class with `on`; empty without `on`, and if any name is allowed, as
  /// for `trigger`.
  public func events(of owner: String) -> [ReferenceEvent] {
    guard let on = function("\(owner):on") ?? function("\(owner).on"), let type = on.parameters.first?.type
    else { return [] }
    return literals(of: type).map { event(of: $0.text, $0.meaning) }
  }

  /// Reads an event from its line: "`{alarm, source}`: a source sounds." or "`speaker.TimeEvent`: …".
  private func event(of name: String, _ line: String) -> ReferenceEvent {
    guard line.hasPrefix("`"), let end = line.dropFirst().utf8.firstIndex(of: UInt8(ascii: "`")) else {
      return ReferenceEvent(name: name, text: line, payload: nil, fields: [])
    }
    let payload = String(line.dropFirst()[..<end])
    let text = String(line[end...].drop { $0 == "`" || $0 == ":" || $0 == " " })
    if let fields = ReferenceType(payload).fields {
      return ReferenceEvent(name: name, text: text, payload: nil, fields: fields)
    }
    return ReferenceEvent(name: name, text: text, payload: payload, fields: fields(of: payload))
  }

  // MARK: Errors

  /// Returns the sorted codes that a function raises, including those of the functions that it names. A
  /// function that suspends also raises `task.cannot_suspend`, where nothing can suspend.
  public func codes(of function: String) -> [ReferenceRaise] {
    var (codes, seen): ([String: ReferenceRaise], Set<String>) = ([:], [])
    collect(function, &codes, &seen)
    let suspension = "task.cannot_suspend"
    if self.function(function)?.suspends == true {
      codes[suspension] = codes[suspension] ?? ReferenceRaise(code: suspension, reason: nil)
    }
    return codes.values.sorted { $0.code < $1.code }
  }

  private func collect(_ name: String, _ codes: inout [String: ReferenceRaise], _ seen: inout Set<String>) {
    guard seen.insert(name).inserted, let function = function(name) else { return }
    let module = module(area(of: function))
    let shared = (module?.raises ?? []) + (function.suspends ? module?.raisesOnWait ?? [] : [])
    for raise in function.raises + shared where codes[raise.code]?.reason == nil { codes[raise.code] = raise }
    let named = function.owner == module?.name ? module?.raisesAs ?? [] : []
    for other in function.raisesAs + named {
      if let other = self.named(other, beside: function) { collect(other.name, &codes, &seen) }
    }
  }

  /// Returns the function that a name in the description of `function` means: `play` for `speaker.stop`,
  /// `Stream:start` for `stream.new`, or a full name.
  func named(_ name: String, beside function: ReferenceFunction) -> ReferenceFunction? {
    let area = area(of: function)
    let names = [
      name, "\(function.owner):\(name)", "\(function.owner).\(name)", "\(area).\(name)", "\(area):\(name)",
    ]
    return names.lazy.compactMap { self.function($0) }.first
  }

  /// The module that a function belongs to: `stream` for `stream.Stream:start`.
  private func area(of function: ReferenceFunction) -> String {
    String(function.owner.prefix { $0 != "." })
  }

  /// `true` if a name in the description of `function` means a function.
  public func isKnown(_ name: String, beside function: ReferenceFunction) -> Bool {
    named(name, beside: function) != nil
  }

  /// All codes of the definitions, sorted.
  public var codes: [String] {
    let raises = functions.flatMap(\.raises) + (modules + topics).flatMap { $0.raises + $0.raisesOnWait }
    return Set(raises.map(\.code)).sorted()
  }

  /// Returns the functions that raise a code themselves, in the order of the definitions.
  public func functions(raising code: String) -> [ReferenceFunction] {
    functions.filter { $0.raises.contains { $0.code == code } }
  }
}
