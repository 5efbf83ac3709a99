internal import Glibc

/// A SQLite database in a file. Confined to the thread that uses it; other threads and processes open their own.
///
/// It keeps a write-ahead log beside it: who reads does not hold up who writes, and whatever ends the process, every
/// transaction that was committed is there and no half of another. What only a power cut would take (the last
/// transactions) is safe too after a transaction that is `durable`.
public final class Database {
  /// The path of a database that has no file, and ends with its object.
  public static let inMemory = ":memory:"

  /// Where its file is.
  public let path: String
  private let connection: Connection
  private var statements: [String: Statement] = [:]

  /// Opens the database at `path`; makes it, with the folders that lead to it, when there is none: for the owner alone.
  /// - Parameters:
  ///   - migrations: scripts that make its tables; a file has seen the first ones, and sees the others now. One that
  ///     was published is never changed: a new one follows. Nil to take the file as it is.
  ///   - busyTimeout: how long another process is waited for.
  /// - Throws: `database.damaged` when the file is none, `database.newer` when it has seen more migrations,
  ///   `database.busy`, `database.full`, `database.unavailable`.
  public init(
    path: String, migrations: [String]? = nil, busyTimeout: Duration = .seconds(5)
  ) throws(DatabaseError) {
    self.path = path
    if path != Self.inMemory {
      Self.makeFolders(to: path)
      // Opened by nobody before SQLite: whoever closes a file that it has open ends its locks.
      if mknod(path, S_IFREG | 0o600, 0) != 0, access(path, F_OK) != 0 { Self.makeTarget(of: path) }
    }
    connection = try Connection(path: path, busyTimeout: busyTimeout)
    try beginLog(within: busyTimeout)
    try connection.run("PRAGMA synchronous = NORMAL")
    if let migrations { try migrate(migrations) }
  }

  /// Makes the file that a symbolic link leads to, which is not there: SQLite would, for everybody to read.
  private static func makeTarget(of path: String) {
    var target = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    // Source: realpath(3), GNU: when it fails, the path that does not exist.
    if realpath(path, &target) == nil, errno == ENOENT { mknod(target, S_IFREG | 0o600, 0) }
  }

  /// Whether another file, or none, is by now where this one was opened: what is written to this one reaches nobody.
  public var hasMoved: Bool { connection.hasMoved }
  /// The id of the row that was inserted last.
  public var lastInsertedID: Int64 { connection.lastID }

  // MARK: Statements

  /// Runs one statement, which is kept ready for the next time.
  /// - Parameter values: one for each `?`.
  /// - Returns: how many rows it inserted, changed or deleted.
  @discardableResult
  public func execute(_ sql: String, _ values: [DatabaseValue] = []) throws(DatabaseError) -> Int {
    let statement = try statement(sql)
    defer { statement.reset() }
    try statement.bind(values)
    while try statement.step() {}
    return connection.changes
  }

  /// The rows of an answer.
  public func query(_ sql: String, _ values: [DatabaseValue] = []) throws(DatabaseError) -> [DatabaseRow] {
    let statement = try statement(sql)
    defer { statement.reset() }
    try statement.bind(values)
    var rows: [DatabaseRow] = []
    while try statement.step() { rows.append(statement.row) }
    return rows
  }

  /// Hands out the rows of an answer one by one, until `body` returns false.
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

  /// One that is ready; a new one when the rows of that are being read further up.
  private func statement(_ sql: String) throws(DatabaseError) -> Statement {
    if let statement = statements[sql], !statement.isBusy { return statement }
    let statement = try Statement(sql, connection)
    if statements[sql] == nil { statements[sql] = statement }
    return statement
  }

  // MARK: Transactions

  /// Does what `body` does all or not at all: not when it throws. One in another is a part of that.
  /// - Parameter durable: whether a power cut after the return takes nothing of it; costs one write to the disk.
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
      // Some failures have rolled it back already.
      if !connection.isOutsideTransaction { try? connection.run("ROLLBACK") }
      throw error
    }
  }

  // MARK: Beginning

  /// Turns the write-ahead log on, for which SQLite itself does not wait for others.
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
        // Asked again: another process may have been here in between.
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

  /// How many migrations the file has seen.
  private func version() throws(DatabaseError) -> Int {
    let number = try query("PRAGMA user_version").first?.int(0) ?? 0
    guard number >= 0 else { throw DatabaseError(.damaged, path: path, "its version is \(number)") }
    return Int(number)
  }

  /// Makes what is missing of the folders, for the owner alone. What can't be made is told when the file is opened.
  private static func makeFolders(to path: String) {
    for (index, byte) in zip(path.utf8.indices, path.utf8)
    where byte == UInt8(ascii: "/") && index > path.startIndex {
      mkdir(String(path[..<index]), 0o700)
    }
  }
}
