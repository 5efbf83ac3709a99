import EventLoop
import HTTP
import TestSupport
import TestTraits
import Testing

@Suite("Transfers", .waiting, .tags(.http))
struct TransferTests {
  private let station: Station
  private let network: NetworkThread

  init() throws { (station, network) = (try Station(), try NetworkThread()) }

  @Test("a page comes with its head, then its bytes, then one end")
  func page() throws {
    station.answer("/a", with: .page("hello", type: "text/plain; charset=utf-8"))
    let recording = try network.get(station.url("/a")) {
      $0.userAgent = "Tester/1"; $0.headers = [("X-A", "1"), ("X-B", "")]
    }
    #expect(recording.text == "hello")
    #expect(recording.ends == [nil])
    let head = try #require(recording.heads.first)
    #expect(recording.heads.count == 1)
    #expect(head.status == 200)
    #expect(head.url == station.url("/a"))
    #expect(head.contentLength == 5)
    #expect(head.contentType?.name == "text/plain")
    #expect(!head.acceptsRanges)
    let visit = try #require(station.visits.first)
    #expect(visit["User-Agent"] == "Tester/1")
    #expect(visit["X-A"] == "1")
    #expect(visit["X-B"] == "")
    #expect(visit["Accept-Encoding"] == "identity")
    #expect(visit["Icy-MetaData"] == nil)
    #expect(visit["Cookie"] == nil)
  }

  @Test("a transfer that is handed over brings all that follows to the other receiver")
  func handOver() throws {
    let bytes = SeededBytes.make(4_000)
    station.answer("/a", with: .page(bytes, type: "audio/mpeg").chunked(100).inPieces(1, 3, 500))
    let (second, transfer) = (Recording(), Lock<HTTPTransfer?>(nil))
    // The first receiver hands over in the midst of what comes.
    let first = Recording { _ in
      .more
    } onBody: { _ in
      transfer.withLock { $0 }?.handOver(to: second)
      return .more
    }
    let request = try HTTPRequest(station.url("/a"))
    network.loop.post { [network] in transfer.withLock { $0 = network.start(request, on: first) } }
    #expect(try second.waitForEnd() == nil)
    #expect(!first.body.isEmpty && first.body + second.body == bytes)
    #expect(first.heads.count == 1 && first.ends.isEmpty && second.heads.isEmpty)
  }

  @Test("a transfer that is handed over before it begins brings its head to the other receiver")
  func handOverFirst() throws {
    station.answer("/a", with: .page("hello"))
    let (first, second) = (Recording(), Recording())
    let request = try HTTPRequest(station.url("/a"))
    network.loop.post { [network] in network.start(request, on: first).handOver(to: second) }
    #expect(try second.waitForEnd() == nil)
    #expect(second.text == "hello" && second.heads.count == 1 && first.heads.isEmpty && first.ends.isEmpty)
  }

  @Test("a page without a body has a head and an end")
  func empty() throws {
    station.answer("/a", with: .status("204 No Content"))
    let recording = try network.get(station.url("/a"))
    #expect(recording.heads.map(\.status) == [204])
    #expect(recording.body.isEmpty)
    #expect(recording.ends == [nil])
  }

  @Test(
    "any status is a response, with its body",
    arguments: [
      "400 Bad Request", "401 Unauthorized", "403 Forbidden", "404 Not Found", "410 Gone",
      "429 Too Many Requests",
      "500 Internal Server Error", "503 Service Unavailable",
    ])
  func statuses(status: String) throws {
    station.answer("/a", with: .page("sorry", status: status).with("Retry-After", "7"))
    let recording = try network.get(station.url("/a"))
    #expect(recording.heads.map { "\($0.status)" } == [String(status.prefix(3))])
    #expect(recording.heads.first?.headers["retry-after"] == "7")
    #expect(recording.text == "sorry")
    #expect(recording.ends == [nil])
  }

  @Test("chunks are put together, whatever pieces they come in", arguments: [1, 7, 1000])
  func chunks(size: Int) throws {
    let bytes = SeededBytes.make(4_000)
    station.answer("/a", with: .page(bytes, type: "audio/mpeg").chunked(size).inPieces(1, 3, 500))
    let recording = try network.get(station.url("/a"))
    #expect(recording.body == bytes)
    #expect(recording.heads.first?.contentLength == nil)
    #expect(recording.ends == [nil])
  }

