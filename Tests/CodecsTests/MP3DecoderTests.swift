import AudioCore
import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

private let fixtures = [
  "mp3-cbr128-44k.mp3", "mp3-vbr-v4-44k.mp3", "mp3-mpeg2-64-22k.mp3", "mp3-mpeg25-32-11k-mono.mp3",
]

@Suite("MP3 decoder", .tags(.codecs)) struct MP3DecoderTests {
  @Test("decodes what ffmpeg decodes, frame for frame", arguments: fixtures)
  func agreesWithFFmpeg(name: String) throws {
    let decoder = try AudioFile.open(Fixtures.path(name))
    let sound = try Sound(decoding: decoder)
    let reference = try Sound(ffmpeg: Fixtures.path(name), format: decoder.format)
    #expect(sound.alignment(to: reference).frames == 0)
    #expect(sound.frameCount == reference.frameCount)
    #expect(sound.errorToSignal(against: reference) < -75)
  }

  @Test(
    "the LAME tag makes the length exact",
    arguments: zip(fixtures, [882_000, 132_300, 66_150, 33_075]))
  func lengthIsExact(name: String, frames: Int) throws {
    let decoder = try AudioFile.open(Fixtures.path(name))
    #expect(decoder.frameCount == frames)
    #expect(try Sound(decoding: decoder).frameCount == frames)
  }

  @Test("the length of a file without a tag is counted, and playing resumes where it was")
  func lengthWithoutTag() throws {
    let decoder = try AudioFile.open(Fixtures.path("mp3-without-tag.mp3"))
    var first = [Float](repeating: 0, count: 1152)
    let got = try first.withUnsafeMutableBufferPointer { try decoder.read(into: $0) }
    let count = decoder.frameCount
    let rest = try Sound(decoding: decoder)
    #expect(decoder.format == AudioFormat(sampleRate: 44_100, channels: 1))
    #expect(count == got + rest.frameCount)
    #expect(try AudioFile.open(Fixtures.path("mp3-without-tag.mp3")).frameCount == count)
  }

  @Test("after a seek the frames equal those decoded from the start", arguments: fixtures)
  func seeksExactly(name: String) throws {
    let path = Fixtures.path(name)
    let whole = try Sound(file: path)
    let decoder = try AudioFile.open(path)
    var random = SeededRandom(seed: 11)
    var targets = [0, 1, 575, 1152, whole.frameCount - 1, whole.frameCount]
    targets += (0..<12).map { _ in Int.random(in: 0..<whole.frameCount, using: &random) }
    for target in targets {
      try decoder.seek(toFrame: target)
      let length = min(3000, whole.frameCount - target)
      let piece = try Sound(decoding: decoder, limit: length)
      let expected = whole[target..<(target + length)]
      // MPEG-1 is decoded bit for bit; in MPEG-2 libmpg123 adds in another order, visible in the last bit.
      let isExact = decoder.format.sampleRate >= 32_000
      let error = length > 0 ? piece.errorToSignal(against: expected) : -.infinity
      #expect(isExact ? piece == expected : error < -130, "at frame \(target)")
      #expect(piece.frameCount == length)
    }
  }

  @Test("frames that are not there can't be sought", arguments: [-1, 882_001, .max])
  func seeksOutside(frame: Int) throws {
    let decoder = try AudioFile.open(Fixtures.path("mp3-cbr128-44k.mp3"))
    #expect(throws: AudioError.self) { try decoder.seek(toFrame: frame) }
    try decoder.seek(toFrame: 10)
  }

  @Test("tags in front and behind are neither heard nor counted, however large") func tags() throws {
    let folder = try TemporaryFolder()
    let audio = try readBytes(Fixtures.path("mp3-vbr-v4-44k.mp3"))
    let size = 300_000
    let sizeBytes = [21, 14, 7, 0].map { UInt8(size >> $0 & 0x7F) }
    let head = Array("ID3".utf8) + [4, 0, 0] + sizeBytes + [UInt8](repeating: 0xFF, count: size)
    let tail = Array("TAG".utf8) + [UInt8](repeating: 0x20, count: 125)
    let path = try folder.write(head + audio + tail, to: "tagged.mp3")
    let decoder = try AudioFile.open(path)
    #expect(decoder.frameCount == 132_300)
    #expect(try Sound(decoding: decoder) == Sound(file: Fixtures.path("mp3-vbr-v4-44k.mp3")))
  }

  @Test("a file that is cut off has the frames that are there, and counts only those")
  func truncated() throws {
    let folder = try TemporaryFolder()
    let audio = try readBytes(Fixtures.path("mp3-vbr-v4-44k.mp3"))
    let whole = try Sound(file: Fixtures.path("mp3-vbr-v4-44k.mp3"))
    for length in stride(from: 2000, to: audio.count, by: 1777) {
      let path = try folder.write(Array(audio[..<length]), to: "cut.mp3")
      let decoder = try AudioFile.open(path)
      let sound = try Sound(decoding: decoder)
      #expect(decoder.frameCount == sound.frameCount, "\(length) bytes")
      let asked = try AudioFile.open(path)
      #expect(asked.frameCount == sound.frameCount)
      #expect(try Sound(decoding: asked) == sound, "\(length) bytes")
      #expect(sound.frameCount > (length - 2000) * 2 && sound.frameCount < whole.frameCount)
      let safe = max(0, sound.frameCount - 2304)
      #expect(sound[0..<safe] == whole[0..<safe], "\(length) bytes")
    }
  }

  @Test("damage in the middle costs only the frames that are hit") func damaged() throws {
    let folder = try TemporaryFolder()
    var audio = try readBytes(Fixtures.path("mp3-cbr128-44k.mp3"))
    var random = SeededRandom(seed: 12)
    audio.replaceSubrange(100_000..<102_000, with: random.bytes(2000))
    let sound = try Sound(file: folder.write(audio, to: "damaged.mp3"))
    let whole = try Sound(file: Fixtures.path("mp3-cbr128-44k.mp3"))
    #expect(sound[0..<270_000] == whole[0..<270_000])
    #expect(sound.frameCount > whole.frameCount - 12 * 1152)
  }

  @Test("a change of format within a file is reported between two reads") func changesFormat() throws {
    let folder = try TemporaryFolder()
    // At a frame's border, as a radio station joins its programmes.
    let stereo = try readBytes(Fixtures.path("mp3-cbr128-44k.mp3")).prefix(100_309)
    let mono = try readBytes(Fixtures.path("mp3-mpeg25-32-11k-mono.mp3"))
    let decoder = try AudioFile.open(folder.write(stereo + mono, to: "mixed.mp3"))
    var frames: [AudioFormat: Int] = [:]
    var buffer = [Float](repeating: 0, count: 2000)
    while true {
      let got = try buffer.withUnsafeMutableBufferPointer { try decoder.read(into: $0) }
      if got == 0 { break }
      frames[decoder.format, default: 0] += got
    }
    #expect(frames[AudioFormat(sampleRate: 44_100, channels: 2)].map { $0 > 270_000 } == true)
    #expect(frames[AudioFormat(sampleRate: 11_025, channels: 1)].map { $0 > 30_000 } == true)
  }

  /// Returns the frames of `decoder` in each format.
  private func frames(_ decoder: any Decoder) throws -> [AudioFormat: [Float]] {
    var frames: [AudioFormat: [Float]] = [:]
    var buffer = [Float](repeating: 0, count: 2000)
    while true {
      let got = try buffer.withUnsafeMutableBufferPointer { try decoder.read(into: $0) }
      if got == 0 { return frames }
      frames[decoder.format, default: []] += buffer[..<(got * decoder.format.channels)]
    }
  }

  @Test(
    "a join in the middle of a frame costs that frame, and nothing of what follows",
    arguments: [100_310, 100_347, 100_500, 100_700])
  func joinsInMidFrame(cut: Int) throws {
    let folder = try TemporaryFolder()
    let stereo = try readBytes(Fixtures.path("mp3-cbr128-44k.mp3"))
    let mono = try readBytes(Fixtures.path("mp3-mpeg25-32-11k-mono.mp3"))
    let (mixed, plain) = (Array(stereo.prefix(cut)) + mono, Array(stereo.prefix(100_309)) + mono)
    let joined = try frames(AudioFile.open(folder.write(mixed, to: "mixed.mp3")))
    #expect(try joined == frames(AudioFile.open(folder.write(plain, to: "plain.mp3"))))
    let whole = try Sound(file: Fixtures.path("mp3-cbr128-44k.mp3")).interleaved
    let first = joined[AudioFormat(sampleRate: 44_100, channels: 2)] ?? []
    #expect(first.count > 270_000 * 2 && first[..<540_000] == whole[..<540_000])
    #expect(joined[AudioFormat(sampleRate: 11_025, channels: 1)].map { $0.count >= 33_075 } == true)
  }

  @Test("VBRI states the length, and is not heard") func vbri() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(id3v2(500) + VBRI.file(frames: 100), to: "vbri.mp3")
    let decoder = try AudioFile.open(path)
    #expect(decoder.frameCount == 100 * 1152)
    let sound = try Sound(decoding: decoder)
    #expect(sound.frameCount == 100 * 1152)
    // The same frames behind the encoder's delay and that of decoding: 1105 frames.
    let whole = try Sound(file: Fixtures.path("mp3-cbr128-44k.mp3"))
    let delay = sound.alignment(to: whole[0..<(100 * 1152)]).frames
    #expect(sound[delay..<(99 * 1152)] == whole[0..<(99 * 1152 - delay)])
    for frame in [0, 1152, 50_000, 115_199] {
      try decoder.seek(toFrame: frame)
      #expect(try Sound(decoding: decoder) == sound[frame..<(100 * 1152)], "at \(frame)")
    }
  }

  @Test("VBRI of a file that was cut off is not believed") func vbriTruncated() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(VBRI.file(frames: 100).dropLast(20_000), to: "vbri.mp3")
    let decoder = try AudioFile.open(path)
    #expect(decoder.frameCount.map { $0 < 60 * 1152 } == true)
    #expect(try decoder.frameCount == Sound(decoding: decoder).frameCount)
  }

  @Test("a tag in the middle of a file is no audio") func tagInside() throws {
    let folder = try TemporaryFolder()
    let audio = try readBytes(Fixtures.path("mp3-cbr128-44k.mp3"))
    let tagged = audio[..<100_309] + id3v2(40_000) + audio[100_309...]
    let sound = try Sound(file: folder.write(Array(tagged), to: "tagged.mp3"))
    #expect(try sound == Sound(file: Fixtures.path("mp3-cbr128-44k.mp3")))
  }
}
