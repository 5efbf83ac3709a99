/// The head of a request.
package struct RequestHead: Sendable {
  /// The method, such as `POST`.
  package let method: String
  /// The path without its arguments, decoded.
  package let path: String
  /// The headers in their order.
  package let headers: [(name: String, value: String)]
  /// The arguments of the query, decoded.
  package let arguments: [(name: String, value: String)]
  /// The address of the client; nil when it is gone already.
  package let peer: NetworkAddress?
  /// The address of this machine that the client has reached.
  package let local: NetworkAddress?

  package init(
    method: String, path: String, headers: [(name: String, value: String)] = [],
    arguments: [(name: String, value: String)] = [], peer: NetworkAddress? = nil, local: NetworkAddress? = nil
  ) {
    (self.method, self.path, self.headers, self.arguments) = (method, path, headers, arguments)
    (self.peer, self.local) = (peer, local)
  }

  /// Returns the values of a header, whose name is in lower case.
  package func values(_ name: String) -> [String] {
    headers.filter { $0.name.lowercased() == name }.map(\.value)
  }

  /// Returns the first value of a header, whose name is in lower case; nil without one.
  package func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name }?.value
  }

  /// Returns the first value of an argument; nil without one.
  package func argument(_ name: String) -> String? { arguments.first { $0.name == name }?.value }

  /// The body that a head declares.
  package enum DeclaredBody: Equatable {
    case none
    case bytes(Int)
    /// A body in chunks, whose length shows at its end.
    case chunks
  }

  /// The declared body. A length that is not a number is libmicrohttpd's to refuse.
  package var declaredBody: DeclaredBody {
    if header("transfer-encoding") != nil { return .chunks }
    guard let length = header("content-length") else { return .none }
    guard let count = Int(length) else { return .bytes(.max) }
    return count == 0 ? .none : .bytes(count)
  }
}

/// The limit of a body, and the answer to one that is longer.
package struct BodyLimit: Sendable {
  package let bytes: Int
  package let answer: WebAnswer
  package init(_ bytes: Int, _ answer: WebAnswer) { (self.bytes, self.answer) = (bytes, answer) }
}

/// The decision on a request by its head.
package enum RequestVerdict: Sendable {
  /// The answer; a body is ignored.
  case answer(WebAnswer)
  /// The body is received, then passed on with the exchange, which is to be answered.
  case receive(BodyLimit, @Sendable (Exchange, [UInt8]) -> Void)
}

/// The answer to a request.
package struct WebAnswer: Sendable {
  /// The body of an answer.
  package enum Body: Sendable {
    case bytes([UInt8])
    /// A reader, made when the answer is sent, and its number of bytes; nil for an unknown one.
    case reader(count: Int?, @Sendable () -> any AnswerReader)
  }

  package let status: Int
  package let headers: [(name: String, value: String)]
  package let body: Body

  package init(_ status: Int, headers: [(name: String, value: String)] = [], _ body: Body = .bytes([])) {
    (self.status, self.headers, self.body) = (status, headers, body)
  }

  /// An answer of JSON on one line.
  package init(_ status: Int, json line: String, headers: [(name: String, value: String)] = []) {
    self.init(
      status,
      headers: [
        ("Content-Type", "application/json"), ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
      ] + headers, .bytes(Array((line + "\n").utf8)))
  }

  /// The answer to a request that waits while the server ends.
  static let ending = WebAnswer(
    503, json: #"{"code":"web.ending","message":"the server ends"}"#, headers: [("Retry-After", "5")])
}

/// Reads the body of an answer. The thread of its connection.
package protocol AnswerReader: AnyObject {
  /// Reads the next bytes.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> AnswerRead
}

/// The result of reading a body.
package enum AnswerRead: Equatable, Sendable {
  case bytes(Int)
  case end
  case failed
}
