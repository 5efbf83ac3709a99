import AudioCore
import Codecs
import TestSupport
import TestTraits
import Testing

@testable import RecordingKit

@Suite("Recordings of decoded sound", .waiting, .tags(.stream, .recording, .codecs))
struct WAVBodyTests {
  /// Writes the frames of a stream into as many files as needed.
  /// - Returns: the sound of each file.
  private func written(
    _ stream: [UInt8], codec: Codec, longest: Int = .max, in folder: TemporaryFolder
  ) throws -> [Sound] {
    func path(_ number: Int) -> String { folder.file("\(longest)-\(number).wav") }
    var files = [try WAVBody(path: path(0), codec: codec, longest: longest)]
    var framing = AudioFraming()
    framing.feed(stream)
    framing.end()
    while let frame = framing.next()?.encoded {
      let bytes = stream[frame.offset..<frame.offset + frame.length]
      try files[files.count - 1].add(bytes, [bytes.count])
      while files[files.count - 1].isFull {
        files.append(try WAVBody(path: path(files.count), behind: files[files.count - 1]))
      }
    }
    for file in files { try file.finish() }
    return try files.indices.map { try Sound(file: path($0)) }
  }

  @Test("continue in the next file where one is full, without a sample between") func full() throws {
    let folder = try TemporaryFolder()
    let stream = try readBytes(Fixtures.path("mp3-vbr-v4-44k.mp3"))
    let whole = try #require(try written(stream, codec: .mp3, in: folder).first)
    let parts = try written(stream, codec: .mp3, longest: 30_000, in: folder)
    #expect(parts.count > 3 && parts.allSatisfy { $0.frameCount <= 30_000 })
    #expect(parts.flatMap(\.interleaved) == whole.interleaved)
  }

  @Test("continue in the next file when the sound is of another format within the same headers")
  func formats()
    throws
  {
    let folder = try TemporaryFolder()
    let high = try readBytes(Fixtures.path("he-aac-v1-48k.aac"))
    try Command.succeed(
      "ffmpeg",
      [
        "-v", "error", "-i", Fixtures.path("music-44k.flac"), "-t", "3", "-ar", "24000", "-ac", "2", "-c:a",
        "aac",
        "-f", "adts", folder.file("low.aac"),
      ])
    let low = try readBytes(folder.file("low.aac"))
    let parts = try written(low + high, codec: .aac, in: folder)
    #expect(parts.map(\.format.sampleRate) == [24_000, 48_000])
    #expect(parts.allSatisfy { $0.peak > 0.05 && $0.frameCount > 24_000 })
  }
}
