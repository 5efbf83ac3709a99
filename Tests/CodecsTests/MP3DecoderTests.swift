import AudioCore
import Codecs
import TestSupport
import Testing

private let fixtures = [
  "mp3-cbr128-44k.mp3", "mp3-vbr-v4-44k.mp3", "mp3-mpeg2-64-22k.mp3", "mp3-mpeg25-32-11k-mono.mp3",
]

/// What ffmpeg makes of a file, without dither or change of format.
private func ffmpeg(_ path: String, _ format: AudioFormat) throws -> Sound {
  let output = try Command.succeed("ffmpeg", ["-v", "error", "-i", path, "-f", "f32le", "-"]).output
  let samples = stride(from: 0, to: output.count / 4 * 4, by: 4).map { index in
    Float(bitPattern: (0..<4).reduce(0) { $0 | UInt32(output[index + $1]) << UInt32(8 * $1) })
  }
  return Sound(interleaved: samples, format: format)
}

@Suite("MP3 decoder") struct MP3DecoderTests {
  @Test("decodes what ffmpeg decodes, frame for frame", arguments: fixtures)
  func agreesWithFFmpeg(name: String) throws {
    let decoder = try MP3Decoder(path: Fixtures.path(name))
    let sound = try Sound(decoding: decoder)
    let reference = try ffmpeg(Fixtures.path(name), decoder.format)
    let alignment = sound.alignment(to: reference)
    #expect(alignment.frames == 0)
    #expect(sound.frameCount == reference.frameCount)
    #expect(sound.errorToSignal(against: reference) < -75)
  }

  @Test(
    "the LAME tag makes the length exact",
    arguments: zip(fixtures, [882_000, 132_300, 66_150, 33_075]))
  func lengthIsExact(name: String, frames: Int) throws {
    let decoder = try MP3Decoder(path: Fixtures.path(name))
    #expect(decoder.frameCount == frames)
    #expect(try Sound(decoding: decoder).frameCount == frames)
  }
}
