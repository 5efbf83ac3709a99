internal import CSQLite
internal import EventLoop

/// A prepared statement, used repeatedly.
final class Statement {
  private let raw: OpaquePointer
  private let connection: Connection

  /// Prepares the only statement of `sql`.
  init(_ sql: String, _ connection: Connection) throws(DatabaseError) {
    var raw: OpaquePointer?
    // Kept for long, so not in the memory that SQLite recycles.
    let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
    try connection.check(sqlite3_prepare_v3(connection.raw, sql, -1, flags, &raw, nil))
    guard let raw else { throw DatabaseError(.statement, path: connection.path, "it is empty") }
    self.raw = raw
    self.connection = connection
  }

  deinit { sqlite3_finalize(raw) }

  /// `true` while its rows are being read.
  var isBusy: Bool { sqlite3_stmt_busy(raw) != 0 }

  /// Binds the values to the `?` of the statement, in order.
  func bind(_ values: [DatabaseValue]) throws(DatabaseError) {
    let wanted = Int(sqlite3_bind_parameter_count(raw))
    guard values.count == wanted else {
      throw DatabaseError(.statement, path: connection.path, "\(values.count) values for \(wanted) places")
    }
    for (index, value) in zip(1..., values) { try connection.check(bind(value, CInt(index))) }
  }

  private func bind(_ value: DatabaseValue, _ index: CInt) -> CInt {
    switch value {
    case .null: sqlite3_bind_null(raw, index)
    case .int(let number): sqlite3_bind_int64(raw, index, number)
    case .real(let number): sqlite3_bind_double(raw, index, number)
    case .text(var text):
      text.withUTF8 { bytes in
        bytes.withMemoryRebound(to: CChar.self) {
          shim_bind_text(raw, index, $0.baseAddress, UInt64($0.count))
        }
      }
    case .blob(let bytes):
      bytes.withUnsafeBytes { shim_bind_blob(raw, index, $0.baseAddress, UInt64($0.count)) }
    }
  }

  /// Moves to the next row.
  /// - Returns: `false` if no row is left.
  func step() throws(DatabaseError) -> Bool {
    switch sqlite3_step(raw) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code: throw connection.error(code)
    }
  }

  /// The current row.
  var row: DatabaseRow {
    DatabaseRow((0..<sqlite3_column_count(raw)).map(value), path: connection.path)
  }

  private func value(_ column: CInt) -> DatabaseValue {
    switch sqlite3_column_type(raw, column) {
    case SQLITE_INTEGER: .int(sqlite3_column_int64(raw, column))
    case SQLITE_FLOAT: .real(sqlite3_column_double(raw, column))
    case SQLITE_TEXT:
      .text(
        String(
          decoding: UnsafeRawBufferPointer(
            start: sqlite3_column_text(raw, column), count: Int(sqlite3_column_bytes(raw, column))),
          as: UTF8.self))
    case SQLITE_BLOB:
      .blob(
        [UInt8](
          UnsafeRawBufferPointer(
            start: sqlite3_column_blob(raw, column), count: Int(sqlite3_column_bytes(raw, column)))))
    default: .null
    }
  }

  /// Resets the statement to its beginning, without values. The result of its last step has been reported by
  /// then.
  func reset() {
    sqlite3_reset(raw)
    sqlite3_clear_bindings(raw)
  }
}
