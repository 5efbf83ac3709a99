/// The weight of a line of the log, in ascending order.
public enum LogLevel: String, Sendable, CaseIterable, Comparable {
  case debug, info, warn, error

  /// The order of `allCases`.
  public static func < (one: LogLevel, other: LogLevel) -> Bool { one.rank < other.rank }

  private var rank: Int {
    switch self {
    case .debug: 0
    case .info: 1
    case .warn: 2
    case .error: 3
    }
  }
}
