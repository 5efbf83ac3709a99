import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import WebServer

@Suite("A server and its waiting requests", .waiting, .tags(.page)) struct WebServerTests {
  /// The exchanges that wait, as the routes of tests receive them.
  private final class Waiting: Sendable {
    let exchanges = Lock<[Exchange]>([])
  }

  private static func server(_ loop: EventLoop, _ waiting: Waiting) throws -> WebServer {
    let routes = [
      WebRoute("/wait", methods: ["GET", "POST"]) { _, _ in
        .receive(BodyLimit(10, WebAnswer(413))) { exchange, _ in
          waiting.exchanges.withLock { $0.append(exchange) }
        }
      },
      WebRoute("/echo", methods: ["POST"]) { _, _ in
        .receive(BodyLimit(10, WebAnswer(413))) { exchange, body in
          exchange.answer(WebAnswer(200, .bytes(body)))
          exchange.answer(WebAnswer(500))
        }
      },
    ]
    return try WebServer(
      ListenAddress(try #require(NetworkAddress("127.0.0.1")), port: 0), identity: nil,
      router: WebRouter(hosts: AllowedHosts(hostName: nil), routes: routes), loop: loop)
  }

  /// Runs curl on threads; the statuses come in their order.
  private final class Clients: Sendable {
    let statuses = Lock<[String]>([])
    var count: Int { statuses.withLock { $0.count } }

    func fetch(_ url: String) throws -> TestThread {
      try TestThread { [self] in
        let result = try? Command.run(
          "curl", ["-s", "-m", "60", "-o", "/dev/null", "-w", "%{http_code}", url])
        statuses.withLock { $0.append(result?.text ?? "none") }
      }
    }
  }

  @Test("requests wait without a thread, and are answered from the loop in any order")
  func waits() throws {
    let (loop, waiting, clients) = (EventLoop(), Waiting(), Clients())
    // They know the server, whose routes know them.
    defer { waiting.exchanges.withLock { $0 = [] } }
    let server = try Self.server(loop, waiting)
    let url = "http://\(server.address)/wait"
    let threads = try (0..<8).map { _ in try clients.fetch(url) }
    try loop.finish {
      try await loop.wait { waiting.exchanges.withLock { $0.count } == 8 }
      for exchange in waiting.exchanges.withLock({ $0 }).reversed() { exchange.answer(WebAnswer(204)) }
      try await loop.wait { clients.count == 8 }
    }
    for thread in threads { thread.join() }
    #expect(clients.statuses.withLock { $0 } == Array(repeating: "204", count: 8))
    server.stop()
  }

  @Test("requests that wait at the end are answered with 503; answers that come later change nothing")
  func ends() throws {
    let (loop, waiting, clients) = (EventLoop(), Waiting(), Clients())
    // They know the server, whose routes know them.
    defer { waiting.exchanges.withLock { $0 = [] } }
    let server = try Self.server(loop, waiting)
    let url = "http://\(server.address)/wait"
    let threads = try (0..<4).map { _ in try clients.fetch(url) }
    try loop.finish {
      try await loop.wait { waiting.exchanges.withLock { $0.count } == 4 }
      server.quiesce()
      try await loop.wait { clients.count == 4 }
    }
    for thread in threads { thread.join() }
    #expect(clients.statuses.withLock { $0 } == Array(repeating: "503", count: 4))
    server.stop()
    for exchange in waiting.exchanges.withLock({ $0 }) { exchange.answer(WebAnswer(200)) }
    server.stop()
  }

  @Test("a server that is stopped at once ends beside requests that wait")
  func stops() throws {
    let (loop, waiting, clients) = (EventLoop(), Waiting(), Clients())
    // They know the server, whose routes know them.
    defer { waiting.exchanges.withLock { $0 = [] } }
    let server = try Self.server(loop, waiting)
    let url = "http://\(server.address)/wait"
    let threads = try (0..<4).map { _ in try clients.fetch(url) }
    try loop.finish {
      try await loop.wait { waiting.exchanges.withLock { $0.count } == 4 }
      server.stop()
      try await loop.wait { clients.count == 4 }
    }
    for thread in threads { thread.join() }
    #expect(clients.statuses.withLock { $0 }.allSatisfy { $0 == "503" || $0 == "000" })
  }

  @Test("a server that is quiesced twice, then stopped, closes its socket once")
  func quiescesOnce() throws {
    let loop = EventLoop()
    defer { loop.close() }
    let place = ListenAddress(try #require(NetworkAddress("127.0.0.1")), port: 0)
    let socket = try ListeningSocket.open(place).descriptor
    // A number that no other test of the process takes.
    let listener = fcntl(socket, F_DUPFD_CLOEXEC, 800)
    close(socket)
    try #require(listener >= 800)
    let daemon = try HTTPDaemon(
      listener: listener, threads: .one(ConnectionDeadlines(loop: loop, limit: .seconds(10))),
      limits: HTTPDaemon.Limits(connections: 4, perAddress: 4, idleSeconds: 10)
    ) { _ in .answer(WebAnswer(204)) }
    daemon.quiesce()
    let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
    let other = fcntl(file, F_DUPFD_CLOEXEC, listener)
    close(file)
    defer { close(other) }
    try #require(other == listener, "the socket is not closed")
    daemon.quiesce()
    #expect(fcntl(other, F_GETFD) >= 0)
    daemon.stop()
    daemon.quiesce()
    #expect(fcntl(other, F_GETFD) >= 0)
  }

  @Test("an answer that comes at once is sent once; a longer body is refused")
  func atOnce() throws {
    let (loop, waiting) = (EventLoop(), Waiting())
    defer { loop.close() }
    let server = try Self.server(loop, waiting)
    defer { server.stop() }
    let url = "http://\(server.address)/echo"
    let body = try Command.run("curl", ["-s", "-m", "60", "-d", "0123456789", url])
    #expect(body.text == "0123456789")
    for type in ["Content-Length: 11", "Transfer-Encoding: chunked"] {
      let long = try Command.run(
        "curl", ["-s", "-m", "60", "-H", type, "-d", "0123456789a", "-w", "%{http_code}", url])
      #expect(long.text == "413", "\(type)")
    }
  }

  @Test("a port in use, an address of another machine and a wrong certificate are told apart")
  func failures() throws {
    let loop = EventLoop()
    defer { loop.close() }
    let holder = try LoopbackListener(blocks: false)
    let router = WebRouter(hosts: AllowedHosts(hostName: nil), routes: [])
    func failure(_ text: String, _ identity: HTTPDaemon.Identity? = nil) throws -> WebErrorKind? {
      let address = try #require(ListenAddress(parsing: text))
      let error = #expect(throws: WebError.self) {
        try WebServer(address, identity: identity, router: router, loop: loop)
      }
      return error?.kind
    }
    #expect(try failure("127.0.0.1:\(holder.port)") == .busy)
    #expect(try failure("192.0.2.1:8420") == .address)
    let wrong = HTTPDaemon.Identity(certificate: Array("no".utf8), key: Array("no".utf8))
    let before = try LinuxFiles.names(in: "/proc/self/fd").count
    for _ in 0..<300 { #expect(try failure("127.0.0.1:0", wrong) == .failed) }
    // Other tests of the process open and close files too.
    #expect(try LinuxFiles.names(in: "/proc/self/fd").count < before + 200)
  }
}
