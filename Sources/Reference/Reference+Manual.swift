extension Reference {
  /// Returns roomtone-lua(3), the manual page of the Lua API, in roff.
  /// - Parameter version: the version of the program.
  public func manualPage(version: String) -> String {
    var page = Roff(
      title: "roomtone-lua", section: "3", date: "", source: "roomtone \(version)", manual: "Lua API")
    page.section("NAME")
    page.append(written: "roomtone\\-lua \\- the Lua modules of roomtone")
    page.section("DESCRIPTION")
    page.paragraph(
      written: Roff.marked(
        "Each module is loaded with `require`; at the prompt all are globals. A function marked [suspends] suspends the "
          + "calling routine until it is done, while other routines continue. Durations are seconds or text such as "
          + "`\"90s\"`, `\"5m\"`, `\"1h30m\"`. A failure raises an error object, whose `code` is listed with the function."
      ))
    for module in modules { add(module, to: &page) }
    page.section("LUA'S OWN LIBRARY")
    if let topic = topic("globals") { page.blocks(topic.text) }
    for function in globals where !function.isOfPrompt { add(function, to: &page) }
    for type in classes where type.isObject && !type.name.contains(".") { add(type, to: &page) }
    for topic in topics where topic.name != "globals" {
      page.section(topic.name.uppercased())
      page.blocks(topic.text)
      if topic.name == "prompt" {
        for function in globals where function.isOfPrompt { add(function, to: &page) }
      }
    }
    add(fields(of: "Error"), to: &page)
    page.section("ERRORS")
    for code in codes {
      let names = functions(raising: code).map(\.name)
      let areas = (modules + topics).filter { ($0.raises + $0.raisesOnWait).contains { $0.code == code } }
        .map(\.name)
      let by = names.count > 12 ? "most functions" : (names + areas).joined(separator: ", ")
      page.term(Roff.bold(code), "Raised by \(by).")
    }
    page.section("SEE ALSO")
    page.append(written: "\(Roff.bold("roomtone"))(1), \(Roff.bold("lua"))(1)")
    return page.text
  }

  private func add(_ module: ReferenceModule, to page: inout Roff) {
    page.section(module.name.uppercased())
    page.blocks(module.text)
    for value in values(of: module.name) {
      page.term(
        Roff.bold(value.line),
        value.text.compactMap(\.paragraph).joined(separator: " "))
    }
    for function in functions where !function.isMethod && (function.owner + ".").hasPrefix(module.name + ".")
    {
      add(function, to: &page)
    }
    add(events(of: module.name), to: &page)
    for type in classes where type.isObject && type.name.hasPrefix(module.name + ".") { add(type, to: &page) }
  }

  private func add(_ type: ReferenceClass, to page: inout Roff) {
    page.subsection(type.name)
    page.blocks(type.text)
    add(fields(of: type.name), to: &page)
    for function in functions(of: type.name) { add(function, to: &page) }
    add(events(of: type.name), to: &page)
  }

  private func add(_ function: ReferenceFunction, to page: inout Roff) {
    let mark = function.suspends ? " [suspends]" : ""
    page.paragraph(written: Roff.bold(signature(of: function)) + mark)
    page.indented { page in
      page.blocks(function.text)
      for parameter in function.parameters {
        let fields = tableFields(of: parameter.type)
        if !parameter.text.isEmpty || !fields.isEmpty {
          page.term(
            Roff.italic(parameter.name),
            described(parameter.text, parameter.type, isOptional: parameter.isOptional))
        }
        if !fields.isEmpty { page.indented { add(fields, to: &$0) } }
      }
      if !function.raisesText.isEmpty { page.paragraph(written: Roff.marked(function.raisesText)) }
    }
  }

  private func add(_ fields: [ReferenceField], to page: inout Roff) {
    for field in fields {
      page.term(Roff.italic(field.name), described(field.text, field.type, isOptional: field.isOptional))
    }
  }

  private func add(_ events: [ReferenceEvent], to page: inout Roff) {
    for event in events {
      let fields = event.fields.map(\.name).joined(separator: ", ")
      page.term(
        "event " + Roff.bold(event.name), event.text + (fields.isEmpty ? "" : " Fields: \(fields)."))
    }
  }
}

extension Roff {
  /// Adds paragraphs and code.
  fileprivate mutating func blocks(_ blocks: [ReferenceBlock]) {
    for block in blocks {
      switch block {
      case .paragraph(let text): paragraph(written: Self.marked(text))
      case .code(let lines): code(lines)
      }
    }
  }

  /// Adds a term, with its fonts, above its text; parts of the text in backquotes become bold.
  fileprivate mutating func term(_ term: String, _ text: String) {
    self.term(written: term, written: text.isEmpty ? "\\&" : Self.marked(text))
  }
}
