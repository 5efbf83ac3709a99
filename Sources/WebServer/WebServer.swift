package import EventLoop
internal import Glibc
internal import JSONText

/// The paths of a server that begin with a text, and the decisions on their requests.
package struct WebRoute: Sendable {
  /// The beginning of the paths, such as `/trigger/`; a path that does not end in a slash is a whole one.
  package let path: String
  /// The methods.
  package let methods: [String]
  /// Decides on a request; `rest` is its path after the beginning. The server's thread.
  package let decide: @Sendable (_ head: RequestHead, _ rest: String) -> RequestVerdict

  package init(
    _ path: String, methods: [String],
    decide: @escaping @Sendable (_ head: RequestHead, _ rest: String) -> RequestVerdict
  ) { (self.path, self.methods, self.decide) = (path, methods, decide) }

  fileprivate func rest(of path: String) -> String? {
    if path == self.path { return "" }
    return self.path.hasSuffix("/") && path.hasPrefix(self.path)
      ? String(path.dropFirst(self.path.count)) : nil
  }
}

/// The answers to requests by their heads: names of the server, paths and methods.
package struct WebRouter: Sendable {
  private let hosts: AllowedHosts
  private let routes: [WebRoute]

  package init(hosts: AllowedHosts, routes: [WebRoute]) { (self.hosts, self.routes) = (hosts, routes) }

  /// Returns the decision on a request.
  package func decide(_ head: RequestHead) -> RequestVerdict {
    switch hosts.fault(of: head) {
    case nil: break
    case .invalidHost: return .answer(WebAnswer(400, "web.host", "the header Host is missing or invalid"))
    case .foreignHost(let host):
      return .answer(
        WebAnswer(
          421, "web.host", "this server is not called \(quoted(host))",
          hint: "page { names = { … } } of the configuration adds a name"))
    case .foreignOrigin:
      return .answer(WebAnswer(403, "web.origin", "requests from pages of other sites are refused"))
    }
    let found = routes.compactMap { route in route.rest(of: head.path).map { (route, $0) } }
    guard !found.isEmpty else {
      return .answer(WebAnswer(404, "web.path", "nothing is at \(quoted(head.path))"))
    }
    guard let (route, rest) = found.first(where: { $0.0.methods.contains(head.method) }) else {
      let methods = found.flatMap(\.0.methods).joined(separator: ", ")
      return .answer(
        WebAnswer(
          405, "web.method", "\(methods) expected, got \(quoted(head.method))", headers: [("Allow", methods)])
      )
    }
    return route.decide(head, rest)
  }
}

extension WebAnswer {
  /// An error: one line of JSON with its code, its message and its hint.
  package init(
    _ status: Int, _ code: String, _ message: String, hint: String? = nil,
    headers: [(name: String, value: String)] = []
  ) {
    var members: [(name: String, value: JSON)] = [("code", .string(code)), ("message", .string(message))]
    if let hint { members.append(("hint", .string(hint))) }
    self.init(status, json: JSON.object(members).line, headers: headers)
  }
}

/// A server on one address, with limits for hostile clients. Confined to the loop; its requests are decided on by a
/// thread of the server, which sleeps until one comes.
package final class WebServer {
  /// The most connections, and the most of one address.
  package static let mostConnections = 128, mostPerAddress = 16
  /// The time in which a request must have arrived.
  package static let requestTime = Duration.seconds(10)

  /// The address at which it listens.
  package let address: ListenAddress
  private let daemon: HTTPDaemon
  private let router: Router

  /// The router, which a reload replaces.
  private final class Router: Sendable {
    let current: Lock<WebRouter>
    init(_ router: WebRouter) { current = Lock(router) }
  }

  /// Listens.
  /// - Parameters:
  ///   - identity: the certificate for TLS; nil for plain HTTP.
  ///   - requestTime: the time in which a request must have arrived.
  /// - Throws: `web.busy`, `web.address`, `web.library`, `web.certificate`, `web.failed`.
  package init(
    _ address: ListenAddress, identity: HTTPDaemon.Identity?, router: WebRouter, loop: EventLoop,
    requestTime: Duration = requestTime
  ) throws(WebError) {
    let (listener, port) = try Self.listen(address)
    var limits = HTTPDaemon.Limits(
      connections: UInt32(Self.mostConnections), perAddress: UInt32(Self.mostPerAddress), idleSeconds: 20)
    limits.head = 16 << 10
    limits.ignoredBody = 256 << 10
    let own = Router(router)
    daemon = try HTTPDaemon(
      listener: listener, threads: .one(ConnectionDeadlines(loop: loop, limit: requestTime)), limits: limits,
      identity: identity
    ) { head in
      own.current.withLock { $0 }.decide(head)
    }
    (self.address, self.router) = (ListenAddress(address.address, port: port), own)
  }

  /// Decides on requests by other rules from now on.
  package func use(_ router: WebRouter) { self.router.current.withLock { $0 = router } }

  /// Accepts no further connections, and answers the requests that wait with 503.
  package func quiesce() { daemon.quiesce() }

  /// Ends all connections. A second call does nothing.
  package func stop() { daemon.stop() }

  /// Listens for a moment.
  /// - Throws: the reason why no server could listen there.
  package static func probe(_ address: ListenAddress) throws(WebError) {
    Glibc.close(try listen(address).0)
  }

  private static func listen(_ place: ListenAddress) throws(WebError) -> (Int32, Int) {
    func failure(_ number: Int32) -> WebError {
      switch number {
      case EADDRINUSE:
        WebError(
          .busy, "port \(place.port) of \(place.address) is in use",
          hint: "`ss -ltnp` names the process; page { listen = … } takes another port")
      case EADDRNOTAVAIL:
        WebError(
          .address, "this machine does not have the address \(place.address)",
          hint: "`ip address` lists those that it has")
      default: WebError(.failed, "can't listen at \(place): \(SystemError(number).text)")
      }
    }
    do throws(SystemError) { return try ListeningSocket.open(place) } catch { throw failure(error.number) }
  }
}
