import Reference
import TestSupport
import TestTraits
import Testing

@testable import RoomtoneCLI

@Suite(.tags(.help)) struct ManualPageTests {
  /// Returns a page as the real man formats it.
  private static func formatted(_ page: String, columns: Int) throws -> TestSupport.Command.Result {
    let folder = try TemporaryFolder()
    let path = try folder.write(Array(page.utf8), to: "page.1")
    return try TestSupport.Command.run(
      "env", ["LC_ALL=C.UTF-8", "MANWIDTH=\(columns)", "MANROFFOPT=-ww", "man", "--warnings", "-l", path])
  }

  @Test(
    "man formats the page without a warning, within the columns of the terminal", arguments: [40, 80, 132])
  func warnings(columns: Int) throws {
    let result = try Self.formatted(ManualPage.command(.roomtone), columns: columns)
    #expect(result.status == 0 && String(decoding: result.errors, as: UTF8.self) == "")
    let lines = result.text.split(separator: "\n")
    #expect(lines.count > 200)
    for line in lines { #expect(line.count <= columns, "\(line)") }
  }

  @Test("man accepts the page for terminals of all characters")
  func characters() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(Array(ManualPage.command(.roomtone).utf8), to: "page.1")
    let result = try TestSupport.Command.run("man", ["--warnings", "-l", "-Tutf8", path])
    #expect(result.status == 0 && result.errors.isEmpty && result.output.count > 10_000)
  }

  @Test("all there is of a command is in the page", arguments: ProgramSpec.roomtone.commands.map(\.name))
  func complete(name: String) throws {
    let command = try #require(ProgramSpec.roomtone.command(name))
    let text = try Self.formatted(ManualPage.command(.roomtone), columns: 500).text
    let begin = try #require(text.firstRange(of: "\n   roomtone \(name)\n"))
    let rest = text[begin.upperBound...]
    let section = rest[..<(rest.firstRange(of: "\n   roomtone ")?.lowerBound ?? rest.endIndex)]
    for option in command.options {
      let letter = option.short.map { "-\($0), " } ?? ""
      let value = option.valueName.map { " \($0)" } ?? ""
      #expect(section.contains("\n       \(letter)\(option.dashed)\(value)"), "\(option.dashed)")
    }
    for action in command.actions { #expect(section.contains("\n       \(name) \(action.name)\n")) }
    for operand in command.allOperands { #expect(section.contains("\n       \(operand.name)")) }
    for example in command.examples {
      #expect(text.contains("\n       \(example.line)\n"), "\(example.line)")
    }
  }

  @Test("the sections are there, and apropos finds the name")
  func sections() throws {
    let text = try Self.formatted(ManualPage.command(.roomtone), columns: 80).text
    for section in [
      "NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT", "FILES",
      "EXAMPLES", "SEE ALSO",
    ] { #expect(text.contains("\n\(section)\n"), "\(section)") }
    #expect(text.contains("       roomtone - runs a home's audio from Lua scripts\n"))
    #expect(text.contains("roomtone-lua(3), crontab(5)"))
    let folder = try TemporaryFolder()
    let path = try folder.write(Array(ManualPage.command(.roomtone).utf8), to: "roomtone.1")
    #expect(
      try TestSupport.Command.succeed("lexgrog", [path]).text.contains("\"roomtone - runs a home's audio"))
  }

  @Test("text is shown as it is, whatever roff would make of it")
  func escaping() throws {
    var page = Roff(title: "x", section: "1", date: "", source: "x", manual: "x")
    let lines = [
      ".dot", "'quote", #"a\nb \fBbold\fR"#, "~/x -- `y` ^z", #"say "hi" it's"#, "\\", "a --b-c 'd'",
    ]
    for line in lines { page.paragraph(line) }
    page.term(written: Roff.bold(".term"), ".text")
    let result = try Self.formatted(page.text, columns: 80)
    #expect(result.errors.isEmpty)
    for line in lines + [".term\n           .text"] { #expect(result.text.contains("\(line)\n"), "\(line)") }
  }
}
