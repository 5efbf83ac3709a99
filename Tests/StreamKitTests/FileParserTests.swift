import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

/// A test harness: feeds a parser from bytes in memory, and follows its jumps.
private struct Reading {
  var parser: any FileParser
  let bytes: [UInt8]
  let piece: Int
  var position = 0
  /// The offsets and times of the frames.
  var frames: [(offset: Int, time: StreamTime)] = []
  var frameBytes = 0
  var ending: FileItem?
  var steps = 0

  init?(_ bytes: [UInt8], piece: Int = 1000) {
    guard
      case .success(let parser) = FileKind.parser(
        for: Array(bytes.prefix(12)), contentType: nil, size: bytes.count)
    else { return nil }
    (self.parser, self.bytes, self.piece) = (parser, bytes, piece)
  }

  /// Reads until `count` more frames have come, or to the end.
  mutating func read(_ count: Int = .max) {
    var (time, left, hasEnded) = (StreamTime.zero, count, false)
    while left > 0, steps < 100_000 {
      steps += 1
      guard let item = parser.next() else {
        if hasEnded { return }
        let end = min(bytes.count, position + piece)
        bytes[min(position, end)..<end].withUnsafeBytes { parser.feed($0) }
        hasEnded = position >= bytes.count
        if hasEnded { parser.end() }
        position = end
        continue
      }
      switch item {
      case .format: break
      case .begins(let start): time = start
      case .jump(let target): (position, hasEnded) = (target, false)
      case .frame(let frame, let bytes):
        frames.append((frame.offset, time))
        frameBytes += bytes.count
        time = time + frame.duration
        left -= 1
      case .end, .unusable:
        ending = item
        return
      }
    }
  }
}

@Suite("Parsing files", .waiting, .tags(.stream, .files))
struct FileParserTests {
  private static let files = [
    "mp3-cbr128-44k.mp3", "mp3-vbr-v4-44k.mp3", "aac-lc-44k.m4a", "aac-lc-noise-moov-at-end.m4a",
    "aac-lc-44k.aac",
    "base-24bit.wav", "music-44k.flac",
  ]

  @Test("the result does not depend on how the bytes are divided", arguments: files)
  func pieces(name: String) throws {
    let bytes = try readBytes(Fixtures.path(name))
    var whole = try #require(Reading(bytes, piece: bytes.count))
    whole.read()
    #expect(whole.ending == .end && whole.frames.count > 10)
    for piece in [7, 4096] {
      var reading = try #require(Reading(bytes, piece: piece))
      reading.read()
      #expect(reading.frames.map(\.offset) == whole.frames.map(\.offset))
      #expect(reading.ending == .end)
    }
  }

