public import EventLoop
public import JSONText

/// A request of JSON-RPC 2.0. Source: https://www.jsonrpc.org/specification
public struct RPCRequest: Sendable {
  /// The id that the answer repeats: a number, a text or null; nil for a notification, which has no answer.
  public let id: JSON?
  /// The name of the method.
  public let method: String
  /// The parameters by name.
  public let parameters: JSON

  /// A request for `method`.
  public init(id: JSON?, method: String, parameters: JSON = .object([])) {
    (self.id, self.method, self.parameters) = (id, method, parameters)
  }

  /// The request on one line, without its end.
  public var line: String {
    var members: [(name: String, value: JSON)] = [("jsonrpc", "2.0")]
    if let id { members.append(("id", id)) }
    members += [("method", .string(method)), ("params", parameters)]
    return JSON.object(members).line
  }
}

/// An error of JSON-RPC 2.0.
public struct RPCError: CodedError, Sendable {
  /// The kinds with numbers of their own; the raw value is the number. Source: section 5.1.
  public enum Kind: Int, Sendable {
    case unparsable = -32700
    case invalidRequest = -32600
    case unknownMethod = -32601
    case invalidParameters = -32602
    case `internal` = -32603
    /// A request that was understood and failed; `data` says why.
    case failed = -32000
  }

  /// The number of the kind.
  public let number: Int
  /// The failure in one line.
  public let message: String
  /// The stable code, such as `speaker.unknown`; `control.protocol` for an error of the protocol.
  public let code: String
  /// The advice to the user; nil without advice.
  public let hint: String?

  /// An error of the protocol.
  public init(_ kind: Kind, _ message: String, hint: String? = nil) {
    (number, self.message, code, self.hint) = (kind.rawValue, message, Self.ownCode, hint)
  }

  private init(_ kind: Kind, _ error: any CodedError) {
    (number, message, code, hint) = (kind.rawValue, error.message, error.code, error.hint)
  }

  /// The failure of a request.
  public init(_ error: any Error) {
    switch error {
    case let error as RPCError: self = error
    case let error as any CodedError: self.init(.failed, error)
    case is CancellationError: self.init(.failed, "the request was cancelled")
    default: self.init(.internal, "\(error)")
    }
  }

  /// Reads the `error` of an answer; nil for a value that is not an error.
  public init?(_ json: JSON) {
    guard let number = json["code"]?.int, let message = json["message"]?.text else { return nil }
    (self.number, self.message) = (number, message)
    (code, hint) = (json["data"]?["code"]?.text ?? Self.ownCode, json["data"]?["hint"]?.text)
  }

  /// The `error` of an answer.
  public var json: JSON {
    var members: [(name: String, value: JSON)] = [("code", .number(number)), ("message", .string(message))]
    let data = [("code", code), ("hint", hint)].compactMap { name, text in
      text.map { (name: name, value: JSON.string($0)) }
    }
    members.append(("data", .object(data)))
    return .object(members)
  }

  private static let ownCode = "control.protocol"
}

/// A line of a client: one request, or several that are answered together.
enum RPCLine {
  /// A request, or the reason why it is invalid, with the id for the answer.
  enum Element {
    case request(RPCRequest)
    case invalid(id: JSON, RPCError)
  }
  case single(Element)
  case batch([Element])

  /// The most requests of a batch.
  static let longestBatch = 100

  /// Parses a line. Never fails: an error is an element to be answered.
  init(_ line: some Sequence<UInt8>) {
    guard let json = JSON(parsing: line) else {
      self = .single(.invalid(id: .null, RPCError(.unparsable, "the request is not JSON on one line")))
      return
    }
    guard let elements = json.elements else {
      self = .single(Self.element(json))
      return
    }
    guard (1...Self.longestBatch).contains(elements.count) else {
      self = .single(
        .invalid(id: .null, RPCError(.invalidRequest, "a batch has 1 to \(Self.longestBatch) requests")))
      return
    }
    self = .batch(elements.map(Self.element))
  }

  private static func element(_ json: JSON) -> Element {
    var id: JSON?
    switch json["id"] {
    case nil: break
    case .string(let text)? where text.utf8.count > longestName:
      return .invalid(
        id: .null, RPCError(.invalidRequest, "'id' has at most \(longestName) bytes, got \(text.utf8.count)"))
    case .null?, .number?, .decimal?, .exact?, .string?: id = json["id"]
    case .bool?, .array?, .object?:
      return .invalid(id: .null, RPCError(.invalidRequest, "'id' is a number, a text or null"))
    }
    func invalid(_ message: String) -> Element {
      .invalid(id: id ?? .null, RPCError(.invalidRequest, message))
    }
    guard case .object = json else { return invalid("a request is an object, or a batch of them") }
    guard json["jsonrpc"]?.text == "2.0" else { return invalid("'jsonrpc' is \"2.0\"") }
    guard let method = json["method"]?.text else { return invalid("'method' is a text") }
    switch json["params"] {
    case nil: return .request(RPCRequest(id: id, method: method))
    case .object?: return .request(RPCRequest(id: id, method: method, parameters: json["params"] ?? .null))
    default:
      return .invalid(
        id: id ?? .null, RPCError(.invalidParameters, "'params' is an object: parameters are passed by name"))
    }
  }
}

/// Lines for clients.
enum RPCAnswer {
  static func result(_ result: JSON, id: JSON) -> JSON {
    .object([("jsonrpc", "2.0"), ("id", id), ("result", result)])
  }
  static func failure(_ error: RPCError, id: JSON) -> JSON {
    .object([("jsonrpc", "2.0"), ("id", id), ("error", error.json)])
  }
  static func notification(_ method: String, _ parameters: JSON) -> JSON {
    .object([("jsonrpc", "2.0"), ("method", .string(method)), ("params", parameters)])
  }
}
