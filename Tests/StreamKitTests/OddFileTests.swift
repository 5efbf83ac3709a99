import EventLoop
import HTTP
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import Reception
@testable import RecordingKit
@testable import StreamCore

/// Files of servers that give no parts of them, no length, or nothing at all.
@Suite("Odd files", .waiting, .tags(.stream, .files)) struct OddFileTests {
  @Test(
    "FLAC without a length plays as a file: a tag behind it is no sound", arguments: [true, false])
  func openFLAC(isTagged: Bool) throws {
    let station = try Station()
    let path = Fixtures.path("music-44k.flac")
    let tag = isTagged ? Array("TAG".utf8) + [UInt8](repeating: 0x20, count: 125) : []
    station.answer("/file", with: .page(try readBytes(path) + tag, type: "audio/flac").chunked(3_000))
    let (sound, reference) = (try FileHarness.sound(station), try Sound(file: path))
    #expect(sound.format == reference.format)
    #expect(abs(sound.frameCount - reference.frameCount) <= 2, "\(sound.frameCount), \(reference.frameCount)")
    #expect(sound.errorToSignal(against: reference) < -80)
  }

  @Test(
    "a file without a length, whose sound has no frames, is recorded once, byte for byte, and played",
    arguments: [("music-44k.flac", "audio/flac"), ("base-24bit.wav", "audio/wav")])
  func unframed(name: String, type: String) throws {
    let bytes = try readBytes(Fixtures.path(name))
    let station = try Station()
    for path in ["/live", "/file"] { station.answer(path, with: .page(bytes, type: type).chunked(3_000)) }
    try RecordingHarness.run(station) { harness in
      let recording = try await harness.record("show.{ext}")
      try await harness.wait { harness.reported.contains("finished") }
      #expect(recording.state == .finished && recording.path.hasSuffix(name.suffix(4)))
      #expect(try readBytes(recording.path) == bytes)
    }
    #expect(station.visits.count == 1)
    let (sound, reference) = (try FileHarness.sound(station), try Sound(file: Fixtures.path(name)))
    #expect(abs(sound.frameCount - reference.frameCount) <= 2)
  }

  @Test("a file that is cut at the same byte each time, without ranges, fails in words, in bounded time")
  func endsEarly() throws {
    let station = try Station()
    let file = Answer.file(FileHarness.wave(seconds: 20), type: "audio/wav").withoutRanges()
    // A connection that brings more is progress.
    station.answer("/file", with: [60_000, 60_000, 60_000, 150_000].map { file.dropping(at: $0) })
    try FileHarness.run(station) { harness in
      try await harness.stream.start()
      try await harness.wait { harness.stream.status == .stopped }
      let error = try #require(harness.failure)
      #expect(error.kind == .network && error.hint?.contains("another server") == true)
      #expect(
        error.message
          == "\(station.url("/file")) can't be received beyond byte 150000: its server ends each connection by there, "
          + "and sends no parts of files (Range)")
    }
    #expect(station.visits.count == 4 + FileRestarts.limit)
  }

  @Test("an answer without a byte says so", arguments: [true, false])
  func emptyAnswer(hasLength: Bool) throws {
    let station = try Station()
    let empty = Answer.page([], type: "audio/mpeg")
    station.answer("/file", with: hasLength ? empty : empty.chunked(100))
    try FileHarness.run(station) { harness in
      let error = await #expect(throws: StreamError.self) { try await harness.stream.start() }
      #expect(
        error?.message == "\(station.url("/file")) sent an empty answer: HTTP 200 without a byte of sound")
      #expect(error?.kind == .content && error?.hint?.contains("on the air") == true)
    }
  }

  @Test("a certificate that nobody vouches for names the ways to trust it")
  func selfSigned() throws {
    let server = try SecureServer()
    let loop = EventLoop()
    let network = try NetworkThread()
    defer { network.close() }
    let address = try StreamAddress("https://localhost:\(server.port)/")
    let stream = Playback.Stream(at: address, options: .init(), loop: loop, network: { network })
    try loop.finish(
      {
        let error = await #expect(throws: StreamError.self) { try await stream.start() }
        #expect(error?.kind == .network && error?.message.contains("self-signed certificate") == true)
        #expect(error?.hint?.contains("--ca-file FILE") == true && error?.hint?.contains("ca_file") == true)
      }, last: { stream.stop() })
  }

  /// Returns the head of a tag of ID3v2 that claims `size` bytes behind it.
  private func tag(claiming size: Int) -> [UInt8] {
    Array("ID3".utf8) + [4, 0, 0] + (0..<4).map { UInt8(size >> (7 * (3 - $0)) & 0x7F) }
  }

  @Test(
    "sound is found behind a tag that claims more than the file has",
    arguments: ["mp3-without-tag.mp3", "aac-lc-44k.aac"], [true, false])
  func lyingTag(name: String, hasLength: Bool) throws {
    let station = try Station()
    // A picture that is longer than what is searched for a first frame elsewhere.
    var random = SeededRandom(seed: 8)
    let start = tag(claiming: 200_000_000) + random.bytes(100_000)
    let bytes = try start + readBytes(Fixtures.path(name))
    let file = Answer.file(bytes, type: "audio/mpeg")
    station.answer("/file", with: hasLength ? file : .page(bytes, type: "audio/mpeg").chunked(5_000))
    let (sound, reference) = (try FileHarness.sound(station), try Sound(file: Fixtures.path(name)))
    #expect(abs(sound.frameCount - reference.frameCount) <= 2 * 1152)

    let folder = try TemporaryFolder()
    let short = try folder.write(tag(claiming: 200_000_000) + readBytes(Fixtures.path(name)), to: "short")
    let local = try Sound(file: short)
    #expect(abs(local.frameCount - reference.frameCount) <= 2)
  }

  @Test("a station with a tag that claims hours is heard")
  func lyingTagOfStation() throws {
    let frames = try readBytes(Fixtures.path("mp3-without-tag.mp3"))
    var live = Live(Programme(repeating: frames, bytesPerSecond: 8_000))
    live.preRoll = tag(claiming: 100_000_000)
    let station = try Station()
    station.answer("/live", with: .live(live))
    let receiver = try Receiver(station)
    #expect(receiver.wait(for: "format mp3"), "\(receiver.events)")
    _ = receiver.end()
  }
}
