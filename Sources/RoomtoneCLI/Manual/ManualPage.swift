internal import Home
internal import Reference
internal import Roomtone

/// The manual pages of the program, in roff: pure functions of the table of commands and of the reference.
enum ManualPage {
  /// Returns roomtone(1).
  static func command(_ program: ProgramSpec) -> String {
    var page = Roff(
      title: program.name, section: "1", date: "", source: "\(program.name) \(program.version)",
      manual: "User Commands")
    page.section("NAME")
    // Without `\-` between the two, apropos(1) finds no name.
    page.add(name: program.name, purpose: purpose(program))
    page.section("SYNOPSIS")
    page.paragraph(
      written: "\(Roff.bold(program.name)) \(Roff.italic("COMMAND")) [\(Roff.italic("OPTIONS"))] "
        + "[\(Roff.italic("OPERANDS"))]")
    page.section("DESCRIPTION")
    page.paragraph(program.summary)
    page.paragraph(
      "Scripts play files and internet radio in the rooms of a house, record stations, control headsets, and run at set "
        + "times. A script runs once, at a prompt, or under simulation, in virtual time.")
    page.section("OPTIONS")
    for option in program.options { page.term(written: synopsis(option), sentence(option.summary)) }
    page.section("COMMANDS")
    for command in program.commands { add(command, of: program, to: &page) }
    addEnd(program, to: &page)
    return page.text
  }

  /// Returns the program's purpose as the line of a name: without its subject and its full stop.
  private static func purpose(_ program: ProgramSpec) -> String {
    let words = program.summary.split(separator: " ")
    let hasSubject = words.first?.lowercased() == program.name
    let rest = words.dropFirst(hasSubject ? 1 : 0).joined(separator: " ")
    return rest.hasSuffix(".") ? String(rest.dropLast()) : rest
  }

  private static func add(_ command: CommandSpec, of program: ProgramSpec, to page: inout Roff) {
    page.subsection("\(program.name) \(command.name)")
    for form in command.forms {
      let options = command.options.isEmpty ? "" : " [OPTIONS]"
      page.paragraph(written: Roff.bold("\(program.name) \(command.name)") + written(options + form))
    }
    page.paragraph(sentence(command.summary))
    for action in command.actions {
      page.term(written: Roff.bold("\(command.name) \(action.name)"), sentence(action.summary))
      let dashed = action.options.map(\.dashed)
      if !dashed.isEmpty { page.continued("Options: \(dashed.joined(separator: ", ")).") }
    }
    for operand in command.allOperands {
      page.term(written: Roff.italic(operand.name), sentence(operand.summary))
    }
    for option in command.options { page.term(written: synopsis(option), sentence(option.summary)) }
    for note in command.notes + command.actions.flatMap(\.notes) { page.paragraph(note) }
  }

  private static func addEnd(_ program: ProgramSpec, to page: inout Roff) {
    page.section("EXIT STATUS")
    for (status, meaning) in [
      ("0", "All went well."), ("1", "The script or the operation failed."), ("2", "Wrong usage."),
      ("129, 130, 143", "SIGHUP, SIGINT or SIGTERM ended it."),
    ] { page.term(written: Roff.bold(status), meaning) }
    page.section("ENVIRONMENT")
    for fact in program.environment { page.term(written: Roff.bold(fact.name), sentence(fact.meaning)) }
    page.section("FILES")
    for fact in program.files { page.term(written: Roff.italic(fact.name), sentence(fact.meaning)) }
    page.section("EXAMPLES")
    for example in program.examples + program.commands.flatMap(\.examples) {
      page.term(written: Roff.bold(example.line), sentence(example.purpose))
    }
    page.section("SEE ALSO")
    page.paragraph(
      written: ["\(program.name)-lua(3)", "crontab(5)", "lua(1)"].map(reference).joined(separator: ",\n"))
  }

  /// Returns a reference to another page: `crontab(5)` with its name in bold.
  private static func reference(_ page: String) -> String {
    let name = page.prefix { $0 != "(" }
    return Roff.bold(String(name)) + Roff.line(String(page.dropFirst(name.count)))
  }

  /// Returns an option with its value: both names in bold, the value in italics.
  private static func synopsis(_ option: OptionSpec) -> String {
    let names = (option.short.map { "\(Roff.bold("-\($0)")), " } ?? "") + Roff.bold(option.dashed)
    return names + (option.valueName.map { " \(Roff.italic($0))" } ?? "")
  }

  /// Returns the words of a synopsis: names that the user replaces, which are in capitals, in italics, all others in
  /// bold.
  private static func written(_ form: String) -> String {
    form.split(separator: " ").map { word in
      let name = word.filter { $0.isLetter || $0 == "-" }
      let isReplaced = name.allSatisfy { $0.isUppercase }
      let font = isReplaced ? Roff.italic : Roff.bold
      let (open, close) = (word.hasPrefix("["), word.hasSuffix("]"))
      let middle = word.dropFirst(open ? 1 : 0).dropLast(close ? 1 : 0)
      return " \(open ? "[" : "")\(font(String(middle)))\(close ? "]" : "")"
    }.joined()
  }

  /// Returns a summary as a sentence.
  private static func sentence(_ text: String) -> String {
    text.prefix(1).uppercased() + text.dropFirst() + (text.hasSuffix(".") ? "" : ".")
  }
}

extension Roff {
  /// Adds the line that apropos(1) reads.
  fileprivate mutating func add(name: String, purpose: String) {
    append(written: "\(Self.line(name)) \\- \(Self.line(purpose))")
  }
}

/// Command `roomtone man`.
enum ManCommand {
  /// Pages by their names on the command line.
  static let pages: [(name: String, text: @Sendable () throws -> String)] = [
    ("roomtone", { ManualPage.command(.roomtone) }),
    ("roomtone-lua", { StandardLibrary.reference().manualPage(version: Product.version) }),
  ]

  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let given = arguments.operands.first ?? pages[0].name
    guard let page = pages.first(where: { $0.name == given }) else {
      let names = pages.map(\.name)
      let hint =
        probable(given, among: names).map { "did you mean '\($0)'?" }
        ?? "known: \(names.joined(separator: ", "))"
      throw UsageError(.operand, "man: there is no page \(quoted(given)); \(hint)", help: "roomtone man")
    }
    Terminal.write(try page.text())
    return 0
  }
}

extension CommandSpec {
  static let man = CommandSpec(
    name: "man",
    summary: "prints a manual page",
    operands: [
      OperandSpec(
        name: "PAGE",
        summary: "\(ManCommand.pages.map(\.name).joined(separator: " or ")) (default: roomtone)",
        isOptional: true, sources: [.words(ManCommand.pages.map(\.name))])
    ],
    options: [],
    notes: [
      """
      The page is printed in roff, the language of man: 'roomtone man | man -l -' shows it, and in \
      ~/.local/share/man/man1/roomtone.1 'man roomtone' finds it; roomtone-lua.3 belongs in man3.
      """
    ],
    examples: [
      ExampleSpec("roomtone man", "the page of the command, roomtone(1)"),
      ExampleSpec("roomtone man roomtone-lua", "the page of the modules for scripts, roomtone-lua(3)"),
    ])
}
