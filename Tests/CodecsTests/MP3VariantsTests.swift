import AudioCore
import Codecs
import TestSupport
import Testing

@Suite("MP3 files of rarer forms") struct MP3VariantsTests {
  private let folder: TemporaryFolder
  private let original = Sound.sweep(sampleRate: 44_100, frames: 44_100)

  init() throws {
    folder = try TemporaryFolder()
    try original.write(to: folder.file("t.wav"))
  }

  /// An MP3 file of the sweep, made with `options`.
  private func encode(_ options: [String]) throws -> String {
    try Command.succeed("lame", ["--quiet"] + options + [folder.file("t.wav"), folder.file("t.mp3")])
    return folder.file("t.mp3")
  }

  private func checkSeeks(_ path: String, whole: Sound) throws {
    let decoder = try AudioFile.open(path)
    #expect(decoder.frameCount == whole.frameCount)
    for target in [1, 1152, 20_000, whole.frameCount - 1000, whole.frameCount] {
      try decoder.seek(toFrame: target)
      let rest = try Sound(decoding: decoder)
      #expect(rest.frameCount == whole.frameCount - target)
      let error =
        target < whole.frameCount ? rest.errorToSignal(against: whole[target..<whole.frameCount]) : -.infinity
      #expect(error <= -130, "at \(target): \(error) dB")
    }
  }

  @Test(
    "average rate, checksums, no tag, mono and all but nothing lost sound as ffmpeg decodes them",
    arguments: [
      ["--abr", "110"], ["-b", "96", "-p"], ["-b", "160", "-t"], ["-m", "m", "-b", "64"],
      ["-b", "320", "-m", "s"], ["-V", "9"], ["--nores", "-b", "128"],
    ])
  func variants(options: [String]) throws {
    let path = try encode(options)
    let sound = try Sound(file: path)
    let reference = try Sound(ffmpeg: path, format: sound.format)
    #expect(sound.frameCount == reference.frameCount)
    let error = sound.errorToSignal(against: reference)
    #expect(error <= -75, "\(options): \(error) dB")
    try checkSeeks(path, whole: sound)
  }

  /// ffmpeg does not read free format: LAME's own decoder is the reference, which writes 16 bits.
  @Test("free format sounds as LAME decodes it, and seeks", arguments: [450, 330, 200]) func freeFormat(
    rate: Int
  )
    throws
  {
    for tag in [[], ["-t"]] {
      let path = try encode(["--freeformat", "-b", "\(rate)"] + tag)
      let sound = try Sound(file: path)
      try Command.succeed("lame", ["--quiet", "--decode", path, folder.file("reference.wav")])
      let reference = try Sound(file: folder.file("reference.wav"))
      let alignment = sound.alignment(to: reference)
      #expect(abs(alignment.delay - Double(alignment.frames)) < 0.01)
      #expect(tag == ["-t"] || alignment.frames == 0)
      let error = sound.errorToSignal(against: reference, delay: alignment.frames)
      #expect(error <= -75, "\(rate) kbit/s: \(error) dB")
      #expect(tag == ["-t"] || sound.frameCount == original.frameCount)
      try checkSeeks(path, whole: sound)
    }
  }

  @Test("layer II sounds as ffmpeg decodes it, and seeks") func layerII() throws {
    try Command.succeed("ffmpeg", ["-v", "error", "-i", folder.file("t.wav"), folder.file("t.mp2")])
    let sound = try Sound(file: folder.file("t.mp2"))
    let error = try sound.errorToSignal(against: Sound(ffmpeg: folder.file("t.mp2"), format: sound.format))
    #expect(error <= -75, "\(error) dB")
    try checkSeeks(folder.file("t.mp2"), whole: sound)
  }

  @Test(
    "a tag that claims more frames than the file has room for is not believed", arguments: ["Xing", "VBRI"])
  func claims(kind: String) throws {
    var bytes = kind == "VBRI" ? try VBRI.file(frames: 100) : try readBytes(encode(["-V", "4"]))
    let whole = try Sound(file: folder.write(bytes, to: "whole.mp3"))
    let place = try #require((0..<200).first { bytes[$0...].starts(with: kind.utf8) })
    let frames = place + (kind == "VBRI" ? 14 : 8)
    bytes.replaceSubrange(frames..<(frames + 4), with: [0x40, 0, 0, 0])
    let decoder = try AudioFile.open(folder.write(bytes, to: "claim.mp3"))
    let count = decoder.frameCount
    let sound = try Sound(decoding: decoder)
    #expect(count == sound.frameCount)
    #expect(abs(sound.frameCount - whole.frameCount) <= 3 * 1152)
  }

  @Test("a tag that counts no frames has them counted") func tagWithoutFrames() throws {
    var bytes = try readBytes(encode(["-V", "4"]))
    let place = try #require((0..<200).first { bytes[$0...].starts(with: "Xing".utf8) })
    let end = try #require(MPEGAudioFraming.frames(of: bytes).first.map { $0.offset + $0.length })
    bytes[place + 7] &= 0xFE
    bytes.insert(contentsOf: [0, 0, 0, 0], at: end)
    bytes.removeSubrange((place + 8)..<(place + 12))
    let decoder = try AudioFile.open(folder.write(bytes, to: "uncounted.mp3"))
    let count = decoder.frameCount
    #expect(try count == Sound(decoding: decoder).frameCount)
    #expect(count.map { $0 >= original.frameCount } == true)
  }
}
