extension Reference {
  /// The beginning of a page of help: modules, topics, and the way to more.
  /// - Parameter width: columns of the terminal; lines of code may be longer.
  public func overview(width: Int) -> [String] {
    var page = TextLines(width: width)
    page.add("Modules")
    page.add(nil, table: modules.map { ($0.name, $0.summary) })
    page.add("Topics", table: topics.map { ($0.name, $0.summary) })
    page.space()
    page.add(
      paragraph:
        "help \"speaker\" shows a module, help(speaker.play) a function, help(x) an object, and help \"volume\" all that has to do with a word."
    )
    return page.lines
  }

  /// The page about a name, or the list of the entries in which it occurs.
  /// - Returns: nil if it occurs in no entry.
  public func page(about name: String, width: Int) -> [String]? {
    if let entry = entry(name) { return page(of: entry, width: width) }
    let (found, match) = find(name)
    if found.isEmpty { return nil }
    var page = TextLines(width: width)
    switch match {
    case .whole: page.add("Found for \"\(name)\"")
    case .near: page.add("Nothing is called \"\(name)\"; near it")
    case .part: page.add("Nothing has all of \"\(name)\"; found for a part")
    }
    page.add(nil, table: found.prefix(Self.longestList).map { ($0.name, $0.summary) })
    if found.count > Self.longestList {
      page.add(paragraph: "and \(found.count - Self.longestList) more; a longer word finds fewer", indent: 2)
    }
    return page.lines
  }

  private static let longestList = 20

  /// The page about an object.
  /// - Parameters:
  ///   - name: the class of the object.
  ///   - state: the line that describes its present state.
  public func page(ofObject name: String, state: String, width: Int) -> [String] {
    var page = TextLines(width: width)
    page.add(paragraph: state)
    page.space()
    if let type = self.class(name) { add(type, to: &page) }
    return page.lines
  }

  /// The page about an entry.
  public func page(of entry: ReferenceEntry, width: Int) -> [String] {
    var page = TextLines(width: width)
    switch entry {
    case .module(let module): add(module, to: &page)
    case .topic(let topic):
      page.add(topic.text)
      let own = globals.filter {
        topic.name == "globals" && !$0.isOfPrompt || topic.name == "prompt" && $0.isOfPrompt
      }
      if !own.isEmpty {
        page.add(
          "Functions",
          table: own.map { (Self.call(of: $0.name, $0.parameters), MetaReader.firstSentence($0.summary)) }
        )
      }
      if topic.name == "error" { add(fields(of: "Error"), "Fields", to: &page) }
    case .function(let function): add(function, to: &page)
    case .type(let type): add(type, to: &page)
    case .value(let value):
      page.add(value.line)
      page.add(value.text)
    case .alias(let alias):
      page.add(alias.name)
      page.add(alias.text)
      page.add("Values", table: alias.values.map { ("\"\($0.text)\"", $0.meaning) })
      if alias.values.isEmpty {
        page.space()
        page.add(paragraph: alias.type.description)
      }
    case .code(let code): add(code: code, to: &page)
    case .event(let event, let owner): add([event], "Event of \(owner)", to: &page)
    }
    return page.lines
  }

  /// The functions outside of modules: `pcall`, `os.exit`.
  public var globals: [ReferenceFunction] {
    functions.filter { function in
      !function.isMethod && !modules.contains { $0.name == function.owner.prefix { $0 != "." } }
    }
  }

  // MARK: Parts of pages

  private func add(_ module: ReferenceModule, to page: inout TextLines) {
    page.add("Module \(module.name)")
    page.add(module.text)
    let own = functions.filter { !$0.isMethod && ($0.owner + ".").hasPrefix(module.name + ".") }
    page.add(
      "Functions",
      table: own.map { (Self.call(of: $0.name, $0.parameters), MetaReader.firstSentence($0.summary)) })
    page.add(
      "Values",
      table: values(of: module.name).map {
        ($0.line, $0.text.lazy.compactMap(\.paragraph).first ?? "")
      })
    add(events(of: module.name), "Events", to: &page)
    let objects = classes.filter { $0.isObject && $0.name.hasPrefix(module.name + ".") }
    page.add("Objects", table: objects.map { ($0.name, MetaReader.firstSentence($0.summary)) })
  }

  private func add(_ type: ReferenceClass, to page: inout TextLines) {
    page.add(type.name)
    page.add(type.text)
    add(fields(of: type.name), "Fields", to: &page)
    page.add(
      "Methods",
      table: functions(of: type.name).map { (shortSignature(of: $0), MetaReader.firstSentence($0.summary)) })
    add(events(of: type.name), "Events", to: &page)
  }

