import EventLoop
@testable import Reception
@testable import StreamCore
import TestSupport
import TestTraits
import Testing

@Suite("Feeds: parsing", .waiting, .tags(.stream, .titles, .hostile))
struct FeedParsingTests {
  /// 2026-03-10 14:00:00 UTC.
  private let noon = WallTime(seconds: 1_773_151_200)
  private let utc = StationClock { _ in 0 }

  private func read(
    _ text: String, at now: WallTime? = nil, clock: StationClock? = nil,
    _ change: (inout AudioVaultFeed) -> Void = { _ in }
  ) throws -> FeedContent {
    var feed = AudioVaultFeed(clock: clock ?? utc)
    change(&feed)
    return try feed.content(Array(text.utf8), at: now ?? noon)
  }

  private func event(_ title: String, _ start: Int, _ length: Int? = nil) -> String {
    let end = length.map { "<length>\($0)</length>" } ?? ""
    return "<event><title>\(title)</title><artist>A</artist><start>\(start)</start>\(end)</event>"
  }

  /// Returns the seconds from `now` to the starts of the entries.
  private func starts(_ content: FeedContent, from now: WallTime? = nil) -> [Double?] {
    content.entries.map { entry in
      entry.start.map { Double((now ?? noon).duration(to: $0).nanoseconds) / 1e9 }
    }
  }

  @Test("events in milliseconds and in seconds, by the station's clock, in the order of their starts")
  func times() throws {
    let two = [event("Second", 50_460_000, 200_000), event("First", 50_340_000, 120_000)].joined()
    let content = try read("<playlist>\(two)</playlist>")
    #expect(content.entries.map(\.title.withoutArtist) == ["First", "Second"])
    #expect(content.entries.map(\.title.text) == ["A - First", "A - Second"])
    #expect(starts(content) == [-60, 60])
    #expect(content.entries.map(\.end) == [60, 260].map { noon.advanced(by: .seconds($0)) })
    let seconds = try read(event("One", 50_395, 30))
    #expect(starts(seconds) == [-5])
    #expect(seconds.entries[0].end == noon.advanced(by: .seconds(25)))
    let written = try read("<event><title>One</title><start>14:00:07</start><length>3:25</length></event>")
    #expect(starts(written) == [7] && written.entries[0].end == noon.advanced(by: .seconds(212)))
    let tokyo = StationClock { _ in 9 * 3600 }
    #expect(starts(try read(event("One", 82_800_000), clock: tokyo)) == [0])
  }

  @Test("the delay moves all times, and may be negative")
  func delay() throws {
    for delay in [30, -30] {
      let content = try read(event("One", 50_400_000, 60_000)) { $0.delay = .seconds(delay) }
      #expect(starts(content) == [Double(delay)])
      #expect(content.entries[0].end == noon.advanced(by: .seconds(delay + 60)))
    }
  }

