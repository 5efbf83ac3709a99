public import Database
public import EventLoop

/// Values that scripts keep between their runs: JSON texts by script and key, in a SQLite file that several processes
/// may use at once. Opened by the first request.
///
/// No value is cached, so that those of another process are seen at once. A damaged file is set aside and replaced by a
/// new one, as is one that was removed meanwhile. Confined to the loop.
public final class ScriptStore {
  /// Receives a line for the log when a damaged file was set aside.
  public var onLog: (String) -> Void = { _ in }

  private let path: String
  private var opened: Database?
  private static let migrations = [
    """
    CREATE TABLE value (
      script TEXT NOT NULL,
      key TEXT NOT NULL,
      json TEXT NOT NULL,
      PRIMARY KEY (script, key)
    ) STRICT;
    """
  ]

  /// Creates a store in the file at `path`; nil for one in memory, which ends with this object.
  public init(path: String?) { self.path = path ?? Database.inMemory }

  /// Returns the text at `key`, nil when there is none.
  public func text(_ key: String, of script: String) throws -> String? {
    try perform {
      try $0.query("SELECT json FROM value WHERE script = ? AND key = ?", [.text(script), .text(key)])
        .first?.text(0)
    }
  }

  /// Stores a text. On return it outlives this process, however that ends.
  public func set(_ key: String, to text: String, of script: String) throws {
    _ = try perform {
      try $0.execute(
        "INSERT INTO value VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET json = excluded.json",
        [.text(script), .text(key), .text(text)])
    }
  }

  /// Removes the text at `key`.
  /// - Returns: true if there was one.
  public func remove(_ key: String, of script: String) throws -> Bool {
    try perform {
      try $0.execute("DELETE FROM value WHERE script = ? AND key = ?", [.text(script), .text(key)]) > 0
    }
  }

  /// Returns the keys of a script, sorted by their bytes.
  public func keys(of script: String) throws -> [String] {
    try perform {
      try $0.query("SELECT key FROM value WHERE script = ? ORDER BY key", [.text(script)]).map {
        try $0.text(0)
      }
    }
  }

  /// The error for a text at `key` that is no JSON.
  public func damaged(_ key: String) -> DatabaseError {
    DatabaseError(.damaged, path: path, "what it holds as \"\(key)\" is no JSON")
  }

  /// Runs `work` with the database, and once more with a new one when the file turns out to be damaged.
  private func perform<Result>(_ work: (Database) throws -> Result) throws -> Result {
    let database = try ready()
    do {
      return try work(database)
    } catch let error as DatabaseError where error.kind == .damaged {
      return try work(try renew(database))
    }
  }

  private func ready() throws -> Database {
    if let opened { return opened.hasMoved ? try renew(opened) : opened }
    // Blocks the loop, so for a short time only.
    let new = try Database.openOrRenew(path: path, migrations: Self.migrations, busyTimeout: .seconds(1))
    opened = new.database
    if let place = new.setAside { reportDamage(setAside: place) }
    return new.database
  }

  private func renew(_ database: Database) throws -> Database {
    let renewed = try database.renewed(migrations: Self.migrations)
    opened = renewed.database
    if let place = renewed.setAside { reportDamage(setAside: place) }
    return renewed.database
  }

  private func reportDamage(setAside place: String) {
    onLog("what scripts had stored was damaged and is now \(place); a new store begins")
  }
}
