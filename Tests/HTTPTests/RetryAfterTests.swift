import EventLoop
import TestTraits
import Testing

@testable import HTTP

@Suite("Retry-After", .waiting, .tags(.http))
struct RetryAfterTests {
  /// The moment 6 November 1994, 08:49:37.
  private let now = WallTime(seconds: 784_111_777)

  private func wait(_ text: String, date: String? = nil) -> Duration? {
    var headers = HTTPHeaders()
    headers.fields = [.init(name: "retry-after", value: text)]
    if let date { headers.fields.append(.init(name: "Date", value: date)) }
    return HTTPResponse(status: 503, url: "http://a.example/", headers: headers).retryAfter(at: now)
  }

  @Test(
    "it is in seconds, or a date in any of the forms of RFC 9110",
    arguments: [
      ("0", 0), ("120", 120), ("99999999999999999999", 3_600), ("Sun, 06 Nov 1994 08:51:37 GMT", 120),
      ("Sunday, 06-Nov-94 08:51:37 GMT", 120), ("Sun Nov  6 08:51:37 1994", 120),
      ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Sun, 06 Nov 1990 08:49:37 GMT", 0),
      ("Sun, 06 Nov 2094 08:49:37 GMT", 3_600),
    ])
  func forms(text: String, seconds: Int) { #expect(wait(text) == .seconds(seconds)) }

  @Test("the clock of the server counts where it is known")
  func serverClock() {
    #expect(wait("Mon, 07 Nov 1994 00:01:00 GMT", date: "Mon, 07 Nov 1994 00:00:00 GMT") == .seconds(60))
    #expect(wait("Sun, 06 Nov 1994 08:51:37 GMT", date: "yesterday") == .seconds(120))
  }

  @Test(
    "other values are ignored",
    arguments: ["", "soon", "-5", "1.5", "Mon", String(repeating: "S", count: 9_000)])
  func nonsense(text: String) { #expect(wait(text) == nil) }
}
