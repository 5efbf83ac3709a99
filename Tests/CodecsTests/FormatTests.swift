import AudioCore
import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

/// A fixture of every supported format, and the bound of its error against ffmpeg's decoding, in dB.
private let formats: [(name: String, bound: Double)] = [
  ("aac-lc-44k.aac", -75), ("aac-lc-44k.m4a", -75),
  ("aac-lc-quicktime-v1.mov", -75), ("aac-lc-quicktime-v2.mov", -75), ("he-aac-v1-48k.aac", -60),
  ("he-aac-v1-48k.m4a", -60),
  ("he-aac-v2-48k.aac", -50), ("mp3-cbr128-44k.mp3", -75), ("mp3-vbr-v4-44k.mp3", -75),
  ("mp3-cbr32-44k-mono.mp3", -75), ("mp3-mpeg2-64-22k.mp3", -75), ("mp3-mpeg25-32-11k-mono.mp3", -75),
  ("music-44k.ogg", -75),
  ("music-44k.flac", -.infinity), ("base.aiff", -.infinity), ("base.caf", -.infinity),
  ("base-24bit.wav", -140),
]

@Suite("Every format", .tags(.codecs, .files)) struct FormatTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("sounds as ffmpeg decodes it, frame for frame", arguments: formats)
  func agreesWithFFmpeg(name: String, bound: Double) throws {
    let sound = try Sound(file: Fixtures.path(name))
    let reference = try Sound(ffmpeg: Fixtures.path(name), format: sound.format)
    #expect(abs(sound.alignment(to: reference).delay) < 0.01)
    #expect(sound.errorToSignal(against: reference) <= bound, "\(sound.errorToSignal(against: reference)) dB")
    // Only an MP4 file states the length of the sound in its last frame; ffmpeg plays all of it.
    let isCut = name.hasSuffix(".m4a") || name.hasSuffix(".mov")
    #expect((0..<(isCut ? 2048 : 1)).contains(reference.frameCount - sound.frameCount))
  }

  @Test("reports its length before it is read", arguments: formats) func statedLength(
    name: String, bound: Double
  ) throws {
    let decoder = try AudioFile.open(Fixtures.path(name))
    #expect(try decoder.frameCount == Sound(decoding: decoder).frameCount)
  }

  @Test("16 bits at the session's rate arrive bit for bit", arguments: ["wav", "flac", "aiff", "caf"])
  func lossless(kind: String) throws {
    var noise = Signal.noise(seed: 6, frames: 48_000)
    for index in noise.indices { noise[index] = (noise[index] * 32_767).rounded() / 32_768 }
    let sound = Sound(sampleRate: 48_000, channels: [noise, noise.reversed()])
    try sound.write(to: folder.file("t.wav"))
    let path = folder.file("copy.\(kind)")
    try Command.succeed("ffmpeg", ["-v", "error", "-i", folder.file("t.wav"), path])
    #expect(try Sound(decoding: ConformedDecoder(AudioFile.open(path))) == sound)
  }

  @Test("plays in a session's format, and seeks there", arguments: formats) func conforms(
    name: String, bound: Double
  ) throws {
    let decoder = try ConformedDecoder(AudioFile.open(Fixtures.path(name)))
    let whole = try Sound(decoding: decoder)
    #expect(whole.format == .session && whole.frameCount == decoder.frameCount)
    try decoder.seek(toFrame: whole.frameCount / 2)
    #expect(try Sound(decoding: decoder).frameCount == whole.frameCount - whole.frameCount / 2)
  }

  @Test("is recognised under any name", arguments: formats) func renamed(name: String, bound: Double) throws {
    let bytes = try readBytes(Fixtures.path(name))
    for other in ["song.mp3", "song.wav", "song"] {
      let decoder = try AudioFile.open(folder.write(bytes, to: other))
      #expect(try type(of: decoder) == type(of: AudioFile.open(Fixtures.path(name))))
    }
  }

  @Test("cut off in its first bytes, is unreadable or plays what is there", arguments: formats)
  func cutShort(name: String, bound: Double) throws {
    let bytes = try readBytes(Fixtures.path(name))
    for length in [1, 3, 4, 7, 8, 12, 40, 100, 300] {
      do {
        _ = try Sound(file: folder.write(Array(bytes.prefix(length)), to: "cut"))
      } catch let error as AudioError {
        #expect(error.code == "audio.unreadable", "\(length) bytes")
        #expect(error.message.contains(" at byte "), "\(error.message)")
      }
    }
  }

  @Test("damaged anywhere, ends in an error or plays on, in bounded memory", arguments: formats)
  func damaged(name: String, bound: Double) async {
    await #expect(processExitsWith: .success) { [name] in
      try FormatTests().measuredDamaged(name: name)
    }
  }

  private func measuredDamaged(name: String) throws {
    let whole = try readBytes(Fixtures.path(name)).prefix(30_000)
    let before = peakMemory()
    var mutation = Mutation(seed: 40)
    for _ in 0..<25 {
      let path = try folder.write(mutation.apply(to: Array(whole)), to: "damaged")
      do {
        let decoder = try AudioFile.open(path)
        if let count = decoder.frameCount { try decoder.seek(toFrame: count / 2) }
        var samples = [Float](repeating: 0, count: 4096 * 8)
        var rounds = 0
        while rounds < 60, try samples.withUnsafeMutableBufferPointer({ try decoder.read(into: $0) }) > 0 {
          rounds += 1
        }
      } catch is AudioError {
        continue
      }
    }
    #expect(peakMemory() - before < memoryLimit)
  }

  /// The position of the length of the sound in each container. Sources: AIFF-C (COMM, SSND), CAF 1.0 (data),
  /// RIFF (data), ISO/IEC 14496-12 (mdat), FLAC (STREAMINFO).
  @Test(
    "claiming 4 GB, has the frames that are there, in bounded memory",
    arguments: [
      ("base.aiff", "COMM", 10, 4), ("base.aiff", "SSND", 4, 4), ("base.caf", "data", 4, 8),
      ("base-24bit.wav", "data", 4, 4), ("aac-lc-44k.m4a", "mdat", 0, 0), ("music-44k.flac", "fLaC", 22, 4),
    ])
  func claims(name: String, chunk: String, distance: Int, size: Int) async {
    await #expect(processExitsWith: .success) { [name, chunk, distance, size] in
      try FormatTests().measuredClaims(name: name, chunk: chunk, distance: distance, size: size)
    }
  }

  private func measuredClaims(name: String, chunk: String, distance: Int, size: Int) throws {
    var bytes = try readBytes(Fixtures.path(name))
    let offset = try #require((0..<(bytes.count - 4)).first { bytes[$0...].starts(with: chunk.utf8) })
    let isLittle = name.hasSuffix("wav")
    let claim = (0..<size).map {
      UInt8(truncatingIfNeeded: 0xF000_0000 >> (8 * (isLittle ? $0 : size - 1 - $0)))
    }
    if chunk == "mdat" {
      bytes.replaceSubrange((offset - 4)..<offset, with: [0xF0, 0, 0, 0])
    } else {
      bytes.replaceSubrange((offset + distance)..<(offset + distance + size), with: claim)
    }
    let before = peakMemory()
    let path = try folder.write(bytes, to: "claim")
    let whole = try Sound(file: Fixtures.path(name))
    do {
      let sound = try Sound(file: path)
      #expect(sound.frameCount <= whole.frameCount && sound.frameCount >= whole.frameCount - 4096)
    } catch let error as AudioError {
      #expect(error.code == "audio.unreadable", "\(error)")
    }
    #expect(peakMemory() - before < memoryLimit)
  }
}
