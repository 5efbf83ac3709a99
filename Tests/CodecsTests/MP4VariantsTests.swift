import AudioCore
import Codecs
import TestSupport
import TestTraits
import Testing

@Suite("MP4 files of rarer forms", .tags(.codecs, .files)) struct MP4VariantsTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// The configuration of AAC-LC at 44.1 kHz in two channels.
  private static let lc: [UInt8] = [0x12, 0x10]

  private func path(_ file: MP4File) throws -> String { try folder.write(file.bytes(), to: "t.m4a") }

  /// Returns a frame of AAC-LC in mono with one line of its spectrum, selected by `code` (0 to 7) and the
  /// frame before; `padding` ignored bytes follow. Source: ISO/IEC 14496-3 §4.4.2 and §4.A.1 (codebook 1).
  private func tinyFrame(code: Int, padding: Int) -> [UInt8] {
    let fields = [
      (0, 3), (0, 4), (185, 8),  // a single channel with this gain
      (0, 1), (0, 2), (0, 1), (1, 6), (0, 1),  // a long window with one band
      (1, 4), (1, 5), (0, 1), (0, 3),  // in codebook 1, with an explicit gain, and nothing more
      (0b10000 | code, 5), (7, 3), (0, 1),  // four lines, and the end
    ]
    let bits = fields.flatMap { value, width in (0..<width).reversed().map { UInt8(value >> $0 & 1) } }
    return stride(from: 0, to: bits.count, by: 8).map { bits[$0..<($0 + 8)].reduce(0) { $0 << 1 | $1 } }
      + [UInt8](repeating: 0, count: padding)
  }

  @Test("sizes of 4, 8 and 16 bits are read", arguments: [4, 8, 16], [1, 7]) func sizes(
    bits: Int, perChunk: Int
  ) throws {
    var file = try MP4File(adts: "he-aac-v2-48k.aac", configuration: [0x13, 0x08])
    if bits == 4 {
      file.configuration = [0x11, 0x88]
      file.frameDuration = 1024
      file.frames = (0..<31).map { tinyFrame(code: $0 % 8, padding: $0 * 7 % 10) }
    }
    file.frames.removeAll { $0.count >= 1 << bits }
    #expect(file.frames.count > 10)
    file.perChunk = perChunk
    let plain = try Sound(file: path(file))
    file.sizeBits = bits
    #expect(try Sound(file: path(file)) == plain)
    #expect(plain.frameCount == file.frames.count * file.frameDuration)
    #expect(plain.level > -40, "\(plain)")
  }

  @Test("a table of small sizes that claims more than is there costs no memory")
  func sizeClaims() async {
    await #expect(processExitsWith: .success) {
      try MP4VariantsTests().measuredSizeClaims()
    }
  }

  private func measuredSizeClaims() throws {
    var file = try MP4File(adts: "he-aac-v2-48k.aac", configuration: [0x13, 0x08])
    file.sizeBits = 16
    let whole = try Sound(file: path(file)).frameCount
    var bytes = file.bytes()
    let offset = try #require((0..<(bytes.count - 4)).first { bytes[$0...].starts(with: "stz2".utf8) })
    bytes.replaceSubrange((offset + 12)..<(offset + 16), with: [0x7F, 0xFF, 0xFF, 0xFF])
    let before = peakMemory()
    let sound = try Sound(file: folder.write(bytes, to: "claim.m4a"))
    #expect(sound.frameCount <= whole)
    #expect(peakMemory() - before < memoryLimit)
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

  @Test("ffmpeg's QuickTime files decode as by ffmpeg", arguments: [22_050, 48_000, 96_000])
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

  /// The used bands are the same in frames of 960 and of 1024 samples, so frames of the one are frames of the
  /// other as long as they leave the highest bands out; their sound is then higher by 1024/960.
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
