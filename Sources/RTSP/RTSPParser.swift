internal import EventLoop

/// Separates the messages and the data of a connection. Source: RFC 2326 §4, §10.12.
///
/// ```swift
/// parser.feed(bytes)
/// while let item = try parser.next() { … }
/// ```
/// The result does not depend on how the bytes are divided. Memory: the bytes that were fed and are in no
/// item yet; of a message at most `headLimit` and `bodyLimit`, of data 64 KiB.
package struct RTSPParser: Sendable {
  /// An item of the connection.
  package enum Item: Sendable, Equatable {
    case response(RTSPResponse)
    case request(RTSPRequest)
    /// Data between the messages, with the number of its channel.
    case data(channel: UInt8, [UInt8])
  }

  /// The limit in bytes of the head of a message.
  package static let headLimit = 64 << 10
  /// The limit in bytes of the body of a message.
  package static let bodyLimit = 1 << 20
  /// The limit of the fields of a message.
  private static let fieldLimit = 256
  private static let dollar = UInt8(ascii: "$")

  private var bytes: [UInt8] = []
  private var start = 0
  /// The message whose body is still to come.
  private var head: (message: Item, length: Int)?
  /// The number of bytes that were searched for the end of a head.
  private var searched = 0
  /// `true` once the first line of the head was examined.
  private var hasLine = false

  package init() {}

  /// The number of bytes that are in no item yet.
  package var pendingBytes: Int { bytes.count - start }

  /// Appends the next bytes of the connection.
  package mutating func feed(_ new: UnsafeRawBufferPointer) {
    if start > 0, start == bytes.count || start >= 64 << 10 {
      bytes.removeFirst(start)
      start = 0
    }
    bytes.append(contentsOf: new)
  }

  /// Returns the next item; nil when more bytes are needed.
  /// - Throws: `malformed`, `tooLarge`; nothing follows then.
  package mutating func next() throws(RTSPError) -> Item? {
    if let head { return body(of: head.message, head.length) }
    // Blank lines between messages are accepted.
    while start < bytes.count, bytes[start] == 13 || bytes[start] == 10 { start += 1 }
    guard start < bytes.count else { return nil }
    if bytes[start] == Self.dollar { return data() }
    let examined = searched
    guard let end = headEnd() else {
      // A server of another protocol is recognized by its first line.
      if !hasLine, let line = bytes[(start + examined)...].firstIndex(of: 10) {
        _ = try Self.message(text(start..<line))
        hasLine = true
      }
      if bytes.count - start > Self.headLimit {
        throw RTSPError(.tooLarge, "sends a head of more than \(Self.headLimit / 1024) KiB")
      }
      return nil
    }
    let (message, length) = try Self.read(text(start..<end))
    start = end
    (searched, hasLine) = (0, false)
    return body(of: message, length)
  }

  private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  private mutating func data() -> Item? {
    guard bytes.count - start >= 4 else { return nil }
    let length = Int(bytes[start + 2]) << 8 | Int(bytes[start + 3])
    guard bytes.count - start >= 4 + length else { return nil }
    defer { start += 4 + length }
    return .data(channel: bytes[start + 1], Array(bytes[(start + 4)..<(start + 4 + length)]))
  }

  /// Returns the index after the blank line that ends a head; nil if that has not come.
  private mutating func headEnd() -> Int? {
    var index = start + max(0, searched - 3)
    while index < bytes.count {
      guard bytes[index] == 10 else {
        index += 1
        continue
      }
      if index + 1 < bytes.count, bytes[index + 1] == 10 { return index + 2 }
      if index + 2 < bytes.count, bytes[index + 1] == 13, bytes[index + 2] == 10 { return index + 3 }
      index += 1
    }
    searched = bytes.count - start
    return nil
  }

  private mutating func body(of message: Item, _ length: Int) -> Item? {
    guard bytes.count - start >= length else {
      head = (message, length)
      return nil
    }
    head = nil
    defer { start += length }
    let body = Array(bytes[start..<(start + length)])
    switch message {
    case .response(var response):
      response.body = body
      return .response(response)
    case .request(var request):
      request.body = body
      return .request(request)
    case .data: return message
    }
  }

  /// Reads a head.
  /// - Returns: the message without its body, and the length of that.
  private static func read(_ head: String) throws(RTSPError) -> (Item, Int) {
    let lines = head.split(omittingEmptySubsequences: false) { $0 == "\r\n" || $0 == "\n" }
    let message = try message(String(lines.first ?? ""))
    var headers = RTSPHeaders()
    for line in lines.dropFirst() where !line.isEmpty {
      if line.first == " " || line.first == "\t" {
        headers.continueLast(line.trimmed)
        continue
      }
      guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else {
        throw RTSPError(.malformed, "sends a field without a name")
      }
      headers.append(
        line[..<colon].trimmed.description, line[line.index(after: colon)...].trimmed.description)
      if headers.fields.count > fieldLimit {
        throw RTSPError(.tooLarge, "sends more than \(fieldLimit) fields in a message")
      }
    }
    var length = 0
    if let stated = headers["Content-Length"] {
      guard let number = Int(stated), number >= 0 else {
        throw RTSPError(.malformed, "sends a body whose length is not a number")
      }
      guard number <= bodyLimit else {
        throw RTSPError(.tooLarge, "sends a body of more than \(bodyLimit >> 20) MiB")
      }
      length = number
    }
    switch message {
    case .response(var response):
      response.headers = headers
      return (.response(response), length)
    case .request(var request):
      request.headers = headers
      return (.request(request), length)
    case .data: return (message, length)
    }
  }

  /// Reads the first line of a message.
  private static func message(_ line: String) throws(RTSPError) -> Item {
    let words = line.trimmed.split(separator: " ", maxSplits: 2)
    if words.count >= 2, words[0].hasPrefix("RTSP/"), let status = Int(words[1]), (100...999).contains(status)
    {
      return .response(RTSPResponse(status, words.count > 2 ? String(words[2]) : ""))
    }
    if words.count == 3, words[2].hasPrefix("RTSP/"),
      words[0].allSatisfy({ $0.isASCII && ($0.isLetter || $0 == "_") })
    {
      return .request(RTSPRequest(String(words[0]), String(words[1])))
    }
    throw RTSPError(
      .malformed, "does not speak RTSP: it sends \"\(String(line.prefix(40)).onOneLine)\"")
  }
}

extension StringProtocol {
  /// The text without blanks at its ends.
  var trimmed: SubSequence {
    func isBlank(_ character: Character) -> Bool {
      character == " " || character == "\t" || character.isNewline
    }
    guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) })
    else {
      return self[startIndex..<startIndex]
    }
    return self[first...last]
  }
}
