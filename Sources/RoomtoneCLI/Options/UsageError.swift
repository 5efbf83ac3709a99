internal import EventLoop

/// An error in a command line. The process exits with status 2.
struct UsageError: CodedError, Equatable {
  /// Kinds of errors.
  enum Kind: String, Sendable {
    /// An unknown command.
    case command = "usage.command"
    /// An option that does not exist, or that another one excludes.
    case option = "usage.option"
    /// A missing value, one for an option without a value, or one that cannot be parsed.
    case value = "usage.value"
    /// A missing operand, or one too many.
    case operand = "usage.operand"
  }

  /// Exit status for wrong usage.
  static let exitStatus: Int32 = 2

  let kind: Kind
  let message: String
  /// Reference to the help: `see roomtone run --help`.
  let hint: String?

  init(_ kind: Kind, _ message: String, help command: String) {
    (self.kind, self.message, hint) = (kind, message, "see \(command) --help")
  }

  /// Stable name of the kind.
  var code: String { kind.rawValue }

  /// Line for standard error, without its end and without the code, which is for programs.
  var line: String { "roomtone: \(message)" + (hint.map { " (\($0))" } ?? "") }
}

/// Returns `text` for a message: in quotes, on one line, at most 60 characters.
func quoted(_ text: String) -> String { quoted(text, by: "'", atMost: 60) }

/// Returns the known word that `word` was probably meant to be: the one it begins, or the one it resembles.
func probable(_ word: String, among known: [String]) -> String? {
  let longer = word.utf8.count < 2 ? [] : known.filter { $0.hasPrefix(word) }
  return longer.count == 1 ? longer[0] : nearest(word, among: known)
}
