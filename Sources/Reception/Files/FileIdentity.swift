internal import HTTP
internal import StreamCore

/// The identity of a file on a server, from the head of an answer. It shows which parts belong together.
struct FileIdentity: Equatable {
  /// The size of the whole file in bytes; nil if unknown.
  var size: Int?
  var tag: String?
  var modified: String?
  var acceptsRanges: Bool

  /// The offset of the first byte of the answer.
  let start: Int

  /// The limit of a file's size: sums of two offsets can't overflow.
  static let longest = ContentRange.limit

  init(_ head: HTTPResponse) {
    tag = head.headers["ETag"]
    modified = head.headers["Last-Modified"]
    acceptsRanges = head.acceptsRanges
    guard head.status == 206, let range = ContentRange(head.headers["Content-Range"] ?? "") else {
      start = 0
      size = head.contentLength.flatMap { $0 <= Self.longest ? Int(exactly: $0) : nil }
      return
    }
    (start, size) = (range.start ?? 0, range.size)
  }

  /// The validator with which a request demands a part of the same file; a weak tag does not guarantee the
  /// same bytes.
  var condition: String? { tag.flatMap { $0.hasPrefix("W/") ? nil : $0 } ?? modified }

  /// Returns a request for the bytes from `byte` on.
  func request(
    _ address: StreamAddress, from byte: Int, _ options: ReceiverOptions
  ) throws(HTTPError) -> HTTPRequest {
    var request = try HTTPRequest(address)
    request.userAgent = options.userAgent
    if let file = options.certificateFile { request.certificateFile = file }
    if let credentials = options.credentials { request.credentials = credentials }
    request.offset = Int64(byte)
    if byte > 0, let condition { request.headers = [("If-Range", condition)] }
    return request
  }

  /// Applies the head of the answer to a request for the bytes from `byte` on.
  /// - Returns: the offset of its first byte, at most `byte`; nil if it belongs to another file.
  mutating func admit(_ head: HTTPResponse, from byte: Int) -> Int? {
    let new = FileIdentity(head)
    guard !differs(from: new), new.start <= byte else { return nil }
    if let size = new.size { self.size = size }
    if new.start == 0, byte > 0 { acceptsRanges = false }
    return new.start
  }

  /// Returns `true` if an answer belongs to another file.
  func differs(from other: FileIdentity) -> Bool {
    if let tag, let others = other.tag { return tag != others }
    if let modified, let others = other.modified { return modified != others }
    if let size, let others = other.size { return size != others }
    return false
  }
}