  @Test(
    "after a seek the first frame has the time that it has from the start",
    arguments: files)
  func leaps(name: String) throws {
    let bytes = try readBytes(Fixtures.path(name))
    var whole = try #require(Reading(bytes))
    whole.read()
    let length = try #require(whole.parser.duration)
    for share in [0.0, 0.2, 0.5, 0.9] {
      var reading = whole
      reading.frames = []
      let target = StreamTime(seconds: share * length)
      let byte = reading.parser.seek(to: target)
      reading.position = try #require(byte)
      reading.read(1)
      let found = try #require(reading.frames.first)
      #expect(found.time.seconds <= target.seconds + 0.0001)
      let real = try #require(
        whole.frames.first { $0.offset == found.offset }
          ?? whole.frames.min { abs($0.offset - found.offset) < abs($1.offset - found.offset) })
      let error = abs((real.time - found.time).seconds)
      // Pieces of PCM begin at other offsets after a seek.
      let pieces = name.hasSuffix(".wav") ? 0.02 : 0.0001
      #expect(error <= pieces, "\(share): \(error)")
    }
  }

  @Test(
    "after a seek into an unread part the frames in front are counted, unless there are too many",
    arguments: ["mp3-vbr-v4-44k.mp3", "aac-lc-44k.aac"])
  func counts(name: String) throws {
    let bytes = try readBytes(Fixtures.path(name))
    var whole = try #require(Reading(bytes))
    whole.read()
    for share in [0.3, 0.6, 0.9] {
      var reading = try #require(Reading(bytes))
      reading.read(20)
      reading.frames = []
      let target = whole.frames[Int(share * Double(whole.frames.count))].time
      let byte = reading.parser.seek(to: target)
      reading.position = try #require(byte)
      reading.read(14)
      let times = Dictionary(uniqueKeysWithValues: whole.frames.map { ($0.offset, $0.time) })
      #expect(reading.frames.allSatisfy { times[$0.offset] == $0.time })
      #expect(reading.frames.contains { $0.time == target }, "no more than what decoders need is in front")
    }
    // The MP3 file has a table with its length.
    guard name.hasSuffix(".aac") else { return }
    let most = FramedFile.longestCount
    let long = Array(repeatElement(bytes, count: most / bytes.count * 2).joined())
    var reading = try #require(Reading(long))
    reading.read(20)
    let far = try #require(reading.parser.duration) * 0.9
    let byte = reading.parser.seek(to: StreamTime(seconds: far))
    #expect(try #require(byte) > most)
  }

  @Test("damaged and hostile files end, without more sound than they have bytes", arguments: files)
  func hostile(name: String) throws {
    let bytes = try readBytes(Fixtures.path(name)).prefix(60_000)
    for seed in 0..<120 as Range<UInt64> {
      var random = SeededRandom(seed: seed)
      var damaged = Array(bytes)
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let reach = Bool.random(using: &random) ? min(700, damaged.count) : damaged.count
        let offset = Int.random(in: 0..<reach, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: damaged[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: for index in offset..<min(offset + 4, damaged.count) { damaged[index] = 0xFF }
        case 2: for index in offset..<min(offset + 4, damaged.count) { damaged[index] = 0 }
        default: damaged.removeSubrange(offset..<min(offset + 9, damaged.count))
        }
      }
      guard var reading = Reading(damaged) else { continue }
      // Frames of one byte all over a file would be a step each.
      reading.read(5_000)
      #expect(reading.steps < 100_000, "seed \(seed)")
      #expect(reading.frameBytes <= 4 * damaged.count + 5_000 * 8, "seed \(seed)")
      for share in [0.0, 0.5, 1, 1000] {
        guard let byte = reading.parser.seek(to: StreamTime(seconds: share * (reading.parser.duration ?? 1)))
        else { continue }
        #expect(byte >= 0)
        reading.position = byte
        reading.read(3)
      }
    }
  }

  @Test(
    "an empty chunk of samples in front of other chunks is no sound, in an open file it is all that follows")
  func emptyData() throws {
    let format: [UInt8] = [1, 0, 1, 0, 0x40, 0x1F, 0, 0, 0x40, 0x1F, 0, 0, 1, 0, 8, 0]
    func wav(claiming size: [UInt8]) -> [UInt8] {
      Array("RIFF".utf8) + size + Array("WAVEfmt ".utf8) + [16, 0, 0, 0] + format + Array("data".utf8) + [
        0, 0, 0, 0,
      ]
        + Array("DGDA".utf8) + [100, 0, 0, 0] + [UInt8](repeating: 0x7F, count: 100)
    }
    for size in [[0, 0, 0, 0], [36, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF]] as [[UInt8]] {
      var reading = try #require(Reading(wav(claiming: size)))
      reading.read()
      #expect(reading.ending == .end && reading.frameBytes == 108, "\(size)")
    }
    var reading = try #require(Reading(wav(claiming: [144, 0, 0, 0])))
    reading.read()
    #expect(reading.ending == .unusable(found: "a WAV file without any sound", isUnsupported: false))
  }

  @Test("a damaged frame of FLAC is as long as it was; those around it are bit for bit as they were")
  func damagedFLAC() throws {
    let bytes = try readBytes(Fixtures.path("music-44k.flac"))
    var whole = try #require(Reading(bytes))
    whole.read()
    let offsets = Set(whole.frames.map(\.offset)).sorted()
    // In the midst of a frame, and in the header of another.
    for index in [offsets[5] + 400, offsets[9] + 2] {
      var damaged = bytes
      damaged[index] ^= 0x5A
      var reading = try #require(Reading(damaged))
      reading.read()
      #expect(reading.ending == .end)
      let lost = Set(offsets).subtracting(reading.frames.map(\.offset))
      #expect(lost == (index == offsets[9] + 2 ? [offsets[9]] : []), "\(lost)")
    }
  }

  @Test("formats that nothing here decodes are called by their names")
  func foreign() {
    func refusal(_ head: String) -> UnusableFile? {
      guard case .failure(let file) = FileKind.parser(for: Array(head.utf8), contentType: nil, size: 1000)
      else {
        return nil
      }
      return file
    }
    #expect(refusal("MPCKSH123456")?.kind == "Musepack")
    #expect(refusal("DSD 12345678")?.kind == "DSD (a DSF file)")
    #expect(refusal("DSD 12345678")?.hint.contains("convert") == true)
    #expect(refusal("fLaC12345678") == nil && refusal("OggS12345678") == nil)
  }

  @Test("a table of VBRI is read: lengths of parts, each of so many frames")
  func vbri() throws {
    // MPEG-1 layer III, 128 kbit/s, 44.1 kHz; 1,000 bytes and 40 frames in 4 parts of 10.
    var frame: [UInt8] = [0xFF, 0xFB, 0x90, 0x00] + [UInt8](repeating: 0, count: 32) + Array("VBRI".utf8)
    frame += [0, 1, 0, 0, 0, 0] + [0, 0, 0x03, 0xE8] + [0, 0, 0, 40] + [0, 4, 0, 2, 0, 2, 0, 10]
    frame += [0, 50, 0, 100, 0, 150, 0, 200]
    frame += [UInt8](repeating: 0, count: 417 - frame.count)
    let length = try #require(frame.withUnsafeBytes { StreamLength($0) })
    #expect(length.kind == .vbri && length.frames == 40 && length.bytes == 1000)
    #expect(length.marks.map(\.frame) == [0, 10, 20, 30, 40])
    #expect(length.marks.map(\.byte) == [0, 100, 300, 600, 1000])
  }

  @Test("between known positions the time is interpolated; a position that goes back is left out")
  func table() throws {
    let positions = [(100, 0), (200, 1), (150, 2), (600, 3)].map {
      SeekTable.Point(byte: Double($0.0), seconds: Double($0.1))
    }
    let table = try #require(SeekTable(positions))
    #expect(table.byte(at: 0.5) == 150 && table.byte(at: 2) == 400 && table.seconds(at: 400) == 2)
    #expect(table.byte(at: 4) == 800 && table.seconds(at: 800) == 4)
    #expect(SeekTable([positions[0]]) == nil && SeekTable(start: 0, bytesPerSecond: 0) == nil)
  }

  @Test("ranges of contents are read, and nothing else")
  func contentRange() {
    #expect(ContentRange("bytes 100-199/1000").map { [$0.start, $0.size] } == [100, 1000])
    #expect(ContentRange("bytes 5-9/*").map { [$0.start, $0.size] } == [5, nil])
    #expect(ContentRange("bytes */77").map { [$0.start, $0.size] } == [nil, 77])
    for text in ["", "bytes", "bytes 1-2", "lines 1-2/3", "bytes x-2/3", "bytes -1-2/3"] {
      #expect(ContentRange(text) == nil, "\(text)")
    }
  }
}
