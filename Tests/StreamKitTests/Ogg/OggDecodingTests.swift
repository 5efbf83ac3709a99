import AudioCore
import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import StreamKit

@Suite("Ogg is decoded as it comes", .waiting) struct OggDecodingTests {
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
}
