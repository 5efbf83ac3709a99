internal import HTTP

/// What an answer looks like that may be a file in the place of a station.
enum FileAnswer {
  /// What a file begins with.
  enum Content: Equatable {
    /// More bytes are needed to tell.
    case unknown
    /// A page or another text: what it is, in words.
    case text(String)
    /// Sound, or what else there is.
    case other
  }

  /// Bytes from which on a length without parts is no file's: what stations tell that have to tell something.
  private static let endless: Int64 = 500_000_000

  /// Whether an answer is a file's: it has a length, or is one that may be kept and known again, and tells nothing of a
  /// station.
  static func isFile(_ head: HTTPResponse) -> Bool {
    guard !isStation(head) else { return false }
    guard let length = head.contentLength else { return isKept(head) }
    return length < endless || head.acceptsRanges
  }

  /// True if an answer tells of which state of a file it is, and does not forbid to keep it.
  private static func isKept(_ head: HTTPResponse) -> Bool {
    let control = head.headers["Cache-Control"]?.lowercased() ?? ""
    return (head.headers["ETag"] ?? head.headers["Last-Modified"]) != nil
      && !control.contains("no-cache") && !control.contains("no-store")
  }

  /// True if an answer tells something of a station.
  static func isStation(_ head: HTTPResponse) -> Bool {
    ["icy-metaint", "icy-name", "icy-br"].contains { head.headers[$0] != nil }
  }

  /// What it is that begins so.
  /// - Parameter isWhole: whether nothing follows.
  static func content(_ start: [UInt8], isWhole: Bool) -> Content {
    if let page = ContentSniffer.page(start.prefix(ContentSniffer.pageLength)) { return .text(page) }
    guard let text = ContentSniffer.text(start.prefix(ContentSniffer.textLength)) else { return .other }
    return isWhole || start.count >= ContentSniffer.textLength ? .text(text) : .unknown
  }
}
