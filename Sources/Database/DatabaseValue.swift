/// What a column holds, or a statement is given for a `?`.
public enum DatabaseValue: Sendable, Equatable {
  case null
  case int(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])

  /// Null for nil.
  public init(_ text: String?) { self = text.map(Self.text) ?? .null }
  /// Null for nil.
  public init(_ number: Int?) { self = number.map { .int(Int64($0)) } ?? .null }
}

extension DatabaseValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
  /// Text.
  public init(stringLiteral value: String) { self = .text(value) }
  /// A whole number.
  public init(integerLiteral value: Int64) { self = .int(value) }
  /// A number.
  public init(floatLiteral value: Double) { self = .real(value) }
}

/// One row of an answer, read by the number of the column from 0 on.
///
/// A column that holds another type than the one asked for is `database.damaged`: the tables that the rows come from
/// keep their types.
public struct DatabaseRow: Sendable, Equatable {
  /// The columns, in the order of the statement.
  public let values: [DatabaseValue]
  private let path: String

  init(_ values: [DatabaseValue], path: String) {
    self.values = values
    self.path = path
  }

  /// The whole number in a column.
  public func int(_ column: Int) throws(DatabaseError) -> Int64 {
    guard case .int(let number) = values[column] else { throw wrong(column, "whole number") }
    return number
  }
  /// The number in a column.
  public func real(_ column: Int) throws(DatabaseError) -> Double {
    switch values[column] {
    case .real(let number): return number
    case .int(let number): return Double(number)
    default: throw wrong(column, "number")
    }
  }
  /// The text in a column.
  public func text(_ column: Int) throws(DatabaseError) -> String {
    guard case .text(let text) = values[column] else { throw wrong(column, "text") }
    return text
  }
  /// The bytes in a column.
  public func blob(_ column: Int) throws(DatabaseError) -> [UInt8] {
    guard case .blob(let bytes) = values[column] else { throw wrong(column, "bytes") }
    return bytes
  }
  /// Whether a column is empty.
  public func isNull(_ column: Int) -> Bool { values[column] == .null }
  /// The whole number in a column, nil when it is empty.
  public func intOrNil(_ column: Int) throws(DatabaseError) -> Int64? {
    isNull(column) ? nil : try int(column)
  }
  /// The text in a column, nil when it is empty.
  public func textOrNil(_ column: Int) throws(DatabaseError) -> String? {
    isNull(column) ? nil : try text(column)
  }

  private func wrong(_ column: Int, _ wanted: String) -> DatabaseError {
    DatabaseError(.damaged, path: path, "column \(column) of a row is not a \(wanted)")
  }
}
