import EventLoop
import Glibc
import Home
import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("stream: titles from feeds", .waiting, .tags(.stream, .titles))
struct StreamFeedTests {
  private let station: Station

  init() throws {
    station = try Station()
    var live = Live(
      .init(
        repeating: try readBytes(Fixtures.path("mp3-cbr128-44k.mp3")), bytesPerSecond: 16_000,
        titles: [.init("Station - Own", at: 0), .init("Station - Second", at: 380_000)]))
    live.pace = .realTime(1)
    live.metaint = 8_192
    station.answer("/live", with: .live(live))
  }

  private func run(_ code: String) throws -> EngineHarness.Outcome {
    var harness = try EngineHarness(wall: true)
    harness.limit = .seconds(90)
    let outcome = try harness.run(
      """
      local stream = require 'stream'
      local radio = stream.new('\(station.url("/live"))', { buffer_wait = 0.5 })
      local feed, zone = '\(station.url("/feed.xml"))', 'Asia/Tokyo'
      for _, name in ipairs { "metadata_realtime", "metadata" } do
        radio:on(name, function(event) print(name, event.artist, event.title_without_artist, event.text) end)
      end
      \(code)
      """)
    if let failure = outcome.failures.first { throw failure }
    return outcome
  }

  /// A page of events, each with the seconds until its start, by clocks so many hours ahead of UTC.
  private static func xml(hours: Int = 9, _ events: (artist: String, title: String, in: Int)...) -> String {
    let day = 86_400
    let texts = events.map {
      let start = (((time(nil) + hours * 3600 + $0.in) % day + day) % day) * 1000
      return "<Event><Artist>\($0.artist)</Artist><Title>\($0.title)</Title><Start>\(start)</Start></Event>"
    }
    return "<?xml version=\"1.0\"?>" + texts.joined(separator: "<?xml version=\"1.0\"?>")
  }

  private var visits: Int { station.visits.filter { $0.target == "/feed.xml" }.count }

  @Test(
    "events are emitted at their times and heard with the sound of then; the feed's fields are separate, once asked for",
    // Zones without daylight-saving time.
    arguments: [("Asia/Tokyo", 9), ("HST", -10)])
  func audioVault(zone: String, hours: Int) throws {
    // Times count from the first request; asked again, it is the same page.
    let page = Lock<String?>(nil)
    station.answer(
      "/feed.xml",
      with: .page(type: "text/xml") {
        page.withLock { page in
          let text = page ?? Self.xml(hours: hours, ("A - B", "C - D", -60), ("E", "F & G", 8))
          page = text
          return text
        }
      })
    let lines = try run(
      """
      radio:audiovault { url = feed, timezone = "\(zone)", delay = 1 }
      radio:start()
      while radio.title_without_artist ~= "F & G" do task.sleep(0.1) end
      print("fields", radio.artist, radio.title_without_artist, radio.title)
      radio:stop()
      """
    ).lines
    // The times of the feed count from the request. Each event is emitted once, and heard after that.
    let events = ["A - B\tC - D\tA - B - C - D", "E\tF & G\tE - F & G"]
    for name in ["metadata_realtime", "metadata"] {
      #expect(lines.filter { $0.hasPrefix(name + "\t") } == events.map { "\(name)\t\($0)" })
    }
    for event in events {
      let indices = ["metadata_realtime", "metadata"].map { lines.firstIndex(of: "\($0)\t\(event)") ?? -1 }
      #expect(indices[0] < indices[1])
    }
    // The field may be read before the listeners of the same moment have run.
    #expect(lines.contains("fields\t" + events[1]))
    #expect(visits <= 2, "what is known need not be asked for")
  }

  @Test("a feed can begin and end while it plays; then titles come with the sound again")
  func ends() throws {
    station.answer(
      "/feed.xml",
      with: .page(
        "<x><Refresh>10</Refresh><PlaylistEntry><Title>T</Title><Artist>A</Artist></PlaylistEntry></x>"))
    let lines = try run(
      """
      radio:start()
      while not radio.title do radio:wait("metadata", 30) end
      radio:live365 { url = feed }
      local event = radio:wait("metadata", 30)
      while event.text ~= "A - T" do event = radio:wait("metadata", 30) end
      radio:audiovault(false)
      radio:live365(false)
      print "ended"
      while event.text ~= "Station - Second" do event = radio:wait("metadata", 60) end
      radio:stop()
      """
    ).lines
    #expect(lines.contains("metadata_realtime\tA\tT\tA - T"))
    let end = try #require(lines.firstIndex(of: "ended"))
    #expect(lines[..<end].contains("metadata\tA\tT\tA - T"))
    #expect(lines[end...].contains("metadata\tStation\tSecond\tStation - Second"))
    #expect(visits == 1)
  }

