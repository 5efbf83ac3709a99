public import EventLoop

/// Why a database could not be used. Matched by `kind` in Swift and by `code` in scripts.
public struct DatabaseError: CodedError, Equatable {
  /// The stable names.
  public enum Kind: String, Sendable, CaseIterable {
    /// Another process did not let go of it in time.
    case busy = "database.busy"
    /// No space is left for it.
    case full = "database.full"
    /// The file is no database, or a broken one.
    case damaged = "database.damaged"
    /// A later version of the program made it.
    case newer = "database.newer"
    /// It can't be opened, read or written.
    case unavailable = "database.unavailable"
    /// A statement is wrong, or asks for what a table does not allow.
    case statement = "database.statement"
  }

  /// Which failure.
  public let kind: Kind
  /// Where the file is.
  public let path: String
  /// What failed, one line, with SQLite's and the system's words where they have some.
  public let message: String

  /// A failure of `kind` with the database at `path`; `words` say more.
  public init(_ kind: Kind, path: String, _ words: String = "") {
    self.kind = kind
    self.path = path
    let what = kind.phrase(path.onOneLine)
    message = words.isEmpty ? what : "\(what): \(words.onOneLine)"
  }

  /// The stable name, as scripts see it.
  public var code: String { kind.rawValue }
  /// What to do, where there is something.
  public var hint: String? {
    switch kind {
    case .busy: "end the process that holds it, or try again"
    case .full: "make room on its disk"
    case .newer: "run the newer roomtone, or move the file away"
    case .unavailable: "see whether its folder is there and may be written to"
    case .damaged, .statement: nil
    }
  }
  /// The path.
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
