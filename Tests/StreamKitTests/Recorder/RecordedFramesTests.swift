import AudioCore
import Codecs
import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import RecordingKit
@testable import StreamCore

@Suite("Frames of a file", .waiting, .tags(.stream, .recording)) struct RecordedFramesTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func tag(_ size: Int) -> [UInt8] {
    let sizes = [21, 14, 7, 0].map { UInt8(size >> $0 & 0x7F) }
    return Array("ID3".utf8) + [4, 0, 0] + sizes + [UInt8](repeating: 0, count: size)
  }

  /// Returns a sound of layer II, as some stations still send it.
  private func layer2() throws -> [UInt8] {
    let path = folder.file("sound.mp2")
    try Command.succeed(
      "ffmpeg",
      ["-v", "error", "-i", Fixtures.path("music-44k.flac"), "-ac", "1", "-c:a", "mp2", "-f", "mp2", path])
    return try readBytes(path)
  }

  @Test(
    "are counted behind the tag",
    arguments: [
      "mp3-without-tag.mp3", "mp3-mpeg25-32-11k-mono.mp3", "aac-lc-44k.aac", "he-aac-v2-48k.aac", "mp2",
    ])
  func walks(name: String) throws {
    let bytes = try name == "mp2" ? layer2() : readBytes(Fixtures.path(name))
    let frames = StreamFramer.frames(of: bytes)
    let walk = try RecordedFrames.walk(folder.write(tag(2000) + bytes, to: "a"))
    #expect(walk.tagLength == 2010 && walk.length == 2010 + bytes.count)
    #expect(walk.frames == frames.count && walk.samples == frames.reduce(0) { $0 + $1.samples })
    #expect(walk.format == frames[0].format && walk.formatChanges == 0)
    #expect(walk.junkBytes == 0 && walk.isWhole)
    #expect(walk.endOfLastFrame == walk.length && walk.audioBytes == bytes.count)
    #expect(abs(walk.seconds - Double(walk.samples) / Double(frames[0].sampleRate)) < 1e-6)
  }

  @Test(
    "of a file that grows, the end alone is read",
    arguments: ["mp3-without-tag.mp3", "he-aac-v2-48k.aac", "music-44k.ogg"])
  func grows(name: String) throws {
    let bytes = try readBytes(Fixtures.path(name))
    let path = try folder.write(bytes, to: "a")
    var files = WalkedFiles()
    #expect(try files.walk(path) == RecordedFrames.walk(path))
    for count in 2...4 {
      _ = try folder.write(Array([[UInt8]](repeating: bytes, count: count).joined()), to: "a")
      files.follow(path, behind: (count - 1) * bytes.count)
      var (grown, whole) = (try files.walk(path), try RecordedFrames.walk(path))
      #expect(abs(grown.seconds - whole.seconds) < 1e-6)
      (grown.seconds, whole.seconds) = (0, 0)
      #expect(grown == whole && whole.isWhole)
    }
    // Damage that the time of the file hides is not seen, as the file is not read again; any other is.
    let walk = try files.walk(path)
    var status = stat()
    stat(path, &status)
    _ = try folder.write([UInt8](repeating: 0, count: walk.length), to: "a")
    let times = [status.st_atim, status.st_mtim]
    utimensat(AT_FDCWD, path, times, 0)
    #expect(try files.walk(path) == walk)
    // Another time, that of an older folder.
    stat("/", &status)
    utimensat(AT_FDCWD, path, [status.st_atim, status.st_mtim], 0)
    #expect(try files.walk(path).frames == 0)
  }

  @Test("bytes that are no frame are counted too") func junk() throws {
    let bytes = try readBytes(Fixtures.path("aac-lc-44k.aac"))
    let zeros = [UInt8](repeating: 0, count: 300_000)
    let walk = try RecordedFrames.walk(folder.write(bytes + zeros + bytes + [1, 2, 3], to: "a"))
    #expect(walk.frames == 2 * StreamFramer.frames(of: bytes).count)
    #expect(walk.junkBytes == 300_003 && !walk.isWhole && walk.endOfLastFrame == walk.length - 3)
    let other = try readBytes(Fixtures.path("mp3-without-tag.mp3"))
    #expect(try RecordedFrames.walk(folder.write(bytes + other, to: "b")).formatChanges == 1)
  }

  @Test(
    "the last whole one ends where it does, wherever the file was cut off", arguments: ["mp3", "aac", "mp2"])
  func lastEnd(kind: String) throws {
    let bytes =
      switch kind {
      case "mp3": try readBytes(Fixtures.path("mp3-vbr-v4-44k.mp3"))
      case "aac": try readBytes(Fixtures.path("he-aac-v1-48k.aac"))
      default: try layer2()
      }
    let head = tag(2048)
    let frames = StreamFramer.frames(of: bytes)
    var random = SeededRandom(seed: 5)
    for round in 0..<60 {
      // One, two, … whole frames with no rest, the first byte, or all but the last byte of the next.
      let count = round < 6 ? round : Int.random(in: 6..<frames.count - 1, using: &random)
      let next = frames[count]
      let more = [0, 1, 6, next.length - 1, Int.random(in: 0..<next.length, using: &random)][round % 5]
      let path = try folder.write(head + bytes[..<(next.offset + more)], to: "a")
      let end = try RecordedFrames.lastFrameEnd(path)
      // A header alone does not distinguish a single frame from the beginning of one.
      #expect(end == head.count + next.offset, "\(count) frames and \(more) bytes")
    }
  }

  @Test("nothing in front is lost to an end without frames", arguments: [100, 64 * 1024, 1_500_000])
  func damagedEnd(length: Int) throws {
    let bytes = try readBytes(Fixtures.path("mp3-without-tag.mp3"))
    var random = SeededRandom(seed: 6)
    for end in [[UInt8](repeating: 0, count: length), random.bytes(length).map { $0 & 0x7F }] {
      let path = try folder.write(tag(100) + bytes + end, to: "a")
      #expect(try RecordedFrames.lastFrameEnd(path) == 110 + bytes.count)
    }
  }

  @Test("are found in free format") func freeFormat() throws {
    try Sound(file: Fixtures.path("music-44k.flac")).write(to: folder.file("t.wav"))
    try Command.succeed(
      "lame", ["--quiet", "--freeformat", "-b", "410", folder.file("t.wav"), folder.file("free.mp3")])
    let bytes = try readBytes(folder.file("free.mp3"))
    let walk = try RecordedFrames.walk(folder.file("free.mp3"))
    #expect(walk.isWhole && walk.frames > 10)
    let frames = StreamFramer.frames(of: bytes)
    let path = try folder.write(Array(bytes[..<(frames[frames.count - 2].offset + 700)]), to: "cut")
    #expect(try RecordedFrames.lastFrameEnd(path) == frames[frames.count - 2].offset)
  }

  @Test("a file of another kind ends where it ends; a tag alone, or less, is empty") func others() throws {
    let ogg = try readBytes(Fixtures.path("music-44k.ogg"))
    #expect(try RecordedFrames.lastFrameEnd(folder.write(ogg, to: "ogg")) == ogg.count)
    // The first page has 58 bytes.
    #expect(try RecordedFrames.lastFrameEnd(folder.write(Array(ogg[..<500]), to: "ogg")) == 58)
    let flac = try Array(readBytes(Fixtures.path("music-44k.flac"))[..<500])
    #expect(try RecordedFrames.lastFrameEnd(folder.write(flac, to: "flac")) == 500)
    let unknown = [UInt8](repeating: 0x41, count: 70_000)
    #expect(try RecordedFrames.lastFrameEnd(folder.write(unknown, to: "unknown")) == 70_000)
    #expect(try RecordedFrames.lastFrameEnd(folder.write(tag(300), to: "tag")) == 310)
    #expect(try RecordedFrames.lastFrameEnd(folder.write(Array(tag(300)[..<200]), to: "tag")) == 200)
    #expect(try RecordedFrames.lastFrameEnd(folder.write([], to: "empty")) == 0)
    #expect(try RecordedFrames.walk(folder.write(Array(tag(300)[..<200]), to: "tag")).frames == 0)
    #expect { try RecordedFrames.lastFrameEnd(folder.path) } throws: { ($0 as? RecordError)?.kind == .write }
    #expect { try RecordedFrames.walk(folder.file("none")) } throws: { ($0 as? RecordError)?.kind == .write }
  }

  @Test("a WAV file that was not closed plays to its last whole sample") func wav() throws {
    let format = AudioFormat(sampleRate: 48_000, channels: 2)
    let samples = Signal.noise(seed: 3, frames: 70_000)
    let path = folder.file("a.wav")
    let writer = try SoundFileWriter(path: path, format: format)
    try samples.withUnsafeBufferPointer { try writer.write($0) }
    let bytes = try readBytes(path) + [1, 2, 3]
    let left = try folder.write(bytes, to: "left.wav")
    #expect(try WAVRecording.read(left)?.isWhole == false)
    let mended = try #require(try WAVRecording.mend(left))
    #expect(
      mended.samples == samples.count / 2 && mended.sampleRate == 48_000 && mended.channels == 2
        && mended.isWhole)
    #expect(try WAVRecording.read(left) == mended)
    #expect(
      try Sound(file: left).interleaved
        == samples.map { Float(Int16(($0 * 32_768).rounded(.toNearestOrEven))) / 32_768 })
    #expect(try WAVRecording.mend(folder.write([1, 2], to: "short")) == nil)
    #expect(try WAVRecording.mend(folder.write(Array(bytes[..<30]), to: "short")) == nil)
  }

  @Test("a WAV file from a pipe, which states no length, is whole") func pipedWAV() throws {
    let source = Fixtures.path("music-44k.flac")
    try Command.succeed(
      "sh", ["-c", "ffmpeg -v error -i '\(source)' -f wav - | cat > '\(folder.file("piped.wav"))'"])
    let path = folder.file("piped.wav")
    let bytes = try readBytes(path)
    #expect(bytes[4..<8].elementsEqual([0xFF, 0xFF, 0xFF, 0xFF]))
    let sound = try RecordedSound.read(path, codec: nil)
    #expect(sound.integrity == .whole && sound.seconds == 1 && sound.samples == 44_100)
    let odd = try folder.write(bytes + [0], to: "odd.wav")
    #expect(try !RecordedSound.read(odd, codec: nil).isWhole)
  }
}
