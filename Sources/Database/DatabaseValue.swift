public import EventLoop

/// A value of a column, or of a `?` in a statement.
public enum DatabaseValue: Sendable, Equatable {
  case null
  case int(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])

  /// Creates a text, or null for nil.
  public init(_ text: String?) { self = text.map(Self.text) ?? .null }
  /// Creates a whole number, or null for nil.
  public init(_ number: Int?) { self = number.map { .int(Int64($0)) } ?? .null }
}

extension DatabaseValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
  /// Creates a text.
  public init(stringLiteral value: String) { self = .text(value) }
  /// Creates a whole number.
  public init(integerLiteral value: Int64) { self = .int(value) }
  /// Creates a number.
  public init(floatLiteral value: Double) { self = .real(value) }
}

/// A row of a result, whose columns are numbered from 0.
///
/// A column of another type than the requested one throws `database.damaged`: the tables of this program have
/// constant types.
public struct DatabaseRow: Sendable, Equatable {
  /// The columns, in the order of the statement.
  public let values: [DatabaseValue]
  private let path: String

  init(_ values: [DatabaseValue], path: String) {
    self.values = values
    self.path = path
  }

  /// Returns the whole number in a column.
  public func int(_ column: Int) throws(DatabaseError) -> Int64 {
    guard case .int(let number) = values[column] else { throw wrong(column, "whole number") }
    return number
  }
  /// Returns the number in a column.
  public func real(_ column: Int) throws(DatabaseError) -> Double {
    switch values[column] {
    case .real(let number): return number
    case .int(let number): return Double(number)
    default: throw wrong(column, "number")
    }
  }
  /// Returns the text in a column.
  public func text(_ column: Int) throws(DatabaseError) -> String {
    guard case .text(let text) = values[column] else { throw wrong(column, "text") }
    return text
  }
  /// Returns the bytes in a column.
  public func blob(_ column: Int) throws(DatabaseError) -> [UInt8] {
    guard case .blob(let bytes) = values[column] else { throw wrong(column, "bytes") }
    return bytes
  }
  /// `true` if a column is null.
  public func isNull(_ column: Int) -> Bool { values[column] == .null }
  /// Returns the whole number in a column, nil if it is null.
  public func intOrNil(_ column: Int) throws(DatabaseError) -> Int64? {
    isNull(column) ? nil : try int(column)
  }
  /// Returns the text in a column, nil if it is null.
  public func textOrNil(_ column: Int) throws(DatabaseError) -> String? {
    isNull(column) ? nil : try text(column)
  }

  private func wrong(_ column: Int, _ wanted: String) -> DatabaseError {
    DatabaseError(.damaged, path: path, "column \(column) of a row is not a \(wanted)")
  }
}
