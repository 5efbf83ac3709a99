import Codecs
import EventLoop
import TestSupport

@testable import StreamCore

/// Sound in Ogg, encoded by ffmpeg: logical streams that follow on each other, each with a title.
struct OggProgramme: Sendable {
  /// A codec, with the options of ffmpeg for it.
  enum Kind: String, CaseIterable, Sendable {
    case vorbis, opus, flac

    var codec: Codec { self == .vorbis ? .vorbis : self == .opus ? .opus : .oggflac }
    var sampleRate: Int { self == .opus ? 48_000 : 44_100 }
    fileprivate var options: [String] {
      switch self {
      case .vorbis: ["-c:a", "libvorbis", "-b:a", "128k"]
      case .opus: ["-c:a", "libopus", "-b:a", "96k"]
      case .flac: ["-c:a", "flac", "-sample_fmt", "s16"]
      }
    }
  }

  /// All bytes.
  private(set) var bytes: [UInt8] = []
  /// The bytes of each logical stream.
  private(set) var streams: [[UInt8]] = []

  /// Creates a programme of streams of `seconds`, one for each title; pages are half a second long.
  init(_ kind: Kind, seconds: Double, titles: [String] = ["Artist - Title"], rate: Int? = nil) throws {
    let folder = try TemporaryFolder()
    let rate = rate ?? kind.sampleRate
    for (index, title) in titles.enumerated() {
      let source = folder.file("\(index).wav")
      try Sound.sweep(sampleRate: rate, frames: Int(seconds * Double(rate)), seed: index).write(to: source)
      let names = title.split(separator: " - ")
      let path = folder.file("\(index).ogg")
      try Command.succeed(
        "ffmpeg",
        ["-v", "error", "-i", source] + kind.options + [
          "-page_duration", "500000", "-metadata", "artist=\(names[0])", "-metadata", "title=\(names[1])",
          path,
        ])
      streams.append(try readBytes(path))
      bytes += streams[index]
    }
  }

  /// The frames of the programme, headers included, with their bytes.
  var frames: [(frame: StreamFrame, bytes: [UInt8])] { Self.frames(of: bytes) }

  /// Returns all frames in `bytes`, headers included.
  static func frames(of bytes: [UInt8], pieces: Int = .max) -> [(frame: StreamFrame, bytes: [UInt8])] {
    var (framer, rest) = (StreamFramer(), bytes[...])
    var frames: [(StreamFrame, [UInt8])] = []
    func take() {
      while let item = framer.next() {
        guard case .frame(let frame) = item, let bytes = framer.withBytes(of: frame, { [UInt8]($0) }) else {
          continue
        }
        frames.append((frame, bytes))
      }
    }
    while !rest.isEmpty {
      rest.prefix(pieces).withUnsafeBytes { framer.feed($0) }
      rest = rest.dropFirst(pieces)
      take()
    }
    framer.end()
    take()
    return frames
  }

  /// Returns a page with a right checksum. Source: RFC 3533 §6.
  static func page(
    flags: UInt8 = 0, granule: Int = 0, serial: UInt32 = 7, sequence: Int = 0, lacing: [UInt8],
    _ content: [UInt8]
  ) -> [UInt8] {
    func little(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    var bytes = Array("OggS".utf8) + [0, flags] + little(granule, 8) + little(Int(serial), 4)
    bytes += little(sequence, 4) + [0, 0, 0, 0, UInt8(lacing.count)] + lacing + content
    seal(&bytes, 0..<bytes.count)
    return bytes
  }

  /// Sets the granule position of a page.
  static func move(_ page: Range<Int>, of bytes: inout [UInt8], to granule: Int) {
    let range = (page.lowerBound + 6)..<(page.lowerBound + 14)
    bytes.replaceSubrange(range, with: (0..<8).map { UInt8(truncatingIfNeeded: granule >> (8 * $0)) })
    seal(&bytes, page)
  }

  /// Sets the checksum of a page.
  private static func seal(_ bytes: inout [UInt8], _ page: Range<Int>) {
    let range = (page.lowerBound + 22)..<(page.lowerBound + 26)
    bytes.replaceSubrange(range, with: [0, 0, 0, 0])
    var sum: UInt32 = 0
    for byte in bytes[page] {
      sum ^= UInt32(byte) << 24
      for _ in 0..<8 { sum = sum & 0x8000_0000 != 0 ? sum << 1 ^ 0x04C1_1DB7 : sum << 1 }
    }
    bytes.replaceSubrange(range, with: (0..<4).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) })
  }
}

extension Sound {
  /// Returns two different sweeps with faint noise, as stereo.
  fileprivate static func sweep(sampleRate: Int, frames: Int, seed: Int) -> Sound {
    var random = SeededRandom(seed: UInt64(seed) + 1)
    var phases = [0.0, 0.0]
    var channels: [[Float]] = [[], []]
    for frame in 0..<frames {
      let rise = Double(frame % (3 * sampleRate)) / Double(3 * sampleRate)
      for channel in 0..<2 {
        phases[channel] += 2 * .pi * (200 + 100 * Double(seed + channel) + 1500 * rise) / Double(sampleRate)
        let noise = Float(random.next() % 1000) / 1000 - 0.5
        channels[channel].append(0.3 * Float(sine(phases[channel])) + 0.004 * noise)
      }
    }
    return Sound(sampleRate: sampleRate, channels: channels)
  }
}

private func sine(_ angle: Double) -> Double {
  // Bhaskara's approximation is smooth enough for a sound.
  let turn = angle / (2 * .pi) - (angle / (2 * .pi)).rounded(.down)
  let (x, sign) = turn < 0.5 ? (turn * 360, 1.0) : (turn * 360 - 180, -1.0)
  return sign * 4 * x * (180 - x) / (40_500 - x * (180 - x))
}
