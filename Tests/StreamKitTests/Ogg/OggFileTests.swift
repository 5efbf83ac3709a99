import AudioCore
import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import Reception
@testable import RecordingKit
@testable import StreamCore

@Suite("Files of Ogg", .waiting, .tags(.stream, .ogg, .files)) struct OggFileTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("a chain on a disk sounds to its end, and seeks to a frame", arguments: OggProgramme.Kind.allCases)
  func chain(kind: OggProgramme.Kind) throws {
    let programme = try OggProgramme(kind, seconds: 2.5, titles: ["A - One", "A - Two", "B - Three"])
    let parts = try programme.streams.map {
      try Sound(ffmpeg: folder.write($0, to: "part"), format: .init(sampleRate: kind.sampleRate, channels: 2))
    }
    let whole = Sound(
      sampleRate: kind.sampleRate,
      channels: (0..<2).map { channel in parts.flatMap { $0.channels[channel] } })
    let decoder = try AudioFile.open(folder.write(programme.bytes, to: "chain"))
    #expect(decoder.frameCount == whole.frameCount)
    let sound = try Sound(decoding: decoder)
    #expect(sound.frameCount == whole.frameCount)
    #expect(sound.errorToSignal(against: whole) <= -60, "\(sound.errorToSignal(against: whole)) dB")
    for frame in [100_000, 0, 260_000, 130_001, whole.frameCount] {
      try decoder.seek(toFrame: frame)
      let rest = try Sound(decoding: decoder)
      #expect(rest.frameCount == whole.frameCount - frame, "at \(frame)")
      guard rest.frameCount > 0 else { continue }
      let error = rest.errorToSignal(against: whole[frame..<whole.frameCount])
      #expect(error <= (kind == .opus ? -40 : -60), "\(error) dB at \(frame)")
    }
    #expect(throws: AudioError.self) { try decoder.seek(toFrame: whole.frameCount + 1) }
  }

  /// Feeds a parser the bytes that it asks for, until `limit` frames have come, and returns them with their times.
  private func frames(
    _ parser: inout any FileParser, of bytes: [UInt8], from start: Int, limit: Int = .max
  ) -> [(time: StreamTime, frame: StreamFrame)] {
    var (position, time, frames, jumps) = (start, StreamTime.zero, [(StreamTime, StreamFrame)](), 0)
    while frames.count < limit {
      guard let item = parser.next() else {
        let piece = bytes[min(position, bytes.count)...].prefix(8_192)
        position += piece.count
        if piece.isEmpty { parser.end() } else { piece.withUnsafeBytes { parser.feed($0) } }
        continue
      }
      switch item {
      case .format: break
      case .begins(let begin): time = begin
      case .jump(let to):
        (position, jumps) = (to, jumps + 1)
        guard jumps < 6 else { return frames }
      case .frame(let frame, _):
        frames.append((time, frame))
        time = time + frame.duration
      case .end, .unusable: return frames
      }
    }
    return frames
  }

  @Test("a file of a server has its length, and seeks to a page", arguments: OggProgramme.Kind.allCases)
  func remote(kind: OggProgramme.Kind) throws {
    let bytes = try OggProgramme(kind, seconds: 30).bytes
    var parser = try FileKind.parser(for: Array(bytes.prefix(12)), contentType: nil, size: bytes.count).get()
    #expect(frames(&parser, of: bytes, from: 0, limit: 3).map(\.frame.isHeaders) == [true, false, false])
    #expect(abs((parser.duration ?? 0) - 30) < 0.001, "\(parser.duration ?? 0)")
    for target in [12.3, 0, 28.9, 5] {
      let from = parser.seek(to: StreamTime(seconds: target))
      let found = frames(&parser, of: bytes, from: try #require(from))
      #expect(found.first?.frame.isHeaders == true)
      let begin = try #require(found.first?.time.seconds)
      #expect(begin <= target && begin >= target - 4, "\(begin) for \(target)")
      // The times are those of the pages: the last ends with the file.
      let end = (found.last?.time.seconds ?? 0) + (found.last?.frame.duration.seconds ?? 0)
      #expect(abs(end - 30) < 0.05, "\(end)")
    }
  }

  @Test(
    "positions near the end of all numbers are none, on a disk and at a server",
    arguments: OggProgramme.Kind.allCases, [Int.max, .max - 1, 1 << 62, .min])
  func positions(kind: OggProgramme.Kind, granule: Int) throws {
    // Of a stream whose beginning is not known, the padding in front sounds.
    let most = 3 * kind.sampleRate + 2 * 4096
    for titles in [["A - One"], ["A - One", "A - Two"]] {
      let programme = try OggProgramme(kind, seconds: 1.5, titles: titles)
      for index in [1, programme.frames.count - 1] {
        let page = programme.frames[index].frame
        var bytes = programme.bytes
        OggProgramme.move(page.offset..<(page.offset + page.length), of: &bytes, to: granule)
        let path = try folder.write(bytes, to: "moved")
        if let decoder = try? AudioFile.open(path) {
          let length = decoder.frameCount ?? 0
          #expect((0...most).contains(length), "\(length) frames, page \(index)")
          _ = try? Sound(decoding: decoder)
          try? decoder.seek(toFrame: length / 2)
          _ = try? Sound(decoding: decoder)
        }
        var parser = try FileKind.parser(for: Array(bytes.prefix(12)), contentType: nil, size: bytes.count)
          .get()
        _ = frames(&parser, of: bytes, from: 0, limit: 3)
        if let from = parser.seek(to: StreamTime(seconds: 1)) { _ = frames(&parser, of: bytes, from: from) }
        #expect((parser.duration ?? 0) < 4, "\(parser.duration ?? 0) s, page \(index)")
        #expect(try RecordedFrames.walk(path).samples <= most)
      }
    }
  }

  @Test("a chain of a server plays to its end, without a length") func remoteChain() throws {
    let programme = try OggProgramme(.vorbis, seconds: 12, titles: ["A - One", "A - Two"])
    let bytes = programme.bytes
    var parser = try FileKind.parser(for: Array(bytes.prefix(12)), contentType: nil, size: bytes.count).get()
    let found = frames(&parser, of: bytes, from: 0)
    let start = parser.seek(to: .zero)
    #expect(parser.duration == nil && start == nil)
    #expect(found.map(\.frame.isHeaders) == programme.frames.map(\.frame.isHeaders))
    #expect(found.reduce(0) { $0 + $1.frame.samples } == 24 * 44_100)
  }

  @Test("a simulated station sends Ogg, whose headers come with each round") func simulated() throws {
    let path = try folder.write(OggProgramme(.vorbis, seconds: 4).bytes, to: "show.ogg")
    let sound = try StationSound(file: path)
    #expect(sound.format(of: 0).codec == .vorbis)
    // The headers of the second round come right behind the first.
    let second = sound.count(by: StreamTime(seconds: 4))
    #expect(sound.headers(of: 3) == 0 && sound.headers(of: second + 2) == second - 1)
    #expect(sound.withFrame(second - 1) { frame, _ in frame.isHeaders })
  }
}
