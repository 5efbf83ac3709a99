import TestTraits
import Testing

@testable import RoomtoneCLI

@Suite(.tags(.help)) struct HelpTextTests {
  @Test(
    "no line is wider than 80 columns, ends with a space or has other characters than ASCII",
    arguments: ["help"] + ProgramSpec.roomtone.commands.map(\.name))
  func width(name: String) {
    let text =
      ProgramSpec.roomtone.command(name).map { HelpText($0, of: .roomtone).text } ?? HelpText(.roomtone).text
    #expect(text.hasSuffix("\n") && !text.hasSuffix("\n\n") && !text.contains("\n\n\n"))
    for line in text.split(separator: "\n") {
      #expect(line.count <= 80 && !line.hasSuffix(" ") && line.utf8.allSatisfy { $0 < 0x80 }, "\(line)")
    }
  }

  @Test("all there is of a command is in its help", arguments: ProgramSpec.roomtone.commands.map(\.name))
  func complete(name: String) throws {
    let command = try #require(ProgramSpec.roomtone.command(name))
    let text = HelpText(command, of: .roomtone).text
    for option in command.allOptions {
      #expect(text.contains("\n  \(option.synopsis)"), "\(option.synopsis)")
    }
    for operand in command.operands + command.actions.flatMap(\.operands) {
      #expect(text.contains("\n  \(operand.name) "))
    }
    for action in command.actions { #expect(text.contains("\n  \(action.name) ")) }
    #expect(!command.examples.isEmpty)
    #expect(HelpText(.roomtone).text.contains("\n  \(name) "))
  }

  @Test("summaries begin in one column", arguments: ProgramSpec.roomtone.commands.map(\.name))
  func alignment(name: String) throws {
    let command = try #require(ProgramSpec.roomtone.command(name))
    let lines = HelpText(command, of: .roomtone).text.split(separator: "\n")
    let columns = try command.allOptions.map { option in
      let line = try #require(lines.first { $0.hasPrefix("  \(option.synopsis) ") }, "\(option.synopsis)")
      let gap = line.dropFirst(2 + option.synopsis.count)
      let summary = gap.drop { $0 == " " }
      #expect(option.summary.hasPrefix(summary))
      return line.count - summary.count
    }
    #expect(Set(columns).count == 1, "\(columns)")
  }

  @Test("the help of a command, word for word")
  func repl() {
    #expect(
      HelpText(.repl, of: .roomtone).text == """
        Usage: roomtone repl [OPTIONS] [SCRIPT]

        Reads Lua from a prompt and shows results.

        Operands:
          SCRIPT  a Lua file to run before the first prompt

        Options:
              --house DRIVER   the driver in place of the configured one: house,
                               snapcast, hkwhub
              --output OUTPUT  where the speakers sound: alsa, alsa:DEVICE, wav:DIR or
                               null
              --config FILE    the configuration (default:
                               $XDG_CONFIG_HOME/roomtone/config.lua)
              --attach         goes through the daemon, which must run
              --no-attach      never goes through the daemon
              --script NAME    the name of the script
          -h, --help           shows this help

        Ctrl-C cancels the routine in front, Ctrl-D leaves. Without a terminal it reads
        standard input to its end, and the exit status is 1 when a line failed.

        While a daemon runs the prompt is inside it: lines run in the state of 'roomtone
        ctl eval', whose variables stay until 'os.exit()', or with --script in that of a
        script. With --house, --output or --config, and with --no-attach, it opens a
        house itself, which fails while the daemon has that house.

        Examples:
          roomtone repl
              a prompt with the speakers of your configuration
          roomtone repl --output null wake_up.lua
              runs a script first, without sound

        """)
  }

  @Test("a command that can do without its first operand shows both forms")
  func forms() {
    #expect(
      HelpText(.run, of: .roomtone).text.hasPrefix(
        """
        Usage: roomtone run [OPTIONS] SCRIPT [ARGS...]
               roomtone run [OPTIONS] -e CODE [ARGS...]

        """))
  }

  @Test(
    "the help of an action is that of its operands and options",
    arguments: ProgramSpec.roomtone.commands.flatMap { command in
      command.actions.map { "\(command.name) \($0.name)" }
    })
  func action(name: String) throws {
    let words = name.split(separator: " ").map(String.init)
    let command = try #require(ProgramSpec.roomtone.command(words[0]))
    let action = try #require(command.actions.first { $0.name == words[1] })
    let text = HelpText(action, of: command, .roomtone).text
    #expect(text.hasPrefix("Usage: roomtone \(name) [OPTIONS]"))
    for option in action.options { #expect(text.contains("\n  \(option.synopsis)")) }
    for operand in action.operands { #expect(text.contains("\n  \(operand.name) ")) }
    for line in text.split(separator: "\n") { #expect(line.count <= 80 && !line.hasSuffix(" "), "\(line)") }
  }

  @Test("a command with actions shows each of them")
  func actions() {
    #expect(
      HelpText(.cron, of: .roomtone).text.hasPrefix(
        """
        Usage: roomtone cron [OPTIONS] [list]
               roomtone cron [OPTIONS] add EXPR SCRIPT [ARGS...]
               roomtone cron [OPTIONS] run NAME
               roomtone cron [OPTIONS] remove NAME

        """))
  }

  @Test("help and version go to standard output, the overview after a mistake to standard error")
  func streams() {
    let overview = HelpText(.roomtone).text
    #expect(Invocation([]) == .show(overview, on: .error, status: 2))
    #expect(Invocation(["help"]) == .show(overview, on: .output, status: 0))
    #expect(Invocation(["run", "-h"]) == .show(HelpText(.run, of: .roomtone).text, on: .output, status: 0))
    #expect(
      Invocation(["--version"]) == .show("roomtone \(ProgramSpec.roomtone.version)\n", on: .output, status: 0)
    )
  }

  @Test("every example is a command line that the parser accepts")
  func examples() throws {
    let examples = ProgramSpec.roomtone.examples + ProgramSpec.roomtone.commands.flatMap(\.examples)
    for example in examples {
      let quoted = example.line.split(separator: "'", omittingEmptySubsequences: false)
      let words = quoted.enumerated().flatMap { index, part in
        index % 2 == 1 ? [String(part)] : part.split(separator: " ").map(String.init)
      }
      #expect(words.first == "roomtone")
      guard case .perform = try ArgumentParser().parse(Array(words.dropFirst())) else {
        Issue.record("\(example.line)")
        continue
      }
    }
  }

  @Test("the table holds together: names are unique, exclusions and replacements exist")
  func table() {
    let program = ProgramSpec.roomtone
    #expect(Set(program.commands.map(\.name)).count == program.commands.count)
    for command in program.commands {
      let names = command.allOptions.map(\.long)
      let letters = command.allOptions.compactMap(\.short)
      #expect(Set(names).count == names.count && Set(letters).count == letters.count)
      #expect(command.options.flatMap(\.excludes).allSatisfy(names.contains))
      #expect(command.operands.compactMap(\.replacement).allSatisfy(names.contains))
      #expect(command.operands.dropLast().allSatisfy { !$0.isRepeated })
      // Each option belongs to an action, and each action has its own only.
      let actions = command.actions
      #expect(Set(actions.map(\.name)).count == actions.count)
      #expect(actions.allSatisfy { action in action.options.allSatisfy(command.options.contains) })
      #expect(
        actions.isEmpty
          || command.options.allSatisfy { option in actions.contains { $0.options.contains(option) } })
      #expect(actions.isEmpty || command.operands.isEmpty)
      #expect(actions.allSatisfy { action in action.operands.dropLast().allSatisfy { !$0.isRepeated } })
    }
  }
}
