import AudioCore
import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

/// Fixtures, one for every format.
private let names = [
  "base-24bit.wav", "base.aiff", "base.caf", "music-44k.flac", "music-44k.ogg", "mp3-cbr128-44k.mp3",
  "mp3-vbr-v4-44k.mp3", "mp3-mpeg2-64-22k.mp3", "mp3-mpeg25-32-11k-mono.mp3", "aac-lc-44k.aac",
  "he-aac-v1-48k.aac", "he-aac-v2-48k.aac", "aac-lc-44k.m4a", "he-aac-v1-48k.m4a",
  "aac-lc-noise-moov-at-end.m4a",
]

@Suite("Bad input of every format", .tags(.codecs, .hostile)) struct BadInputTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Opens and reads `bytes`, which must fail as damage, at a byte of the file.
  private func expectUnreadable(_ bytes: [UInt8], _ name: String) throws {
    let path = try folder.write(bytes, to: "bad.wav")
    let error = #expect(throws: AudioError.self, "\(name), \(bytes.count) bytes") { try Sound(file: path) }
    #expect(error?.code == "audio.unreadable", "\(name): \(error?.message ?? "")")
    #expect(error?.message.hasPrefix("cannot decode \(path): found ") == true, "\(error?.message ?? "")")
    let byte = error?.message.split(separator: " ").last.flatMap { Int($0) }
    #expect(byte.map { (0...bytes.count).contains($0) } == true, "\(error?.message ?? "")")
  }

  @Test("a head with nothing, zeros, text or noise behind it is unreadable at a byte", arguments: names)
  func heads(name: String) async {
    await #expect(processExitsWith: .success) { [name] in
      try BadInputTests().measuredHeads(name: name)
    }
  }

  private func measuredHeads(name: String) throws {
    let head = try Array(readBytes(Fixtures.path(name)).prefix(12))
    var random = SeededRandom(seed: 60)
    let before = peakMemory()
    try expectUnreadable([], name)
    try expectUnreadable(head, name)
    try expectUnreadable(head + [UInt8](repeating: 0, count: 5000), name)
    try expectUnreadable(head + Array(String(repeating: "not a sound ", count: 400).utf8), name)
    for _ in 0..<20 { try expectUnreadable(head + random.bytes(5000), name) }
    #expect(peakMemory() - before < memoryLimit)
  }

  @Test("a file that ends early has the frames that are there, and reports the shortfall", arguments: names)
  func truncated(name: String) throws {
    let bytes = try readBytes(Fixtures.path(name))
    let whole = try Sound(file: Fixtures.path(name)).frameCount
    for part in [0.02, 0.25, 0.5, 0.9] {
      let cut = Array(bytes.prefix(Int(Double(bytes.count) * part)))
      do {
        let decoder = try AudioFile.open(folder.write(cut, to: "cut"))
        let sound = try Sound(decoding: decoder)
        #expect(sound.frameCount < whole && sound.frameCount > 0, "\(name), \(part)")
        #expect(decoder.frameCount == nil || decoder.frameCount.map { $0 >= sound.frameCount } == true)
        let statesLength = ["flac", "m4a", "wav", "aiff", "ogg"].contains(where: name.hasSuffix)
        if statesLength || name.hasPrefix("mp3-cbr128") || name.hasPrefix("mp3-vbr") {
          #expect(decoder.frameCount == sound.frameCount, "\(name), \(part)")
          let seconds = name.hasSuffix("ogg") ? " s of sound" : " of "
          let message = decoder.shortfall?.message ?? ""
          #expect(
            message.contains("the end of the file after ") && message.contains(seconds), "\(name): \(message)"
          )
        }
        // Ogg has pages of half a second here, of which the last is lost.
        let lost = name.hasSuffix("ogg") ? 0.45 : 0.2
        #expect(Double(sound.frameCount) > Double(whole) * (part - lost), "\(name), \(part)")
      } catch let error as AudioError {
        #expect(error.code == "audio.unreadable", "\(error)")
        #expect(error.message.contains(": found ") && error.message.contains(" at byte "))
        // CAF states its length in front and MP4 has its table of frames behind; the others have frames from
        // the front on.
        let isWhole = name.hasSuffix("caf") || name.hasSuffix("m4a") || name.hasSuffix("ogg") && part < 0.6
        #expect(part < 0.1 || isWhole, "\(name), \(part): \(error.message)")
      }
    }
  }

  @Test("a whole file has no shortfall", arguments: names) func whole(name: String) throws {
    let decoder = try AudioFile.open(Fixtures.path(name))
    let sound = try Sound(decoding: decoder)
    #expect(decoder.shortfall == nil && decoder.frameCount.map { $0 == sound.frameCount } != false)
  }

  @Test("an Ogg file without its last pages has the length of those that are there, and no shortfall")
  func openOgg() throws {
    let bytes = try readBytes(Fixtures.path("music-44k.ogg"))
    let page = try #require((0..<(bytes.count - 27)).last { bytes[$0...].starts(with: "OggS".utf8) })
    let decoder = try AudioFile.open(folder.write(Array(bytes[..<page]), to: "open.ogg"))
    let sound = try Sound(decoding: decoder)
    #expect(decoder.frameCount == sound.frameCount && decoder.shortfall == nil)
  }

  @Test("of a long FLAC file that was cut off, the frames are counted that are there")
  func longFLAC() throws {
    let path = folder.file("long.flac")
    try Command.succeed(
      "ffmpeg", ["-v", "error", "-f", "lavfi", "-i", "anoisesrc=d=20:r=44100:seed=9", "-ac", "2", path])
    let bytes = try readBytes(path)
    for part in [0.001, 0.1, 0.33, 0.5, 0.97] {
      let cut = Array(bytes.prefix(40_000 + Int(Double(bytes.count) * part)))
      let decoder = try AudioFile.open(folder.write(cut, to: "cut.flac"))
      let there = try Sound(decoding: decoder).frameCount
      #expect(decoder.frameCount == there && there > Int(882_000 * part) - 4_608, "\(part)")
      #expect(decoder.shortfall?.message.contains(" of 20.0 s of sound") == true)
    }
  }

  /// Source: RFC 3533 §6: the page's position in frames is 8 bytes behind its sixth, its checksum 4 behind
  /// its 22nd.
  @Test("an Ogg file that claims a billion frames has the frames that are there")
  func oggClaims() async {
    await #expect(processExitsWith: .success) {
      try BadInputTests().measuredOggClaims()
    }
  }

  private func measuredOggClaims() throws {
    var bytes = try readBytes(Fixtures.path("music-44k.ogg"))
    let whole = try Sound(file: Fixtures.path("music-44k.ogg")).frameCount
    let page = try #require((0..<(bytes.count - 27)).last { bytes[$0...].starts(with: "OggS".utf8) })
    bytes.replaceSubrange((page + 6)..<(page + 14), with: [0, 0, 0, 0x40, 0, 0, 0, 0])
    bytes.replaceSubrange((page + 22)..<(page + 26), with: [0, 0, 0, 0])
    let sum = Self.checksum(bytes[page...])
    bytes.replaceSubrange(
      (page + 22)..<(page + 26), with: (0..<4).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) })
    let before = peakMemory()
    let decoder = try AudioFile.open(folder.write(bytes, to: "claim.ogg"))
    let sound = try Sound(decoding: decoder)
    #expect(sound.frameCount <= whole + 4096 && sound.frameCount >= whole - 4096)
    #expect(peakMemory() - before < memoryLimit)
  }

  private static func checksum(_ page: ArraySlice<UInt8>) -> UInt32 {
    page.reduce(UInt32(0)) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte) << 24) { sum, _ in
        sum & 0x8000_0000 != 0 ? sum << 1 ^ 0x04C1_1DB7 : sum << 1
      }
    }
  }
}
