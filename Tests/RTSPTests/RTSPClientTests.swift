import EventLoop
import TestTraits
import Testing

@testable import RTSP

@Suite("A session with a server of RTSP", .tags(.stream))
struct RTSPClientTests {
  /// A client, and the requests that it has sent.
  private struct Exchange {
    var client: RTSPClient
    var requests: [RTSPRequest] = []
    var actions: [RTSPClient.Action] = []
    var now = Instant.start

    init(_ credentials: RTSPCredentials? = nil) {
      client = RTSPClient(
        uri: "rtsp://h/live", credentials: credentials, userAgent: "Test", clientNonce: "abc")
    }

    mutating func perform(_ new: [RTSPClient.Action]) throws {
      for action in new {
        guard case .send(let bytes) = action else {
          actions.append(action)
          continue
        }
        var parser = RTSPParser()
        bytes.withUnsafeBytes { parser.feed($0) }
        if case .request(let request)? = try parser.next() { requests.append(request) }
      }
    }

    /// Answers the last request.
    mutating func answer(
      _ status: Int = 200, _ fields: [(String, String)] = [], body: String = "", number: Int? = nil
    ) throws {
      var response = RTSPResponse(status, "Words")
      response.headers.append("CSeq", number.map { "\($0)" } ?? requests.last?.headers["CSeq"] ?? "")
      for (name, value) in fields { response.headers.append(name, value) }
      response.body = Array(body.utf8)
      try perform(client.received(.response(response), at: now))
    }

    static let description = "v=0\r\ns=x\r\na=control:*\r\nm=audio 0 RTP/AVP 0\r\na=control:track1\r\n"

    /// Leads up to the sound.
    mutating func play(from start: Double? = nil, timeout: String = ";timeout=20") throws {
      try perform(client.connected(at: now))
      try answer(200, [("Public", "OPTIONS, DESCRIBE, GET_PARAMETER")])
      try answer(200, [("Content-Base", "rtsp://h/live/")], body: Self.description)
      try setUp(from: start)
      try answer(200, [("Transport", "RTP/AVP/TCP;unicast;interleaved=4-5"), ("Session", "77\(timeout)")])
      try answer(200, [("RTP-Info", "url=x;seq=9;rtptime=4000000000"), ("Range", "npt=2.5-")])
    }

    mutating func setUp(from start: Double? = nil) throws {
      let description = try SessionDescription(Array(Self.description.utf8))
      try perform(client.setUp(description.media[0], of: description, from: start, at: now))
    }

    var methods: [String] { requests.map(\.method) }
  }

  @Test("the sound is requested step by step, between the messages of the connection")
  func steps() throws {
    var exchange = Exchange()
    try exchange.play(from: 2.5)
    #expect(exchange.methods == ["OPTIONS", "DESCRIBE", "SETUP", "PLAY"])
    let (setup, play) = (exchange.requests[2], exchange.requests[3])
    #expect(setup.uri == "rtsp://h/live/track1")
    #expect(setup.headers["Transport"] == "RTP/AVP/TCP;unicast;interleaved=0-1")
    #expect(play.uri == "rtsp://h/live/" && play.headers["Session"] == "77")
    #expect(play.headers["Range"] == "npt=2.500-")
    var range = RTSPClient.PlayedRange()
    (range.start, range.sequence, range.timestamp) = (2.5, 9, 4_000_000_000)
    #expect(exchange.actions.last == .playing(range))
    // The server has chosen its channels; those that were not set up are ignored.
    try exchange.perform(exchange.client.received(.data(channel: 4, [1]), at: exchange.now))
    try exchange.perform(exchange.client.received(.data(channel: 5, [2]), at: exchange.now))
    try exchange.perform(exchange.client.received(.data(channel: 0, [3]), at: exchange.now))
    #expect(exchange.actions.suffix(2) == [.packet([1]), .report([2])])
  }

  @Test("the session is kept alive before its timeout, by OPTIONS where the server knows no parameters")
  func alive() throws {
    var exchange = Exchange()
    try exchange.play()
    exchange.now = try #require(exchange.client.deadline)
    #expect(exchange.now == Instant.start.advanced(by: .seconds(10)))
    try exchange.perform(exchange.client.deadlinePassed(at: exchange.now))
    try exchange.answer(501)
    exchange.now = try #require(exchange.client.deadline)
    try exchange.perform(exchange.client.deadlinePassed(at: exchange.now))
    #expect(exchange.methods.suffix(2) == ["GET_PARAMETER", "OPTIONS"])
    // A session that the server has forgotten is lost.
    try exchange.answer(454)
    guard case .fail(let error)? = exchange.actions.last else {
      Issue.record("\(exchange.actions)")
      return
    }
    #expect(error.status == 454)
  }

