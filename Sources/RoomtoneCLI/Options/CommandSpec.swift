/// The program: its commands, and the options before a command.
struct ProgramSpec: Sendable, Equatable {
  /// Name of the program, as typed.
  let name: String
  let version: String
  /// Purpose of the program: one sentence.
  let summary: String
  let commands: [CommandSpec]
  /// Options that are valid without a command.
  let options: [OptionSpec]
  let notes: [String]
  let examples: [ExampleSpec]
  /// Environment variables that the program reads, for the manual page.
  var environment: [FactSpec] = []
  /// Files that the program reads and writes, for the manual page.
  var files: [FactSpec] = []

  /// Returns the command called `name`.
  func command(_ name: String) -> CommandSpec? { commands.first { $0.name == name } }
}

/// A command, as specified for the parser and the help text.
struct CommandSpec: Sendable, Equatable {
  let name: String
  /// Purpose: one line, in lower case and without a full stop.
  let summary: String
  /// Operands in their order.
  let operands: [OperandSpec]
  /// Options, besides the `--help` of every command.
  let options: [OptionSpec]
  /// Actions, selected by the first word; without a word the first one applies. Operands and options are
  /// those of the action.
  var actions: [ActionSpec] = []
  /// Paragraphs that help shows below the summary.
  let notes: [String]
  let examples: [ExampleSpec]

  /// Options, including those of every command.
  var allOptions: [OptionSpec] { options + [.help] }
}

/// An action of a command.
struct ActionSpec: Sendable, Equatable {
  let name: String
  /// Purpose: one line, in lower case and without a full stop.
  let summary: String
  var operands: [OperandSpec] = []
  /// The command's options that are valid with the action.
  var options: [OptionSpec] = []
  /// Index, from 0, of the operand with which an inner command line begins: from there on, words that are not
  /// options of this command belong to that line, with their dashes. Nil without an inner line.
  var innerCommand: Int?
  /// Paragraphs that help shows below the command's own.
  var notes: [String] = []
}

/// An operand of a command.
struct OperandSpec: Sendable, Equatable {
  /// Name in the help text: `SCRIPT`.
  let name: String
  /// Meaning: one line, in lower case and without a full stop.
  let summary: String
  /// `true` if the operand may be omitted.
  var isOptional = false
  /// `true` if the operand consumes all remaining ones; for the last one only.
  var isRepeated = false
  /// `true` if the operand may be a negative number, which is not an option then.
  var isSigned = false
  /// Long name of the option that replaces this operand.
  var replacement: String?
  /// The values that shells propose.
  var sources: [ValueSource] = []
}

/// An environment variable or a file, and its meaning: a sentence without a full stop.
struct FactSpec: Sendable, Equatable {
  let name: String
  let meaning: String

  init(_ name: String, _ meaning: String) { (self.name, self.meaning) = (name, meaning) }
}

/// A working command line, and its purpose.
struct ExampleSpec: Sendable, Equatable {
  let line: String
  let purpose: String

  init(_ line: String, _ purpose: String) { (self.line, self.purpose) = (line, purpose) }
}
