/// Counts the consecutive connections that sent a file from its start, and ended before they brought a new
/// byte: a server that sends no parts of files, and whose connections end early, never sends the rest.
struct FileRestarts {
  /// The number of such connections after which the file is given up.
  static let limit = 5

  private enum Connection {
    /// No answer has come, or it begins where the one before ended.
    case other
    /// Bytes received before come again.
    case restarted
  }

  private var connection = Connection.other
  private var count = 0

  /// Records an answer from byte `first` on to a request for the bytes from `wanted` on.
  mutating func answered(from first: Int, wanted: Int) {
    connection = first < wanted ? .restarted : .other
  }

  /// Records that new bytes have come.
  mutating func advanced() { (connection, count) = (.other, 0) }

  /// Records that another connection is needed.
  /// - Returns: `true` if it would be useless.
  mutating func isInVain() -> Bool {
    if connection == .restarted { count += 1 }
    connection = .other
    return count >= Self.limit
  }
}
