internal import EventLoop

/// Collects the heads of responses from header lines, within limits. Receives one line at a time, as libcurl
/// splits them.
struct HeaderCollector {
  /// The status line and fields of a response.
  struct Head: Equatable {
    let status: Int
    var headers = HTTPHeaders()

    /// `true` for an informational head; another head follows.
    var isInterim: Bool { status < 200 }
    /// `true` for a redirect; another response follows, if redirects are followed.
    var isRedirect: Bool { (300..<400).contains(status) && !(headers["Location"] ?? "").isEmpty }
  }

  /// The reason why a line is refused.
  enum Fault: Error, Equatable {
    case tooLarge(String)
    case malformed(String)
  }

  static let maximumLine = 8 * 1024
  static let maximumLines = 200
  static let maximumBytes = 64 * 1024

  private var head: Head?
  private var lines = 0
  private var bytes = 0
  /// `true` after the end of a head. The next line begins the next head, or is a trailer.
  private(set) var isComplete = false

  /// Receives one line with its end.
  /// - Returns: the head that ends with this line.
  mutating func receive(_ line: UnsafeRawBufferPointer) throws(Fault) -> Head? {
    if isComplete, Self.isStatusLine(line) {
      // Interim responses share one budget: there can be any number of them.
      if head?.isInterim != true { (lines, bytes) = (0, 0) }
      (head, isComplete) = (nil, false)
    }
    lines += 1
    bytes += line.count
    if line.count > Self.maximumLine { throw .tooLarge("a line of more than \(Self.maximumLine) bytes") }
    if lines > Self.maximumLines { throw .tooLarge("more than \(Self.maximumLines) lines") }
    if bytes > Self.maximumBytes { throw .tooLarge("more than \(Self.maximumBytes) bytes") }
    if isComplete { return nil }  // a trailer

    let content = Self.withoutEnd(line)
    guard var head else {
      guard let status = Self.status(content) else { throw .malformed("a status line without a status") }
      self.head = Head(status: status)
      return nil
    }
    if content.isEmpty {
      isComplete = true
      return head
    }
    if content[0] == 32 || content[0] == 9 {
      // A line folded in two. Source: RFC 9112 §5.2.
      guard let last = head.headers.fields.indices.last else {
        throw .malformed("a header that begins with a space")
      }
      head.headers.fields[last].value += " " + Self.text(content)
    } else {
      guard let colon = content.firstIndex(of: UInt8(ascii: ":")), colon > 0 else {
        return nil  // stations send such lines; they are ignored
      }
      let name = Self.text(UnsafeRawBufferPointer(rebasing: content[..<colon]))
      let value = Self.text(UnsafeRawBufferPointer(rebasing: content[(colon + 1)...]))
      head.headers.fields.append(HTTPHeaders.Field(name: name, value: value))
    }
    self.head = head
    return nil
  }

  private static func isStatusLine(_ line: UnsafeRawBufferPointer) -> Bool {
    line.starts(with: "HTTP/".utf8) || line.starts(with: "ICY ".utf8)
  }

  /// Returns the three digits after the first space.
  private static func status(_ line: UnsafeRawBufferPointer) -> Int? {
    guard let space = line.firstIndex(of: 32) else { return nil }
    let digits = line[(space + 1)...].drop { $0 == 32 }.prefix { 48...57 ~= $0 }
    guard digits.count == 3 else { return nil }
    return digits.reduce(0) { $0 * 10 + Int($1) - 48 }
  }

  private static func withoutEnd(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    var end = line.count
    if end > 0, line[end - 1] == 10 { end -= 1 }
    if end > 0, line[end - 1] == 13 { end -= 1 }
    return UnsafeRawBufferPointer(rebasing: line[..<end])
  }

  /// Returns a value in its stored form: `cleaned`, as headers are shown.
  private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
    var part = bytes[...]
    while let first = part.first, first == 32 || first == 9 { part.removeFirst() }
    while let last = part.last, last == 32 || last == 9 { part.removeLast() }
    if let text = String(validating: part, as: UTF8.self) { return text.cleaned }
    return String(String.UnicodeScalarView(part.map { Unicode.Scalar($0) })).cleaned
  }
}
