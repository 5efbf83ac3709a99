import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import RecordingKit
@testable import StreamCore

@Suite("the MD5 in a recording of FLAC", .waiting, .tags(.stream, .ogg, .recording)) struct FLACSumTests {
  private typealias Frames = [(frame: StreamFrame, bytes: [UInt8])]

  private static let unset = String(repeating: "0", count: 32)

  /// Returns noise as interleaved little-endian samples.
  private static func noise(frames: Int, channels: Int, bits: Int) -> [UInt8] {
    var random = SeededRandom(seed: UInt64(bits * channels))
    return (0..<(frames * channels)).flatMap { _ -> [UInt8] in
      let sample = Int64(random.next() % 1 << UInt64(bits - 2)) - 1 << Int64(bits - 3)
      return (0..<((bits + 7) / 8)).map { UInt8(truncatingIfNeeded: sample >> Int64(8 * $0)) }
    }
  }

  /// Returns samples as FLAC in Ogg.
  private static func encoded(_ samples: [UInt8], channels: Int, bits: Int, in folder: TemporaryFolder) throws
    -> [UInt8]
  {
    let (raw, path) = (try folder.write(samples, to: "raw"), folder.file("encoded.oga"))
    try Command.succeed(
      "flac",
      [
        "-s", "-f", "--ogg", "--force-raw-format", "--endian=little", "--sign=signed", "--sample-rate=48000",
        "--channels=\(channels)", "--bps=\(bits)", "-o", path, raw,
      ])
    return try readBytes(path)
  }

  /// Returns frames of some seconds of noise, 16 bits in stereo; the first are the headers.
  private static func frames() throws -> Frames { OggProgramme.frames(of: try bytes()) }
  private static func bytes() throws -> [UInt8] {
    let samples = noise(frames: 200_000, channels: 2, bits: 16)
    return try encoded(samples, channels: 2, bits: 16, in: TemporaryFolder())
  }

  /// Records frames to their end.
  private func record(
    _ frames: some Sequence<(frame: StreamFrame, bytes: [UInt8])>, to harness: WriterHarness
  ) {
    harness.queue.mark(StreamTitle("T"))
    for (frame, bytes) in frames { bytes.withUnsafeBytes { harness.queue.append(frame, $0) } }
    harness.pass()
    harness.end()
  }

  /// Returns the MD5 in the first headers in `bytes`, as digits.
  private func stated(_ bytes: [UInt8]) throws -> String {
    let magic = try #require(bytes.indices.first { bytes[$0...].starts(with: "fLaC".utf8) })
    return bytes[(magic + 26)..<(magic + 42)].map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
      .joined()
  }

  /// Returns what `flac -t` prints of a file.
  private func test(_ path: String) throws -> String {
    let result = try Command.run("flac", ["-s", "-t", path])
    return "\(result.status) " + String(decoding: result.output + result.errors, as: UTF8.self)
  }

  @Test("is that of its samples at the width of whole bytes", arguments: [(16, 2), (8, 1), (24, 3)])
  func samples(bits: Int, channels: Int) throws {
    let harness = try WriterHarness("a.oga")
    let samples = Self.noise(frames: 100_000, channels: channels, bits: bits)
    let bytes = try Self.encoded(samples, channels: channels, bits: bits, in: harness.folder)
    record(OggProgramme.frames(of: bytes), to: harness)
    let path = harness.folder.file("a.oga")
    let sum = try Command.succeed("md5sum", [harness.folder.file("raw")]).text.prefix(32)
    #expect(try stated(readBytes(path)) == sum)
    #expect(try test(path) == "0 ")
  }

  @Test("is that of the sound that is there, of a stream from its midst") func midst() throws {
    let (frames, harness) = (try Self.frames(), try WriterHarness("a.oga"))
    record([frames[0]] + frames[4...], to: harness)
    let path = harness.folder.file("a.oga")
    #expect(try stated(readBytes(path)) != Self.unset)
    #expect(try test(path) == "0 ")
  }

  /// Returns the length in PCM frames that a program decodes of a file.
  private func lengths(_ path: String, in folder: TemporaryFolder) throws -> [Int] {
    let (one, other) = (folder.file("flac.raw"), folder.file("ffmpeg.raw"))
    try Command.succeed(
      "flac", ["-s", "-d", "-f", "--force-raw-format", "--endian=little", "--sign=signed", "-o", one, path])
    try Command.succeed("ffmpeg", ["-v", "error", "-y", "-i", path, "-f", "s16le", other])
    let (first, second) = (try readBytes(one), try readBytes(other))
    #expect(first == second)
    return [first.count / 4, second.count / 4]
  }

  @Test(
    "is that of the sound that is there when pages are missing: all decoders agree on its length",
    arguments: [0, 4])
  func lost(first: Int) throws {
    let frames = try Self.frames()
    let harness = try WriterHarness("a.oga")
    record([frames[0]] + frames[(1 + first)..<7] + frames[8..<10] + frames[13...], to: harness)
    let path = harness.folder.file("a.oga")
    let samples = try RecordedFrames.walk(path).samples
    #expect(try lengths(path, in: harness.folder) == [samples, samples])
    #expect(try stated(readBytes(path)) != Self.unset)
    #expect(try test(path) == "0 ")
  }

  @Test("is that of the sound when a page was damaged on the way, which is not recorded") func damagedPage()
    throws
  {
    var bytes = try Self.bytes()
    let frames = OggProgramme.frames(of: bytes)
    bytes[frames[5].frame.offset + 1000] ^= 1
    let harness = try WriterHarness("a.oga")
    record(OggProgramme.frames(of: bytes), to: harness)
    let path = harness.folder.file("a.oga")
    #expect(try RecordedFrames.walk(path).frames == frames.count - 2)
    #expect(try stated(readBytes(path)) != Self.unset)
    #expect(try test(path) == "0 ")
  }

  @Test("is unset when a packet of a good page is damaged") func damagedPacket() throws {
    var bytes = try Self.bytes()
    let frames = OggProgramme.frames(of: bytes)
    let page = frames[5].frame
    bytes[page.offset + 1000] ^= 1
    let granule = (0..<8).reduce(0) { $0 | Int(bytes[page.offset + 6 + $1]) << (8 * $1) }
    OggProgramme.move(page.offset..<(page.offset + page.length), of: &bytes, to: granule)
    let harness = try WriterHarness("a.oga")
    record(OggProgramme.frames(of: bytes), to: harness)
    let path = harness.folder.file("a.oga")
    #expect(try RecordedFrames.walk(path).frames == frames.count - 1)
    #expect(try stated(readBytes(path)) == Self.unset)
  }

  @Test("is that of what is left in a file that was cut at its end for the next one") func cutForNext()
    throws
  {
    let frames = try Self.frames()
    let harness = try WriterHarness("{title}.oga") {
      $0.split = .init()
      $0.split?.offset = .seconds(-1)
    }
    harness.queue.mark(StreamTitle("One"))
    for (index, (frame, bytes)) in frames.enumerated() {
      if index == frames.count / 2 { harness.queue.mark(StreamTitle("Two")) }
      bytes.withUnsafeBytes { harness.queue.append(frame, $0) }
    }
    harness.pass()
    harness.end()
    let files = harness.files.filter { $0.hasSuffix(".oga") }.map { harness.folder.file($0) }
    try #require(files.count == 2)
    let lengths = try files.map { try RecordedFrames.walk($0).samples }
    let came = frames[1...(frames.count / 2)].reduce(0) { $0 + $1.frame.samples }
    #expect(lengths.reduce(0, +) == 200_000 && lengths[0] < came)
    for file in files {
      #expect(try stated(readBytes(file)) != Self.unset)
      #expect(try test(file) == "0 ")
    }
  }

  @Test("of a file that is continued is in each of its streams") func continued()
    throws
  {
    let frames = try Self.frames()
    let first = try WriterHarness("a.oga")
    record(frames[..<10], to: first)
    let path = first.folder.file("a.oga")
    let before = try readBytes(path)
    let second = try WriterHarness("a.oga", { $0.appends = true }, in: first.folder)
    // The number of its stream is made of its time.
    for _ in 0..<4 { second.pass() }
    record(frames, to: second)
    let bytes = try readBytes(path)
    #expect(bytes.count > before.count && bytes.starts(with: before))
    #expect(try stated(before) != Self.unset)
    let rest = try first.folder.write(Array(bytes[before.count...]), to: "rest.oga")
    #expect(try stated(readBytes(rest)) != Self.unset)
    for file in [path, rest] { #expect(try test(file) == "0 ") }

    // The end of the second is cut off, and the first stays as it is.
    try Command.succeed("truncate", ["-s", "-100", path])
    try RecordingLibrary.cutFile(path, to: try RecordedFrames.lastFrameEnd(path))
    try OggRecording.restate(path)
    let cut = try readBytes(path)
    #expect(cut.count < bytes.count && cut.starts(with: before))
    let restCut = try first.folder.write(Array(cut[before.count...]), to: "cut.oga")
    #expect(try test(restCut) == "0 ")
    #expect(try stated(readBytes(restCut)) != stated(readBytes(rest)))
  }

  @Test("is made anew when the end of the file is gone, of what is left behind and by repair")
  func removed() throws {
    let harness = try WriterHarness("a.oga")
    record(try Self.frames(), to: harness)
    let whole = try readBytes(harness.folder.file("a.oga"))
    #expect(try stated(whole) != Self.unset)
    let fixture = try LibraryFolder()
    try fixture.left("show.oga", row: 0..<0, part: Array(whole.dropLast(100))) {
      ($0.codec, $0.sampleRate, $0.channels) = ("oggflac", 48_000, 2)
    }
    #expect(try fixture.library.recover(now: fixture.now).map(\.outcome) == [.named])
    #expect(try ![Self.unset, stated(whole)].contains(stated(readBytes(fixture.path("show.oga")))))
    #expect(try test(fixture.path("show.oga")) == "0 ")

    try Command.succeed("cp", [harness.folder.file("a.oga"), fixture.path("show.oga")])
    try Command.succeed("truncate", ["-s", "-100", fixture.path("show.oga")])
    let repaired = try fixture.library.repair(now: fixture.now)
    guard case .cut = repaired.first?.outcome else { throw Failure("\(repaired)") }
    #expect(try ![Self.unset, stated(whole)].contains(stated(readBytes(fixture.path("show.oga")))))
    #expect(try test(fixture.path("show.oga")) == "0 ")
  }

  @Test("no frame is changed for it while none is missing") func unchanged() throws {
    let frames = try Self.frames()
    let first = try WriterHarness("a.oga")
    record(frames, to: first)
    let whole = try readBytes(first.folder.file("a.oga"))
    let content = { (bytes: [UInt8]) in
      OggProgramme.frames(of: bytes).dropFirst().map { Array($0.bytes.dropFirst(27 + Int($0.bytes[26]))) }
    }
    #expect(content(whole) == frames.dropFirst().map { Array($0.bytes.dropFirst(27 + Int($0.bytes[26]))) })
  }

  private struct Failure: Error {
    let text: String
    init(_ text: String) { self.text = text }
  }
}
