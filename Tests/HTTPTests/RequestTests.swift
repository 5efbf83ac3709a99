import EventLoop
import HTTP
import TestSupport
import TestTraits
import Testing

@Suite("Requests", .waiting, .tags(.http))
struct RequestTests {
  @Test("credentials leave the URL at once")
  func credentials() throws {
    let request = try HTTPRequest("http://jane:s%20ecret@radio.test:8000/live?x=1#part")
    #expect(request.url == "http://radio.test:8000/live?x=1")
    #expect(request.host == "radio.test")
    #expect(request.credentials == HTTPCredentials(user: "jane", password: "s ecret"))
    #expect(try HTTPRequest("http://radio.test/").credentials == nil)
  }

  @Test("no description contains credentials")
  func descriptions() throws {
    var request = try HTTPRequest("http://jane:secret@radio.test/")
    request.headers = [("Authorization", "Bearer secret")]
    let credentials = try #require(request.credentials)
    var dumped = ""
    dump(request, to: &dumped)
    dump(credentials, to: &dumped)
    let texts = [
      "\(request)", String(reflecting: request), "\(credentials)", String(reflecting: credentials), dumped,
      String(describing: request.credentials),
    ]
    for text in texts {
      #expect(!text.contains("secret") && !text.contains("jane"), "\(text)")
    }
  }

  @Test("spaces in a URL are encoded")
  func spaces() throws {
    let url = try HTTPRequest("http://radio.test/a b/caf\u{E9}%20?c d").url
    #expect(url == "http://radio.test/a%20b/caf%c3%a9%20?c+d")
  }

  @Test(
    "an unsupported URL is refused without naming it",
    arguments: [
      ("", HTTPError.Kind.badURL), ("radio.test/live", .badURL), ("http://", .badURL),
      ("http://jane:secret@radio.test:99999/", .badURL), ("http://radio.test/\r\nX: secret", .badURL),
      ("http://radio.test/\0secret", .badURL), ("http://x/" + String(repeating: "x", count: 9000), .badURL),
      ("ftp://jane:secret@radio.test/", .unsupportedScheme), ("file:///secret", .unsupportedScheme),
      ("rtsp://radio.test/secret", .unsupportedScheme), ("javascript:secret", .badURL),
    ])
  func refused(url: String, kind: HTTPError.Kind) {
    let error = #expect(throws: HTTPError.self) { try HTTPRequest(url) }
    #expect(error?.kind == kind)
    #expect(error?.description.contains("secret") == false)
    #expect(error?.description.contains("\n") == false)
  }

  @Test(
    "a header that would end early is not sent",
    arguments: [
      ("X", "a\r\nY: b"), ("X: a\r\nY", "b"), ("X", "a\0b"), ("", "b"), ("a b", "c"), ("a:b", "c"),
    ])
  func injection(name: String, value: String) throws {
    let station = try Station()
    let network = try NetworkThread()
    let error = try network.failure(station.url("/")) { $0.headers = [(name, value)] }
    #expect(error?.kind == .badHeader)
    #expect(try network.failure(station.url("/")) { $0.userAgent = "a\nb: c" }?.kind == .badHeader)
    let credentials = HTTPCredentials(user: "a:b", password: "secret")
    let refused = try network.failure(station.url("/")) { $0.credentials = credentials }
    #expect(refused?.kind == .badHeader)
    #expect(refused?.message.contains("secret") == false)
    #expect(station.visits.isEmpty)
  }

  @Test(
    "the machine itself can be reached without a network",
    arguments: [
      ("localhost", true), ("LOCALHOST", true), ("a.localhost", true), ("127.0.0.1", true),
      ("127.9.9.9", true),
      ("[::1]", true), ("radio.test", false), ("128.0.0.1", false), ("localhost.test", false),
      ("127.0.0.1.test", false),
    ])
  func loopback(host: String, isLocal: Bool) {
    // The result for a foreign host depends on the interfaces of the machine.
    let isUp = NetworkThread.isNetworkUp(for: host)
    #expect(isUp == (isLocal || NetworkThread.isNetworkUp(for: "elsewhere.test")))
  }
}
