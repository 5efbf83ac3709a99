import TestTraits
import Testing

@testable import WebServer

@Suite("Names, paths and methods of requests", .tags(.page, .hostile)) struct WebRouterTests {
  private func head(
    _ path: String = "/a/b", method: String = "POST", host: String? = "kitchen.local:8420",
    origin: String? = nil, more: [(String, String)] = [], local: String = "192.0.2.1"
  ) -> RequestHead {
    var headers = more.map { (name: $0.0, value: $0.1) }
    if let host { headers.append(("hOst", host)) }
    if let origin { headers.append(("Origin", origin)) }
    return RequestHead(method: method, path: path, headers: headers, local: NetworkAddress(local))
  }

  private let hosts = AllowedHosts(hostName: "Kitchen.example.org", names: ["radio.home"])

  @Test(
    "the host's names, the configured ones and the address of the connection are allowed",
    arguments: [
      "kitchen", "KITCHEN.local", "kitchen.example.org:8420", "kitchen.local.", "localhost:1", "radio.home",
      "192.0.2.1", "192.0.2.1:80",
    ])
  func allowed(_ host: String) { #expect(hosts.fault(of: head(host: host)) == nil) }

  @Test("addresses among the names are allowed in any notation, as a router forwards connections from them")
  func addresses() {
    let hosts = AllowedHosts(hostName: "kitchen", names: ["192.168.1.5", "2001:DB8:0::5", "Radio.home."])
    for host in [
      "192.168.1.5", "192.168.1.5:8420", "[2001:db8::5]:80", "[2001:db8:0:0::5]", "radio.home", "radio.home.",
      "192.0.2.1",
    ] {
      #expect(hosts.fault(of: head(host: host)) == nil, "\(host)")
    }
    #expect(hosts.fault(of: head(host: "192.168.1.6")) == .foreignHost("192.168.1.6"))
    #expect(hosts.fault(of: head(host: "[2001:db8::6]")) == .foreignHost("2001:db8::6"))
  }

  @Test("an address of IPv6 is in brackets")
  func v6() {
    #expect(hosts.fault(of: head(host: "[2001:db8::1]:8420", local: "2001:DB8:0::1")) == nil)
    #expect(hosts.fault(of: head(host: "[2001:db8::2]", local: "2001:db8::1")) == .foreignHost("2001:db8::2"))
    #expect(hosts.fault(of: head(host: "[::1", local: "::1")) == .invalidHost)
    #expect(hosts.fault(of: head(host: "[::1]x", local: "::1")) == .invalidHost)
  }

  @Test(
    "names of others are refused, as a page of another site may lead its own name here",
    arguments: [
      "evil.example", "kitchen.evil.example", "192.0.2.2", "127.0.0.1", "kitchen.local.evil.example:8420",
    ])
  func foreign(_ host: String) {
    guard case .foreignHost = hosts.fault(of: head(host: host)) else {
      Issue.record("\(host) is allowed")
      return
    }
  }

  @Test(
    "a missing, doubled or broken Host is refused",
    arguments: [
      "", ":80", "kitchen:80:90", "kitchen:x", "kit chen", String(repeating: "a", count: 256),
    ])
  func invalid(_ host: String) {
    #expect(hosts.fault(of: head(host: host)) == .invalidHost)
    #expect(hosts.fault(of: head(host: nil)) == .invalidHost)
    #expect(hosts.fault(of: head(more: [("Host", "kitchen")])) == .invalidHost)
  }

  @Test("a page of the same name and port may send requests, others not")
  func origin() {
    #expect(hosts.fault(of: head(origin: "http://kitchen.local:8420")) == nil)
    #expect(hosts.fault(of: head(origin: "https://Kitchen.local:8420")) == nil)
    for origin in [
      "null", "http://kitchen.local", "http://evil.example", "file://", "http://kitchen.local:8420/", "",
      "http:/kitchen.local:8420", "ftp://kitchen.local:8420",
    ] {
      #expect(hosts.fault(of: head(origin: origin)) == .foreignOrigin, "\(origin)")
    }
  }

  private func status(_ head: RequestHead) -> Int? {
    let router = WebRouter(
      hosts: hosts,
      routes: [
        WebRoute("/a/", methods: ["POST"]) { _, rest in .answer(WebAnswer(200, json: rest)) },
        WebRoute("/", methods: ["GET"]) { _, _ in .answer(WebAnswer(204)) },
        WebRoute("/page", methods: ["GET"]) { _, _ in .answer(WebAnswer(205)) },
      ].filter { $0.path != "/" })
    guard case .answer(let answer) = router.decide(head) else { return nil }
    return answer.status
  }

  @Test("a path leads to its route, another method is 405, another path 404, another name 421")
  func routes() {
    #expect(status(head("/a/b")) == 200 && status(head("/a/b", method: "GET")) == 405)
    #expect(status(head("/page", method: "GET")) == 205 && status(head("/page/x", method: "GET")) == 404)
    #expect(status(head("/b")) == 404 && status(head("/a")) == 404)
    #expect(status(head(host: "evil.example")) == 421 && status(head(origin: "null")) == 403)
    #expect(status(head(host: nil)) == 400)
  }

  @Test("the declared body is known by the head")
  func body() {
    #expect(head().declaredBody == .none)
    #expect(head(more: [("content-length", "0")]).declaredBody == .none)
    #expect(head(more: [("Content-Length", "7")]).declaredBody == .bytes(7))
    #expect(head(more: [("Content-Length", "99999999999999999999")]).declaredBody == .bytes(.max))
    #expect(head(more: [("Transfer-Encoding", "chunked")]).declaredBody == .chunks)
  }

  @Test(
    "an address to listen at has a port",
    arguments: [
      ("127.0.0.1:8420", "127.0.0.1:8420"), ("[::1]:0", "[::1]:0"), ("localhost:80", "127.0.0.1:80"),
      ("0.0.0.0:65535", "0.0.0.0:65535"), ("[::]:1", "[::]:1"),
    ])
  func listening(_ text: String, _ shown: String) {
    #expect(ListenAddress(parsing: text)?.description == shown)
  }

  @Test(
    "any other text is no address",
    arguments: [
      "", "8420", ":8420", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80", "[127.0.0.1]:80",
      "kitchen:80",
      "127.0.0.1:+1", "*:80", "[::1]", "127.0.0.1:-1",
    ])
  func noAddress(_ text: String) { #expect(ListenAddress(parsing: text) == nil) }

  @Test("addresses know whether they are of this machine alone")
  func loopback() {
    #expect(NetworkAddress("127.3.2.1")?.isLoopback == true && NetworkAddress("::1")?.isLoopback == true)
    #expect(NetworkAddress("::ffff:127.0.0.1") == NetworkAddress("127.0.0.1"))
    #expect(NetworkAddress("192.0.2.1")?.isLoopback == false && NetworkAddress("::")?.isLoopback == false)
    #expect(NetworkAddress("::")?.isAny == true && NetworkAddress("0.0.0.0")?.isAny == true)
    #expect(NetworkAddress("1.2.3") == nil && NetworkAddress("") == nil)
  }
}
