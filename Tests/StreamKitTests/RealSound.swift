import AudioCore
import Codecs
import EventLoop
import TestSupport

@testable import StreamCore

/// Programmes that can be decoded: 75 s of sound without repetition.
enum RealSound: String, CaseIterable, Sendable {
  case mp3At320, mp3At64, aac, heAAC

  /// The length of each in seconds.
  static let length = 75

  /// Returns the programme, which is made once.
  func programme() throws -> FrameProgramme {
    try Self.made.withLock { made in
      if let programme = made[self] { return programme }
      let programme = try make()
      made[self] = programme
      return programme
    }
  }

  /// Returns the decoded programme, which is made once.
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

  private static let made = Lock<[RealSound: FrameProgramme]>([:])
  private static let decoded = Lock<[RealSound: Sound]>([:])

  private func make() throws -> FrameProgramme {
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
      // Noise substitution is off, as each decoder makes up its own noise.
      try Command.succeed(
        "ffmpeg",
        ["-v", "error", "-i", source, "-c:a", "aac", "-b:a", "128k", "-aac_pns", "0", "-f", "adts", coded])
    }
    return FrameProgramme(bytes: try readBytes(coded))
  }

  /// Returns sound that is easy and hard by turns, so that an encoder saves bits for later.
  private static func source() -> Sound {
    let frames = length * 44_100
    var sound = Sound.sweep(sampleRate: 44_100, frames: frames)
    for channel in 0..<2 {
      let noise = Signal.noise(seed: UInt64(70 + channel), amplitude: 0.3, frames: frames)
      for frame in 0..<frames where frame % 11_025 < 2_000 { sound.channels[channel][frame] += noise[frame] }
    }
    return sound
  }

  /// Returns the frames of a recording in shuffled order, repeated: no encoder of HE-AAC is available.
  private static func shuffled() throws -> FrameProgramme {
    let source = try readBytes(Fixtures.path("he-aac-v1-48k.aac"))
    let frames = StreamFramer.frames(of: source).map { Array(source[$0.range]) }
    var random = SeededRandom(seed: 12)
    var bytes: [UInt8] = []
    while bytes.count < length * 6_000 { bytes += frames.shuffled(using: &random).joined() }
    return FrameProgramme(bytes: bytes)
  }
}

/// A source of frames for a decoder.
final class ListedFrames: FrameSource {
  private var frames: ArraySlice<[UInt8]>

  init(_ frames: some Sequence<[UInt8]>) { self.frames = Array(frames)[...] }

  func nextFrame() -> [UInt8]? { frames.popFirst() }

  /// Returns the sound of a decoder that begins with the first frame.
  static func decode(_ frames: some Sequence<[UInt8]>, _ codec: Codec) throws -> Sound {
    let source = ListedFrames(frames)
    return try Sound(decoding: codec == .aac ? ADTSStreamDecoder(source) : MPEGStreamDecoder(source))
  }
}

extension Sound {
  /// Returns the number of samples at the start that agree to −90 dBFS.
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

  /// The sound played backwards.
  var reversed: Sound { Sound(sampleRate: sampleRate, channels: channels.map { $0.reversed() }) }
}
