internal import Database

/// What scripts keep between their runs: JSON texts by script and key, in a SQLite file that several processes may use
/// at once. Opened when a script first asks.
///
/// Nothing is kept in memory: what another process has written is seen at once. A damaged file is set aside and a new
/// one begun, as is one that was removed meanwhile. Confined to the loop.
public final class ScriptStore {
  /// Takes what a person should know, in one line.
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

  /// The store in the file at `path`; nil for one in memory, which ends with this object.
  public init(path: String?) { self.path = path ?? Database.inMemory }

  /// The text at `key`, nil when there is none.
  func text(_ key: String, of script: String) throws -> String? {
    try perform {
      try $0.query("SELECT json FROM value WHERE script = ? AND key = ?", [.text(script), .text(key)])
        .first?.text(0)
    }
  }

  /// Keeps a text. When this returns it outlives this process, however that ends.
  func set(_ key: String, to text: String, of script: String) throws {
    _ = try perform {
      try $0.execute(
        "INSERT INTO value VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET json = excluded.json",
        [.text(script), .text(key), .text(text)])
    }
  }

  /// Lets the text at `key` go.
  /// - Returns: whether there was one.
  func remove(_ key: String, of script: String) throws -> Bool {
    try perform {
      try $0.execute("DELETE FROM value WHERE script = ? AND key = ?", [.text(script), .text(key)]) > 0
    }
  }

  /// The keys of a script, sorted by their bytes.
  func keys(of script: String) throws -> [String] {
    try perform {
      try $0.query("SELECT key FROM value WHERE script = ? ORDER BY key", [.text(script)]).map {
        try $0.text(0)
      }
    }
  }

  /// The error for what stands at `key` and can't be read.
  func damaged(_ key: String) -> DatabaseError {
    DatabaseError(.damaged, path: path, "what it holds as \"\(key)\" is no JSON")
  }

  /// Does `work` with the database. When the file turns out to be damaged or gone, once more with a new one.
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
    // The loop waits meanwhile, so not for long.
    let new = try Database.openOrRenew(path: path, migrations: Self.migrations, busyTimeout: .seconds(1))
    opened = new.database
    if let place = new.setAside { tell(place) }
    return new.database
  }

  private func renew(_ database: Database) throws -> Database {
    let renewed = try database.renewed(migrations: Self.migrations)
    opened = renewed.database
    if let place = renewed.setAside { tell(place) }
    return renewed.database
  }

  private func tell(_ place: String) {
    onLog("what scripts had stored was damaged and is now \(place); a new store begins")
  }
}
