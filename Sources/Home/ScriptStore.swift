public import Database
public import EventLoop
public import Scheduling

/// A value for which the store of a script has no space.
public typealias StoreError = Failure<StoreErrorKind>

/// The kinds of `StoreError`.
public enum StoreErrorKind: String, FailureKind {
  /// The script has reached its limit, or the disk would have less than the least free space.
  case full = "store.full"
}

/// The memory of scripts between their runs, in a SQLite file that several processes may use at once: values as JSON
/// texts by script and key, and the records of jobs. Opened by the first request.
///
/// No value is cached, so that values of another process are seen at once. A damaged file is set aside and
/// replaced by a new one, as is one that was removed meanwhile. Confined to the loop.
public final class ScriptStore {
  /// The free space of the disk, in bytes, that no new value may use.
  public var minimumFree = 0

  private let log: (String) -> Void
  private let path: String
  private var opened: Database?
  private var listeners = Listeners<(_ key: String) -> Void>()
  private static let migrations = [
    """
    CREATE TABLE value (
      script TEXT NOT NULL,
      key TEXT NOT NULL,
      json TEXT NOT NULL,
      PRIMARY KEY (script, key)
    ) STRICT;
    """,
    """
    CREATE TABLE job (
      script TEXT NOT NULL,
      name TEXT NOT NULL,
      next INTEGER,
      last INTEGER,
      last_due INTEGER,
      failures_in_row INTEGER NOT NULL,
      PRIMARY KEY (script, name)
    ) STRICT;
    """,
    // Triggers keep the bytes of keys and values of each script, so that checking a limit costs one look-up.
    """
    CREATE TABLE usage (script TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;
    INSERT INTO usage SELECT script, sum(length(CAST(key AS BLOB)) + length(CAST(json AS BLOB)))
      FROM value GROUP BY script;
    CREATE TRIGGER value_added AFTER INSERT ON value BEGIN
      INSERT INTO usage
        VALUES (new.script, length(CAST(new.key AS BLOB)) + length(CAST(new.json AS BLOB)))
        ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
    END;
    CREATE TRIGGER value_changed AFTER UPDATE ON value BEGIN
      UPDATE usage SET bytes = bytes + length(CAST(new.json AS BLOB)) - length(CAST(old.json AS BLOB))
        WHERE script = new.script;
    END;
    CREATE TRIGGER value_removed AFTER DELETE ON value BEGIN
      UPDATE usage SET bytes = bytes - length(CAST(old.key AS BLOB)) - length(CAST(old.json AS BLOB))
        WHERE script = old.script;
    END;
    """,
  ]

  /// Creates a store.
  /// - Parameters:
  ///   - path: the file; nil for memory, which ends with this object.
  ///   - log: receives a line for the log when a damaged file was set aside.
  public init(path: String?, log: @escaping (String) -> Void = { _ in }) {
    (self.path, self.log) = (path ?? Database.inMemory, log)
  }

  /// Returns the text at `key`; nil without one.
  public func text(_ key: String, of script: String) throws -> String? {
    try perform {
      try $0.query("SELECT json FROM value WHERE script = ? AND key = ?", [.text(script), .text(key)])
        .first?.text(0)
    }
  }

  /// Stores a text. On return it outlives this process, however that ends.
  /// - Parameter limit: the most bytes of keys and texts that the script may keep. A script that keeps more
  ///   already may still replace a text by one that is not longer.
  /// - Throws: `store.full`, and the errors of the database.
  public func set(_ key: String, to text: String, of script: String, limit: Int = .max) throws {
    try perform { database in
      try database.transaction {
        let old = try database.query(
          "SELECT length(CAST(json AS BLOB)) FROM value WHERE script = ? AND key = ?",
          [.text(script), .text(key)]
        ).first?.int(0)
        let size = text.utf8.count
        let growth = old.map { size - Int($0) } ?? size + key.utf8.count
        if growth > 0 { try requireRoom(for: growth, key, of: script, limit, in: database) }
        try database.execute(
          "INSERT INTO value VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET json = excluded.json",
          [.text(script), .text(key), .text(text)])
      }
    }
    reportChange(of: key)
  }

  /// Calls `body` with the key of each value that this process stores or removes, as long as the store exists.
  public func listen(_ body: @escaping (_ key: String) -> Void) { _ = listeners.add(body) }

  private func reportChange(of key: String) { for listener in listeners.all { listener(key) } }