  @Test("small numbers shortly after midnight are what makes sense there, or as stated")
  func units() throws {
    let midnight = WallTime(seconds: 1_773_187_200)
    let now = midnight.advanced(by: .seconds(60))
    #expect(starts(try read(event("One", 50_000), at: now), from: now) == [-10])
    #expect(starts(try read(event("One", 50), at: now), from: now) == [-10])
    #expect(
      starts(try read(event("One", 50_000), at: now) { $0.unit = .seconds }, from: now) == [50_000 - 86_460])
    #expect(starts(try read(event("One", 50_400)) { $0.unit = .milliseconds }) == [50.4 - 50_400 + 86_400])
  }

  @Test("around midnight events are yesterday's and tomorrow's")
  func midnight() throws {
    let midnight = WallTime(seconds: 1_773_187_200)
    let both = event("Late", 86_340_000) + event("Early", 120_000)
    for seconds in [-30, 30] {
      let now = midnight.advanced(by: .seconds(seconds))
      let content = try read(both, at: now)
      #expect(content.entries.map(\.title.withoutArtist) == ["Late", "Early"])
      #expect(starts(content, from: midnight) == [-60, 120])
      #expect(content.entry(at: now)?.title.withoutArtist == "Late")
    }
  }

  @Test("on the days when clocks change, a time of day is what the clock shows")
  func clockChanges() throws {
    // Berlin, 2026-10-25: 03:00 is 02:00 again at 01:00 UTC. 2026-03-29: 02:00 is 03:00 at 01:00 UTC.
    let (back, forward) = (1_792_890_000, 1_774_746_000)
    let autumn = StationClock { $0 < back ? 7200 : 3600 }
    let spring = StationClock { $0 < forward ? 3600 : 7200 }
    func start(_ hour: Double, _ clock: StationClock, at seconds: Int) throws -> Double? {
      let now = WallTime(seconds: Int64(seconds))
      return starts(try read(event("One", Int(hour * 3_600_000)), at: now, clock: clock), from: now)[0]
    }
    #expect(try start(2.5, autumn, at: back - 1500) == -300)
    #expect(try start(2.5, autumn, at: back + 1500) == 300)
    #expect(try start(14, autumn, at: back + 12 * 3600) == 0)
    #expect(try start(1, autumn, at: back + 2 * 3600) == -4 * 3600)
    #expect(try start(14, spring, at: forward + 12 * 3600) == -3600)
    #expect(try start(3.5, spring, at: forward - 1500) == 1500 + 1800)
    #expect(try start(2.5, spring, at: forward - 1500) == 1500 + 1800)
  }

  @Test("documents one behind the other, declarations in between, ends without beginnings")
  func concatenated() throws {
    let text = """
      \u{FEFF}<?xml version="1.0" encoding="UTF-8"?><a>\(event("One", 50_300_000))</a>
      </audiovault></feed>
      <?xml version="1.0"?><!DOCTYPE x [<!ELEMENT x ANY>]><b><broken>\(event("Two", 50_390_000))</b>
      """
    let content = try read(text)
    #expect(content.entries.map(\.title.withoutArtist) == ["One", "Two"])
  }

  @Test("names that no element may have, attributes, prefixes, bare ampersands and angles")
  func illegal() throws {
    let text = """
      <av:Now><1st Event! id=7><Song Title/><#name>Rock & Roll <3 "You" &lt;live&gt; &eacute;</#name>
      <av:Performer><![CDATA[AC/DC & <Friends>]]></av:Performer><On-Air:Time>50390000</On-Air:Time></1st></av:Now>
      """
    let content = try read(text) {
      ($0.elements.event, $0.elements.title, $0.elements.artist) = ("1ST", "#Name", "performer")
      $0.elements.start = "time"
    }
    let title = try #require(content.entries.first?.title)
    #expect(title.withoutArtist == "Rock & Roll <3 \"You\" <live> é")
    #expect(title.artist == "AC/DC & <Friends>")
    #expect(title.text == "AC/DC & <Friends> - " + title.withoutArtist)
    let attributes = try read("<EVENT Title='It&apos;s' Artist=\"O'Brien\" start=50390000 />")
    #expect(attributes.entries.first?.title.withoutArtist == "It's")
    #expect(attributes.entries.first?.title.artist == "O'Brien")
    #expect(starts(attributes) == [-10])
    let compact = try read("<EVENT Title=A start=50390000/><EVENT Title='B/>' start=50395000/>")
    #expect(compact.entries.map(\.title.withoutArtist) == ["A", "B/>"])
    #expect(starts(compact) == [-10, -5])
    let unclosed = try read("<event title=\"A start=50390000><event title='B' start='50395000'/>")
    #expect(unclosed.entries.last?.title.withoutArtist == "B")
  }

  @Test("a name that was made legal stays as it is")
  func names() {
    for text in [
      String(repeating: "1", count: 80), String(repeating: "é", count: 40), "", "a:1b", ":", "Title",
    ] {
      let name = FeedText.name(text)
      #expect(FeedText.name(name) == name && name.utf8.count <= 64)
    }
  }

  @Test("a feed's own fields are not split at a dash")
  func fields() throws {
    let content = try read("<event><title>A - B</title><artist>C - D</artist></event>")
    let title = try #require(content.entries.first?.title)
    #expect((title.artist, title.withoutArtist, title.text) == ("C - D", "A - B", "C - D - A - B"))
    let alone = try #require(try read("<event><title>A - B</title></event>").entries.first?.title)
    #expect((alone.artist, alone.withoutArtist, alone.text) == (nil, "A - B", "A - B"))
  }

  @Test("entries without a title or a time are skipped; without any time the first is played now")
  func missing() throws {
    let text =
      event("One", 50_390_000) + "<event><title>No time</title></event><event><start>50395000</start></event>"
    #expect(try read(text).entries.map(\.title.withoutArtist) == ["One"])
    let now = try read("<event/><event><title>Now</title></event><event><title>Before</title></event>")
    #expect(now.entries.map(\.title.withoutArtist) == ["Now"])
    #expect(now.entry(at: noon)?.title.withoutArtist == "Now")
    let old = try read(event("Old", 43_200_000, 60_000))
    #expect(old.entry(at: noon) == nil)
    for time in ["-1", "nan", "inf", "1e99", "25:00:00", "x"] {
      #expect(try read("<event><title>T</title><start>\(time)</start></event>").entries.map(\.start) == [nil])
    }
  }

  @Test("texts are in UTF-8, in the declared encoding, in Latin-1 or in UTF-16")
  func encodings() throws {
    let tag = (start: Array("<event><title>".utf8), end: Array("</title></event>".utf8))
    func title(_ bytes: [UInt8], _ declaration: String = "") throws -> String? {
      let all = Array(declaration.utf8) + tag.start + bytes + tag.end
      return try AudioVaultFeed(clock: utc).content(all, at: noon).entries.first?.title.text
    }
    #expect(try title(Array("Café".utf8)) == "Café")
    #expect(try title([0x43, 0xE9]) == "Cé")
    #expect(try title([0xC4], "<?xml version='1.0' encoding='windows-1251'?>") == "Д")
    #expect(try title([0xC4], "<?xml version='1.0' encoding='utf-16'?>") == "Ä", "it is not what it says")
    let wide = "<event>\n<title>Café</title></event>".utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    #expect(
      try AudioVaultFeed(clock: utc).content([0xFF, 0xFE] + wide, at: noon).entries.first?.title.text
        == "Café")
  }

  @Test("a body that is no feed is refused with what was found")
  func refused() throws {
    func flaw(_ text: String) -> FeedFlaw? {
      do throws(FeedFlaw) { _ = try AudioVaultFeed(clock: utc).content(Array(text.utf8), at: noon) } catch {
        return error
      }
      return nil
    }
    #expect(
      flaw("<list><song><name>X</name></song></list>")?.words
        == "it has no <event>; found <list>, <song>, <name>")
    #expect(flaw("just words")?.words == "it has no <event>; found no elements")
    #expect(flaw("")?.words.contains("no elements") == true)
    #expect(flaw(String(repeating: " ", count: FeedText.sizeLimit + 1)) == .notXML)
  }

  @Test("elements that are never closed, in any number, hide no event after them")
  func depth() throws {
    for count in [1, 20, 40, 254, 300, 20_000] {
      let open = String(repeating: "<b>", count: count)
      let field = "<event><title>\(open)Ra\(open)dio</title><start>50390000</start></event>"
      let content = try read("<list>\(field)\(event("Two", 50_395_000))</list>")
      #expect(content.entries.map(\.title.withoutArtist) == ["Radio", "Two"], "\(count) elements in a field")
      #expect(starts(content) == [-10, -5])
      let around = try read(open + event("One", 50_390_000) + open + event("Two", 50_395_000))
      #expect(around.entries.map(\.title.withoutArtist) == ["One", "Two"], "\(count) around an event")
      let closed = String(repeating: "<b>", count: count) + "x" + String(repeating: "</b>", count: count)
      let nested = try read("<event>\(closed)<title>One</title></event><event/>")
      #expect(nested.entries.map(\.title.withoutArtist) == ["One"], "\(count) beside a field")
    }
  }

  @Test("events that are never closed are all found, each with its own fields")
  func unclosed() throws {
    let many = (0..<600).map { event("T\($0)", 50_000_000 + $0 * 1000).replacing("</event>", with: "") }
      .joined()
    let content = try read(many)
    #expect(content.entries.map(\.start) == (0..<600).map { noon.advanced(by: .seconds($0 - 400)) })
    let empty = (0..<600).map {
      "<event title='T\($0)' start='\(50_000_000 + $0 * 1000)'><c/><d x=/>"
    }.joined()
    #expect(try read(empty).entries.map(\.title.withoutArtist) == (0..<600).map { "T\($0)" })
    let entries = String(repeating: "<PlaylistEntry><Title>A", count: 300) + "<Refresh>25"
    let live = try Live365Feed.content(Array(entries.utf8))
    #expect(live.entries.count == 1 && live.refresh == .seconds(25))
  }

  @Test("entities that expand to gigabytes are text")
  func bombs() throws {
    let bomb = """
      <!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>
      <event><title>&b;&c;</title></event>
      """
    #expect(try read(bomb).entries.first?.title.text == "&b;&c;")
  }

  @Test("any bytes are read in bounded time: titles are short, entries few")
  func hostile() throws {
    let good =
      "<p>" + event("One &amp; <b>x</b>", 50_390_000, 100) + event("Two", 3, 9)
      + "<!-- x --><![CDATA[y]]></p>"
    var random = SeededRandom(seed: 21)
    for _ in 0..<500 {
      var bytes = Array(good.utf8)
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let offset = Int.random(in: 0..<bytes.count, using: &random)
        let length = min(Int.random(in: 0..<40, using: &random), bytes.count - offset)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[offset] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.removeSubrange(offset..<(offset + length))
        case 2: bytes.insert(contentsOf: bytes[offset..<(offset + length)], at: offset)
        default: bytes.insert(contentsOf: Array("</<>&'\"![-?".utf8).shuffled(using: &random), at: offset)
        }
        if bytes.isEmpty { bytes = [60] }
      }
      _ = try? AudioVaultFeed(clock: utc).content(bytes, at: noon)
      _ = try? Live365Feed.content(bytes)
    }
    for part in [
      "<", "<a>", "<!--", "<![CDATA[", "<?", "<a b=\"", "&", "<event><title>", "<a b=1 ", "</a>",
      "<a><b>", "<a></b>", "<event>", "<event/>", "<a b=='x>y'/>",
    ] {
      let text = String(repeating: part, count: 100_000 / part.utf8.count)
      let content = try? AudioVaultFeed(clock: utc).content(Array(text.utf8), at: noon)
      #expect(content?.entries.count ?? 0 <= FeedContent.entryLimit)
    }
    let long = "<event><title>" + String(repeating: "x", count: 100_000) + "</title></event>"
    #expect(try read(long).entries.first?.title.text.count == 1000)
    #expect(try read(String(repeating: event("T", 50_390_000), count: 3000)).entries.count == 1000)
  }

  @Test("Live365: the first entry is played, and Refresh is the pace")
  func live365() throws {
    let text = """
      <?xml version="1.0"?><LIVE365_PLAYLIST><Refresh>25</Refresh>
      <PlaylistEntry><Title>A - B</Title><Artist>C</Artist><Album>D</Album></PlaylistEntry>
      <PlaylistEntry><Title>Before</Title></PlaylistEntry></LIVE365_PLAYLIST>
      """
    let content = try Live365Feed.content(Array(text.utf8))
    #expect(content.entries.map(\.title.text) == ["C - A - B"])
    #expect(content.refresh == .seconds(25))
    let silent = try Live365Feed.content(Array("<x><Refresh>inf</Refresh></x>".utf8))
    #expect(silent.entries.isEmpty && silent.refresh == .seconds(60))
    #expect(throws: FeedFlaw.self) { try Live365Feed.content(Array("<html/>".utf8)) }
  }
}
