/// A page or a response of HTTP in the midst of sound, as a proxy sends when its server has gone.
enum PageText {
  /// The beginnings of pages, in lower case.
  private static let beginnings = ["http/1.", "<!doctype", "<html", "<head", "<body", "<?xml"].map {
    Array($0.utf8)
  }

  /// Returns the index in `range` at which a page begins that extends to the end of `bytes`; nil when none
  /// does.
  /// - Parameter range: ends four bytes before the end of `bytes` at least, so that five of a beginning are
  ///   there.
  static func start(in bytes: [UInt8], _ range: Range<Int>) -> Int? {
    // Only text to the end can be a page: most sound is refuted by its last bytes.
    var first = bytes.count
    while first > range.lowerBound, isText(bytes[first - 1]) { first -= 1 }
    guard first < range.upperBound else { return nil }
    return (first..<range.upperBound).first { index in
      beginnings.contains { zip($0, bytes[index...]).allSatisfy { $0 == lowerCase($1) } }
    }
  }

  private static func lowerCase(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }

  private static func isText(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte != 0x7F && byte < 0xF5 || (0x09...0x0D).contains(byte)
  }
}
