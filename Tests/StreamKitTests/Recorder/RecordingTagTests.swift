import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import RecordingKit

@Suite("Tag of a recording", .waiting, .tags(.stream, .recording, .titles)) struct RecordingTagTests {
  private static let start = LocalTime(WallTime(seconds: 1_774_726_200), offset: 3600)
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Returns the tags that ffprobe reads, as `key=value`.
  private func tags(_ path: String) throws -> Set<String> {
    let text = try Command.succeed(
      "ffprobe", ["-v", "error", "-show_entries", "format_tags", "-of", "default=nw=1", path]
    ).text
    return Set(text.split(separator: "\n").map { String($0.dropFirst("TAG:".count)) })
  }

  @Test(
    "is read by others, in front of all kinds of frames",
    arguments: ["mp3-without-tag.mp3", "aac-lc-44k.aac"])
  func read(name: String) throws {
    let audio = try readBytes(Fixtures.path(name))
    let tag = RecordingTag(
      title: "Späte Stunde 🌙", artist: "Die Band", album: "Radio Eins", genre: "Jazz", track: 7,
      start: Self.start,
      url: "http://example.org/live")
    let path = try folder.write(tag.make() + audio, to: name)
    #expect(
      try tags(path) == [
        "title=Späte Stunde 🌙", "artist=Die Band", "album=Radio Eins", "genre=Jazz", "track=7",
        "date=2026-03-28T20:30:00",
        "comment=Recorded 2026-03-28 20:30:00 from http://example.org/live",
      ])
    let walk = try RecordedFrames.walk(path)
    #expect(walk.isWhole && walk.audioBytes == audio.count)
    #expect(walk.length - audio.count == walk.tagLength)
  }

  @Test("is changed in place, without moving the sound") func update() throws {
    let audio = try readBytes(Fixtures.path("mp3-without-tag.mp3"))
    let head = try RecordingTag(album: "Radio", start: Self.start).make()
    #expect(head.count > 2048 && head.count <= 4096)
    let path = try folder.write(head + audio, to: "a.mp3.part")
    for round in 0..<3 {
      #expect(try RecordingTag(title: String(repeating: "ö", count: 150 >> round), artist: "A").update(path))
      let bytes = try readBytes(path)
      #expect(bytes.count == head.count + audio.count && Array(bytes[head.count...]) == audio)
    }
    let name = try folder.write(readBytes(path), to: "a.mp3")
    #expect(
      try tags(name) == [
        "title=" + String(repeating: "ö", count: 37), "artist=A", "album=Radio", "date=2026-03-28T20:30:00",
        "comment=Recorded 2026-03-28 20:30:00",
      ])
  }

  @Test("texts that are too long are cut, others are kept out") func longTexts() throws {
    let audio = try readBytes(Fixtures.path("mp3-without-tag.mp3"))
    let emoji = String(repeating: "😀", count: 1024)
    let tag = RecordingTag(title: emoji, artist: emoji, album: emoji, start: Self.start, url: emoji)
    let head = try tag.make()
    #expect(head.count <= 4096)
    let path = try folder.write(head + audio, to: "a.mp3")
    #expect(try tags(path).contains("title=" + String(repeating: "😀", count: 100)))
    // A small tag holds as much as it has room for.
    let small = try RecordingTag(title: "x").make(padding: 400)
    let other = try folder.write(small + audio, to: "b.mp3")
    #expect(try tag.update(other))
    #expect(try readBytes(other).count == small.count + audio.count)
    #expect(try tags(other).contains("title=" + String(repeating: "😀", count: 12)))
    #expect(Array(try readBytes(other)[small.count...]) == audio)
    let controls = try folder.write(
      RecordingTag(title: "a\nb\u{0}c", artist: "\u{1}").make() + audio, to: "c.mp3")
    #expect(try tags(controls) == ["title=a b c"])
  }

  @Test("foreign fields of a tag stay") func foreign() throws {
    let path = folder.file("a.mp3")
    try Command.succeed(
      "ffmpeg",
      [
        "-v", "error", "-i", Fixtures.path("mp3-without-tag.mp3"), "-c", "copy", "-write_xing", "0",
        "-metadata",
        "title=A title that is longer", "-metadata", "composer=Somebody", path,
      ])
    let before = try RecordedFrames.walk(path)
    #expect(try RecordingTag(title: "Short").update(path))
    let after = try RecordedFrames.walk(path)
    #expect(after == before && after.isWhole)
    #expect(try tags(path).isSuperset(of: ["title=Short", "composer=Somebody"]))
  }

  @Test("a file without one, and one without room, are left alone") func untouched() throws {
    let audio = try readBytes(Fixtures.path("mp3-without-tag.mp3"))
    let tight: [UInt8] = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0]
    for bytes in [audio, [], tight + audio, [0x49, 0x44, 0x33, 4, 0, 0, 0x7F, 0x7F, 0x7F, 0x7F] + audio] {
      let path = try folder.write(bytes, to: "a.mp3")
      #expect(try !RecordingTag(title: "x").update(path))
      #expect(try readBytes(path) == bytes)
    }
    #expect(throws: RecordError.self) { try RecordingTag(title: "x").update(folder.file("none")) }
  }

  @Test("an empty one is a tag all the same") func empty() throws {
    let bytes = try RecordingTag().make()
    #expect(bytes.count == 2058 && bytes.starts(with: "ID3".utf8))
    let path = try folder.write(bytes, to: "a")
    #expect(try RecordedFrames.lastFrameEnd(path) == bytes.count)
  }
}
