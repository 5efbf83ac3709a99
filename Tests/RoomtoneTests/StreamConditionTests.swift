import TestSupport
import TestTraits
import Testing

@Suite("events of a stream that can't be received", .waiting, .serialized, .tags(.stream, .error))
struct StreamConditionTests {
  private let harness: LiveStationHarness
  private var station: Station { harness.station }

  init() throws { harness = try LiveStationHarness() }

  @Test(
    "an answer of 400 or more: missing_content, then http_error, each with the status",
    arguments: [
      (401, "auth"), (403, "auth"), (404, "not_found"), (410, "not_found"), (500, "http"), (503, "http"),
    ])
  func statuses(_ status: Int, _ code: String) throws {
    station.answer("/live", with: .status("\(status) No"))
    #expect(
      try harness.failure(of: "url") == [
        "connecting", "missing_content stream.\(code) \(status)", "http_error stream.\(code) \(status)",
        "stopped",
        "raised stream.\(code) \(status) stopped",
      ])
  }

  @Test("no audio: bad_content", arguments: ["page", "html-as-mp3", "headers", "no-http", "coded"])
  func content(_ kind: String) throws {
    let page =
      "<!DOCTYPE html><html><head><title>Radio</title></head><body>" + String(repeating: "no ", count: 400)
    switch kind {
    case "page": station.answer("/live", with: .page(page))
    case "html-as-mp3": station.answer("/live", with: .page(page, type: "audio/mpeg"))
    case "headers": station.answer("/live", with: .endlessHeaders)
    case "no-http": station.answer("/live", with: .raw("SSH-2.0-OpenSSH_9.2\r\n\r\n\r\n"))
    default:
      station.answer(
        "/live", with: .page("\u{1}\u{2}\u{3}", type: "audio/mpeg").with("Content-Encoding", "rot13"))
    }
    #expect(
      try harness.failure(of: "url") == [
        "connecting", "bad_content stream.content", "stopped", "raised stream.content stopped",
      ])
  }

  @Test("a station that turns into a page is reported as bad_content, and tried again")
  func turnsIntoPage() throws {
    let page = Array(("<!DOCTYPE html><html><body>" + String(repeating: "closed <br> ", count: 16_000)).utf8)
    let sound = try readBytes(Fixtures.path("mp3-cbr128-44k.mp3")).prefix(41_800)
    let head = Array("HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nicy-name: Turncoat\r\n\r\n".utf8)
    station.answer("/live", with: .raw(head + sound + page), .live(try LiveStationHarness.live()))
    let lines = try harness.printed(
      """
      local radio = stream.new(url, quick)
      task.spawn(function()
        local event = radio:wait("bad_content", 60)
        local err = event.error
        print(event.code, radio.is_playing, err.code, tostring(err):find(err.message, 1, true) ~= nil)
      end)
      local joined = task.spawn(radio.wait, radio, "reconnected", 60)
      radio:start()
      print(type(joined:await()))
      radio:stop()
      """)
    #expect(lines == ["stream.content\ttrue\tstream.content\ttrue", "table"])
  }

  @Test("no URL, and schemes that don't work: raised by new, by set_url and reported as bad_content")
  func addresses() throws {
    let lines = try harness.printed(
      """
      local radio = stream.new(url)
      radio:on("bad_content", function(event) print("reported", event.code, event.url) end)
      for _, bad in ipairs { "", "morning fm", "gopher://radio/x", "mms://radio/x" } do
        local err = failure(stream.new, bad)
        print(err.code, err.message, err.hint)
        print(code(radio.set_url, radio, bad), code(radio.set_url, radio, bad, { start = false }), radio.url == url)
        task.sleep(0.05)
      end
      """)
    #expect(
      lines == [
        "stream.url\tthe URL is empty\twrite it with http:// or https://", "stream.url\tstream.url\ttrue",
        "reported\tstream.url\t", "reported\tstream.url\t",
        "stream.url\tno station \"morning fm\" is configured, and it is not a URL\twrite it with http:// or https://",
        "stream.url\tstream.url\ttrue",
        "reported\tstream.url\tmorning fm", "reported\tstream.url\tmorning fm",
        "stream.unsupported\tgopher:// addresses don't work here\tuse http://, https:// or rtsp://",
        "stream.unsupported\tstream.unsupported\ttrue", "reported\tstream.unsupported\tgopher://radio/x",
        "reported\tstream.unsupported\tgopher://radio/x",
        "stream.unsupported\tmms:// addresses don't work here\tmost such stations have an http:// address now: look for it on the page of the station",
        "stream.unsupported\tstream.unsupported\ttrue", "reported\tstream.unsupported\tmms://radio/x",
        "reported\tstream.unsupported\tmms://radio/x",
      ])
  }

  @Test("refused, reset, redirected in a circle: url_not_found")
  func unreached() throws {
    let reported = ["connecting", "url_not_found stream.network", "stopped", "raised stream.network stopped"]
    station.answer("/live", with: .page("gone", type: "audio/mpeg").dropping(at: 0, by: .reset))
    #expect(try harness.failure(of: "url") == reported)
    station.answer("/live", with: .redirect(to: station.url("/live")))
    #expect(try harness.failure(of: "url") == reported)
    station.refuse()
    #expect(try harness.failure(of: "url") == reported)
  }

  @Test("a playlist that lists nothing: url_not_found")
  func emptyPlaylist() throws {
    station.answer("/live", with: .page("[playlist]\nNumberOfEntries=0\n", type: "audio/x-scpls"))
    #expect(
      try harness.failure(of: "url") == [
        "connecting", "url_not_found stream.not_found", "stopped", "raised stream.not_found stopped",
      ])
  }

  @Test("a silent server, a slow head, sound that trickles: timeout")
  func timeouts() throws {
    let reported = ["connecting", "timeout stream.timeout", "stopped", "raised stream.timeout stopped"]
    let live = try LiveStationHarness.live()
    station.answer("/live", with: .live(live).withSlowHead(.seconds(1)))
    #expect(try harness.failure(of: "url", options: "{ data_timeout = 1 }") == reported)
    station.answer("/live", with: .live(live).stalling(at: 0))
    #expect(try harness.failure(of: "url", options: "{ data_timeout = 1 }") == reported)
  }

  @Test("a name that does not resolve: timeout, with a code of its own")
  func unresolved() throws {
    #expect(
      try harness.failure(of: "'http://nowhere.invalid/'") == [
        "connecting", "timeout stream.dns", "stopped", "raised stream.dns stopped",
      ])
  }
}
