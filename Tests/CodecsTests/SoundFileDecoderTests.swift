import AudioCore
import Codecs
import Glibc
import Synchronization
import TestSupport
import TestTraits
import Testing

@Suite("Sound file decoder", .tags(.codecs, .files)) struct SoundFileDecoderTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func decode(_ wav: WAVBytes, data: [UInt8]) throws -> [Float] {
    try Sound(file: folder.write(wav.bytes(data: data), to: "t.wav")).interleaved
  }

  @Test("16 bits arrive exactly, all of them") func sixteenBits() throws {
    let numbers = Array(Int16.min...Int16.max)
    let data = numbers.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    let samples = try decode(WAVBytes(bits: 16, channels: 2), data: data)
    #expect(samples == numbers.map { Float($0) / 32_768 })
  }

  @Test("8, 24 and 32 bits and floats have the same full scale") func otherDepths() throws {
    #expect(try decode(WAVBytes(bits: 8, channels: 1), data: [0, 64, 128, 192]) == [-1, -0.5, 0, 0.5])
    #expect(
      try decode(WAVBytes(bits: 24, channels: 1), data: [0, 0, 0x80, 1, 0, 0, 0, 0, 0x40, 0xFF, 0xFF, 0x7F])
        == [-1, 0x1p-23, 0.5, 1 - 0x1p-23])
    #expect(
      try decode(WAVBytes(bits: 32, channels: 1), data: [0, 0, 0, 0x80, 0, 0, 0, 0x20, 0, 1, 0, 0])
        == [-1, 0.25, 0x1p-23])
    let floats: [Float] = [0.1, -1.5, 0x1p-30]
    let data = floats.flatMap { value in
      (0..<4).map { UInt8(truncatingIfNeeded: value.bitPattern >> (8 * $0)) }
    }
    #expect(try decode(WAVBytes(format: 3, bits: 32, channels: 1), data: data) == floats)
  }

  @Test("FLAC, AIFF, CAF, AU and RF64 decode to the samples that ffmpeg decodes")
  func otherContainers() throws {
    let flac = Fixtures.path("music-44k.flac")
    let sound = try Sound(file: flac)
    #expect(sound.format == AudioFormat(sampleRate: 44_100, channels: 2))
    #expect(sound == (try Sound(ffmpeg: flac, format: sound.format)))
    for name in ["t.aiff", "t.caf", "t.au"] {
      try Command.succeed("ffmpeg", ["-v", "error", "-i", flac, "-c:a", "pcm_s16be", folder.file(name)])
      #expect(try Sound(file: folder.file(name)) == sound, "\(name)")
    }
    try Command.succeed("ffmpeg", ["-v", "error", "-i", flac, "-rf64", "always", folder.file("rf64.wav")])
    #expect(try Sound(file: folder.file("rf64.wav")) == sound)
  }

  @Test("Ogg Vorbis is decoded") func vorbis() throws {
    let (flac, ogg) = (Fixtures.path("music-44k.flac"), folder.file("t.ogg"))
    try Command.succeed("ffmpeg", ["-v", "error", "-i", flac, "-c:a", "libvorbis", "-q:a", "8", ogg])
    let sound = try Sound(file: ogg)
    #expect(sound.alignment(to: try Sound(file: flac)).correlation > 0.99)
  }

  @Test("a seek continues with the frames from there on", arguments: ["flac", "wav"])
  func seeks(kind: String) throws {
    let whole = try Sound(file: Fixtures.path("music-44k.flac"))
    let path = kind == "flac" ? Fixtures.path("music-44k.flac") : folder.file("t.wav")
    if kind == "wav" { try whole.write(to: path) }
    let decoder = try AudioFile.open(path)
    #expect(decoder.frameCount == whole.frameCount)
    for frame in [40_000, 0, 12_345, 4096, whole.frameCount] {
      try decoder.seek(toFrame: frame)
      #expect(try Sound(decoding: decoder) == whole[frame..<whole.frameCount], "at \(frame)")
    }
    #expect(throws: AudioError.self) { try decoder.seek(toFrame: whole.frameCount + 1) }
    #expect(throws: AudioError.self) { try decoder.seek(toFrame: -1) }
  }

  @Test("a file that ends early has the frames that are there") func truncated() throws {
    let data = [UInt8](repeating: 1, count: 4000)
    var bytes = WAVBytes(bits: 16, channels: 2).bytes(data: data)
    bytes.removeLast(1001)
    let decoder = try AudioFile.open(folder.write(bytes, to: "cut.wav"))
    #expect(decoder.frameCount == 749)
    #expect(try Sound(decoding: decoder).frameCount == 749)
  }

  @Test("a header that claims 2 GB or more has the frames that are there")
  func claims() async {
    await #expect(processExitsWith: .success) {
      try SoundFileDecoderTests().measuredClaims()
    }
  }

  private func measuredClaims() throws {
    for claim in [2_000_000_000, 0x7FFF_FFFF, 0xFFFF_FFFF] {
      let bytes = WAVBytes(bits: 16, channels: 2, claimedSize: claim).bytes(data: [1, 0, 2, 0, 3, 0, 4, 0])
      let before = peakMemory()
      let decoder = try AudioFile.open(folder.write(bytes, to: "claim.wav"))
      #expect(decoder.frameCount == 2)
      #expect(try Sound(decoding: decoder).frameCount == 2)
      #expect(peakMemory() - before < memoryLimit)
    }
  }

  @Test("a FLAC file that claims a gigabyte ends where it ends") func flacClaims() throws {
    var bytes = try readBytes(Fixtures.path("music-44k.flac"))
    // STREAMINFO: the total number of samples is the 36 bits up to byte 26.
    bytes.replaceSubrange(22..<26, with: [0x3F, 0xFF, 0xFF, 0xFF])
    let decoder = try AudioFile.open(folder.write(bytes, to: "claim.flac"))
    #expect(try Sound(decoding: decoder).frameCount == 44_100)
  }

  @Test("channels and rates that nothing can play are refused by name") func absurd() throws {
    let many = WAVBytes(bits: 8, channels: 200).bytes(data: [UInt8](repeating: 0, count: 400))
    #expect(throws: AudioError.self) { try AudioFile.open(folder.write(many, to: "many.wav")) }
    let slow = WAVBytes(bits: 8, channels: 1, sampleRate: 3).bytes(data: [0])
    #expect(throws: AudioError.self) { try AudioFile.open(folder.write(slow, to: "slow.wav")) }
  }

  @Test("a damaged file closes no descriptor but its own") func damagedFileAndDescriptors() throws {
    let damaged = try folder.write(Array("RIFF0000WAVE".utf8), to: "damaged.wav")
    let isDone = Atomic(false)
    let strays = Atomic(0)
    let other = try TestThread {
      while !isDone.load(ordering: .acquiring) {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        TestThread.yield()
        if close(descriptor) != 0 { strays.add(1, ordering: .relaxed) }
      }
    }
    for _ in 0..<2_000 { #expect(throws: AudioError.self) { try AudioFile.open(damaged) } }
    isDone.store(true, ordering: .releasing)
    other.join()
    #expect(strays.load(ordering: .relaxed) == 0)
  }
}
