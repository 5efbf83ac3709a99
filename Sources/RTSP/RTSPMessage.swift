/// The methods of the requests that are sent. Source: RFC 2326 §10.
package enum RTSPMethod: String, Sendable {
  case options = "OPTIONS"
  case describe = "DESCRIBE"
  case setup = "SETUP"
  case play = "PLAY"
  case pause = "PAUSE"
  case parameter = "GET_PARAMETER"
  case teardown = "TEARDOWN"
}

/// The fields at the head of a message, in their order; names are compared without case.
package struct RTSPHeaders: Sendable, Equatable {
  /// The fields.
  package private(set) var fields: [Field] = []

  /// A field.
  package struct Field: Sendable, Equatable {
    package let name: String
    package var value: String
  }

  package init() {}

  /// The value of the first field with that name; nil without one.
  package subscript(name: String) -> String? { all(name).first }

  /// Returns the values of all fields with that name, in their order.
  package func all(_ name: String) -> [String] {
    let name = name.lowercased()
    return fields.filter { $0.name.lowercased() == name }.map(\.value)
  }

  /// Appends a field.
  package mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// Appends a line that continues the last field; without a field it is dropped.
  mutating func continueLast(_ more: Substring) {
    guard !fields.isEmpty else { return }
    fields[fields.count - 1].value += " \(more)"
  }

  /// Returns the bytes of a message with these fields.
  /// - Parameter line: its first line.
  func bytes(after line: String, with body: [UInt8]) -> [UInt8] {
    let lines = fields.map { "\($0.name): \($0.value)\r\n" }.joined()
    let length = body.isEmpty ? "" : "Content-Length: \(body.count)\r\n"
    return Array("\(line)\r\n\(lines)\(length)\r\n".utf8) + body
  }
}

/// A request, of either side.
package struct RTSPRequest: Sendable, Equatable {
  /// The method, also one that `RTSPMethod` does not have.
  package let method: String
  package let uri: String
  package var headers = RTSPHeaders()
  package var body: [UInt8] = []

  /// Creates a request without fields.
  package init(_ method: String, _ uri: String) { (self.method, self.uri) = (method, uri) }

  /// The bytes to send.
  package var bytes: [UInt8] { headers.bytes(after: "\(method) \(uri) RTSP/1.0", with: body) }

  /// Returns `true` for a URI that can stand in a request: without blanks and control characters.
  package static func isURI(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
  }
}

/// An answer, of either side.
package struct RTSPResponse: Sendable, Equatable {
  package let status: Int
  package let reason: String
  package var headers = RTSPHeaders()
  package var body: [UInt8] = []

  /// Creates an answer without fields.
  package init(_ status: Int, _ reason: String) { (self.status, self.reason) = (status, reason) }

  /// The bytes to send.
  package var bytes: [UInt8] { headers.bytes(after: "RTSP/1.0 \(status) \(reason)", with: body) }

  /// The number of the request that it answers; nil if the server states none.
  package var number: Int? { headers["CSeq"].flatMap { Int($0) } }
}
