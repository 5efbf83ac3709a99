internal import CSQLite
internal import EventLoop
internal import Glibc

/// An open SQLite connection, closed with the last reference; each statement holds one.
final class Connection {
  /// The version of SQLite, as `3.40.1`.
  static var libraryVersion: String { String(cString: sqlite3_libversion()) }

  let raw: OpaquePointer
  let path: String

  /// The length limit of a text, blob or row, in bytes: it bounds the memory for a broken file.
  static let longestValue: CInt = 16 << 20

  /// Opens the file at `path`, or creates it.
  init(path: String, busyTimeout: Duration) throws(DatabaseError) {
    var raw: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let code = sqlite3_open_v2(path, &raw, flags, nil)
    guard let raw, code == SQLITE_OK else {
      let error = Self.error(code, raw, path: path)
      sqlite3_close_v2(raw)
      throw error
    }
    self.raw = raw
    self.path = path
    sqlite3_busy_timeout(raw, CInt(clamping: busyTimeout.inMilliseconds))
    sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, Self.longestValue)
    // A file from elsewhere may hold a malicious schema.
    shim_set_option(raw, SQLITE_DBCONFIG_DEFENSIVE, 1)
    shim_set_option(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    shim_set_option(raw, SQLITE_DBCONFIG_ENABLE_FKEY, 1)
  }

  deinit { sqlite3_close_v2(raw) }

  /// `true` if no transaction is open.
  var isOutsideTransaction: Bool { sqlite3_get_autocommit(raw) != 0 }
  /// The number of rows that the last statement inserted, changed or deleted.
  var changes: Int { Int(sqlite3_changes64(raw)) }
  /// The id of the last inserted row.
  var lastID: Int64 { sqlite3_last_insert_rowid(raw) }

  /// `true` if the path at which this file was opened now has another file, or none.
  var hasMoved: Bool {
    var moved: CInt = 0
    let code = sqlite3_file_control(raw, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
    return code == SQLITE_OK && moved != 0
  }

  /// Runs statements without values and rows, one after the other.
  func run(_ script: String) throws(DatabaseError) { try check(sqlite3_exec(raw, script, nil, nil, nil)) }

  /// Throws the error of `code` unless it is `SQLITE_OK`.
  func check(_ code: CInt) throws(DatabaseError) {
    if code != SQLITE_OK { throw error(code) }
  }

  /// Returns the error of a code that this connection has just returned.
  func error(_ code: CInt) -> DatabaseError { Self.error(code, raw, path: path) }

  private static func error(_ code: CInt, _ raw: OpaquePointer?, path: String) -> DatabaseError {
    let systemError = raw.map { sqlite3_system_errno($0) } ?? 0
    var words = String(cString: raw.map { sqlite3_errmsg($0) } ?? sqlite3_errstr(code))
    let kind = kind(of: code, systemError: systemError)
    if kind == .unavailable, systemError != 0 {
      let cause = SystemError(systemError).text
      words += ", " + cause.prefix(1).lowercased() + cause.dropFirst()
    }
    return DatabaseError(kind, path: path, words)
  }

  private static func kind(of code: CInt, systemError: CInt) -> DatabaseError.Kind {
    switch code & 0xff {
    case SQLITE_BUSY, SQLITE_LOCKED: .busy
    case SQLITE_FULL: .full
    case SQLITE_IOERR where systemError == ENOSPC || systemError == EDQUOT: .full
    case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
    case SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_MISUSE, SQLITE_RANGE, SQLITE_TOOBIG:
      .statement
    default: .unavailable
    }
  }
}
