import EventLoop
import JSONText
import RecordingKit
import TestTraits
import Testing

@testable import RoomtoneCLI

@Suite("recordings as text", .tags(.recordings, .command))
struct RecordingTextTests {
  private func line(
    title: String? = "Some Artist - Some Song", level: Double? = -20, reconnects: Int = 0,
    isWaiting: Bool = false, total: Double? = nil, path: String = "",
    columns: Int = 100
  ) -> String {
    RecordingLine.text(
      seconds: 754.9, total: total, bytes: 12_080_000, title: title, level: level, reconnects: reconnects,
      isWaiting: isWaiting, path: path, columns: columns)
  }

  @Test("the line of a terminal shows time, size, level, lost connections and title, as far as there are any")
  func progress() {
    #expect(line() == "● 12:34  12 MB  ▮▮▮▮▮▮▯▯▯▯  Some Artist - Some Song")
    #expect(line(title: nil, level: nil) == "● 12:34  12 MB  ▯▯▯▯▯▯▯▯▯▯")
    #expect(line(title: "", reconnects: 1) == "● 12:34  12 MB  ▮▮▮▮▮▮▯▯▯▯  1 reconnect")
    #expect(line(title: "A", reconnects: 12) == "● 12:34  12 MB  ▮▮▮▮▮▮▯▯▯▯  12 reconnects  A")
    #expect(line(title: nil, isWaiting: true).hasPrefix("waits for room on the disk 12:34"))
  }

  @Test("the line shows the planned length and the path: of a long path the end") func total() {
    let start = "● 12:34 / 2:00:00  12 MB  ▮▮▮▮▮▮▯▯▯▯  A"
    #expect(line(title: "A", total: 7_200, path: "/radio/show.mp3") == start + "  /radio/show.mp3")
    let cut = line(title: "A", total: 7_200, path: "/home/somebody/radio/show.mp3", columns: start.count + 16)
    #expect(cut == start + "  …io/show.mp3")
    #expect(line(title: "A", total: 7_200, path: "/radio/show.mp3", columns: start.count + 8) == start)
  }

  @Test("the line never reaches the last column, and no title moves the cursor")
  func width() {
    for columns in 1..<60 { #expect(line(columns: columns).count < max(2, columns)) }
    #expect(line(title: "A\u{1b}[2J\nB").hasSuffix("A\\x1b[2J\\nB"))
  }

  @Test(
    "the bar goes from -50 to 0 dBFS",
    arguments: [
      (-Double.infinity, 0), (-120, 0), (-50, 0), (-46, 1), (-25, 5), (-0.1, 10), (0, 10), (6, 10),
      (.infinity, 10),
    ])
  func bar(_ level: Double, _ filled: Int) {
    let bar = RecordingLine.bar(level)
    #expect(bar.count == 10 && bar.count { $0 == "▮" } == filled)
  }

  @Test("gaps are counted and added up")
  func gaps() {
    #expect(RecordingText.gaps([]) == nil)
    #expect(RecordingText.gaps([.init(at: 3, seconds: 8.06)]) == "1 (8.1 s)")
    #expect(RecordingText.gaps([.init(at: 3, seconds: 8), .init(at: 9, seconds: 60.5)]) == "2 (68.5 s)")
  }

  private let entry = RecordingEntry(
    path: "/radio/a\u{1b}.mp3", part: nil, url: "http://a/", start: WallTime(seconds: 0), codec: "mp3",
    sampleRate: 44_100, channels: 2, samples: 44_100 * 3_723, bytes: 59_568_000,
    gaps: [.init(at: 1.5, seconds: 8)],
    titles: [.init(at: 0.25, text: "A \"B\"")], state: .finished)

  @Test("the table shows each recording in a row, without what moves a cursor")
  func table() {
    var open = entry
    (open.state, open.part) = (.interrupted, "/nowhere/a.mp3.part")
    let lines = RecordingText.table([entry, open]).lines
    #expect(lines[0].hasPrefix("START             LENGTH   SIZE   GAPS       STATE        STATION  FILE"))
    #expect(lines[1].hasSuffix("1:02:03  60 MB  1 (8.0 s)  finished     -        /radio/a\\x1b.mp3"))
    #expect(lines[2].contains("  interrupted  "))
  }

  @Test("the object has all that scripts see")
  func object() {
    let line = RecordingText.object(entry).line
    #expect(
      line.contains("\"seconds\": 3723.0, \"bytes\": 59568000, \"codec\": \"mp3\", \"sample_rate\": 44100"))
    #expect(
      line.contains(
        "\"gaps\": [{\"at\": 1.5, \"seconds\": 8.0}], \"titles\": [{\"at\": 0.25, \"title\": \"A \\\"B\\\"\"}]"
      ))
    #expect(line.contains("\"part\": null, \"station\": null") && line.contains("\"open\": false"))
  }

  @Test("numbers with a fraction are written with three digits, and those that JSON can't express as null")
  func decimals() {
    #expect(JSON.decimal(1.23456).line == "1.235" && JSON.decimal(-2).line == "-2.0")
    for odd in [Double.nan, .infinity, -.infinity, 1e300] { #expect(JSON.decimal(odd).line == "null") }
  }
}
