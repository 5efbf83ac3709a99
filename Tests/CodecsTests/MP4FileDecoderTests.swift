import AudioCore
import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

@Suite("MP4 file decoder", .tags(.codecs, .files)) struct MP4FileDecoderTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func decoder(_ file: MP4File) throws -> any Decoder {
    try AudioFile.open(folder.write(file.bytes(), to: "t.m4a"))
  }

  /// The low bits of the fields in ADTS: AAC-LC, 24 kHz, two channels.
  private static let implicit: [UInt8] = [0x13, 0x10]
  private func heAAC() throws -> MP4File {
    try MP4File(adts: "he-aac-v1-48k.aac", configuration: Self.implicit)
  }

  @Test(
    "decodes what ffmpeg decodes, frame for frame",
    arguments: [("aac-lc-44k.m4a", -75.0), ("he-aac-v1-48k.m4a", -60)])
  func agreesWithFFmpeg(name: String, bound: Double) throws {
    let decoder = try AudioFile.open(Fixtures.path(name))
    let sound = try Sound(decoding: decoder)
    let reference = try Sound(ffmpeg: Fixtures.path(name), format: decoder.format)
    #expect(abs(sound.alignment(to: reference).delay) < 0.01)
    #expect(sound.errorToSignal(against: reference) < bound)
    #expect(decoder.frameCount == sound.frameCount)
    // ffmpeg plays the last frame to its end, whatever the length in the file.
    #expect((0..<2048).contains(reference.frameCount - sound.frameCount))
  }

  @Test("an edit list makes the length exact: three seconds are three seconds") func lengthIsExact() throws {
    let decoder = try AudioFile.open(Fixtures.path("aac-lc-44k.m4a"))
    #expect(decoder.frameCount == 132_300)
    let original = try Sound(decoding: decoder)
    #expect(original.frameCount == 132_300)
    let raw = try Sound(file: Fixtures.path("aac-lc-44k.aac"))
    #expect(original == raw[1024..<(1024 + 132_300)])
  }

  @Test("moov at the end is found, and noise that the decoder makes has the right level") func moovAtEnd()
    throws
  {
    let path = Fixtures.path("aac-lc-noise-moov-at-end.m4a")
    let sound = try Sound(file: path)
    let reference = try Sound(ffmpeg: path, format: sound.format)
    #expect(sound.frameCount == 130 * 1024)
    #expect(abs(sound.alignment(to: reference).delay) < 0.01)
    #expect(abs(sound.level - reference.level) < 0.05)
  }

  @Test("after a seek the frames equal those decoded from the start") func seeksExactly() throws {
    let path = Fixtures.path("aac-lc-44k.m4a")
    let whole = try Sound(file: path)
    let decoder = try AudioFile.open(path)
    for target in [0, 1, 1023, 60_000, 12_345, 131_000, 132_299, 132_300] {
      try decoder.seek(toFrame: target)
      #expect(try Sound(decoding: decoder) == whole[target..<132_300], "at frame \(target)")
    }
    #expect(throws: AudioError.self) { try decoder.seek(toFrame: 132_301) }
    #expect(throws: AudioError.self) { try decoder.seek(toFrame: -1) }
  }

  @Test("chunks of any size, 64-bit offsets, moov first or last: the same frames") func layouts() throws {
    let plain = try Sound(file: Fixtures.path("he-aac-v1-48k.aac"))
    for perChunk in [1, 2, 5, 94, 200] {
      for flags in 0..<4 {
        var file = try heAAC()
        (file.perChunk, file.has64Bits, file.isMoovFirst) = (perChunk, flags & 1 != 0, flags & 2 != 0)
        #expect(try Sound(decoding: decoder(file)) == plain, "\(perChunk) a chunk, layout \(flags)")
      }
    }
  }

  /// Source of the bits: ISO/IEC 14496-3 §1.6.2.1.
  @Test("replicated bands are found whether they are announced in front, behind, or not at all")
  func announcements() throws {
    let implicit = try Sound(decoding: decoder(heAAC()))
    #expect(implicit.format == AudioFormat(sampleRate: 48_000, channels: 2))
    // 5: type 5, index 6, 2 channels, index 3, type 2. Behind: 0x2B7, type 5, present, index 3.
    let inFront: [UInt8] = [0b0010_1011, 0b0001_0001, 0b1000_1000, 0]
    let behind: [UInt8] = [0x13, 0x10, 0x56, 0xE5, 0b1001_1000]
    for configuration in [inFront, behind] {
      var file = try heAAC()
      file.configuration = configuration
      #expect(try Sound(decoding: decoder(file)) == implicit)
    }
  }

  @Test("parametric stereo has two channels") func parametricStereo() throws {
    let plain = try Sound(file: Fixtures.path("he-aac-v2-48k.aac"))
    // Mono core, not announced; then type 29 in front.
    for configuration: [UInt8] in [[0x13, 0x08], [0b1110_1011, 0b0000_1001, 0b1000_1000, 0]] {
      var file = try MP4File(adts: "he-aac-v2-48k.aac", configuration: configuration)
      file.perChunk = 7
      #expect(try Sound(decoding: decoder(file)) == plain)
    }
  }

  @Test("iTunes' own tag goes before an edit list") func iTunes() throws {
    let plain = try Sound(file: Fixtures.path("he-aac-v1-48k.aac"))
    var file = try heAAC()
    file.inTrack = MP4File.edits([(1000, 77)])
    file.inMovie = MP4File.iTunes(delay: 5000, padding: 700, length: 150_000)
    let opened = try decoder(file)
    #expect(opened.frameCount == 150_000)
    #expect(try Sound(decoding: opened) == plain[5000..<155_000])
  }

  @Test("edit lists: empty parts are passed over, 64 bits are read, a montage is played whole") func edits()
    throws
  {
    let all = try Sound(decoding: decoder(heAAC())).frameCount
    func length(_ edit: [UInt8]) throws -> Int? {
      var file = try heAAC()
      file.inTrack = edit
      return try decoder(file).frameCount
    }
    #expect(try length(MP4File.edits([(500, -1), (2000, 4096)])) == 96_000)
    #expect(try length(MP4File.edits([(2000, 4096)], version: 1)) == 96_000)
    #expect(try length(MP4File.edits([(500, -1), (2000, 4096)], version: 1)) == 96_000)
    #expect(try length(MP4File.edits([(0, 4096)])) == all - 4096)
    #expect(try length(MP4File.edits([(1000, 0), (1000, 96_000)])) == all)
    #expect(try length(MP4File.edits([(1_000_000, 4096)])) == all - 4096)
    #expect(try length(MP4File.edits([(1000, 1_000_000)])) == 0)
  }

  @Test("a file that is cut off has what is there", arguments: [0.3, 0.7]) func truncated(part: Double) throws
  {
    var file = try heAAC()
    file.isMoovFirst = true
    let bytes = file.bytes()
    let cut = try folder.write(Array(bytes.prefix(Int(Double(bytes.count) * part))), to: "cut.m4a")
    let decoder = try AudioFile.open(cut)
    let sound = try Sound(decoding: decoder)
    #expect(decoder.frameCount == sound.frameCount)
    #expect(
      decoder.shortfall?.facts.first { $0.name == "byte" }?.value == .int(Int(Double(bytes.count) * part)))
    #expect(sound.frameCount % 2048 == 0 && sound.frameCount > 20_000 && sound.frameCount < 150_000)
    #expect(try Sound(file: Fixtures.path("he-aac-v1-48k.aac"))[0..<sound.frameCount] == sound)
  }

  @Test("other sound than AAC is unsupported, by name") func unsupported() throws {
    func error(_ path: String) -> AudioError? {
      #expect(throws: AudioError.self) { try AudioFile.open(path) }
    }
    let alac = error(Fixtures.path("alac.m4a"))
    #expect(alac?.code == "audio.unsupported")
    #expect(alac?.message.contains("ALAC in MP4 is not supported") == true)
    var bytes = try heAAC().bytes()
    let offset = try #require((0..<(bytes.count - 4)).first { bytes[$0...].starts(with: "mp4a".utf8) })
    bytes.replaceSubrange(offset..<(offset + 4), with: Array("enca".utf8))
    #expect(try error(folder.write(bytes, to: "p.m4a"))?.message.contains("protected") == true)
  }

  @Test("a damaged file is unreadable, and the error names what was found where") func damaged() throws {
    func error(_ bytes: [UInt8]) throws -> String? {
      let path = try folder.write(bytes, to: "d.m4a")
      let error = #expect(throws: AudioError.self) { try AudioFile.open(path) }
      #expect(error?.code == "audio.unreadable")
      return error?.message
    }
    let bytes = try heAAC().bytes()
    #expect(try error(Array(bytes.prefix(16)))?.contains("without a moov box") == true)
    #expect(try error(Array(bytes.prefix(5000)))?.contains("without a moov box") == true)
    #expect(try error(Array(bytes.dropLast(9)))?.contains("end of the file in the moov box") == true)
    let noTrack = MP4File.box("ftyp", Array("M4A ".utf8)) + MP4File.box("moov", [])
    #expect(try error(noTrack)?.contains("without a track of sound at byte 20") == true)
  }

  @Test(
    "tables that claim what is not there cost no memory and no time",
    arguments: ["stsz", "stco", "stts", "stsc"])
  func claims(name: String) async {
    await #expect(processExitsWith: .success) { [name] in
      try MP4FileDecoderTests().measuredClaims(name: name)
    }
  }

  private func measuredClaims(name: String) throws {
    var bytes = try heAAC().bytes()
    let offset = try #require((0..<(bytes.count - 4)).first { bytes[$0...].starts(with: name.utf8) })
    let count = offset + (name == "stsz" ? 12 : 8)
    bytes.replaceSubrange(count..<(count + 4), with: [0x7F, 0xFF, 0xFF, 0xFF])
    let before = peakMemory()
    let path = try folder.write(bytes, to: "claim.m4a")
    if let decoder = try? AudioFile.open(path) { #expect(try Sound(decoding: decoder).frameCount < 400_000) }
    // A single size for all, and the largest number of frames.
    if name == "stsz" {
      bytes.replaceSubrange((offset + 8)..<(offset + 12), with: [0, 0, 0, 1])
      let path = try folder.write(bytes, to: "claim.m4a")
      if let decoder = try? AudioFile.open(path) { _ = try Sound(decoding: decoder) }
    }
    #expect(peakMemory() - before < memoryLimit)
  }

  @Test("a length that all tables but one agree on is not believed") func claimsLength() throws {
    var file = try heAAC()
    // Bytes behind the end of a frame's sound are ignored, so all can have one size.
    let size = file.frames.reduce(0) { max($0, $1.count) }
    file.frames = file.frames.map { $0 + [UInt8](repeating: 0, count: size - $0.count) }
    var bytes = file.bytes()
    func replace(_ name: String, _ distance: Int, _ value: [UInt8]) throws {
      let offset = try #require((0..<(bytes.count - 4)).first { bytes[$0...].starts(with: name.utf8) })
      bytes.replaceSubrange((offset + distance)..<(offset + distance + 4), with: value)
    }
    try replace("stsz", 8, MP4File.big(size, 4))
    try replace("stsz", 12, [0x7F, 0xFF, 0xFF, 0xFF])
    try replace("stts", 12, [0x7F, 0xFF, 0xFF, 0xFF])
    let source = try folder.write(bytes, to: "claim.m4a")
    let decoder = try AudioFile.open(source)
    #expect(decoder.frameCount == file.frames.count * 2048)
    #expect(try Sound(decoding: decoder).frameCount == file.frames.count * 2048)
  }
}
