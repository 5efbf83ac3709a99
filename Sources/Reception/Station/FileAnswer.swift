internal import HTTP
internal import StreamCore

/// The recognition of an answer that may be a file instead of a station.
enum FileAnswer {
  /// The kind of the start of a file.
  enum Content: Equatable {
    /// More bytes are needed to recognise it.
    case unknown
    /// A page or another text: its description, in words.
    case text(String)
    /// Sound or other data.
    case other
  }

  /// The size from which a length without parts is not a file's: some stations send one because they must
  /// send a length.
  private static let endless: Int64 = 500_000_000

  /// Returns `true` if an answer is a file: it has a length, or may be cached and revalidated, and has no
  /// header of a station.
  static func isFile(_ head: HTTPResponse) -> Bool {
    guard !isStation(head) else { return false }
    guard let length = head.contentLength else { return isKept(head) }
    return length < endless || head.acceptsRanges
  }

  /// Returns `true` if an answer names the version of a file, and may be cached.
  private static func isKept(_ head: HTTPResponse) -> Bool {
    let control = head.headers["Cache-Control"]?.lowercased() ?? ""
    return (head.headers["ETag"] ?? head.headers["Last-Modified"]) != nil
      && !control.contains("no-cache") && !control.contains("no-store")
  }

  /// Returns `true` if an answer has a header of a station.
  static func isStation(_ head: HTTPResponse) -> Bool {
    ["icy-metaint", "icy-name", "icy-br"].contains { head.headers[$0] != nil }
  }

  /// Recognises content by its first bytes.
  /// - Parameter isWhole: `true` if these are all bytes of the answer.
  static func content(_ start: [UInt8], isWhole: Bool) -> Content {
    if let page = ContentSniffer.page(start.prefix(ContentSniffer.pageLength)) { return .text(page) }
    guard let text = ContentSniffer.text(start.prefix(ContentSniffer.textLength)) else { return .other }
    return isWhole || start.count >= ContentSniffer.textLength ? .text(text) : .unknown
  }
}
