import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import StreamCore

@Suite("Pages of Ogg as frames", .waiting, .tags(.stream, .ogg)) struct OggFramingTests {
  private typealias Kind = OggProgramme.Kind

  @Test("headers come first, and the pages are as long as the sound", arguments: OggProgramme.Kind.allCases)
  func whole(kind: OggProgramme.Kind) throws {
    let programme = try OggProgramme(kind, seconds: 5.25)
    let frames = programme.frames
    #expect(frames.map(\.frame.isHeaders) == [true] + [Bool](repeating: false, count: frames.count - 1))
    let format = StreamFormat(codec: kind.codec, sampleRate: kind.sampleRate, channels: 2)
    #expect(frames.allSatisfy { $0.frame.format == format })
    #expect(frames.count > 8)
    #expect(frames.reduce(0) { $0 + $1.frame.samples } == Int(5.25 * Double(kind.sampleRate)))
    // The pages are the bytes behind the headers.
    #expect(
      frames.dropFirst().flatMap(\.bytes)
        == programme.bytes.suffix(frames.dropFirst().reduce(0) { $0 + $1.bytes.count }))
  }

  @Test("the result does not depend on how the bytes are divided", arguments: [1, 1_400, 50_000])
  func divided(size: Int) throws {
    let bytes = try OggProgramme(.vorbis, seconds: 3, titles: ["A - One", "B - Two"]).bytes
    let (whole, parted) = (OggProgramme.frames(of: bytes), OggProgramme.frames(of: bytes, pieces: size))
    #expect(whole.map(\.frame) == parted.map(\.frame) && whole.map(\.bytes) == parted.map(\.bytes))
    #expect(whole.filter(\.frame.isHeaders).count == 2)
  }

  @Test("damage costs the pages that it is in, and no more") func damage() throws {
    var bytes = try OggProgramme(.opus, seconds: 6).bytes
    let before = OggProgramme.frames(of: bytes).map(\.frame)
    let page = before[4]
    bytes[page.offset + page.length / 2] ^= 1
    bytes.insert(contentsOf: [UInt8](repeating: 0x4F, count: 3000), at: before[7].offset)
    let after = OggProgramme.frames(of: bytes).map(\.frame)
    #expect(after.map(\.hash) == before.map(\.hash).enumerated().filter { $0.offset != 4 }.map(\.element))
    var framer = StreamFramer()
    bytes.withUnsafeBytes { framer.feed($0) }
    while framer.next() != nil {}
    #expect(framer.skippedBytes == 3000 + page.length)
  }

  @Test(
    "a stream that is joined in its midst is as long as what came of it",
    arguments: OggProgramme.Kind.allCases)
  func joined(kind: OggProgramme.Kind) throws {
    let frames = try OggProgramme(kind, seconds: 6).frames
    let bytes = frames[0].bytes + frames[5...].flatMap(\.bytes)
    let joined = OggProgramme.frames(of: bytes).map(\.frame)
    #expect(joined.count == frames.count - 4)
    let (whole, rest) = (
      frames[5...].reduce(0) { $0 + $1.frame.samples }, joined.reduce(0) { $0 + $1.samples }
    )
    // The first packet of Vorbis alone gives no sound.
    #expect((0...(kind == .vorbis ? 2_048 : 0)).contains(whole - rest), "\(whole) \(rest)")
  }

  // MARK: Bad input

  private func items(_ bytes: [UInt8], pieces: Int = 16_384) -> [StreamFramer.Item] {
    StreamFramer.items(of: bytes, contentType: "application/ogg", pieces: pieces)
  }

  private func head(_ serial: UInt32) -> [UInt8] {
    let head = Array("OpusHead".utf8) + [1, 2, 0x38, 1, 0x80, 0xBB, 0, 0, 0, 0, 0]
    return OggProgramme.page(flags: 2, serial: serial, lacing: [UInt8(head.count)], head)
  }

  private func tags(_ serial: UInt32, _ fields: [String] = []) -> [UInt8] {
    func little(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(number >> (8 * $0) & 0xFF) } }
    let tags =
      Array("OpusTags".utf8) + little(0) + little(fields.count)
      + fields.flatMap { little($0.utf8.count) + Array($0.utf8) }
    return OggProgramme.page(
      serial: serial, sequence: 1,
      lacing: [UInt8](repeating: 255, count: tags.count / 255) + [UInt8(tags.count % 255)],
      tags)
  }

  @Test("a chain of 10,000 headers is no sound, and that behind it is") func chain() throws {
    let chain = (0..<10_000).flatMap { head(UInt32($0)) + tags(UInt32($0), ["TITLE=\($0)"]) }
    #expect(items(chain) == [.notAudio(found: "Ogg without sound")])
    let sound = try OggProgramme(.opus, seconds: 2)
    #expect(OggProgramme.frames(of: chain + sound.bytes).map(\.bytes) == sound.frames.map(\.bytes))
  }

  @Test("a picture in the comments is skipped, the title behind it is not") func picture() throws {
    let picture = 3_000_000
    func little(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(number >> (8 * $0) & 0xFF) } }
    let name = Array("METADATA_BLOCK_PICTURE=".utf8)
    let packet =
      Array("OpusTags".utf8) + little(0) + little(2) + little(name.count + picture) + name
      + [UInt8](repeating: 65, count: picture) + little(11) + Array("TITLE=Later".utf8)
    var (pages, rest, sequence) = (head(7), packet[...], 1)
    while !rest.isEmpty {
      let part = rest.prefix(255 * 200)
      rest = rest.dropFirst(part.count)
      let lacing =
        [UInt8](repeating: 255, count: part.count / 255) + (rest.isEmpty ? [UInt8(part.count % 255)] : [])
      pages += OggProgramme.page(
        flags: sequence > 1 ? 1 : 0, granule: rest.isEmpty ? 0 : -1, sequence: sequence, lacing: lacing,
        Array(part))
      sequence += 1
    }
    // A packet of silence of 20 ms.
    pages += OggProgramme.page(granule: 960, sequence: sequence, lacing: [3], [0xFC, 0xFF, 0xFE])
    let frames = OggProgramme.frames(of: pages, pieces: 16_384)
    #expect(frames.count == 2 && frames[0].bytes.count < 1_000)
    #expect(String(decoding: frames[0].bytes, as: UTF8.self).contains("TITLE=Later"))
    #expect(frames[1].frame.samples == 960 - 312)
  }

  @Test("headers of 100 MB are refused after 16, whose memory is bounded") func longHeaders() {
    var framer = StreamFramer()
    var fed = head(7)
    fed.withUnsafeBytes { framer.feed($0) }
    var found: StreamFramer.Item?
    var size = 0
    while found == nil, size < 100_000_000 {
      fed = OggProgramme.page(
        flags: 1, granule: -1, sequence: 1 + size / 65_025, lacing: [UInt8](repeating: 255, count: 255),
        [UInt8](repeating: 66, count: 65_025))
      fed.withUnsafeBytes { framer.feed($0) }
      size += fed.count
      found = framer.next()
      framer.compact()
      #expect(framer.pendingBytes < 70_000)
    }
    // The page begins in no packet: its bytes are no comment, and count all the same.
    #expect(found == .notAudio(found: "Ogg whose headers have no end") && size < 20_000_000)
  }

  @Test(
    "positions that are none, or absurd, do not count",
    arguments: [-1, 0, .max, .max - 959, .min, 1 << 62, 1 << 50])
  func positions(granule: Int) {
    var bytes = head(7) + tags(7)
    for sequence in 2..<20 {
      bytes += OggProgramme.page(granule: granule, sequence: sequence, lacing: [3], [0xFC, 0xFF, 0xFE])
    }
    let samples = OggProgramme.frames(of: bytes).map(\.frame.samples)
    #expect(samples.count == 19 && samples.allSatisfy { $0 <= 960 }, "\(samples)")
  }

  @Test("what is not decoded is named") func foreign() {
    let speex = OggProgramme.page(
      flags: 2, lacing: [80], Array("Speex   ".utf8) + [UInt8](repeating: 0, count: 72))
    let next = OggProgramme.page(sequence: 1, lacing: [4], [1, 2, 3, 4])
    #expect(items(speex + next) == [.notAudio(found: "Speex in Ogg")])
    // A stream of a kind that describes others is passed over.
    let skeleton = OggProgramme.page(
      flags: 2, serial: 9, lacing: [64], Array("fishead".utf8) + [UInt8](repeating: 0, count: 57))
    let sound = head(7) + OggProgramme.page(serial: 9, sequence: 1, lacing: [4], [1, 2, 3, 4]) + tags(7)
    let page = OggProgramme.page(granule: 960, sequence: 2, lacing: [3], [0xFC, 0xFF, 0xFE])
    #expect(OggProgramme.frames(of: skeleton + sound + page).count == 2)
    let webm = [0x1A, 0x45, 0xDF, 0xA3] + [UInt8](repeating: 7, count: 3000)
    #expect(items(webm) == [.notAudio(found: "Matroska or WebM")])
    #expect(StreamError.noAudio("Matroska or WebM", from: "http://a/").kind == .unsupported)
  }
}
