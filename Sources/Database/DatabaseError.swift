public import EventLoop

/// The failure of a database. Matched by `kind` in Swift and by `code` in scripts.
public struct DatabaseError: CodedError, Equatable {
  /// The kinds of failure; the raw value is the stable code.
  public enum Kind: String, Sendable, CaseIterable {
    /// A lock of another process was not released in time.
    case busy = "database.busy"
    /// The disk is full.
    case full = "database.full"
    /// The file is no database, or a broken one.
    case damaged = "database.damaged"
    /// The file was made by a later version of the program.
    case newer = "database.newer"
    /// The file can't be opened, read or written.
    case unavailable = "database.unavailable"
    /// A statement is wrong, or violates a constraint of a table.
    case statement = "database.statement"
  }

  /// The kind of failure.
  public let kind: Kind
  /// The path of the file.
  public let path: String
  /// The failure in one line, with SQLite's and the system's words where they have some.
  public let message: String

  /// A failure of `kind` with the database at `path`; `words` add details.
  public init(_ kind: Kind, path: String, _ words: String = "") {
    self.kind = kind
    self.path = path
    let what = kind.phrase(path.onOneLine)
    message = words.isEmpty ? what : "\(what): \(words.onOneLine)"
  }

  /// The stable code, as scripts see it.
  public var code: String { kind.rawValue }
  /// The advice to the user; nil when there is none.
  public var hint: String? {
    switch kind {
    case .busy: "end the process that holds it, or try again"
    case .full: "make room on its disk"
    case .newer: "run the newer roomtone, or move the file away"
    case .unavailable: "see whether its folder is there and may be written to"
    case .damaged, .statement: nil
    }
  }
  /// The path of the file.
  public var facts: [ErrorFact] { [ErrorFact("path", .string(path))] }
}

extension DatabaseError.Kind {
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
