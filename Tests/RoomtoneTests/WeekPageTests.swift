import EventLoop
import Home
import JSONText
import Scheduling
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

@Suite("simulate: the page with the picture of a week", .tags(.weekPage)) struct WeekPageTests {
  private static let hostile = [
    "</script><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onmouseover='alert(1)",
    "<!--", "]]>", "&lt;b&gt;", "\u{202E}evil\u{202C}", "a\u{0}b\r\nc", "</style><svg onload=alert(1)>",
    "javascript:alert(1)", String(repeating: "long ", count: 200),
  ]

  /// The tags of a page: the names of elements in order, with `/` in front of ends, and the names of attributes.
  private struct Tags {
    var elements: [String] = []
    var attributes: Set<String> = []

    init(_ page: String) {
      var rest = Array(page.unicodeScalars)[...]
      func isName(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar == "-" || scalar == "!" || scalar == "/"
          || ("0"..."9").contains(scalar)
      }
      while let open = rest.firstIndex(of: "<") {
        rest = rest[(open + 1)...]
        let name = rest.prefix(while: isName)
        elements.append(String(String.UnicodeScalarView(name)))
        rest = rest[name.endIndex...]
        while let next = rest.first, next != ">" {
          let attribute = rest.prefix { $0 != "=" && $0 != ">" && $0 != " " && $0 != "\n" }
          rest = rest[attribute.endIndex...]
          attributes.insert(String(String.UnicodeScalarView(attribute)))
          if rest.first == "=" {
            let quote = rest.dropFirst().first ?? " "
            if quote != "\"" { attributes.insert("unquoted") }
            rest = rest.dropFirst(2)
            rest = rest[(rest.firstIndex(of: quote) ?? rest.endIndex - 1)...].dropFirst()
          } else if attribute.isEmpty {
            rest = rest.dropFirst()
          }
        }
      }
      attributes.remove("")
    }
  }

  private static func week(_ names: [String]) -> Week {
    var entries: [JournalEntry] = []
    for (index, name) in names.enumerated() {
      let second = index * 4000
      entries += [
        WeekFixture.entry(second, name, .alarm, detail: name),
        WeekFixture.entry(second + 1, name, .play, to: .text(name), detail: "at volume 3 to 4"),
        WeekFixture.entry(second + 2, "", .print, detail: name),
        WeekFixture.entry(second + 3, name, .error, detail: name, facts: [.init("code", .string(name))]),
        WeekFixture.entry(second + 4, "Recorder", .recording, name: name),
        WeekFixture.entry(second + 5, "", .log, detail: name, facts: [.init("level", "warn")]),
      ]
    }
    entries.append(
      WeekFixture.entry(
        80_000, "", .summary, detail: "never heard: \(names.first ?? "")", facts: [.init("about", "sources")])
    )
    return WeekFixture.week(
      title: names.first ?? "", rooms: names, speakers: [:],
      sounds: names.enumerated().map { WeekFixture.sound($1, $1, $0 * 4000 + 1, $0 * 4000 + 3900) }, entries)
  }

  @Test("texts of scripts and stations stay text, whatever they are, and the page has no script at all")
  func hostile() throws {
    let page = WeekPage(Self.week(Self.hostile)).text
    let tags = Tags(page)
    let known: Set = [
      "!doctype", "html", "head", "meta", "title", "style", "body", "svg", "symbol", "path", "circle", "use",
      "header", "main", "section", "article", "details", "summary", "h1", "h2", "h3", "p", "dl", "dt", "dd",
      "div", "ul", "ol", "li", "span", "a", "b", "i", "em", "bdi", "table", "thead", "tbody", "tr", "th",
      "td", "nav", "small",
    ]
    #expect(
      Set(tags.elements.map { $0.hasPrefix("/") ? String($0.dropFirst()) : $0 }).subtracting(known) == [])
    #expect(tags.attributes.filter { $0.hasPrefix("on") || $0 == "src" || $0 == "unquoted" } == [])
    #expect(
      page.contains("default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"))
    #expect(!page.unicodeScalars.contains { $0 == "\u{202E}" || $0 == "\u{0}" || $0 == "\r" })
    #expect(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)") && page.contains("&amp;lt;b&amp;gt;"))
    #expect(!page.contains("http:") && !page.contains("https:") && !page.contains("url("))
  }

  @Test("text in an interpolation is text, and pieces of HTML are markup")
  func escapes() {
    let (text, piece): (String, HTML) = ("a\tb\n<i>&\"'", "<b>\("<")</b>")
    #expect(HTML("\(text)").markup == "a b\\n&lt;i&gt;&amp;&quot;&#39;")
    #expect(HTML("\(piece)\([piece, piece])\(7)").markup == String(repeating: "<b>&lt;</b>", count: 3) + "7")
    #expect(
      HTML.percent(1, of: 3).markup == "33.333%" && HTML.percent(86_399, of: 86_400).markup == "99.999%")
    #expect(HTML.percent(2, of: 3).markup == "66.667%" && HTML.percent(1, of: 0).markup == "0.000%")
  }

  @Test("elements are closed in their order, and links lead to what is there once")
  func wellFormed() throws {
    let page = WeekPage(Self.week(Self.hostile + ["Kitchen"])).text
    var open: [String] = []
    for name in Tags(page).elements where !["!doctype", "meta"].contains(name) {
      if !name.hasPrefix("/") {
        open.append(name)
      } else if open.last == String(name.dropFirst()) {
        open.removeLast()
      } else if let last = open.last, ["path", "circle", "use"].contains(last) {
        // Elements without content, ended in their own tag, which `Tags` counts as open.
        while let last = open.last, ["path", "circle", "use"].contains(last) { open.removeLast() }
        #expect(open.popLast() == String(name.dropFirst()))
      } else {
        Issue.record("</\(name)> closes \(open.last ?? "nothing")")
        return
      }
    }
    #expect(open.isEmpty, "\(open)")
    checkLinks(page)
  }

  /// Checks that identifiers are unique, and that links lead to them.
  private func checkLinks(_ page: String) {
    func values(_ attribute: String) -> [Substring] {
      page.split(separator: " \(attribute)=\"").dropFirst().map { $0.prefix { $0 != "\"" } }
    }
    let identifiers = Set(values("id"))
    #expect(identifiers.count == values("id").count)
    for link in values("href") {
      #expect(link.first == "#" && identifiers.contains(link.dropFirst()), "\(link)")
    }
  }

  @Test("the same week is the same page, and a long day says how many events it leaves out")
  func repeated() {
    let week = WeekFixture.week(
      sounds: [WeekFixture.sound("Kitchen", "Night", 86_400, 90_000)],
      (0..<2100).map { WeekFixture.entry($0 * 30, "", .print, detail: "line \($0)") })
    let page = WeekPage(week).text
    #expect(page == WeekPage(week).text)
    checkLinks(page)
    #expect(page.contains("2100 events") && page.contains("and 100 more; the option --json"))
    #expect(page.contains("line 1999</bdi>") && !page.contains("line 2000</bdi></td>"))
  }

  @Test("the list at the top has each text once, failures before warnings, and what never happened")
  func findings() throws {
    let entries =
      (0..<30).map { WeekFixture.entry($0 * 60, "", .log, detail: "dry", facts: [.init("level", "warn")]) }
      + (0..<25).map {
        WeekFixture.entry(
          4000 + $0 * 60, "Kitchen", .error, detail: "broken \($0)", facts: [.init("code", "x")])
      }
      + [
        WeekFixture.entry(
          9000, "", .summary, detail: "never heard: Night FM", facts: [.init("about", "sources")]),
        WeekFixture.entry(
          9000, "", .summary, detail: "0 runs, 25 failures, 30 warnings", facts: [.init("about", "total")]),
      ]
    let page = WeekPage(WeekFixture.week(entries)).text
    let list = try #require(page.split(separator: "<ol>").dropFirst().first?.split(separator: "</ol>").first)
    let items = list.split(separator: "<li").map(String.init)
    #expect(items.count == 23 && items[1].contains("broken 0 (x)") && items[20].contains("broken 19 (x)"))
    #expect(
      items[21].contains("and 6 more, among the events below") && items[22].contains("never heard: Night FM"))
    let calm = WeekPage(WeekFixture.week(Array(entries[..<30]))).text
    #expect(calm.contains("warn: dry</bdi> <span class=\"times\">30 times</span></li>"))
  }

  @Test("an empty week is days in which nothing happens")
  func empty() {
    let page = WeekPage(WeekFixture.week(days: 7)).text
    #expect(page.split(separator: "nothing happens").count == 8 && page.contains("7 days"))
    #expect(page.contains("Monday 5 January 2026 to Sunday 11 January 2026"))
    #expect(!page.contains("id=\"findings\""))
  }

  @Test("bars and marks stand at their share of the day, in a box as high as the volume")
  func places() {
    let week = WeekFixture.week(
      days: 1,
      sounds: [
        WeekFixture.sound("Kitchen", "Tune", 6 * 3600, 9 * 3600, volumes: [(7 * 3600, 50), (8 * 3600, 0)])
      ],
      [
        WeekFixture.entry(6 * 3600, "Kitchen", .play, to: .text("Tune"), detail: "at volume 20"),
        WeekFixture.entry(18 * 3600, "Kitchen", .failure, detail: "broken"),
      ])
    let page = WeekPage(week).text
    #expect(page.contains("href=\"#e0\" style=\"left:25.000%;width:12.500%\""))
    #expect(page.contains("<path d=\"M0 50H0V30H3600V0H7200V50H10800V50Z\"/>"))
    #expect(page.contains("volume 20 → 50 → 0") && page.contains("Kitchen, 06:00 to 09:00, 3 h"))
    #expect(page.contains("class=\"k w m n r\" href=\"#e1\" style=\"left:75.000%\""))
  }

  @Test("ten minutes are as wide as the page, with a line at each minute")
  func part() {
    let start = WeekFixture.monday + 6 * 3600 + 45 * 60
    let week = Week(
      title: "a.lua", zone: WeekFixture.zone, start: start, end: start + 600, isWhole: true,
      rooms: ["Kitchen"], roomOfSpeaker: [:],
      sounds: [
        WeekSound(room: "Kitchen", title: "Tune", end: start + 360, levels: [.init(start + 60, 10)])
      ], entries: [])
    let page = WeekPage(week).text
    #expect(page.contains("style=\"left:10.000%;width:50.000%\""))
    #expect(page.contains("<span style=\"left:0.000%\">06:45</span>"))
    #expect(page.contains("<span class=\"h3\" style=\"left:90.000%\">06:54</span>"))
    #expect(page.contains("Kitchen, 06:46 to 06:51, 5 min") && !page.contains("class=\"out\""))
    #expect(!page.contains("class=\"glance\""))
  }

  @Test("a part of a day has the scale of what was simulated, also across midnight")
  func axis() {
    func axis(_ start: Int, _ length: Int) -> (WeekAxis, [[Int]]) {
      let start = WeekFixture.monday + start
      let week = Week(
        title: "a.lua", zone: WeekFixture.zone, start: start, end: start + length, isWhole: true, rooms: [],
        roomOfSpeaker: [:], sounds: [], entries: [])
      let axis = WeekAxis(week)
      return (
        axis, week.days.map { day in axis.ticks(of: day).map { $0.moment - WeekFixture.monday } }
      )
    }
    let (night, ticks) = axis(86_400 - 1800, 5400)
    #expect(night.length == 3600 && night.step == 600 && ticks.map(\.count) == [3, 6])
    #expect(ticks.map(\.first) == [84_600, 86_400])
    #expect(axis(10, 1).0.length == 1 && axis(3601, 7).0.step == 1)
    #expect(axis(0, 13 * 3600).0.step == nil && axis(0, 7 * 86_400).0.length == 86_400)
    #expect(axis(6 * 3600 + 100, 6 * 3600).1.first?.first == 6 * 3600)
  }

  @Test("a week at a glance has a line for each day, which leads to the day alone, and the page one legend")
  func glance() throws {
    let week = WeekFixture.week(
      days: 3,
      sounds: [
        WeekFixture.sound("Kitchen", "Night", 80_000, 90_000),
        WeekFixture.sound("Bedroom", "Night", 82_000, 86_400),
      ], [WeekFixture.entry(200_000, "Kitchen", .failure, detail: "broken")])
    let page = WeekPage(week).text
    let rest = page.split(separator: "<nav class=\"glance\"").last
    let list = try #require(rest?.split(separator: "</nav>").first)
    let lines = list.split(separator: "<li>").dropFirst().map(String.init)
    #expect(lines.count == 3)
    // Rooms that play at the same time are one piece.
    #expect(lines[0].contains("<i class=\"music\" style=\"left:92.593%;width:7.407%\"></i></span>"))
    #expect(lines[0].contains("Monday <small>5 January 2026</small>") && lines[0].contains("1 h 46 min"))
    #expect(lines[1].contains("left:0.000%;width:4.167%") && lines[1].contains("1 h"))
    #expect(lines[2].contains("silent") && lines[2].contains("href=\"#failure\"/></svg><b>1</b>"))
    for (line, day) in zip(lines, week.days) {
      #expect(line.contains("href=\"#a\(day.date.day)\"") && page.contains(" id=\"a\(day.date.day)\""))
      #expect(page.contains("body:has(#a\(day.date.day):target) details:not(#l\(day.date.day))"))
    }
    #expect(page.split(separator: "<ul class=\"legend\"").count == 2)
    checkLinks(page)
    let alarm = WeekPage(
      WeekFixture.week(
        sounds: [WeekFixture.sound("Kitchen", "Morning", 3605, 7200, interruption: "wake up")],
        [WeekFixture.entry(3600, "Kitchen", .alarm, detail: "wake up rings with a")])
    ).text
    let legend = alarm.split(separator: "<ul class=\"legend\"").last?.split(separator: "</ul>").first ?? ""
    #expect(legend.split(separator: "alarm</li>").count == 2)
  }

  @Test("a day of 25 hours is longer than the others, and says what its clocks do")
  func clocks() throws {
    let zone = try ZoneFile(named: "Europe/Berlin")
    let start = Int(zone.match(try LocalDateTime(parsing: "2026-10-24 00:00")).moment.seconds)
    let week = Week(
      title: "a.lua", zone: zone, start: start, end: start + 49 * 3600, isWhole: true, rooms: ["Kitchen"],
      roomOfSpeaker: [:],
      sounds: [
        WeekSound(
          room: "Kitchen", title: "All night", end: start + 49 * 3600, levels: [.init(start, 10)])
      ], entries: [])
    let page = WeekPage(week).text
    #expect(page.contains("The clocks are put back by 1 h: 02:59:59 is followed by 02:00."))
    #expect(
      page.contains("style=\"left:0.000%;width:96.000%\"") && page.contains("left:0.000%;width:100.000%"))
    #expect(
      page.contains("Kitchen, 00:00 to Monday 24:00") == false
        && page.contains("Kitchen, 00:00 to Sunday 24:00"))
  }
}
