import AudioCore
import Codecs
import EventLoop
import TestSupport

@testable import StreamKit

/// Programmes that can be decoded: 75 s of sound that nowhere repeats.
enum RealSound: String, CaseIterable, Sendable {
  case mp3At320, mp3At64, aac, heAAC

  /// Seconds of each.
  static let length = 75

  /// The programme; made once.
  func programme() throws -> Programme {
    try Self.made.withLock { made in
      if let programme = made[self] { return programme }
      let programme = try make()
      made[self] = programme
      return programme
    }
  }

  /// What one decoder makes of all of it; made once.
  func sound() throws -> Sound {
    let programme = try programme()
    return try Self.decoded.withLock { decoded in
      if let sound = decoded[self] { return sound }
      let frames = programme.frames.map { Array(programme.bytes[$0.range]) }
      let sound = try ListedFrames.decode(frames, programme.frames[0].codec)
      decoded[self] = sound
      return sound
    }
  }

  private static let made = Lock<[RealSound: Programme]>([:])
  private static let decoded = Lock<[RealSound: Sound]>([:])

  private func make() throws -> Programme {
    guard self != .heAAC else { return try Self.shuffled() }
    let folder = try TemporaryFolder()
    let (source, coded) = (folder.file("source.wav"), folder.file("coded"))
    try Self.source().write(to: source)
    switch self {
    case .mp3At320, .mp3At64:
      let rate = self == .mp3At320 ? "320" : "64"
      try Command.succeed(
        "lame", ["--quiet", "-t", "--resample", "44.1", "-b", rate, "--cbr", source, coded])
    default:
      // Without noise that each decoder makes up for itself.
      try Command.succeed(
        "ffmpeg",
        ["-v", "error", "-i", source, "-c:a", "aac", "-b:a", "128k", "-aac_pns", "0", "-f", "adts", coded])
    }
    return Programme(bytes: try readBytes(coded))
  }

  /// Easy and hard by turns, so that an encoder saves bits for later.
  private static func source() -> Sound {
    let frames = length * 44_100
    var sound = Sound.sweep(sampleRate: 44_100, frames: frames)
    for channel in 0..<2 {
      let noise = Signal.noise(seed: UInt64(70 + channel), amplitude: 0.3, frames: frames)
      for frame in 0..<frames where frame % 11_025 < 2_000 { sound.channels[channel][frame] += noise[frame] }
    }
    return sound
  }

  /// No encoder of HE-AAC is at hand: the frames of a recording in another order again and again.
  private static func shuffled() throws -> Programme {
    let source = try readBytes(Fixtures.path("he-aac-v1-48k.aac"))
    let frames = StreamFramer.frames(of: source).map { Array(source[$0.range]) }
    var random = SeededRandom(seed: 12)
    var bytes: [UInt8] = []
    while bytes.count < length * 6_000 { bytes += frames.shuffled(using: &random).joined() }
    return Programme(bytes: bytes)
  }
}

/// Frames for a decoder.
final class ListedFrames: FrameSource {
  private var frames: ArraySlice<[UInt8]>

  init(_ frames: some Sequence<[UInt8]>) { self.frames = Array(frames)[...] }

  func nextFrame() -> [UInt8]? { frames.popFirst() }

  /// What a decoder makes of them that begins with the first.
  static func decode(_ frames: some Sequence<[UInt8]>, _ codec: StreamCodec) throws -> Sound {
    let source = ListedFrames(frames)
    return try Sound(decoding: codec == .aac ? ADTSStreamDecoder(source) : MPEGStreamDecoder(source))
  }
}

extension Sound {
  /// Samples at the start that are alike to −90 dBFS.
  func commonStart(with other: Sound) -> Int {
    var count = min(frameCount, other.frameCount)
    for (own, others) in zip(channels, other.channels) {
      for index in 0..<count where (own[index] - others[index]).magnitude > 3.2e-5 {
        count = index
        break
      }
    }
    return count
  }

  /// The same backwards.
  var reversed: Sound { Sound(sampleRate: sampleRate, channels: channels.map { $0.reversed() }) }
}
