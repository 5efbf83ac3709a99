/// The version of firmware: one to four decimal numbers joined by dots, "1.10.2".
///
/// Versions are compared number by number; one that is not written counts as 0, so 1.2 and 1.2.0 are the same.
public struct FirmwareVersion: Sendable, CustomStringConvertible {
  /// The numbers, as many as are written.
  private let written: [UInt32]

  /// The version that `text` says; nil when it says none. Numbers are below 2³² and have no needless zeros in front,
  /// so that a version is written in one way.
  public init?(_ text: String) {
    // A longer text can't be one, and is not worth looking at.
    guard text.utf8.count <= 43 else { return nil }
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard (1...4).contains(parts.count) else { return nil }
    var numbers: [UInt32] = []
    for part in parts {
      let isDecimal = part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      guard isDecimal, part.count == 1 || part.first != UInt8(ascii: "0"),
        let number = UInt32(String(decoding: part, as: UTF8.self))
      else { return nil }
      numbers.append(number)
    }
    written = numbers
  }

  /// The version that none is below.
  public static let lowest = FirmwareVersion(numbers: [0])

  private init(numbers: [UInt32]) { written = numbers }

  /// As it is written.
  public var description: String { written.map(String.init).joined(separator: ".") }

  private var numbers: [UInt32] { written + Array(repeating: 0, count: 4 - written.count) }
}

extension FirmwareVersion: Comparable, Hashable {
  /// Whether all numbers are the same.
  public static func == (one: FirmwareVersion, other: FirmwareVersion) -> Bool {
    one.numbers == other.numbers
  }
  /// Whether the first number that differs is lower.
  public static func < (one: FirmwareVersion, other: FirmwareVersion) -> Bool {
    one.numbers.lexicographicallyPrecedes(other.numbers)
  }
  /// Adds the numbers.
  public func hash(into hasher: inout Hasher) { hasher.combine(numbers) }
}
