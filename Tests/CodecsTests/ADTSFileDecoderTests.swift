import AudioCore
import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

private let fixtures = ["aac-lc-44k.aac", "he-aac-v1-48k.aac", "he-aac-v2-48k.aac"]

@Suite("ADTS file decoder", .tags(.codecs, .files)) struct ADTSFileDecoderTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// HE-AAC leaves the placement of noise and the rotation of phases to the decoder: the bounds are the
  /// measured differences between libfaad and ffmpeg, −66 and −56 dB, with some room.
  @Test("decodes what ffmpeg decodes, frame for frame", arguments: zip(fixtures, [-75.0, -60, -50]))
  func agreesWithFFmpeg(name: String, bound: Double) throws {
    let decoder = try AudioFile.open(Fixtures.path(name))
    let sound = try Sound(decoding: decoder)
    let reference = try Sound(ffmpeg: Fixtures.path(name), format: decoder.format)
    #expect(abs(sound.alignment(to: reference).delay) < 0.01)
    #expect(sound.frameCount == reference.frameCount)
    let error = sound.errorToSignal(against: reference)
    #expect(error < bound, "\(name): \(error) dB")
  }

  @Test("replicated bands double the rate, parametric stereo has two channels", arguments: fixtures)
  func format(name: String) throws {
    let decoder = try AudioFile.open(Fixtures.path(name))
    #expect(decoder.format == AudioFormat(sampleRate: name.contains("he") ? 48_000 : 44_100, channels: 2))
  }

  @Test("the length is counted and true", arguments: fixtures) func lengthIsExact(name: String) throws {
    let decoder = try AudioFile.open(Fixtures.path(name))
    #expect(try decoder.frameCount == Sound(decoding: decoder).frameCount)
  }

  /// The noise in replicated bands continues from frame to frame and can't be begun in the middle; below them
  /// everything is equal.
  @Test(
    "after a seek the frames equal those decoded from the start",
    arguments: zip(fixtures, [-300.0, -100, -75]))
  func seeksExactly(name: String, bound: Double) throws {
    let whole = try Sound(file: Fixtures.path(name))
    let decoder = try AudioFile.open(Fixtures.path(name))
    var random = SeededRandom(seed: 31)
    var targets = [0, 1, 1023, 12 * 1024, 25_000, whole.frameCount - 12_000]
    targets += (0..<8).map { _ in Int.random(in: 0..<(whole.frameCount - 12_000), using: &random) }
    for target in targets {
      try decoder.seek(toFrame: target)
      let piece = try Sound(decoding: decoder, limit: 12_000)
      let expected = whole[target..<(target + 12_000)]
      if name.contains("lc") {
        #expect(piece == expected, "at frame \(target)")
      } else {
        let error = try piece.below2kHz().errorToSignal(against: expected.below2kHz())
        #expect(error < bound, "at frame \(target): \(error) dB")
      }
    }
    try decoder.seek(toFrame: whole.frameCount - 1)
    #expect(try Sound(decoding: decoder).frameCount == 1)
    try decoder.seek(toFrame: whole.frameCount)
    #expect(try Sound(decoding: decoder).frameCount == 0)
    #expect(throws: AudioError.self) { try decoder.seek(toFrame: whole.frameCount + 1) }
    #expect(throws: AudioError.self) { try decoder.seek(toFrame: -1) }
  }

  @Test("a damaged frame is silence of its length, and the rest stays where it was") func damaged() throws {
    let path = Fixtures.path("aac-lc-44k.aac")
    var bytes = try readBytes(path)
    let frame = ADTSFraming.frames(of: bytes)[60]
    for index in (frame.offset + 7)..<(frame.offset + frame.length) { bytes[index] = 0xFF }
    let sound = try Sound(file: folder.write(bytes, to: "damaged.aac"))
    let whole = try Sound(file: path)
    #expect(sound.frameCount == whole.frameCount)
    #expect(sound[0..<(60 * 1024)] == whole[0..<(60 * 1024)])
    #expect(sound[(63 * 1024)..<whole.frameCount] == whole[(63 * 1024)..<whole.frameCount])
  }

  @Test("a stream that turns into another kind in mid-frame continues") func changes() throws {
    let lc = try readBytes(Fixtures.path("aac-lc-44k.aac"))
    let he = try readBytes(Fixtures.path("he-aac-v1-48k.aac"))
    let cut = ADTSFraming.frames(of: lc)[50].offset + 40
    let decoder = try AudioFile.open(folder.write(lc[..<cut] + he, to: "mixed"))
    var frames: [AudioFormat: Int] = [:]
    var buffer = [Float](repeating: 0, count: 2000)
    while true {
      let got = try buffer.withUnsafeMutableBufferPointer { try decoder.read(into: $0) }
      if got == 0 { break }
      frames[decoder.format, default: 0] += got
    }
    #expect(frames[AudioFormat(sampleRate: 44_100, channels: 2)] == 50 * 1024)
    #expect(
      try frames[AudioFormat(sampleRate: 48_000, channels: 2)]
        == Sound(file: Fixtures.path("he-aac-v1-48k.aac")).frameCount)
  }

  @Test("surround comes in the order that WAV has") func surround() throws {
    let sines = [300.0, 500, 700, 60, 1100, 1300].map {
      Signal.sine($0, amplitude: 0.3, frames: 24_000, sampleRate: 48_000)
    }
    let six = Sound(sampleRate: 48_000, channels: sines)
    try six.write(to: folder.file("six.wav"))
    let arguments = [
      "-v", "error", "-i", folder.file("six.wav"), "-c:a", "aac", "-b:a", "512k", "-aac_pns", "0",
    ]
    try Command.succeed("ffmpeg", arguments + [folder.file("six.aac")])
    let sound = try Sound(file: folder.file("six.aac"))
    #expect(sound.channels.count == 6)
    let reference = try Sound(ffmpeg: folder.file("six.aac"), format: sound.format)
    #expect(sound.errorToSignal(against: reference) < -75)
  }

  @Test("kinds of AAC that are not decoded are unsupported, by name") func unsupported() throws {
    var bytes = try readBytes(Fixtures.path("aac-lc-44k.aac"))
    for frame in ADTSFraming.frames(of: bytes) {
      bytes[frame.offset + 2] = bytes[frame.offset + 2] & 0x3F | 0x80
    }
    let path = try folder.write(bytes, to: "ssr.aac")
    let error = #expect(throws: AudioError.self) { try AudioFile.open(path) }
    #expect(error?.code == "audio.unsupported")
    #expect(error?.message.contains("AAC-SSR") == true)
  }
}

extension Sound {
  /// Returns the sound without the bands that HE-AAC replicates, and without the edges, where the filter
  /// starts and ends.
  fileprivate func below2kHz() throws -> Sound {
    let low = try Sound(
      decoding: ConformedDecoder(MemoryDecoder(self), to: AudioFormat(sampleRate: 4000, channels: 2)))
    return low[100..<(low.frameCount - 100)]
  }
}
