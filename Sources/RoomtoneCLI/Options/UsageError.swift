internal import EventLoop
internal import LuaRuntime

/// What is wrong with a command line. The process ends with status 2.
struct UsageError: CodedError, Equatable {
  /// What kinds of errors there are.
  enum Kind: String, Sendable {
    /// A command that does not exist.
    case command = "usage.command"
    /// An option that does not exist, or does not go with another one.
    case option = "usage.option"
    /// A value that is missing, that the option does not take, or that cannot be read.
    case value = "usage.value"
    /// An operand that is missing or one too many.
    case operand = "usage.operand"
  }

  /// Exit status of a process that was called the wrong way.
  static let exitStatus: Int32 = 2

  let kind: Kind
  let message: String
  /// Where to read on: `see roomtone run --help`.
  let hint: String?

  init(_ kind: Kind, _ message: String, help command: String) {
    (self.kind, self.message, hint) = (kind, message, "see \(command) --help")
  }

  /// The stable name of the kind.
  var code: String { kind.rawValue }

  /// The line for standard error, without its end: the code is for programs and left out.
  var line: String { "roomtone: \(message)" + (hint.map { " (\($0))" } ?? "") }
}

/// `text` as it stands in messages: in quotes, on one line, not longer than a line.
func quoted(_ text: String) -> String {
  let visible = text.unicodeScalars.prefix(60).map { scalar in
    scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value) ? "?" : String(scalar)
  }
  return "'" + visible.joined() + (text.unicodeScalars.count > 60 ? "…'" : "'")
}

/// The known word that `word` was probably meant to be: the one it begins, or the one it resembles.
func probable(_ word: String, among known: [String]) -> String? {
  let longer = word.utf8.count < 2 ? [] : known.filter { $0.hasPrefix(word) }
  return longer.count == 1 ? longer[0] : nearest(word, among: known)
}
