/// Counts the connections in a row that sent a file from its start, and ended before they brought a new byte of it: a server
/// that sends no parts of files, and does not last, never brings the rest.
struct FileRestarts {
  /// The number of such connections after which the file is given up.
  static let limit = 5

  private enum Connection {
    /// No answer has come, or it begins where the one before ended.
    case other
    /// Bytes come again that are there already.
    case restarted
  }

  private var connection = Connection.other
  private var count = 0

  /// Records an answer from byte `first` on to a request for the bytes from `wanted` on.
  mutating func answered(from first: Int, wanted: Int) {
    connection = first < wanted ? .restarted : .other
  }

  /// Records that bytes have come that had not before.
  mutating func advanced() { (connection, count) = (.other, 0) }

  /// Records that another connection is to be opened.
  /// - Returns: `true` if it would be in vain.
  mutating func isInVain() -> Bool {
    if connection == .restarted { count += 1 }
    connection = .other
    return count >= Self.limit
  }
}
