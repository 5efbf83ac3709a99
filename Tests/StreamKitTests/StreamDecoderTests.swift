import AudioCore
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import StreamCore

@Suite("The decoder of a stream", .waiting, .tags(.stream, .codecs, .playback))
struct StreamDecoderTests {
  /// Returns the frames of a file.
  private func frames(_ name: String) throws -> [(frame: StreamFrame, bytes: [UInt8])] {
    var framer = StreamFramer()
    try readBytes(Fixtures.path(name)).withUnsafeBytes { framer.feed($0) }
    framer.end()
    var frames: [(StreamFrame, [UInt8])] = []
    while let item = framer.next() {
      guard case .frame(let frame) = item, let bytes = framer.withBytes(of: frame, { [UInt8]($0) }) else {
        continue
      }
      frames.append((frame, bytes))
    }
    return frames
  }

  private func append(_ frames: some Sequence<(frame: StreamFrame, bytes: [UInt8])>, to buffer: StreamBuffer)
  {
    for (frame, bytes) in frames { _ = bytes.withUnsafeBytes { buffer.append(frame, $0, nil) } }
  }

  @Test(
    "a frame that comes in the very moment in which the last one is through sounds as if it had been there",
    arguments: ["mp3-vbr-v4-44k.mp3", "aac-lc-44k.aac", "he-aac-v1-48k.aac"])
  func comesAtOnce(name: String) throws {
    let frames = try frames(name)
    let (whole, parted) = (
      StreamBuffer(blocks: 200, wait: .zero), StreamBuffer(blocks: 200, wait: .zero)
    )
    append(frames, to: whole)
    _ = whole.complete()
    append(frames[..<20], to: parted)
    let isFirst = Lock(true)
    parted.onReadOut { [weak parted] in
      guard let parted,
        isFirst.withLock({ first in
          defer { first = false }
          return first
        })
      else { return }
      self.append(frames[20...], to: parted)
      _ = parted.complete()
    }
    let sounds = try [whole, parted].map { try Self.sound(StreamDecoder($0, map: PlayMap())) }
    #expect(sounds[0].count > 40_000 && sounds[0] == sounds[1])
  }

  private static func sound(_ decoder: StreamDecoder) throws -> [Float] {
    var (samples, chunk) = ([Float](), [Float](repeating: 0, count: 8192))
    for _ in 0..<10_000 {
      let count = try chunk.withUnsafeMutableBufferPointer { try decoder.read(into: $0) }
      samples += chunk[..<(count * decoder.format.channels)]
      if count == 0, !decoder.isWaiting { return samples }
    }
    throw TestFailure("the sound has no end")
  }
}
