import AudioCore
import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

/// Mutated fixtures as input of all parsers of bytes from the network or from foreign files.
///
/// A few hundred or thousand cases each, always the same; `scripts/dev/test --fuzz` runs more.
@Suite("Mutated files and streams", .tags(.codecs, .hostile)) struct FuzzTests {
  /// Runs `body` with mutations of the first `length` bytes of the fixtures.
  private func run(
    _ names: [String], cases: Int, length: Int, _ body: ([UInt8], inout SeededRandom) throws -> Void
  ) throws {
    let sources = try names.map { try Array(readBytes(Fixtures.path($0)).prefix(length)) }
    var (mutation, random) = (Mutation(seed: 1), SeededRandom(seed: 1))
    let before = peakMemory()
    for index in 0..<cases {
      do {
        try body(mutation.apply(to: sources[index % sources.count]), &random)
      } catch is AudioError {}
    }
    #expect(peakMemory() - before < memoryLimit)
  }

  /// Feeds a framing in pieces of random size: the same frames as in one piece, each whole, in order.
  private func check<Framing: AnyFraming>(_: Framing.Type, _ bytes: [UInt8], _ random: inout SeededRandom) {
    let whole = Framing.scan(bytes)
    let pieces = Framing.scan(bytes, pieces: Int.random(in: 1...3000, using: &random))
    #expect(whole.frames == pieces.frames && whole.skipped == pieces.skipped)
    var end = 0
    for frame in whole.frames {
      #expect(frame.offset >= end && frame.length > frame.headerLength)
      end = frame.offset + frame.length
    }
    #expect(end <= bytes.count)
  }

  @Test("ADTS framing")
  func adts() async {
    await #expect(processExitsWith: .success) {
      try FuzzTests().measuredADTS()
    }
  }

  private func measuredADTS() throws {
    try run(["aac-lc-44k.aac", "he-aac-v2-48k.aac"], cases: 3000, length: 4000) { bytes, random in
      check(ADTSFraming.self, bytes, &random)
    }
  }

  @Test("MPEG audio framing")
  func mpeg() async {
    await #expect(processExitsWith: .success) {
      try FuzzTests().measuredMPEG()
    }
  }

  private func measuredMPEG() throws {
    let names = ["mp3-cbr128-44k.mp3", "mp3-mpeg25-32-11k-mono.mp3", "mp3-without-tag.mp3"]
    try run(names, cases: 3000, length: 4000) { bytes, random in
      check(MPEGAudioFraming.self, bytes, &random)
    }
  }

  /// A file with little sound, so that mutations hit boxes.
  @Test("MP4 files")
  func mp4() async {
    await #expect(processExitsWith: .success) {
      try FuzzTests().measuredMP4()
    }
  }

  private func measuredMP4() throws {
    let folder = try TemporaryFolder()
    var file = try MP4File(adts: "he-aac-v1-48k.aac", configuration: [0x13, 0x10])
    file.frames = file.frames.prefix(6).map { $0 }
    file.inTrack = MP4File.edits([(100, 1024)])
    file.inMovie = MP4File.iTunes(delay: 100, padding: 10, length: 5000)
    file.isMoovFirst = true
    try file.bytes().withUnsafeBufferPointer { whole in
      let bytes = Array(whole)
      let path = folder.file("t.m4a")
      var mutation = Mutation(seed: 2)
      try run(["aac-lc-44k.m4a"], cases: 3000, length: 6000) { other, random in
        let isOwn = Bool.random(using: &random)
        _ = try folder.write(isOwn ? mutation.apply(to: bytes) : other, to: "t.m4a")
        try drain(AudioFile.open(path), &random)
      }
    }
  }

  @Test("AAC, to samples")
  func aac() async {
    await #expect(processExitsWith: .success) {
      try FuzzTests().measuredAAC()
    }
  }

  private func measuredAAC() throws {
    let folder = try TemporaryFolder()
    let names = ["aac-lc-44k.aac", "he-aac-v1-48k.aac", "he-aac-v2-48k.aac"]
    try run(names, cases: 600, length: 4000) { bytes, random in
      try drain(AudioFile.open(folder.write(bytes, to: "t.aac")), &random)
    }
  }

  @Test("MP3, to samples")
  func mp3() async {
    await #expect(processExitsWith: .success) {
      try FuzzTests().measuredMP3()
    }
  }

  private func measuredMP3() throws {
    let folder = try TemporaryFolder()
    let names = ["mp3-vbr-v4-44k.mp3", "mp3-mpeg25-32-11k-mono.mp3", "mp3-mpeg2-64-22k.mp3"]
    try run(names, cases: 600, length: 4000) { bytes, random in
      try drain(AudioFile.open(folder.write(bytes, to: "t.mp3")), &random)
    }
  }

  /// Seeks and reads to the end, which must be reached.
  private func drain(_ decoder: any Decoder, _ random: inout SeededRandom) throws {
    var samples = [Float](repeating: 0, count: 4096)
    if let count = decoder.frameCount, count > 0, Bool.random(using: &random) {
      try decoder.seek(toFrame: Int.random(in: 0...min(count, 1_000_000), using: &random))
    }
    var rounds = 0
    while try samples.withUnsafeMutableBufferPointer({ try decoder.read(into: $0) }) > 0 {
      rounds += 1
      #expect(rounds < 10_000)
      if rounds == 10_000 { break }
    }
  }
}
