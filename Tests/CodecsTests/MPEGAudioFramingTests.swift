import Codecs
import TestSupport
import TestTraits
import Testing

private let fixtures = [
  "mp3-cbr128-44k.mp3", "mp3-vbr-v4-44k.mp3", "mp3-mpeg2-64-22k.mp3", "mp3-mpeg25-32-11k-mono.mp3",
  "mp3-without-tag.mp3",
]

@Suite("MPEG audio framing", .tags(.codecs)) struct MPEGAudioFramingTests {
  private func bytes(_ name: String) throws -> [UInt8] { try readBytes(Fixtures.path(name)) }

  private func all(_ bytes: [UInt8]) -> [MPEGAudioFraming.Frame] {
    var framing = MPEGAudioFraming()
    framing.feed(bytes)
    framing.end()
    var frames: [MPEGAudioFraming.Frame] = []
    while let frame = framing.next() { frames.append(frame) }
    return frames
  }

  @Test("finds the frames of sound that ffmpeg finds", arguments: fixtures)
  func findsAll(name: String) throws {
    let sound = try all(bytes(name)).filter { $0.streamLength == nil }
    #expect(try sound.map { [$0.encoded.offset, $0.encoded.length] } == packets(ffmpeg: Fixtures.path(name)))
  }

  @Test(
    "reports rate, channels and samples",
    arguments: zip(
      fixtures,
      [[44_100, 2, 1152], [44_100, 2, 1152], [22_050, 2, 576], [11_025, 1, 576], [44_100, 1, 1152]]))
  func format(name: String, format: [Int]) throws {
    let frames = try MPEGAudioFraming.frames(of: bytes(name))
    #expect(frames.allSatisfy { [$0.sampleRate, $0.channels, $0.samples] == format })
  }

  @Test("a first frame that states the length of the file is not heard", arguments: fixtures.dropLast())
  func readsLength(name: String) throws {
    let stream = try bytes(name)
    let frames = all(stream)
    let length = frames.first?.streamLength
    #expect(length?.kind == (name.contains("vbr") ? .xing : .info))
    #expect(length?.frames == frames.count - 1)
    #expect(length?.bytes == stream.count - (frames.first?.encoded.offset ?? 0))
    #expect(length?.delay == 576 || length?.delay == 1105)
    #expect(frames.dropFirst().allSatisfy { $0.streamLength == nil })
  }

  @Test("finds the same however the bytes are cut", arguments: [1, 3, 500, 4096]) func anyPieces(size: Int)
    throws
  {
    let stream =
      try Array(bytes("mp3-vbr-v4-44k.mp3")[77...]) + [0xFF, 0xFB, 0x90] + bytes("mp3-mpeg2-64-22k.mp3")
    let (whole, cut) = (MPEGAudioFraming.scan(stream), MPEGAudioFraming.scan(stream, pieces: size))
    #expect(cut.frames == whole.frames && cut.skipped == whole.skipped)
    #expect(Set(whole.frames.map(\.sampleRate)) == [44_100, 22_050])
  }

  @Test("tags of all kinds are no audio") func tags() throws {
    let stream = try bytes("mp3-mpeg2-64-22k.mp3")
    let items = [UInt8](repeating: 0xFF, count: 90)
    func ape(isHeader: Bool) -> [UInt8] {
      Array("APETAGEX".utf8) + [0xD0, 7, 0, 0, 122, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, isHeader ? 0xA0 : 0x80]
        + [UInt8](repeating: 0, count: 8)
    }
    let end =
      ape(isHeader: true) + items + ape(isHeader: false) + Array("TAG".utf8)
      + [UInt8](repeating: 0xFF, count: 125)
    let plain = MPEGAudioFraming.frames(of: stream)
    let (found, skipped) = MPEGAudioFraming.scan(id3v2(900) + id3v2(40, footer: true) + stream + end)
    #expect(found.map(\.length) == plain.map(\.length))
    #expect(found.first?.offset == (plain.first?.offset ?? 0) + 910 + 60)
    #expect(skipped == 0)
  }

  @Test("free format is as long as the way to the next header") func freeFormat() throws {
    let folder = try TemporaryFolder()
    try Sound(file: Fixtures.path("music-44k.flac")).write(to: folder.file("t.wav"))
    let arguments = ["--quiet", "--freeformat", "-b", "410", folder.file("t.wav"), folder.file("free.mp3")]
    try Command.succeed("lame", arguments)
    let stream = try readBytes(folder.file("free.mp3"))
    let frames = all(stream)
    #expect(frames.allSatisfy { $0.bitRate == 0 && (1338...1340).contains($0.encoded.length) })
    #expect((39...42).contains(frames.count))
    #expect(MPEGAudioFraming.scan(stream).skipped == 0)
  }

  @Test("a frame that another station's programme cuts off is not returned") func cutOff() throws {
    let first = try bytes("mp3-cbr128-44k.mp3")
    let frames = MPEGAudioFraming.frames(of: first)
    let middle = frames[40].offset + 200
    let (found, skipped) = try MPEGAudioFraming.scan(
      Array(first[..<middle]) + bytes("mp3-mpeg25-32-11k-mono.mp3"))
    #expect(found.prefix(40) == frames.prefix(40))
    #expect(found[40].sampleRate == 11_025)
    #expect(found[40].offset >= middle && skipped == 200)
  }

  @Test("VBRI counts frames and bytes") func vbri() throws {
    let stream = try VBRI.file(frames: 10)
    let frames = all(stream)
    #expect(frames.count == 11)
    #expect(frames[0].streamLength?.kind == .vbri)
    #expect(frames[0].streamLength?.frames == 10)
    #expect(frames[0].streamLength?.bytes == stream.count)
  }

  @Test("the reach of the bit reservoir is reported") func reservoir() throws {
    let frames = try all(bytes("mp3-cbr128-44k.mp3")).filter { $0.streamLength == nil }
    #expect(frames[0].mainDataBegin == 0)
    #expect(frames.contains { $0.mainDataBegin > 0 } && frames.allSatisfy { $0.mainDataBegin <= 511 })
  }
}

/// Returns a file in the form of Fraunhofer's encoder, made of one without a tag.
enum VBRI {
  static func file(frames count: Int) throws -> [UInt8] {
    let plain = try readBytes(Fixtures.path("mp3-cbr128-44k.mp3"))
    let sound = MPEGAudioFraming.frames(of: plain).dropFirst().prefix(count)
    let body = sound.flatMap { plain[$0.offset..<($0.offset + $0.length)] }
    var head = [UInt8](repeating: 0, count: 417)
    head.replaceSubrange(0..<4, with: [0xFF, 0xFB, 0x90, 0x64])
    let total = body.count + head.count
    func big(_ value: Int, _ size: Int) -> [UInt8] {
      (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    let fields =
      Array("VBRI".utf8) + big(1, 2) + big(0, 2) + big(75, 2) + big(total, 4) + big(sound.count, 4)
      + big(0, 8)
    head.replaceSubrange(36..<(36 + fields.count), with: fields)
    return head + body
  }
}
