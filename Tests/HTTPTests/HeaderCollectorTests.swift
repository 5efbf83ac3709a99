import TestTraits
import Testing

@testable import HTTP

@Suite("Heads of answers", .waiting, .tags(.http))
struct HeaderCollectorTests {
  private func collect(_ lines: [String], into collector: inout HeaderCollector) throws -> [HeaderCollector
    .Head]
  {
    try lines.compactMap { try collect(Array("\($0)\r\n".utf8), into: &collector) }
  }

  private func collect(_ line: [UInt8], into collector: inout HeaderCollector) throws -> HeaderCollector.Head?
  {
    try line.withUnsafeBytes { try collector.receive($0) }
  }

  private func fault(_ lines: [String]) -> HeaderCollector.Fault? {
    var collector = HeaderCollector()
    do { _ = try collect(lines, into: &collector) } catch { return error as? HeaderCollector.Fault }
    return nil
  }

  @Test("values have no escape sequences, no control characters and no turned writing") func cleaned() throws
  {
    var collector = HeaderCollector()
    let heads = try collect(
      ["HTTP/1.0 200 OK", "icy-name: \u{1B}[31mRed\u{7} \u{202E}FM", "icy-genre: \u{1B}]0;x\u{7}Pop", ""],
      into: &collector)
    let headers = try #require(heads.first).headers
    #expect(headers["icy-name"] == "Red FM" && headers["icy-genre"] == "Pop")
  }

  @Test("fields keep their order, and are found in any case")
  func fields() throws {
    var collector = HeaderCollector()
    let heads = try collect(
      ["HTTP/1.1 200 OK", "Content-Type:audio/mpeg ", "ICY-Name:  Radio: one", "X-a: 1", "x-A: 2", ""],
      into: &collector)
    #expect(heads.count == 1)
    let headers = try #require(heads.first).headers
    #expect(headers["content-type"] == "audio/mpeg")
    #expect(headers["icy-name"] == "Radio: one")
    #expect(headers.all("X-A") == ["1", "2"])
    #expect(headers["X-B"] == nil)
  }

  @Test("a Shoutcast 1 status line counts", arguments: ["ICY 200 OK", "HTTP/1.0 200", "HTTP/2 200 fine"])
  func statusLines(line: String) throws {
    var collector = HeaderCollector()
    #expect(try collect([line, ""], into: &collector).map(\.status) == [200])
  }

  @Test(
    "a status line without three digits is refused",
    arguments: ["HTTP/1.1", "HTTP/1.1 ok", "HTTP/1.1 20 x", "ICY 2000"])
  func badStatus(line: String) {
    #expect(fault([line]) == .malformed("a status line without a status"))
  }

  @Test("text that is not UTF-8 is Latin-1")
  func latin() throws {
    var collector = HeaderCollector()
    _ = try collect(["HTTP/1.0 200 OK"], into: &collector)
    _ = try collect(Array("icy-name: Caf".utf8) + [0xE9, 13, 10], into: &collector)
    _ = try collect(Array("icy-genre: é".utf8) + [10], into: &collector)
    let head = try #require(try collect([13, 10], into: &collector))
    #expect(head.headers["icy-name"] == "Café")
    #expect(head.headers["icy-genre"] == "é")
  }

  @Test("a folded line continues the one before it")
  func folded() throws {
    var collector = HeaderCollector()
    let heads = try collect(["HTTP/1.1 200 OK", "X: one", "\t two", ""], into: &collector)
    #expect(heads.first?.headers["X"] == "one two")
    #expect(fault(["HTTP/1.1 200 OK", " two"]) == .malformed("a header that begins with a space"))
  }

  @Test("every answer of a chain has a head of its own, and trailers none")
  func chain() throws {
    var collector = HeaderCollector()
    let heads = try collect(
      [
        "HTTP/1.1 100 Continue", "", "HTTP/1.1 302 Found", "Location: /b", "", "HTTP/1.1 200 OK", "X: 1", "",
        "T: 1", "",
      ],
      into: &collector)
    #expect(heads.map(\.status) == [100, 302, 200])
    #expect(heads.map(\.isInterim) == [true, false, false])
    #expect(heads.map(\.isRedirect) == [false, true, false])
    #expect(heads.last?.headers.fields.count == 1)
  }