  private func add(_ function: ReferenceFunction, to page: inout TextLines) {
    page.add(paragraph: signature(of: function), hanging: 4)
    let names = function.parameters.map(\.name)
    for form in function.overloads where form.parameters.map(\.name) != names {
      page.add(paragraph: Self.signature(function.name, form.parameters, form.returns), hanging: 4)
    }
    if let advice = function.deprecated { page.add(paragraph: "Deprecated. \(advice)", indent: 2) }
    if function.suspends { page.add(paragraph: "⏸ suspends the calling routine until it is done", indent: 2) }
    page.add(function.text.filter { $0.code == nil })
    let parameters = function.parameters.filter { !$0.text.isEmpty || !literals(of: $0.type).isEmpty }
    page.add(
      "Parameters",
      table: parameters.map { ($0.name, described($0.text, $0.type, isOptional: $0.isOptional)) })
    for parameter in function.parameters {
      let fields = tableFields(of: parameter.type)
      if !fields.isEmpty {
        add(fields, parameter.name == "options" ? "Options" : "Fields of \(parameter.name)", to: &page)
      }
    }
    let results = function.returns.filter { !$0.text.isEmpty || !$0.name.isEmpty }
    page.add(
      "Results",
      table: results.map { result in
        (
          result.name.isEmpty ? result.type.description : result.name,
          described(result.text, result.type, isOptional: false)
        )
      })
    if !function.raisesText.isEmpty {
      page.space()
      page.add("Errors")
      page.add(paragraph: function.raisesText, indent: 2)
    }
    if function.shortName == "on" || function.shortName == "once" || function.shortName == "wait" {
      add(events(of: function.owner), "Events", to: &page)
    }
    if let example = example(of: function) {
      page.space()
      page.add("Example")
      page.add(code: example)
    }
  }

  private func add(_ fields: [ReferenceField], _ title: String, to page: inout TextLines) {
    page.add(
      title, table: fields.map { ($0.name, described($0.text, $0.type, isOptional: $0.isOptional)) })
  }

  private func add(_ events: [ReferenceEvent], _ title: String, to page: inout TextLines) {
    page.add(
      title,
      table: events.map { event in
        let fields = event.fields.map(\.name).joined(separator: ", ")
        return (event.name, event.text + (fields.isEmpty ? "" : " Fields: \(fields)."))
      })
  }

  private func add(code: String, to page: inout TextLines) {
    page.add(code)
    page.add(
      paragraph:
        "A code of errors: compare it with the field code of an error that pcall or task.try has caught.")
    page.add(
      "Raised by",
      table: functions(raising: code).map { function in
        (function.name, function.raises.first { $0.code == code }?.reason ?? "")
      })
    page.add(
      "Raised by the functions of",
      table: (modules + topics).compactMap { module in
        (module.raises + module.raisesOnWait).first { $0.code == code }.map { (module.name, $0.reason ?? "") }
      })
  }

  /// Returns a description with the type before it: "boolean; true repeats the file".
  func described(_ text: String, _ type: ReferenceType, isOptional: Bool) -> String {
    let texts = literals(of: type)
    let isSet = texts.count == alternatives(of: type).count && (1...12).contains(texts.count)
    let shown = isSet ? texts.map { "\"\($0.text)\"" }.joined(separator: " or ") : type.text
    return shown + (isOptional ? ", optional" : "") + (text.isEmpty ? "" : ": " + text)
  }

  // MARK: Signatures and examples

  /// Returns the call of a function: `speaker.play(path [, options])`, with its results.
  public func signature(of function: ReferenceFunction) -> String {
    Self.signature(function.name, function.parameters, function.returns.map(\.type))
  }

  /// Returns the call of a method without its class and its results: `:pause()`.
  private func shortSignature(of function: ReferenceFunction) -> String {
    Self.call(of: (function.isMethod ? ":" : ".") + function.shortName, function.parameters)
  }

  private static func signature(
    _ name: String, _ parameters: [ReferenceParameter], _ results: [ReferenceType]
  ) -> String {
    let values = results.map(\.description).joined(separator: ", ")
    return call(of: name, parameters) + (values.isEmpty ? "" : " -> \(values)")
  }

  private static func call(of name: String, _ parameters: [ReferenceParameter]) -> String {
    var list = ""
    for parameter in parameters {
      let isOptional = parameter.isOptional || parameter.name == "..."
      let separator = list.isEmpty ? "" : isOptional ? " " : ", "
      list += separator + (isOptional ? "[\(list.isEmpty ? "" : ", ")\(parameter.name)]" : parameter.name)
    }
    return "\(name)(\(list))"
  }

  /// Returns lines of code that call a function: its own example, else that of its module if it has such a call.
  public func example(of function: ReferenceFunction) -> [String]? {
    if let example = function.example { return example }
    let area = String(function.owner.prefix { $0 != "." })
    let call = (function.isMethod ? ":" : function.owner + ".") + function.shortName
    return module(area)?.text.lazy.compactMap(\.code).first { lines in
      lines.contains { line in
        guard let found = line.utf8.firstRange(of: call.utf8) else { return false }
        let next = found.upperBound < line.utf8.endIndex ? line.utf8[found.upperBound] : 0
        return [UInt8(ascii: "("), UInt8(ascii: " "), UInt8(ascii: "\""), UInt8(ascii: "{")].contains(next)
      }
    }
  }
}
