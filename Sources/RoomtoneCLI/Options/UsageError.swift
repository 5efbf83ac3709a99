internal import EventLoop

/// An error in a command line. The process exits with status 2.
typealias UsageError = Failure<UsageErrorKind>

/// The kinds of errors in a command line; the raw value is the stable code.
enum UsageErrorKind: String, FailureKind {
  /// An unknown command.
  case command = "usage.command"
  /// An option that does not exist, or that another option excludes.
  case option = "usage.option"
  /// A missing value, a value for an option without one, or a value that can't be parsed.
  case value = "usage.value"
  /// A missing operand, or an operand too many.
  case operand = "usage.operand"
}

extension UsageError {
  /// Exit status for wrong usage.
  static var exitStatus: Int32 { 2 }

  /// Creates an error with a hint at the help of a command: `see roomtone run --help`.
  init(_ kind: Kind, _ message: String, help command: String) {
    self.init(kind, message, hint: "see \(command) --help")
  }

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