  @Test("a file is read from an offset on")
  func ranges() throws {
    let bytes = SeededBytes.make(100_000)
    station.answer("/f.mp3", with: .file(bytes, type: "audio/mpeg"))
    let whole = try network.get(station.url("/f.mp3"))
    #expect(whole.body == bytes)
    #expect(whole.heads.first?.acceptsRanges == true)
    let part = try network.get(station.url("/f.mp3")) { $0.offset = 99_990 }
    #expect(part.body == Array(bytes.suffix(10)))
    #expect(part.heads.first?.status == 206)
    #expect(part.heads.first?.headers["Content-Range"] == "bytes 99990-99999/100000")
    let beyond = try network.get(station.url("/f.mp3")) { $0.offset = 100_000 }
    #expect(beyond.heads.first?.status == 416)
  }

  @Test("a server that ignores the offset is recognized by its status")
  func ignoredRange() throws {
    station.answer("/a", with: .page("hello", type: "audio/mpeg"))
    let recording = try network.get(station.url("/a")) { $0.offset = 3 }
    #expect(recording.heads.first?.status == 200)
    #expect(recording.text == "hello")
    #expect(recording.ends == [nil])
  }

  @Test("redirects are followed, and only the last response is reported")
  func redirects() throws {
    station.answer("/a", with: .redirect(to: station.url("/b")))
    station.answer("/b", with: .redirect(to: "/c", status: "307 Temporary Redirect"))
    station.answer("/c", with: .page("there"))
    let recording = try network.get(station.url("/a"))
    #expect(recording.heads.map(\.status) == [200])
    #expect(recording.heads.first?.url == station.url("/c"))
    #expect(recording.text == "there")
  }

  @Test("a redirect is an answer where none is followed, or where it leads nowhere")
  func unfollowed() throws {
    station.answer("/a", with: .redirect(to: "/b"))
    let recording = try network.get(station.url("/a")) { $0.maximumRedirects = 0 }
    #expect(recording.heads.map(\.status) == [302])
    #expect(recording.text == "elsewhere")
    station.answer("/n", with: .page("nowhere", status: "302 Found"))
    #expect(try network.get(station.url("/n")).text == "nowhere")
  }