  @Test(
    "a feed that fails is logged once and leaves the stream alone",
    arguments: [
      (Answer.status("503 Service Unavailable", retryAfter: "600"), "stream.http"),
      (.page("<html><body>Hello</body></html>"), "stream.content"),
      (.page(String(repeating: " ", count: (1 << 20) + 1)), "stream.content"),
      (.raw("nonsense"), "stream."),
    ])
  func fails(answer: Answer, code: String) throws {
    station.answer("/feed.xml", with: answer)
    let outcome = try run(
      """
      radio:audiovault { url = feed, timezone = "EST" }
      radio:start()
      task.sleep(3)
      print(radio.status)
      radio:stop()
      """)
    #expect(outcome.lines == ["playing"])
    #expect(outcome.log.map(\.level) == [.warn])
    #expect(outcome.log.first?.fields.first?.hasPrefix("code=\(code)") == true, "\(outcome.log)")
    #expect(visits == 1, "it is not asked again at once")
  }

  @Test("a feed is asked while the stream is received, and not otherwise; newer settings replace older ones")
  func politeness() throws {
    station.answer("/feed.xml", with: .page(Self.xml(("A", "B", -5)), type: "text/xml").with("ETag", "\"1\""))
    station.answer("/other.xml", with: .page("<PlaylistEntry><Title>Other</Title></PlaylistEntry>"))
    let lines = try run(
      """
      radio:audiovault { url = feed, timezone = zone }
      task.sleep(1)
      radio:start()
      while radio.title ~= "A - B" do task.sleep(0.1) end
      radio:live365 { url = "\(station.url("/other.xml"))" }
      local event
      repeat event = radio:wait("metadata", 30) until not event or event.title == "Other"
      print(event and event.title)
      radio:stop()
      task.sleep(12)
      """
    ).lines
    #expect(lines.last == "Other")
    #expect(visits == 1)
    #expect(station.visits.filter { $0.target == "/other.xml" }.count == 1)
  }

  @Test("a feed without changes is fetched again 10 s later at the soonest, for what has changed")
  func again() throws {
    station.answer(
      "/feed.xml",
      with: .page("<PlaylistEntry><Title>One</Title></PlaylistEntry><Refresh>1</Refresh>").with(
        "ETag", "\"1\""),
      .page("<PlaylistEntry><Title>Two</Title></PlaylistEntry>"))
    let lines = try run(
      """
      radio:live365 { url = feed }
      local began = os.time()
      radio:start()
      repeat local event = radio:wait("metadata_realtime", 60) until not event or event.title == "Two"
      print(os.time() - began >= 9)
      radio:stop()
      """
    ).lines
    #expect(lines.last == "true")
    #expect(lines.contains("metadata_realtime\tnil\tTwo\tTwo"))
    #expect(visits == 2)
    #expect(station.visits.last { $0.target == "/feed.xml" }?["If-None-Match"] == "\"1\"")
  }

  @Test(
    "settings that don't work are named",
    arguments: [
      ("{}", "option 'url': it is missing"), ("true", "table expected"), ("", "option 'url'"),
      ("{ url = 'x' }", "not a URL"), ("{ url = 'ftp://x' }", "ftp://"),
      ("{ url = feed, timezone = 'Europe/Berln' }", "did you mean 'Europe/Berlin'?"),
      ("{ url = feed, timezone = 'berlin' }", "did you mean 'Europe/Berlin'?"),
      ("{ url = feed, timezone = 'PXT' }", "no time zone is called 'PXT'"),
      ("{ url = feed, timezone = 'IST' }", "Europe/Dublin, Asia/Jerusalem, Asia/Kolkata"),
      ("{ url = feed, timezone = 'AEST' }", "Australia/Sydney"),
      ("{ url = feed, timezone = '../../etc/passwd' }", "there is no time zone"),
      ("{ url = feed, delay = -3601 }", "option 'delay'"), ("{ url = feed, delay = '2h' }", "option 'delay'"),
      ("{ url = feed, times = 'min' }", "option 'times'"),
      ("{ url = feed, elements = { event = '' } }", "option 'event' of elements"),
      ("{ url = feed, elements = { events = 'x' } }", "did you mean 'event'?"),
      ("{ urll = feed }", "did you mean 'url'?"),
    ])
  func misuse(settings: String, words: String) throws {
    let lines = try run("print(message(radio.audiovault, radio\(settings.isEmpty ? "" : ", " + settings)))")
      .lines
    #expect(lines.first?.contains(words) == true, "\(lines)")
  }
}
