/// A parsed `Content-Range: bytes 100-199/1000`, with a star for an unknown value. Source: RFC 9110 §14.4.
struct ContentRange: Equatable {
  var start: Int?
  var size: Int?

  /// The limit of both numbers: sums of two can't overflow.
  static let limit = Int.max / 4

  init?(_ text: String) {
    let words = text.split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
    let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    size = Self.number(parts[1])
    start = parts[0].firstIndex(of: "-").flatMap { Self.number(parts[0][..<$0]) }
    guard start != nil || parts[0] == "*" else { return nil }
  }

  private static func number(_ text: Substring) -> Int? {
    guard text.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(text) else { return nil }
    return number <= limit ? number : nil
  }
}
