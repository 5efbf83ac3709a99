extension Reference {
  /// Returns roomtone-lua(3), the manual page of the Lua API, in roff.
  /// - Parameter version: the version of the program.
  /// Source: groff_man(7).
  public func manualPage(version: String) -> String {
    var page = RoffText()
    page.request("TH ROOMTONE\\-LUA 3 \"\" \"roomtone \(RoffText.escaped(version))\" \"Lua API\"")
    // Words are not broken, and lines not stretched: names stay as they are typed.
    page.request("nh")
    page.request("ad l")
    page.section("NAME")
    page.line("roomtone\\-lua \\- the Lua modules of roomtone")
    page.section("DESCRIPTION")
    page.paragraph(
      "Each module is loaded with `require`; at the prompt all are globals. A function marked [suspends] suspends the "
        + "calling routine until it is done, while other routines continue. Durations are seconds or text such as "
        + "`\"90s\"`, `\"5m\"`, `\"1h30m\"`. A failure raises an error object, whose `code` is listed with the function."
    )
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
      page.term(RoffText.bold(code), "Raised by \(by).")
    }
    page.section("SEE ALSO")
    page.line("\\fBroomtone\\fR(1), \\fBlua\\fR(1)")
    return page.text
  }

  private func add(_ module: ReferenceModule, to page: inout RoffText) {
    page.section(module.name.uppercased())
    page.blocks(module.text)
    for value in values(of: module.name) {
      page.term(
        RoffText.bold("\(value.name) = \(value.value)"),
        value.text.compactMap(\.paragraph).joined(separator: " "))
    }
    for function in functions where !function.isMethod && (function.owner + ".").hasPrefix(module.name + ".")
    {
      add(function, to: &page)
    }
    add(events(of: module.name), to: &page)
    for type in classes where type.isObject && type.name.hasPrefix(module.name + ".") { add(type, to: &page) }
  }

  private func add(_ type: ReferenceClass, to page: inout RoffText) {
    page.subsection(type.name)
    page.blocks(type.text)
    add(fields(of: type.name), to: &page)
    for function in functions(of: type.name) { add(function, to: &page) }
    add(events(of: type.name), to: &page)
  }

  private func add(_ function: ReferenceFunction, to page: inout RoffText) {
    let mark = function.suspends ? " [suspends]" : ""
    page.request("PP")
    page.line(RoffText.bold(signature(of: function)) + mark)
    page.indented { page in
      page.blocks(function.text)
      for parameter in function.parameters {
        let fields = tableFields(of: parameter.type)
        if !parameter.text.isEmpty || !fields.isEmpty {
          page.term(
            RoffText.italic(parameter.name),
            described(parameter.text, parameter.type, isOptional: parameter.isOptional))
        }
        if !fields.isEmpty { page.indented { add(fields, to: &$0) } }
      }
      if !function.raisesText.isEmpty { page.paragraph(function.raisesText) }
    }
  }

  private func add(_ fields: [ReferenceField], to page: inout RoffText) {
    for field in fields {
      page.term(RoffText.italic(field.name), described(field.text, field.type, isOptional: field.isOptional))
    }
  }

  private func add(_ events: [ReferenceEvent], to page: inout RoffText) {
    for event in events {
      let fields = event.fields.map(\.name).joined(separator: ", ")
      page.term(
        "event " + RoffText.bold(event.name), event.text + (fields.isEmpty ? "" : " Fields: \(fields)."))
    }
  }
}

/// Text in the language of man(7).
private struct RoffText {
  private(set) var text = ""

  mutating func request(_ line: String) { text += ".\(line)\n" }

  /// Adds a line that is escaped already.
  mutating func line(_ line: String) { text += line + "\n" }

  mutating func section(_ title: String) { request("SH \"\(Self.escaped(title))\"") }

  mutating func subsection(_ title: String) { request("SS \"\(Self.escaped(title))\"") }

  mutating func paragraph(_ text: String) {
    request("PP")
    line(Self.styled(text))
  }

  /// Adds a name, escaped already, with its text indented below it.
  mutating func term(_ name: String, _ text: String) {
    request("TP 4")
    line(name)
    line(text.isEmpty ? "\\&" : Self.styled(text))
  }

  /// Adds what `body` adds, indented.
  mutating func indented(_ body: (inout RoffText) -> Void) {
    request("RS 4")
    body(&self)
    request("RE")
  }

  mutating func blocks(_ blocks: [ReferenceBlock]) {
    for block in blocks {
      switch block {
      case .paragraph(let text): paragraph(text)
      case .code(let code):
        request("PP")
        request("nf")
        request("RS 4")
        for each in code { line(each.isEmpty ? "" : "\\&" + Self.escaped(each)) }
        request("RE")
        request("fi")
      }
    }
  }

  static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }

  static func italic(_ text: String) -> String { "\\fI\(escaped(text))\\fR" }

  /// Returns a text whose pieces in backquotes are bold.
  private static func styled(_ text: String) -> String {
    let parts = text.split(separator: "`", omittingEmptySubsequences: false)
    let styled = parts.enumerated().map {
      $0.offset % 2 == 1 ? bold(String($0.element)) : escaped(String($0.element))
    }
    return "\\&" + styled.joined()
  }

  /// Returns a text that roff shows as it is. Source: groff_char(7).
  static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\(rs"
      case "-": escaped += "\\-"
      case "'": escaped += "\\(aq"
      case "`": escaped += "\\(ga"
      case "^": escaped += "\\(ha"
      case "~": escaped += "\\(ti"
      case "\"": escaped += "\\(dq"
      // A line may end behind it: the alternatives of a type are long.
      case "|": escaped += "|\\:"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
