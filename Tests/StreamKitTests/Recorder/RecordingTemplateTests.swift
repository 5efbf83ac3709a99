import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import RecordingKit

@Suite("Template of recordings", .waiting, .tags(.stream, .recording)) struct RecordingTemplateTests {
  /// 2026-03-28 20:30:00 on clocks an hour ahead of UTC.
  private static let start = LocalTime(WallTime(seconds: 1_774_726_200), offset: 3600)

  private func path(
    _ template: String, station: String? = nil, title: String? = nil, artist: String? = nil,
    used: Set<String> = []
  ) throws -> String {
    let values = RecordingTemplate.Values(
      station: station, title: title, artist: artist, ext: "mp3", start: Self.start)
    return try RecordingTemplate(template).path(values, isOccupied: used.contains)
  }

  @Test("a show without a name is called by its time, the files of a split one by their titles")
  func usual() throws {
    #expect(try !RecordingTemplate(RecordingTemplate.usual(splits: false)).has(.title))
    #expect(try RecordingTemplate(RecordingTemplate.usual(splits: true)).has(.title))
  }

  @Test("fills its fields") func fields() throws {
    let path = try path(
      "/radio/{station}/{start:%Y-%m-%d %H.%M} {artist} - {title} {n}.{ext}", station: "Radio One",
      title: "The Song", artist: "The Band")
    #expect(path == "/radio/Radio One/2026-03-28 20.30 The Band - The Song 1.mp3")
    #expect(try self.path("{start:%Y/%m/%d}/{start}.{ext}") == "2026/03/28/2026-03-28 20.30.mp3")
    #expect(try self.path("{start:%H:%M}") == "20_30")
    #expect(try self.path("{{a}}{ext}") == "{a}mp3")
    #expect(try self.path("just/a path.mp3") == "just/a path.mp3")
    #expect(try RecordingTemplate("{start:%j} {title}").has(.title))
    #expect(try !RecordingTemplate("{start:%j}").has(.title))
  }

  @Test(
    "a field without a value has a name all the same",
    arguments: [
      ("{station}.{ext}", "unknown.mp3"), ("{title}.{ext}", "untitled.mp3"),
      ("{artist} - {title}.{ext}", "untitled.mp3"), ("{start} {artist}", "2026-03-28 20.30"),
      ("{artist}/{title}", "_/untitled"), ("{artist}", "_"),
    ])
  func missing(template: String, expected: String) throws {
    #expect(try path(template) == expected)
    #expect(try path(template, station: " ", title: "..", artist: "\u{200E}\n") == expected)
  }

  @Test(
    "a station's texts stay within one name",
    arguments: [
      ("../../etc/passwd", "_.._etc_passwd"), ("/etc/passwd", "_etc_passwd"), (".", "untitled"),
      ("..", "untitled"), ("a/../b", "a_.._b"), (".hidden", "hidden"), ("ends. . ", "ends"),
      ("one\ntwo\u{0}three\u{1B}[2J", "one two three [2J"), ("AC\\DC: \"Live\"?*<|>", "AC_DC_ _Live______"),
      ("\u{202E}3pm.exe", "3pm.exe"), ("{title}{n}", "{title}{n}"), ("%s%n%d", "%s%n%d"),
      ("\u{A0} a\u{2028}b\u{3000}", "a b"),
    ])
  func hostile(title: String, name: String) throws {
    #expect(try path("/radio/{title}.{ext}", title: title) == "/radio/\(name).mp3")
    #expect(
      try path("/radio/{station}/x", station: title == "." || title == ".." ? nil : title)
        == "/radio/\(name == "untitled" ? "unknown" : name)/x")
  }

  @Test(
    "no name is too long for a file system, and its time and end stay",
    arguments: [
      String(repeating: "😀", count: 1024), String(repeating: "👩‍👩‍👧‍👦", count: 400),
      String(repeating: "x", count: 5000),
      "e" + String(repeating: "\u{301}", count: 3000), String(repeating: "ä ", count: 400),
    ])
  func long(text: String) throws {
    let path = try path(
      "/{station}/{start} {artist} - {title}.{ext}", station: text, title: text, artist: text)
    let parts = path.split(separator: "/")
    #expect(parts.count == 2 && parts.allSatisfy { $0.utf8.count <= 255 && $0.utf8.count > 100 })
    #expect(parts[1].hasPrefix("2026-03-28 20.30 ") && parts[1].hasSuffix(".mp3") && parts[1].contains(" - "))
    #expect((parts[1] + ".part").utf8.count <= 255)
    let next = try self.path(
      "/{station}/{start} {artist} - {title}.{ext}", station: text, title: text, artist: text, used: [path])
    #expect(next.hasSuffix(" (2).mp3") && next.split(separator: "/")[1].utf8.count <= 250)
    let folder = try TemporaryFolder()
    let part = try PartFile.create(path: folder.path + next)
    #expect(try part.finish(as: folder.path + next) == folder.path + next)
  }

  @Test("a name in use gets a number; {n} is its position") func numbers() throws {
    #expect(
      try path("a.b/{title}.{ext}", title: "x", used: ["a.b/x.mp3", "a.b/x (2).mp3"]) == "a.b/x (3).mp3")
    #expect(try path("{n}/{title}", title: "x", used: ["1/x", "2/x"]) == "3/x")
    #expect(try path("Show", used: ["Show"]) == "Show (2)")
    let template = try RecordingTemplate("{title}")
    let values = RecordingTemplate.Values(ext: "mp3", start: Self.start)
    #expect { try template.path(values) { _ in true } } throws: { ($0 as? RecordError)?.kind == .exists }
  }

  @Test("a part that is being recorded occupies its name") func parts() throws {
    let folder = try TemporaryFolder()
    let values = RecordingTemplate.Values(title: "x", ext: "mp3", start: Self.start)
    let template = try RecordingTemplate(folder.path + "/{title}.{ext}")
    let part = try PartFile.create(path: template.path(values))
    #expect(try template.path(values) == folder.file("x (2).mp3"))
    part.abandon(keep: false)
    #expect(try template.path(values) == folder.file("x.mp3"))
  }

  @Test(
    "reports what is wrong with it",
    arguments: [
      ("{titel}.mp3", "has an unknown field {titel}", "did you mean {title}?"),
      (
        "{album}", "has an unknown field {album}",
        "known: {station}, {title}, {artist}, {track}, {start}, {ext}, {n}"
      ),
      ("{title", "has a { without a }", "write {{ for a brace"),
      ("title}", "has a } without a {", "write }} for a brace"),
      ("{title:%Y}", "gives {title} a format", "only {start} has one, as in {start:%Y-%m-%d}"),
      (
        "{start:%Q}", "has a time format that strftime does not know: %Q",
        "write it as in {start:%Y-%m-%d %H.%M}"
      ),
      ("{start:%", "has a { without a }", "write {{ for a brace"),
      ("{start:}", "has no usable time format", "write it as in {start:%Y-%m-%d %H.%M}"),
      ("", "is empty", "write it as in \"{station} {start}.{ext}\""),
      ("{station}/", "ends with a folder", "write a name after it, as in \"{start}.{ext}\""),
    ])
  func mistakes(template: String, what: String, hint: String) {
    #expect { try RecordingTemplate(template) } throws: {
      guard let error = $0 as? TemplateError else { return false }
      return error.code == "argument" && error.message == "the template \"\(template)\" \(what)"
        && error.hint == hint
    }
  }
}
