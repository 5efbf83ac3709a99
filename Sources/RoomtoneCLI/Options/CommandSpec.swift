/// The program: its commands, and what stands before a command.
struct ProgramSpec: Sendable, Equatable {
  /// What a person types.
  let name: String
  let version: String
  /// What it is for: one sentence.
  let summary: String
  let commands: [CommandSpec]
  /// Options without a command.
  let options: [OptionSpec]
  let notes: [String]
  let examples: [ExampleSpec]

  /// The command called `name`.
  func command(_ name: String) -> CommandSpec? { commands.first { $0.name == name } }
}

/// One command: all that the parser and the help text know of it.
struct CommandSpec: Sendable, Equatable {
  let name: String
  /// What it does: one line, in lower case and without a full stop.
  let summary: String
  /// What it takes besides options, in their order.
  let operands: [OperandSpec]
  /// Its options; every command has `--help` besides.
  let options: [OptionSpec]
  /// What it can do, by the word that comes first; the first of them is meant when there is none. Operands and options are
  /// those of the action.
  var actions: [ActionSpec] = []
  /// Paragraphs that help shows below the summary.
  let notes: [String]
  let examples: [ExampleSpec]

  /// Its options with those that every command has.
  var allOptions: [OptionSpec] { options + [.help] }
}

/// One of the things that a command does.
struct ActionSpec: Sendable, Equatable {
  let name: String
  /// What it does: one line, in lower case and without a full stop.
  let summary: String
  var operands: [OperandSpec] = []
  /// Those of the command's options that go with it.
  var options: [OptionSpec] = []
  /// The number of the operand with which another command line begins, counted from 0: from there on words that are no
  /// options of this command belong to that, with their dashes. Nil where there is none.
  var innerCommand: Int?
  /// Paragraphs that help shows below the command's own.
  var notes: [String] = []
}

/// What a command takes besides options.
struct OperandSpec: Sendable, Equatable {
  /// How help writes it: `SCRIPT`.
  let name: String
  /// What it stands for: one line, in lower case and without a full stop.
  let summary: String
  /// Whether the command can do without.
  var isOptional = false
  /// Whether it takes all operands that are left. Only the last one may.
  var isRepeated = false
  /// Long name of the option that stands in for this operand.
  var replacement: String?
}

/// A command line that works as it stands, and what it does.
struct ExampleSpec: Sendable, Equatable {
  let line: String
  let purpose: String

  init(_ line: String, _ purpose: String) { (self.line, self.purpose) = (line, purpose) }
}
