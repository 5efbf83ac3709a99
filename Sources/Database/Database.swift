public import EventLoop
internal import Glibc

/// A SQLite database in a file. Confined to the thread that uses it; other threads and processes open their
/// own.
///
/// A write-ahead log lies beside it: readers do not block writers, and however the process ends, every
/// committed transaction is kept whole, and no other in part. The last transactions, which only a power cut
/// would lose, are also safe after a `durable` one.
public final class Database {
  /// The path of a database without a file, which ends with its object.
  public static let inMemory = ":memory:"

  /// The version of SQLite, as `3.40.1`.
  package static var libraryVersion: String { Connection.libraryVersion }

  /// The path of the file.
  public let path: String
  private let connection: Connection
  private var statements: [String: Statement] = [:]

  /// Opens the database at `path`; creates it, with the folders of its path, if it does not exist: accessible
  /// to the owner only.
  /// - Parameters:
  ///   - migrations: scripts that create the tables; those that the file has not applied yet are run. A
  ///     published script is never changed: a new one follows. Nil to leave the schema unchanged.
  ///   - busyTimeout: the timeout for a lock of another process.
  /// - Throws: `database.damaged` if the file is not a database, `database.newer` if it has applied more
  ///   migrations, `database.busy`, `database.full`, `database.unavailable`.
  public init(
    path: String, migrations: [String]? = nil, busyTimeout: Duration = .seconds(5)
  ) throws(DatabaseError) {
    self.path = path
    if path != Self.inMemory {
      Self.makeFolders(to: path)
      // The file is not opened here: closing it would end the locks of this process's other connections to
      // it.
      if mknod(path, S_IFREG | 0o600, 0) != 0, access(path, F_OK) != 0 { Self.makeTarget(of: path) }
    }
    connection = try Connection(path: path, busyTimeout: busyTimeout)
    try beginLog(within: busyTimeout)
    try connection.run("PRAGMA synchronous = NORMAL")
    if let migrations { try migrate(migrations) }
  }

  /// Creates the missing target of a symbolic link: SQLite would make it readable by everyone.
  private static func makeTarget(of path: String) {
    var target = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    // Source: realpath(3), GNU: when it fails, the path that does not exist.
    if realpath(path, &target) == nil, errno == ENOENT { mknod(target, S_IFREG | 0o600, 0) }
  }

  /// `true` if the path at which this file was opened now has another file, or none: writes to this one are
  /// lost.
  public var hasMoved: Bool { connection.hasMoved }
  /// The id of the last inserted row.
  public var lastInsertedID: Int64 { connection.lastID }

  // MARK: Statements

  /// Runs one statement, which is kept prepared for the next call.
  /// - Parameter values: a value for each `?`.
  /// - Returns: the number of rows that it inserted, changed or deleted.
  @discardableResult
  public func execute(_ sql: String, _ values: [DatabaseValue] = []) throws(DatabaseError) -> Int {
    let statement = try statement(sql)
    defer { statement.reset() }
    try statement.bind(values)
    while try statement.step() {}
    return connection.changes
  }

  /// Returns the rows of a query.
  public func query(_ sql: String, _ values: [DatabaseValue] = []) throws(DatabaseError) -> [DatabaseRow] {
    let statement = try statement(sql)
    defer { statement.reset() }
    try statement.bind(values)
    var rows: [DatabaseRow] = []
    while try statement.step() { rows.append(statement.row) }
    return rows
  }

  /// Passes the rows of a query to `body` one by one, until it returns `false`.
  public func query(
    _ sql: String, _ values: [DatabaseValue], each body: (DatabaseRow) throws -> Bool
  ) throws {
    let statement = try statement(sql)
    defer { statement.reset() }
    try statement.bind(values)
    while try statement.step() {
      if try !body(statement.row) { return }
    }
  }

  /// Returns a prepared statement; a new one while the rows of the cached one are being read.
  private func statement(_ sql: String) throws(DatabaseError) -> Statement {
    if let statement = statements[sql], !statement.isBusy { return statement }
    let statement = try Statement(sql, connection)
    if statements[sql] == nil { statements[sql] = statement }
    return statement
  }

  // MARK: Transactions

  /// Runs `body` as a transaction, which is rolled back if it throws. A nested one is part of the outer one.
  /// - Parameter durable: `true` if a power cut after the return may not lose it; costs one write to the
  ///   disk.
  @discardableResult
  public func transaction<Result>(durable: Bool = false, _ body: () throws -> Result) throws -> Result {
    guard connection.isOutsideTransaction else { return try body() }
    if durable { try connection.run("PRAGMA synchronous = FULL") }
    defer { if durable { try? connection.run("PRAGMA synchronous = NORMAL") } }
    try execute("BEGIN IMMEDIATE")
    do {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      // Some failures have already rolled it back.
      if !connection.isOutsideTransaction { try? connection.run("ROLLBACK") }
      throw error
    }
  }

  // MARK: Beginning

  /// Turns the write-ahead log on; waits for other processes, which SQLite itself does not do here.
  private func beginLog(within busyTimeout: Duration) throws(DatabaseError) {
    let pause = Duration.milliseconds(10)
    var left = busyTimeout
    while true {
      do {
        try connection.run("PRAGMA journal_mode = WAL")
        return
      } catch {
        guard error.kind == .busy, left > .zero else { throw error }
      }
      usleep(UInt32(pause / .microseconds(1)))
      left -= pause
    }
  }

  private func migrate(_ migrations: [String]) throws(DatabaseError) {
    if try version() == migrations.count { return }
    do {
      try transaction {
        // Read again: another process may have migrated the file meanwhile.
        let version = try version()
        guard version <= migrations.count else { throw DatabaseError(.newer, path: path) }
        for migration in migrations[version...] { try connection.run(migration) }
        try connection.run("PRAGMA user_version = \(migrations.count)")
      }
    } catch let error as DatabaseError {
      throw error
    } catch {
      throw DatabaseError(.unavailable, path: path, "\(error)")
    }
  }

  /// Returns the number of migrations that the file has applied.
  private func version() throws(DatabaseError) -> Int {
    let number = try query("PRAGMA user_version").first?.int(0) ?? 0
    guard number >= 0 else { throw DatabaseError(.damaged, path: path, "its version is \(number)") }
    return Int(number)
  }

  /// Creates missing folders of the path, for the owner alone. A failure is reported when the file is opened.
  private static func makeFolders(to path: String) {
    try? LinuxFiles.makeFolders(LinuxFiles.folder(of: path), mode: 0o700)
  }
}