  private func requireRoom(
    for growth: Int, _ key: String, of script: String, _ limit: Int, in database: Database
  ) throws {
    let kept = try database.query("SELECT bytes FROM usage WHERE script = ?", [.text(script)]).first?.int(0)
    if Int(kept ?? 0) > limit - growth {
      throw StoreError(
        .full,
        "no room for \"\(key.onOneLine)\": this script keeps \(ByteSize.describe(Int(kept ?? 0))), and "
          + "\(limit >> 20) MiB are the most",
        hint:
          "delete keys that are not needed any more, keep large data in files, or set limits { store = MB } "
          + "in the configuration")
    }
    guard path != Database.inMemory else { return }
    if let lack = DiskRoom(at: path, minimumFree: minimumFree).lack(of: growth) {
      throw StoreError(
        .full, "no room for \"\(key.onOneLine)\": \(lack)",
        hint: "make room on the disk, or set a smaller min_free in the configuration")
    }
  }

  /// Removes the text at `key`.
  /// - Returns: `true` if there was one.
  public func remove(_ key: String, of script: String) throws -> Bool {
    let wasThere = try perform {
      try $0.execute("DELETE FROM value WHERE script = ? AND key = ?", [.text(script), .text(key)]) > 0
    }
    if wasThere { reportChange(of: key) }
    return wasThere
  }

  /// Returns the keys of a script that begin with a prefix, sorted by their bytes.
  public func keys(of script: String, prefix: String = "") throws -> [String] {
    try perform {
      // Sorted by bytes, the keys with the prefix follow each other from the prefix itself on.
      try $0.query(
        "SELECT key FROM value WHERE script = ? AND key >= ? ORDER BY key", [.text(script), .text(prefix)]
      )
      .map { try $0.text(0) }
      .prefix { $0.utf8.starts(with: prefix.utf8) }
    }.map { $0 }
  }

  /// The error for a text at `key` that is not JSON.
  public func damaged(_ key: String) -> DatabaseError {
    DatabaseError(.damaged, path: path, "its value of \"\(key)\" is not JSON")
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
    // The wait blocks the loop, so its limit is short.
    let new = try Database.openOrRenew(path: path, migrations: Self.migrations, busyTimeout: .seconds(1))
    opened = new.database
    if let copy = new.setAside { reportDamage(setAside: copy) }
    return new.database
  }

  private func renew(_ database: Database) throws -> Database {
    let renewed = try database.renewed(migrations: Self.migrations)
    opened = renewed.database
    if let copy = renewed.setAside { reportDamage(setAside: copy) }
    return renewed.database
  }

  /// `true` after a failure with the records of jobs, which is reported once.
  private var hasFailed = false

  private func reportDamage(setAside copy: String) {
    log("the store of the scripts was damaged and is now \(copy); a new store begins")
  }
}

// MARK: Jobs

/// Times are kept in nanoseconds since 1970. A record that can't be read or kept is reported once, as a job
/// is more important than its record.
extension ScriptStore: JobMemory {
  /// Returns the record of a job; nil without one.
  public func record(of name: String, owner: String) -> JobRecord? {
    attempt {
      try perform {
        try $0.query(
          "SELECT next, last, last_due, failures_in_row FROM job WHERE script = ? AND name = ?",
          [.text(owner), .text(name)]
        ).first.map { row in
          JobRecord(
            next: try row.intOrNil(0).map(WallTime.init(nanoseconds:)),
            last: try row.intOrNil(1).map(WallTime.init(nanoseconds:)),
            lastDue: try row.intOrNil(2).map(WallTime.init(nanoseconds:)), failuresInRow: Int(try row.int(3)))
        }
      }
    } ?? nil
  }

  /// Keeps the record of a job; nil removes it.
  public func keep(_ record: JobRecord?, of name: String, owner: String) {
    _ = attempt {
      try perform { database in
        guard let record else {
          return try database.execute(
            "DELETE FROM job WHERE script = ? AND name = ?", [.text(owner), .text(name)])
        }
        func value(_ time: WallTime?) -> DatabaseValue { time.map { .int($0.nanoseconds) } ?? .null }
        return try database.execute(
          """
          INSERT INTO job VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET next = excluded.next,
            last = excluded.last, last_due = excluded.last_due, failures_in_row = excluded.failures_in_row
          """,
          [
            .text(owner), .text(name), value(record.next), value(record.last), value(record.lastDue),
            .int(Int64(record.failuresInRow)),
          ])
      }
    }
  }

  private func attempt<Result>(_ work: () throws -> Result) -> Result? {
    do { return try work() } catch {
      if !hasFailed { log("the last runs of jobs are not kept: \(error)") }
      hasFailed = true
      return nil
    }
  }
}
