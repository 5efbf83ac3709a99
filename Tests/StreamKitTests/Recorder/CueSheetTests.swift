import Codecs
import EventLoop
import RecordingKit
import TestSupport
import TestTraits
import Testing

@Suite("Cue sheet", .waiting, .tags(.stream, .recording, .titles)) struct CueSheetTests {
  private static let start = LocalTime(WallTime(seconds: 1_774_726_200), offset: 3600)

  @Test("lists the titles of one file") func whole() {
    let sheet = CueSheet(
      file: "Show.mp3", codec: .mp3, station: "Radio \"One\"", url: "http://example.org/live",
      start: Self.start,
      tracks: [
        .init("First", performer: "Band", start: 0), .init("Second\nline", start: 61.5),
        .init("Third", start: 6000.02),
      ], gaps: [.init(at: 100, seconds: 3.25)])
    #expect(
      sheet.text == """
        REM DATE 2026-03-28
        REM TIME 20:30:00
        REM STATION "Radio 'One'"
        REM URL "http://example.org/live"
        REM GAP 01:40:00 3.250
        PERFORMER "Radio 'One'"
        TITLE "Radio 'One' 2026-03-28 20:30"
        FILE "Show.mp3" MP3
          TRACK 01 AUDIO
            TITLE "First"
            PERFORMER "Band"
            INDEX 01 00:00:00
          TRACK 02 AUDIO
            TITLE "Second line"
            INDEX 01 01:01:37
          TRACK 03 AUDIO
            TITLE "Third"
            INDEX 01 100:00:01

        """)
  }

  @Test("lists the titles of several files") func split() {
    let sheet = CueSheet(
      codec: .aac, start: Self.start,
      tracks: [.init("One", file: "1.aac"), .init("Two", performer: "P", start: 2, file: "2.aac")])
    #expect(
      sheet.text == """
        REM DATE 2026-03-28
        REM TIME 20:30:00
        TITLE "Recording 2026-03-28 20:30"
        FILE "1.aac" WAVE
          TRACK 01 AUDIO
            TITLE "One"
            INDEX 01 00:00:00
        FILE "2.aac" WAVE
          TRACK 02 AUDIO
            TITLE "Two"
            PERFORMER "P"
            INDEX 01 00:02:00

        """)
  }

  @Test("the sound in front of the first title is the station's; two at one position are the later")
  func odd() {
    func sheet(_ tracks: [CueSheet.Track]) -> String {
      CueSheet(file: "a.mp3", codec: .mp3, station: "S", start: Self.start, tracks: tracks).text
    }
    func titles(_ tracks: [CueSheet.Track]) -> [String] {
      sheet(tracks).split(separator: "\n").filter { $0.hasPrefix("    ") }.map { String($0.dropFirst(4)) }
    }
    #expect(titles([]) == ["TITLE \"S\"", "INDEX 01 00:00:00"])
    #expect(
      titles([.init("a", start: 1), .init("b", start: 1.001), .init("c", start: 0.5)]) == [
        "TITLE \"S\"", "INDEX 01 00:00:00", "TITLE \"b\"", "INDEX 01 00:01:00",
      ])
    #expect(
      titles([.init("a", start: .nan), .init("b", start: .infinity)]).last == "INDEX 01 66666666:40:00")
    let many = sheet((0..<120).map { .init("t", start: Double($0)) })
    #expect(
      many.contains("  TRACK 09 AUDIO") && many.contains("  TRACK 10 AUDIO") && many.contains("  TRACK 120 "))
  }

  @Test("is written beside the sound, whole, and replaces the old one") func written() throws {
    let folder = try TemporaryFolder()
    let audio = try readBytes(Fixtures.path("mp3-without-tag.mp3"))
    _ = try folder.write(audio, to: "a.mp3")
    let sheet = CueSheet(
      file: "a.mp3", codec: .mp3, station: "Radio", start: Self.start,
      tracks: [.init("One"), .init("Zwei ü", start: 1)])
    try sheet.write(to: folder.file("a.cue"))
    try sheet.write(to: folder.file("a.cue"))
    #expect(try String(decoding: readBytes(folder.file("a.cue")), as: UTF8.self) == sheet.text)
    #expect(try Command.succeed("ls", [folder.path]).text == "a.cue\na.mp3\n")
    #expect { try sheet.write(to: folder.file("none/a.cue")) } throws: {
      ($0 as? RecordError)?.kind == .write
    }
  }
}
