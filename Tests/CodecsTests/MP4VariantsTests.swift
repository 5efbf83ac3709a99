import AudioCore
import Codecs
import TestSupport
import Testing

@Suite("MP4 files of rarer forms") struct MP4VariantsTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// AAC-LC at 44.1 kHz in two channels.
  private static let lc: [UInt8] = [0x12, 0x10]

  private func path(_ file: MP4File) throws -> String { try folder.write(file.bytes(), to: "t.m4a") }

  @Test("sizes of 4, 8 and 16 bits are read", arguments: [4, 8, 16], [1, 7]) func sizes(
    bits: Int, perChunk: Int
  )
    throws
  {
    // Frames of fewer than 16 bytes hold silence; of fewer than 256, HE-AAC v2.
    var name = Fixtures.path("he-aac-v2-48k.aac")
    var configuration: [UInt8] = [0x13, 0x08]
    if bits == 4 {
      let silence = "anullsrc=r=48000:cl=mono,atrim=end_sample=20480"
      name = folder.file("silence.aac")
      configuration = [0x11, 0x88]
      try Command.succeed("ffmpeg", ["-v", "error", "-f", "lavfi", "-i", silence, "-c:a", "aac", name])
    }
    var file = try MP4File(path: name, configuration: configuration)
    (file.sizeBits, file.perChunk) = (bits, perChunk)
    file.frames.removeAll { $0.count >= 1 << bits }
    #expect(file.frames.count > 10)
    if bits == 4 { (file.frameDuration, file.timescale) = (1024, 48_000) }
    let sound = try Sound(file: path(file))
    file.sizeBits = nil
    #expect(try sound == Sound(file: path(file)))
    #expect(sound.frameCount == file.frames.count * file.frameDuration)
    #expect(bits == 4 || sound.level > -40)
  }

  @Test("a table of small sizes that claims more than is there costs no memory") func sizeClaims() throws {
    var file = try MP4File(adts: "he-aac-v2-48k.aac", configuration: [0x13, 0x08])
    file.sizeBits = 16
    let whole = try Sound(file: path(file)).frameCount
    var bytes = file.bytes()
    let place = try #require((0..<(bytes.count - 4)).first { bytes[$0...].starts(with: "stz2".utf8) })
    bytes.replaceSubrange((place + 12)..<(place + 16), with: [0x7F, 0xFF, 0xFF, 0xFF])
    let before = peakMemory()
    let sound = try Sound(file: folder.write(bytes, to: "claim.m4a"))
    #expect(sound.frameCount <= whole)
    #expect(peakMemory() - before < 200_000_000)
  }

  @Test(
    "QuickTime's descriptions of sound, versions 1 and 2, and that of ISO are passed over",
    arguments: MP4File.SoundDescription.allCases)
  func descriptions(form: MP4File.SoundDescription) throws {
    var file = try MP4File(adts: "aac-lc-44k.aac", configuration: Self.lc)
    (file.timescale, file.frameDuration) = (44_100, 1024)
    file.description = form
    let decoder = try AudioFile.open(path(file))
    #expect(decoder.format == AudioFormat(sampleRate: 44_100, channels: 2))
    #expect(try Sound(decoding: decoder) == Sound(file: Fixtures.path("aac-lc-44k.aac")))
  }

  @Test("what ffmpeg writes as QuickTime sounds as it decodes it", arguments: [22_050, 48_000, 96_000])
  func quickTime(rate: Int) throws {
    try Sound.sweep(sampleRate: rate, frames: rate / 2).write(to: folder.file("t.wav"))
    try Command.succeed(
      "ffmpeg",
      ["-v", "error", "-i", folder.file("t.wav"), "-c:a", "aac", "-aac_pns", "0", folder.file("t.mov")])
    let sound = try Sound(file: folder.file("t.mov"))
    #expect(sound.frameCount == rate / 2)
    let error = try sound.errorToSignal(
      against: Sound(ffmpeg: folder.file("t.mov"), format: AudioFormat(sampleRate: rate, channels: 2)))
    #expect(error <= -75, "\(error) dB")
  }

  /// The bands that hold anything are the same in frames of 960 and of 1024 samples, so frames of the one are frames
  /// of the other as long as they leave the highest bands out; they then sound 1024/960 as high.
  @Test("frames of 960 samples sound as ffmpeg decodes them, and seek") func shortFrames() throws {
    let rate = 44_100
    try Sound.sweep(sampleRate: rate, frames: rate).write(to: folder.file("t.wav"))
    let options = ["-c:a", "aac", "-aac_pns", "0", "-cutoff", "9000", folder.file("t.aac")]
    try Command.succeed("ffmpeg", ["-v", "error", "-i", folder.file("t.wav")] + options)
    var file = try MP4File(path: folder.file("t.aac"), configuration: [0x12, 0x14])
    (file.timescale, file.frameDuration) = (rate, 960)
    let path = try path(file)
    let decoder = try AudioFile.open(path)
    let sound = try Sound(decoding: decoder)
    #expect(sound.frameCount == file.frames.count * 960 && decoder.frameCount == sound.frameCount)
    let error = try sound.errorToSignal(
      against: Sound(ffmpeg: path, format: AudioFormat(sampleRate: rate, channels: 2)))
    #expect(error <= -75, "\(error) dB")
    for target in [1, 960, 20_000, sound.frameCount - 1] {
      try decoder.seek(toFrame: target)
      #expect(try Sound(decoding: decoder) == sound[target..<sound.frameCount], "at \(target)")
    }
  }
}
