public import EventLoop

/// The facts of a job that outlive the process.
public struct JobRecord: Sendable, Equatable {
  /// The moment for which the next run is due; nil without one.
  public var next: WallTime?
  /// The start of the last run, nil before the first.
  public var last: WallTime?
  /// The moment for which the last run was due, nil before the first.
  public var lastDue: WallTime?
  /// The number of runs in a row that have failed, up to the last one.
  public var failuresInRow = 0

  /// Creates a record of these facts.
  public init(
    next: WallTime? = nil, last: WallTime? = nil, lastDue: WallTime? = nil, failuresInRow: Int = 0
  ) {
    (self.next, self.last, self.lastDue, self.failuresInRow) = (next, last, lastDue, failuresInRow)
  }
}

/// The records of jobs, by the identity of their owner and their name. Confined to the loop.
public protocol JobMemory: AnyObject {
  /// Returns the record of a job; nil for a new one.
  func record(of name: String, owner: String) -> JobRecord?
  /// Keeps the record of a job; nil removes it.
  func keep(_ record: JobRecord?, of name: String, owner: String)
}

/// The policy for a missed run: the machine was off or asleep, or its clock was wrong.
public struct LateRunPolicy: Sendable, Equatable {
  /// The delay up to which a run begins late, if nothing else is set.
  public static let usualGrace = Duration.seconds(600)

  /// `true` if the last of the missed runs is made up for, once.
  public let catchesUp: Bool
  /// The delay up to which a run begins late; nil for the usual one, or for any delay if it catches up.
  public let grace: Duration?

  /// Creates a policy; without arguments runs begin up to ten minutes late.
  public init(catchesUp: Bool = false, grace: Duration? = nil) {
    (self.catchesUp, self.grace) = (catchesUp, grace)
  }

  /// Returns `true` if a run that is late by `delay` still begins.
  func begins(after delay: Duration) -> Bool {
    if let grace { return delay <= grace }
    return catchesUp || delay <= Self.usualGrace
  }
}
