/// The action of the process for its command line.
enum Invocation: Sendable, Equatable {
  /// Destination of a text.
  enum Stream: Sendable { case output, error }

  /// Performs a command.
  case perform(ParsedArguments)
  /// Shows the help of a name: of a command, or of the Lua API.
  case explain(String, CommandSpec?)
  /// Writes a text, which ends with a line end, and exits with a status.
  case show(String, on: Stream, status: Int32)

  /// Parses the words after the program's name; never fails, since an error becomes a text to show.
  init(_ arguments: [String], program: ProgramSpec = .roomtone) {
    do {
      switch try ArgumentParser(program).parse(arguments) {
      case .perform(let arguments): self = .perform(arguments)
      case .topic(let name, let command): self = .explain(name, command)
      case .help(let command?): self = .show(HelpText(command, of: program).text, on: .output, status: 0)
      case .actionHelp(let command, let action):
        self = .show(HelpText(action, of: command, program).text, on: .output, status: 0)
      case .help(nil): self = .show(HelpText(program).text, on: .output, status: 0)
      case .version: self = .show("\(program.name) \(program.version)\n", on: .output, status: 0)
      case .nothing: self = .show(HelpText(program).text, on: .error, status: UsageError.exitStatus)
      }
    } catch {
      self = .show(error.line + "\n", on: .error, status: UsageError.exitStatus)
    }
  }
}
