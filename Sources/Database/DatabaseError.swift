public import EventLoop

/// The failure of a database, with the fact `path`. Matched by `kind` in Swift and by `code` in scripts.
public typealias DatabaseError = Failure<DatabaseErrorKind>

/// The kinds of failure of a database; the raw value is the stable code, as scripts see it.
public enum DatabaseErrorKind: String, FailureKind, CaseIterable {
  /// A lock of another process was not released in time.
  case busy = "database.busy"
  /// The disk is full.
  case full = "database.full"
  /// The file is not a database, or a broken one.
  case damaged = "database.damaged"
  /// The file was created by a later version of the program.
  case newer = "database.newer"
  /// The file can't be opened, read or written.
  case unavailable = "database.unavailable"
  /// A statement is wrong, or violates a constraint of a table.
  case statement = "database.statement"

  /// The advice to the user; nil without any.
  public var hint: String? {
    switch self {
    case .busy: "end the process that holds it, or try again"
    case .full: "make room on its disk"
    case .newer: "run the newer roomtone, or move the file away"
    case .unavailable: "see whether its folder is there and may be written to"
    case .damaged, .statement: nil
    }
  }
}

extension DatabaseError {
  /// Creates a failure of the database at `path`, whose message begins with the words for `kind`.
  /// - Parameter detail: words after those for `kind`, such as those of SQLite and the system.
  public init(_ kind: Kind, path: String, _ detail: String = "") {
    let phrase = kind.phrase(path.onOneLine)
    self.init(
      kind, detail.isEmpty ? phrase : "\(phrase): \(detail.onOneLine)",
      facts: [ErrorFact("path", .string(path))])
  }
}

extension DatabaseErrorKind {
  fileprivate func phrase(_ path: String) -> String {
    switch self {
    case .busy: "another process holds the database \(path)"
    case .full: "no space is left for the database \(path)"
    case .damaged: "the database \(path) is damaged"
    case .newer: "a newer roomtone made the database \(path)"
    case .unavailable: "the database \(path) can't be used"
    case .statement: "the database \(path) refuses a statement"
    }
  }
}
