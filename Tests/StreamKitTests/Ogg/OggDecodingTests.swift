import AudioCore
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import Codecs
@testable import Playback
@testable import StreamCore

@Suite("Ogg is decoded as it comes", .waiting, .tags(.stream, .ogg, .codecs)) struct OggDecodingTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func sound(_ frames: [(frame: StreamFrame, bytes: [UInt8])]) throws -> Sound {
    let buffer = StreamBuffer(blocks: 400, wait: .zero)
    for (frame, bytes) in frames { _ = bytes.withUnsafeBytes { buffer.append(frame, $0, nil) } }
    buffer.complete()
    return try Sound(decoding: StreamDecoder(buffer, map: PlayMap()))
  }

  private func reference(_ bytes: [UInt8], like sound: Sound) throws -> Sound {
    try Sound(ffmpeg: folder.write(bytes, to: "t.ogg"), format: sound.format)
  }

  @Test(
    "a stream sounds as ffmpeg decodes it, to the frame",
    arguments: [(OggProgramme.Kind.vorbis, -75.0), (.opus, -60), (.flac, -.infinity)])
  func whole(kind: OggProgramme.Kind, most: Double) throws {
    let programme = try OggProgramme(kind, seconds: 4.1)
    let sound = try sound(programme.frames)
    let reference = try reference(programme.bytes, like: sound)
    #expect(sound.frameCount == Int(4.1 * Double(kind.sampleRate)))
    #expect(sound.frameCount == reference.frameCount)
    #expect(sound.errorToSignal(against: reference) <= most, "\(sound.errorToSignal(against: reference)) dB")
  }

  @Test(
    "behind a chain's border the next stream sounds from its first frame on",
    arguments: OggProgramme.Kind.allCases)
  func chained(kind: OggProgramme.Kind) throws {
    let programme = try OggProgramme(kind, seconds: 2.3, titles: ["A - One", "A - Two", "B - Three"])
    let sound = try sound(programme.frames)
    let parts = try programme.streams.map { try reference($0, like: sound) }
    let whole = Sound(
      sampleRate: sound.sampleRate,
      channels: (0..<2).map { channel in parts.flatMap { $0.channels[channel] } })
    #expect(sound.frameCount == whole.frameCount)
    #expect(sound.errorToSignal(against: whole) <= -60, "\(sound.errorToSignal(against: whole)) dB")
  }

  @Test("playing begins in the midst of a stream, though its headers are no longer in the buffer")
  func evicted() throws {
    let programme = try OggProgramme(.vorbis, seconds: 20)
    // Some 10 s.
    let buffer = StreamBuffer(blocks: 32, wait: .zero)
    let frames = programme.frames
    for (frame, bytes) in frames { _ = bytes.withUnsafeBytes { buffer.append(frame, $0, nil) } }
    buffer.complete()
    #expect(buffer.range.start > StreamTime(seconds: 2))
    let sound = try Sound(decoding: StreamDecoder(buffer, map: PlayMap()))
    let reference = try reference(programme.bytes, like: sound)
    let rest = reference.frameCount - sound.frameCount
    #expect(sound.frameCount > 5 * 44_100 && rest > 2 * 44_100)
    #expect(sound.errorToSignal(against: reference[rest..<reference.frameCount]) <= -40)
  }

  /// Pages, as a decoder requests them.
  private final class Pages: FrameSource {
    private var rest: ArraySlice<[UInt8]>

    init(_ pages: [[UInt8]]) { rest = pages[...] }

    func nextFrame() -> [UInt8]? { rest.popFirst() }
  }

  @Test("a packet without an end takes no memory, and those behind it sound") func endlessPacket() throws {
    let programme = try OggProgramme(.opus, seconds: 3)
    let (headers, sound) = (programme.frames[0].bytes, programme.frames.dropFirst().map(\.bytes))
    // 20 MB in pages that continue each other, then its end with a packet of 20 ms.
    let endless = (0...300).map { number in
      OggProgramme.page(
        flags: number == 0 ? 0 : 1, granule: number == 300 ? 1_000_000 : -1, sequence: 1000 + number,
        lacing: number == 300 ? [3, 3] : [UInt8](repeating: 255, count: 255),
        number == 300
          ? [0xFC, 0xFF, 0xFE, 0xFC, 0xFF, 0xFE] : [0xFC] + [UInt8](repeating: 1, count: 65_024))
    }
    let decoder = try OggStreamDecoder(Pages(sound + endless), headers: headers)
    var buffer = [Float](repeating: 0, count: 8192)
    var (frames, held) = (0, 0)
    while case let count = try buffer.withUnsafeMutableBufferPointer({ try decoder.read(into: $0) }),
      count > 0
    {
      frames += count
      held = max(held, decoder.heldBytes)
    }
    // The endless packet is as long as its header says, 20 ms.
    #expect(frames == 3 * 48_000 + 2 * 960)

    var writer = OggWriter(try #require(OggHeaders(pages: headers)), serial: 1)
    for page in endless {
      _ = page.withUnsafeBytes { writer.add($0) }
      held = max(held, writer.heldBytes)
    }
    #expect((500_000...1_048_576).contains(held))
    #expect(writer.bytes < 1_000 && writer.samples > 0)
  }
}