  @Test("limits hold for a line, for the lines, and for all of them, also on the way to the answer")
  func limits() {
    let ok = "HTTP/1.1 200 OK"
    let longest = "X: " + String(repeating: "x", count: 8 * 1024 - 5)
    #expect(fault([ok, longest]) == nil)
    #expect(fault([ok, longest + "x"]) == .tooLarge("a line of more than 8192 bytes"))
    #expect(fault([ok] + Array(repeating: "X: 1", count: 199)) == nil)
    #expect(fault([ok] + Array(repeating: "X: 1", count: 200)) == .tooLarge("more than 200 lines"))
    #expect(fault([ok] + Array(repeating: longest, count: 8)) == .tooLarge("more than 65536 bytes"))
    let interim = Array(repeating: ["HTTP/1.1 100 Continue", ""], count: 101).flatMap(\.self)
    #expect(fault(interim) == .tooLarge("more than 200 lines"))
    let trailers = [ok, ""] + Array(repeating: "X: 1", count: 199)
    #expect(fault(trailers) == .tooLarge("more than 200 lines"))
    let redirects = Array(repeating: ["HTTP/1.1 302 Found", "Location: /", ""], count: 101).flatMap(\.self)
    #expect(fault(redirects) == nil)
  }

  @Test(
    "a head of exactly the limit is accepted, a byte or more above it is refused", arguments: [0, 1, 2, 64])
  func exactSize(excess: Int) {
    let ok = "HTTP/1.1 200 OK"
    // Each line counts with its end, and so does the empty one behind them.
    let lines = Array(repeating: "X: " + String(repeating: "x", count: 8000 - 5), count: 8)
    let rest = 64 * 1024 - (ok.utf8.count + 2) - 8 * 8000 - 2
    let last = "Y: " + String(repeating: "y", count: rest - 5 + excess)
    #expect(fault([ok] + lines + [last, ""]) == (excess == 0 ? nil : .tooLarge("more than 65536 bytes")))
  }

  @Test("a redirect without an address is an answer, and a field without a name is none")
  func odd() throws {
    var collector = HeaderCollector()
    let heads = try collect(
      ["HTTP/1.1  302 Found", "Location: ", ": nameless", ":", "X: 1", ""], into: &collector)
    let head = try #require(heads.first)
    #expect(head.status == 302 && !head.isRedirect)
    #expect(head.headers.fields.map(\.name) == ["Location", "X"])
  }

  @Test("a content type is split from its parameters")
  func mediaTypes() throws {
    let type = try #require(MediaType("Audio/MPEG ; Charset=\"utf-8; x\"; rate=44100;broken"))
    #expect(type.name == "audio/mpeg")
    #expect(type["charset"] == "utf-8; x")
    #expect(type["Rate"] == "44100")
    #expect(type.parameters.count == 2)
    #expect(MediaType(" ;a=b") == nil)
    #expect(MediaType("text/html")?.parameters == [])
  }

  @Test(
    "a head describes its body",
    arguments: [
      ([("Content-Length", "12")], 12), ([("Content-Length", "-1")], nil), ([("Content-Length", "1e3")], nil),
      ([("Content-Length", "99999999999999999999")], nil), ([], nil),
      ([("Content-Length", "12"), ("Transfer-Encoding", "chunked")], nil),
    ] as [([(String, String)], Int64?)])
  func lengths(fields: [(String, String)], length: Int64?) {
    #expect(response(fields).contentLength == length)
  }

  @Test(
    "a recording's socket waits for a quarter of a second, where the end of the body is that of the connection",
    arguments: [
      ([("icy-br", "128")], 4000), ([("icy-br", "320")], 4000), ([("icy-br", "64,64")], 2000),
      ([("icy-br", "0")], 1),
      ([("icy-br", "99999999999999999999")], 1), ([("icy-br", "fast")], 1), ([], 1),
      ([("icy-br", "128"), ("Content-Length", "9")], 1),
      ([("icy-br", "128"), ("Transfer-Encoding", "chunked")], 1),
    ] as [([(String, String)], Int)])
  func lowWater(fields: [(String, String)], bytes: Int) {
    #expect(response(fields).lowWater(.milliseconds(250)) == bytes)
  }

  private func response(_ fields: [(String, String)]) -> HTTPResponse {
    var headers = HTTPHeaders()
    headers.fields = fields.map { HTTPHeaders.Field(name: $0.0, value: $0.1) }
    return HTTPResponse(status: 200, url: "http://x/", headers: headers)
  }
}
