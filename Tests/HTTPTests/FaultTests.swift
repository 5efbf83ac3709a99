import EventLoop
import HTTP
import TestSupport
import TestTraits
import Testing

@Suite("Faults of servers", .waiting, .tags(.http))
struct FaultTests {
  private let station: Station
  private let network: NetworkThread

  init() throws { (station, network) = (try Station(), try NetworkThread()) }

  @Test("all bytes before a reset arrive, then the error", arguments: [0, 1, 100_000, 3_000_000])
  func reset(count: Int) throws {
    let live = Live(.noise(seed: 1))
    station.answer("/live", with: .live(live).dropping(at: count, by: .reset))
    let recording = try network.get(station.url("/live"))
    let error = try #require(recording.ends.first ?? nil)
    #expect(error.kind == .reset)
    #expect(error.message.contains("127.0.0.1"))
    let start = try #require(station.visits.first).start
    #expect(recording.body == live.programme.bytes(start..<start + count))
  }

  @Test("a body shorter than its length is an error, behind the bytes that came")
  func short() throws {
    station.answer("/a", with: .page("hello").claiming(10))
    let recording = try network.get(station.url("/a"))
    #expect(recording.text == "hello")
    #expect(recording.ends.first??.kind == .reset)
  }

  @Test("bytes behind the length do not belong to the body")
  func long() throws {
    station.answer("/a", with: .page("hello").claiming(4))
    let recording = try network.get(station.url("/a"))
    #expect(recording.text == "hell")
    #expect(recording.ends == [nil])
  }