  @Test("informational responses are not reported")
  func interim() throws {
    station.answer(
      "/a",
      with: .raw("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))
    let recording = try network.get(station.url("/a"))
    #expect(recording.heads.map(\.status) == [200])
    #expect(recording.heads.first?.headers["Link"] == nil)
    #expect(recording.text == "hi")
  }

  @Test("credentials are sent, and not on to another host")
  func credentials() throws {
    let other = try Station()
    other.answer("/b", with: .page("b"))
    station.answer("/a", with: .page("a").requiring(user: "jane", password: "s:ecret"))
    station.answer("/r", with: .redirect(to: "http://localhost:\(other.port)/b"))
    let url = station.url("/a").replacing("http://", with: "http://jane:s%3Aecret@")
    let recording = try network.get(url)
    #expect(recording.heads.first?.status == 200)
    #expect(recording.heads.first?.url == station.url("/a"))
    #expect(try network.get(station.url("/a")).heads.first?.status == 401)
    #expect(
      try network.get(station.url("/a")) { $0.credentials = HTTPCredentials(user: "jane", password: "no") }
        .heads.first?.status == 401)
    let moved = try network.get(station.url("/r")) {
      $0.credentials = HTTPCredentials(user: "jane", password: "x")
    }
    #expect(moved.text == "b")
    #expect(station.visits.last?["Authorization"] != nil)
    #expect(other.visits.last?["Authorization"] == nil)
  }

  @Test("a redirect within one server keeps the credentials, one to another port of the host drops them")
  func redirectsWithCredentials() throws {
    let other = try Station()
    station.answer("/a", with: .page("a").requiring(user: "jane", password: "secret"))
    other.answer("/b", with: .page("b"))
    station.answer("/within", with: .redirect(to: station.url("/a")))
    station.answer("/away", with: .redirect(to: other.url("/b")))
    let secret = HTTPCredentials(user: "jane", password: "secret")
    #expect(try network.get(station.url("/within")) { $0.credentials = secret }.text == "a")
    #expect(try network.get(station.url("/away")) { $0.credentials = secret }.text == "b")
    #expect(station.visits.map { $0["Authorization"] == nil } == [false, false, false])
    #expect(other.visits.map { $0["Authorization"] } == [nil])
  }

  @Test("a password in a redirect is not in the final URL")
  func redirectedCredentials() throws {
    station.answer(
      "/a", with: .redirect(to: station.url("/b").replacing("http://", with: "http://jane:secret@")))
    station.answer("/b", with: .page("b").requiring(user: "jane", password: "secret"))
    let recording = try network.get(station.url("/a"))
    #expect(recording.text == "b")
    #expect(recording.heads.first?.url == station.url("/b"))
  }

  @Test("a Shoutcast 1 station is understood where ICY is asked for")
  func shoutcast() throws {
    let live = Live(.noise(seed: 1))
    station.answer("/", with: .live(live).asShoutcast().dropping(at: 5_000))
    let recording = try network.get(station.url("/")) { $0.wantsICY = true }
    #expect(recording.heads.first?.status == 200)
    #expect(recording.heads.first?.headers["icy-name"] == "Test station")
    #expect(recording.body.count == 5_000)
    #expect(recording.ends == [nil])
    #expect(try network.failure(station.url("/"))?.kind == .protocolViolation)
  }

  @Test(
    "titles are at the interval that the station states, also with a title after every byte",
    arguments: [1, 16, 1_000])
  func titles(metaint: Int) throws {
    var live = Live(Programme.noise(seed: 2, titles: [.init("One", at: 0), .init("Two", at: 200_100)]))
    (live.metaint, live.burst) = (metaint, 1_400)
    station.answer("/live", with: .live(live).inPieces(1, 2, 700).dropping(at: 6_000))
    let recording = try network.get(station.url("/live")) { $0.wantsICY = true }
    #expect(recording.heads.first?.headers["icy-metaint"] == "\(metaint)")
    #expect(recording.body.count == 6_000)
    let visit = try #require(station.visits.first)
    let (audio, titles) = deinterleave(recording.body, metaint: metaint)
    #expect(audio == live.programme.bytes(visit.start..<visit.start + audio.count))
    #expect(visit.end == visit.start + audio.count)
    #expect(titles == ["StreamTitle='One';", "StreamTitle='Two';"])
  }

  @Test("a live body from the burst on is what the programme is")
  func live() throws {
    let live = Live(.noise(seed: 3))
    station.answer("/live", with: .live(live).dropping(at: 300_000))
    let recording = try network.get(station.url("/live"))
    let visit = try #require(station.visits.first)
    #expect(visit.edge == 200_000)
    #expect(visit.start % 1_400 == 0)
    #expect(visit.start >= 200_000 - 65_535 && visit.start < 200_000 - 65_535 + 1_400)
    #expect(recording.body == live.programme.bytes(visit.start..<visit.start + 300_000))
    #expect(recording.ends == [nil])
  }

  @Test("a recording's transfer brings the same bytes to the last one")
  func recordOnly() throws {
    let live = Live(.noise(seed: 4))
    station.answer("/live", with: .live(live).inPieces(1_000, 1).dropping(at: 100_001))
    let recording = try network.get(station.url("/live")) { $0.wakeTime = .milliseconds(250) }
    let start = try #require(station.visits.first).start
    #expect(recording.body == live.programme.bytes(start..<start + 100_001))
    station.answer("/page", with: .page("short"))
    #expect(try network.get(station.url("/page")) { $0.wakeTime = .milliseconds(250) }.text == "short")
  }

  /// Separates audio and titles byte by byte, as a player does.
  private func deinterleave(_ bytes: [UInt8], metaint: Int) -> (audio: [UInt8], titles: [String]) {
    var (audio, titles, rest) = ([UInt8](), [String](), bytes[...])
    while !rest.isEmpty {
      audio += rest.prefix(metaint)
      rest = rest.dropFirst(metaint)
      guard let length = rest.popFirst() else { break }
      let block = rest.prefix(Int(length) * 16)
      rest = rest.dropFirst(block.count)
      let text = String(decoding: block.prefix { $0 != 0 }, as: UTF8.self)
      if !text.isEmpty { titles.append(text) }
    }
    return (audio, titles)
  }
}

enum SeededBytes {
  static func make(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return random.bytes(count)
  }
}
