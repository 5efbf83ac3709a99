public import EventLoop
internal import Glibc

extension Database {
  /// Opens the database at `path` as `init` does. A damaged file is set aside, with its log, and a new one
  /// created.
  /// - Returns: the database, and the damaged file's new path if there was one.
  /// - Throws: as `init`; `database.damaged` only if the file can't be set aside.
  public static func openOrRenew(
    path: String, migrations: [String], busyTimeout: Duration = .seconds(5)
  ) throws(DatabaseError) -> (database: Database, setAside: String?) {
    if let database = try ifWhole(path, migrations, busyTimeout) { return (database, nil) }
    return try whileLocked(path) { () throws(DatabaseError) in
      // Another process may have renewed it meanwhile.
      if let database = try ifWhole(path, migrations, busyTimeout) { return (database, nil) }
      let copy = try setAside(path)
      return (try Database(path: path, migrations: migrations, busyTimeout: busyTimeout), copy)
    }
  }

  /// Opens the database at `path`.
  /// - Returns: the database, nil if it is damaged.
  private static func ifWhole(
    _ path: String, _ migrations: [String], _ busyTimeout: Duration
  ) throws(DatabaseError) -> Database? {
    do {
      return try Database(path: path, migrations: migrations, busyTimeout: busyTimeout)
    } catch {
      guard error.kind == .damaged else { throw error }
      return nil
    }
  }

  /// Opens the file that is now at this database's path. If it is still this damaged file, it is set aside
  /// and a new one created. This object can't be used afterwards.
  /// - Returns: the database, and the damaged file's new path if this call moved it.
  public func renewed(
    migrations: [String]
  ) throws(DatabaseError) -> (database: Database, setAside: String?) {
    try Self.whileLocked(path) { () throws(DatabaseError) in
      let copy = hasMoved ? nil : try Self.setAside(path)
      return (try Database(path: path, migrations: migrations), copy)
    }
  }

  /// Calls `body` under a lock of the folder: of several processes that find the same damage, only the first
  /// moves the file.
  private static func whileLocked<Result>(
    _ path: String, _ body: () throws(DatabaseError) -> Result
  ) throws(DatabaseError) -> Result {
    let folder = open(LinuxFiles.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { if folder >= 0 { close(folder) } }
    if folder >= 0 { flock(folder, LOCK_EX) }
    return try body()
  }

  /// Renames the file and its log to the next free name, and returns it.
  private static func setAside(_ path: String) throws(DatabaseError) -> String {
    for number in 1...1_000 {
      let copy = path + (number == 1 ? ".damaged" : ".damaged-\(number)")
      guard access(copy, F_OK) != 0 else { continue }
      guard rename(path, copy) == 0 else { break }
      // SQLite's own tools find the log by its name. The other file is an index that is rebuilt.
      rename(path + "-wal", copy + "-wal")
      unlink(path + "-shm")
      return copy
    }
    let words = SystemError(errno).text
    throw DatabaseError(.damaged, path: path, "it can't be set aside, \(words.lowercased())")
  }
}