  @Test(
    "chunks that end early or are none are errors",
    arguments: [
      ("5\r\nhello\r\n", HTTPError.Kind.reset, "hello"), ("5\r\nhel", .reset, "hel"),
      ("5\r\nhello\r\nzz\r\n", .protocolViolation, "hello"),
      ("fffffffffffffffff\r\nhello", .protocolViolation, ""),
    ])
  func chunks(body: String, kind: HTTPError.Kind, text: String) throws {
    station.answer("/a", with: .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body))
    let recording = try network.get(station.url("/a"))
    #expect(recording.ends.first??.kind == kind, "\(recording.ends)")
    #expect(recording.text == text)
  }

  @Test(
    "a response that is not HTTP is reported as such",
    arguments: [
      "garbage\r\n\r\n", "ICY 200 OK\r\n\r\nbytes", "220 ftp.test\r\n",
      "\u{0}\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}",
      "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", "HTTP/9.9 200 OK\r\n\r\n",
      "HTTP/1.1 abc\r\n\r\nx",
    ])
  func garbage(text: String) throws {
    station.answer("/a", with: .raw(text))
    let recording = try network.get(station.url("/a"))
    #expect(recording.ends.first??.kind == .protocolViolation, "\(recording.ends)")
    #expect(recording.body.isEmpty)
  }

  @Test(
    "a connection that ends without an answer, or in the head, is a reset",
    arguments: ["", "HTTP/1.1 200 OK\r\nX: 1\r\n"])
  func nothing(text: String) throws {
    station.answer("/a", with: .raw(text))
    let recording = try network.get(station.url("/a"))
    #expect(recording.ends.first??.kind == .reset, "\(recording.ends)")
    #expect(recording.heads.isEmpty)
  }

  @Test("a head without end fails")
  func endlessHeaders() throws {
    station.answer("/a", with: .endlessHeaders)
    let recording = try network.get(station.url("/a"))
    #expect(recording.ends.first??.kind == .headersTooLarge)
    #expect(recording.ends.first??.message.contains("more than 200 lines") == true)
    #expect(recording.heads.isEmpty)
  }

  @Test("a header line without end fails")
  func endlessLine() throws {
    station.answer(
      "/a", with: .raw(Array("HTTP/1.1 200 OK\r\nX: ".utf8) + [UInt8](repeating: 120, count: 1_000_000)))
    #expect(try network.failure(station.url("/a"))?.kind == .headersTooLarge)
  }

  @Test("redirects that lead in a circle, or elsewhere than to http, fail")
  func redirects() throws {
    station.answer("/a", with: .redirect(to: "/b"))
    station.answer("/b", with: .redirect(to: "/a"))
    #expect(try network.failure(station.url("/a"))?.kind == .tooManyRedirects)
    #expect(station.visits.count == 11)
    #expect(try network.failure(station.url("/a")) { $0.maximumRedirects = 1 }?.kind == .tooManyRedirects)
    for location in ["ftp://127.0.0.1/x", "file:///etc/passwd", "gopher://127.0.0.1/"] {
      station.answer("/c", with: .redirect(to: location))
      let recording = try network.get(station.url("/c"))
      #expect(recording.ends.first??.kind == .unsupportedScheme, "\(recording.ends)")
      #expect(recording.heads.isEmpty)
    }
  }

  @Test(
    "a compressed body that was not asked for fails before its first byte",
    arguments: ["gzip", "br", "identity, x"])
  func compressed(coding: String) throws {
    station.answer("/a", with: .page("hello").with("Content-Encoding", coding))
    let recording = try network.get(station.url("/a"))
    #expect(recording.ends.first??.kind == .encoding)
    #expect(recording.heads.isEmpty && recording.body.isEmpty)
    station.answer("/b", with: .page("hello").with("Content-Encoding", "Identity"))
    #expect(try network.get(station.url("/b")).text == "hello")
  }

  @Test("a port without a listener refuses, until there is one")
  func refused() throws {
    station.answer("/a", with: .page("hello"))
    station.refuse()
    let error = try #require(try network.failure(station.url("/a")))
    #expect(error.kind == .refused)
    #expect(error.code == "http.refused")
    #expect(error.facts.first?.name == "host")
    station.accept()
    #expect(try network.get(station.url("/a")).text == "hello")
  }

  @Test("after a drop the station refuses for a time, then lets in again")
  func refusal() throws {
    var (rounds, isRefused) = (0, false)
    // On a busy machine the time may be over before the next request: then it is tried with a longer one.
    for seconds in [2, 10, 50] where !isRefused {
      station.answer(
        "/a", with: .page("hello").dropping(at: 3, by: .reset, refusing: .seconds(seconds)), .page("again"))
      #expect(try network.get(station.url("/a")).text == "hel")
      let error = try network.failure(station.url("/a"))
      isRefused = error?.kind == .refused
      if isRefused {
        try eventually("the station lets in again") { try network.failure(station.url("/a")) == nil }
      } else {
        #expect(error == nil)
      }
      rounds += 1
    }
    #expect(isRefused && station.visits.count == 2 * rounds)
  }

  @Test("an unknown name is not found")
  func unresolved() throws {
    let error = try #require(try network.failure("http://jane:secret@no-such-host.invalid/"))
    #expect(error.kind == .resolve)
    #expect(error.message.contains("no-such-host.invalid"))
    #expect(!error.message.contains("secret"))
  }

  @Test("the connect timeout ends a handshake without a response")
  func connectTimeout() throws {
    // The station waits for the end of a request, which the beginning of a handshake does not contain.
    let url = station.url("/").replacing("http:", with: "https:")
    let error = try network.failure(url) { $0.connectTimeout = .milliseconds(200) }
    #expect(error?.kind == .timeout)
  }

  @Test("the timeout of the whole ends a body that stalls")
  func timeout() throws {
    station.answer("/a", with: .page("hello").stalling(at: 2))
    var text = ""
    // On a busy machine the timeout may expire before the first bytes arrive: then a longer one is tried.
    for seconds in [2, 10, 50] where text.isEmpty {
      let recording = try network.get(station.url("/a")) { $0.timeout = .seconds(seconds) }
      text = recording.text
      #expect(recording.ends.first??.kind == .timeout)
    }
    #expect(text == "he")
  }

  @Test("a slow head and slow pieces are waited for")
  func slow() throws {
    station.answer(
      "/a", with: .page("hello").withSlowHead(.milliseconds(1)).inPieces(1, delay: .milliseconds(1)))
    #expect(try network.get(station.url("/a")).text == "hello")
    station.answer("/b", with: .page("hello").stalling(at: 4, for: .milliseconds(50)))
    #expect(try network.get(station.url("/b")).text == "hello")
  }
}
