internal import EventLoop
internal import HTTP
internal import Home
internal import LuaRuntime
internal import StreamCore

/// `http`: requests to servers.
final class HTTPModule {
  /// The most bytes of a response's body that a script may ask for.
  private static let largestBody = 64_000_000
  /// Headers that a transfer sets itself.
  private static let ownHeaders = [
    "accept-encoding", "connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding",
    "upgrade",
  ]

  private let service: RequestService
  private let json: JSONModule
  private let loop: EventLoop

  static func register(in script: Script, service: RequestService, json: JSONModule) {
    let module = HTTPModule(service, json, script.loop)
    script.keep(module)
    script.state.register(
      "http",
      [
        LuaFunction("get", arity: 2) { [unowned module] call in
          try module.perform(call, options: 2) { _ in }
        },
        LuaFunction("post", arity: 3) { [unowned module] call in
          try module.perform(call, options: 3) { try module.setBody(of: &$0, call) }
        },
      ])
  }

  private init(_ service: RequestService, _ json: JSONModule, _ loop: EventLoop) {
    (self.service, self.json, self.loop) = (service, json, loop)
  }

  // MARK: Requests

  /// `get(url [, options])`, `post(url, body [, options])`
  private func perform(
    _ call: LuaCall, options number: Int, _ prepare: (inout HTTPRequest) throws -> Void
  ) throws -> LuaReturn {
    var request: HTTPRequest
    let url = try call.string(1, .url)
    do throws(HTTPError) { request = try HTTPRequest(url) } catch {
      if error.kind == .system {
        throw LuaError(code: Self.code(of: error.kind), message: error.message.onOneLine, hint: error.hint)
      }
      throw call.problem(
        1, error.message, hint: error.kind == .badURL ? "as in http://192.168.1.5/status" : nil)
    }
    let given = try call.options(number, ["headers", "max_bytes", "raise", "timeout"])
    try prepare(&request)
    request.headers = try headers(given, besides: request.headers)
    let timeout = try given.duration("timeout") ?? .seconds(10)
    guard timeout > .zero, timeout <= .seconds(3600) else {
      throw given.problem("timeout", "more than 0 and at most an hour expected")
    }
    request.timeout = timeout
    request.connectTimeout = min(timeout, .seconds(10))
    let limit = try given.byteSize("max_bytes") ?? 1_000_000
    guard limit <= Self.largestBody else { throw given.problem("max_bytes", "64MB at most expected") }
    let raises = try given.bool("raise") ?? true
    return try call.suspend { [unowned self, request] in
      [try await answer(to: request, limit: limit, raises: raises)]
    }
  }

  private func setBody(of request: inout HTTPRequest, _ call: LuaCall) throws {
    let (body, type): ([UInt8], String)
    switch call.value(2) {
    case .nil: (body, type) = ([], "application/octet-stream")
    case .string(let text): (body, type) = (Array(text.utf8), "text/plain; charset=utf-8")
    case .bytes(let bytes): (body, type) = (bytes, "application/octet-stream")
    case .reference(let value) where call.state.typeName(.reference(value)) == "table":
      body = try json.text(2, of: call, in: "http.post", called: "body")
      type = "application/json"
    default: throw call.mismatch(2, "string or table")
    }
    request.method = .post(body)
    request.headers = [("Content-Type", type)]
  }

  /// Returns the headers of a request, sorted by name: those given, and those of `others` that are not given.
  private func headers(
    _ given: LuaOptions, besides others: [(name: String, value: String)]
  ) throws -> [(name: String, value: String)] {
    guard let value = given["headers"] else { return others }
    guard let fields = given.state.fields(of: value) else {
      throw given.problem("headers", "a table of names and values expected")
    }
    let headers = try fields.sorted { $0.key < $1.key }.map { name, value -> (name: String, value: String) in
      let isName =
        !name.isEmpty && name.utf8.count <= 255
        && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"()<>@,;:\\\"/[]?={}".utf8.contains($0) }
      guard isName else {
        throw given.problem("headers", "\"\(name.onOneLine)\" is not the name of a header")
      }
      guard !Self.ownHeaders.contains(name.lowercased()) else {
        throw given.problem("headers", "\(name) is set by the transfer itself")
      }
      guard case .string(let text) = value else {
        throw given.problem("headers", "\(name) needs a text, got \(given.state.typeName(value))")
      }
      guard text.utf8.count <= 8192, !text.utf8.contains(where: { $0 < 0x20 && $0 != 9 || $0 == 0x7F }) else {
        throw given.problem("headers", "\(name) needs at most 8192 bytes without control characters")
      }
      return (name, text)
    }
    for (first, second) in zip(headers, headers.dropFirst())
    where first.name.lowercased() == second.name.lowercased() {
      throw given.problem("headers", "\(first.name) and \(second.name) are one header")
    }
    return others.filter { other in !headers.contains { $0.name.lowercased() == other.name.lowercased() } }
      + headers
  }

  // MARK: Responses

  private func answer(to request: HTTPRequest, limit: Int, raises: Bool) async throws -> LuaValue {
    let shown = StreamAddress.shown(request.url)
    let url = ErrorFact("url", .string(shown))
    let response: (head: HTTPResponse, body: [UInt8])?
    do {
      response = try await service.fetch(request, limit: limit)
    } catch let error as HTTPError {
      throw LuaError(
        code: Self.code(of: error.kind), message: error.message.onOneLine, hint: Self.hint(for: error.kind),
        facts: [url])
    }
    guard let (head, body) = response else {
      throw LuaError(
        code: "simulate.not_here", message: "\(shown) is outside of the simulation",
        hint: "give it an answer in the file of --stations: answer(\"\(shown)\", { body = \"…\" })",
        facts: [url])
    }
    guard head.status < 400 || !raises else { throw refusal(head) }
    return .record([
      ("status", .int(head.status)), ("headers", Self.value(of: head.headers)), ("body", .bytes(body)),
    ])
  }

  /// Returns the headers by their names in lower case; values with the same name are joined by commas.
  private static func value(of headers: HTTPHeaders) -> LuaValue {
    var fields: [(name: String, value: LuaValue)] = []
    var known: Set<String> = []
    for field in headers.fields {
      let name = field.name.lowercased()
      guard known.insert(name).inserted else { continue }
      fields.append((name, .string(headers.all(name).joined(separator: ", "))))
    }
    return .record(fields)
  }

  private func refusal(_ head: HTTPResponse) -> LuaError {
    let url = StreamAddress.shown(head.url)
    var facts = [ErrorFact("url", .string(url)), ErrorFact("status", .int(head.status))]
    if let delay = head.retryAfter(at: loop.wallNow) {
      facts.append(ErrorFact("retry_after", .int(Int(delay.inSeconds.rounded(.up)))))
    }
    return LuaError(
      code: "http.status", message: "\(url) answers with status \(head.status)",
      hint: "raise = false returns such answers", facts: facts)
  }

  private static func code(of kind: HTTPErrorKind) -> String {
    switch kind {
    case .timeout: "http.timeout"
    case .tooLarge: "http.too_large"
    default: "http.network"
    }
  }

  private static func hint(for kind: HTTPErrorKind) -> String? {
    switch kind {
    case .tooLarge: "max_bytes sets another limit"
    case .timeout: "timeout sets another limit"
    default: nil
    }
  }
}