  @Test("a challenge is answered once; wrong credentials fail, a stale nonce does not")
  func challenges() throws {
    var exchange = Exchange(.init(user: "u", password: "p"))
    try exchange.perform(exchange.client.connected(at: exchange.now))
    try exchange.answer()
    try exchange.answer(401, [("WWW-Authenticate", #"Digest realm="r", nonce="1""#)])
    try exchange.answer(401, [("WWW-Authenticate", #"Digest realm="r", nonce="2", stale=true"#)])
    #expect(exchange.methods == ["OPTIONS", "DESCRIBE", "DESCRIBE", "DESCRIBE"])
    #expect(exchange.requests[2].headers["Authorization"]?.contains("nonce=\"1\"") == true)
    #expect(exchange.actions.isEmpty)
    try exchange.answer(401, [("WWW-Authenticate", #"Digest realm="r", nonce="3""#)])
    guard case .fail(let error)? = exchange.actions.last else {
      Issue.record("\(exchange.actions)")
      return
    }
    #expect(error.kind == .auth && error.message.contains("refuses"))
  }

  @Test("a server that offers UDP alone is refused in words")
  func udp() throws {
    for answer in [
      (461, [("X", "y")]), (200, [("Transport", "RTP/AVP;unicast;client_port=1-2"), ("Session", "1")]),
    ] {
      var exchange = Exchange()
      try exchange.perform(exchange.client.connected(at: exchange.now))
      try exchange.answer()
      try exchange.answer(200, body: Exchange.description)
      try exchange.setUp()
      try exchange.answer(answer.0, answer.1)
      guard case .fail(let error)? = exchange.actions.last else {
        Issue.record("\(exchange.actions)")
        return
      }
      #expect(error.kind == .unsupported && error.message.contains("UDP"))
    }
  }

  @Test("redirects lead elsewhere, as an answer and as a request")
  func redirects() throws {
    var exchange = Exchange()
    try exchange.perform(exchange.client.connected(at: exchange.now))
    try exchange.answer()
    try exchange.answer(302, [("Location", "rtsp://other/")])
    #expect(exchange.actions == [.redirect("rtsp://other/")])
    var other = Exchange()
    try other.play()
    var request = RTSPRequest("REDIRECT", "rtsp://h/live")
    request.headers.append("Location", "rtsp://third/")
    try other.perform(other.client.received(.request(request), at: other.now))
    #expect(other.actions.last == .redirect("rtsp://third/"))
  }

  @Test("a move rests first, and drops the data of the time before")
  func moves() throws {
    var exchange = Exchange()
    try exchange.play(from: 0)
    let count = exchange.actions.count
    try exchange.perform(exchange.client.play(from: 30, at: exchange.now))
    try exchange.perform(exchange.client.play(from: 40, at: exchange.now))
    try exchange.perform(exchange.client.received(.data(channel: 4, [1]), at: exchange.now))
    try exchange.answer()
    try exchange.perform(exchange.client.received(.data(channel: 4, [2]), at: exchange.now))
    #expect(exchange.actions.count == count)
    #expect(exchange.methods.suffix(2) == ["PAUSE", "PLAY"])
    #expect(exchange.requests.last?.headers["Range"] == "npt=40.000-")
    try exchange.answer()
    var range = RTSPClient.PlayedRange()
    range.start = 40
    #expect(exchange.actions.last == .playing(range))
  }

  @Test("a rest keeps the data on its way, and what follows continues without a range")
  func rests() throws {
    var exchange = Exchange()
    try exchange.play(from: 0)
    try exchange.perform(exchange.client.rest(at: exchange.now))
    try exchange.perform(exchange.client.received(.data(channel: 4, [1]), at: exchange.now))
    #expect(exchange.actions.last == .packet([1]))
    try exchange.answer()
    #expect(exchange.actions.last == .resting)
    try exchange.perform(exchange.client.resume(at: exchange.now))
    #expect(exchange.requests.last?.method == "PLAY" && exchange.requests.last?.headers["Range"] == nil)
  }

  @Test("answers out of order are ignored, but not without end")
  func disorder() throws {
    var exchange = Exchange()
    try exchange.perform(exchange.client.connected(at: exchange.now))
    try exchange.answer(200, number: 99)
    #expect(exchange.actions.isEmpty && exchange.methods == ["OPTIONS"])
    for _ in 0..<100 where exchange.actions.isEmpty { try exchange.answer(200, number: 99) }
    guard case .fail(let error)? = exchange.actions.last else {
      Issue.record("no end")
      return
    }
    #expect(error.kind == .malformed)
  }

  @Test("requests of the server are answered")
  func requests() throws {
    var exchange = Exchange()
    try exchange.play()
    var request = RTSPRequest("GET_PARAMETER", "*")
    request.headers.append("CSeq", "5")
    let actions = exchange.client.received(.request(request), at: exchange.now)
    guard case .send(let bytes)? = actions.first else {
      Issue.record("\(actions)")
      return
    }
    #expect(String(decoding: bytes, as: UTF8.self) == "RTSP/1.0 200 OK\r\nCSeq: 5\r\n\r\n")
  }

  @Test("the end of a session is announced")
  func end() throws {
    var exchange = Exchange()
    try exchange.play()
    try exchange.perform(exchange.client.end(at: exchange.now))
    #expect(exchange.requests.last?.method == "TEARDOWN" && exchange.client.phase == .over)
  }

  @Test("a URI that would break a request is refused")
  func badURI() throws {
    var exchange = Exchange()
    try exchange.perform(exchange.client.connected(at: exchange.now))
    try exchange.answer()
    try exchange.answer(200, body: Exchange.description)
    var description = try SessionDescription(Array(Exchange.description.utf8))
    description.media[0].control = "a b"
    try exchange.perform(
      exchange.client.setUp(description.media[0], of: description, from: nil, at: exchange.now))
    #expect(exchange.methods.count == 2)
    guard case .fail? = exchange.actions.last else {
      Issue.record("\(exchange.actions)")
      return
    }
  }
}
