import AudioCore
import Codecs
import EventLoop
import Glibc
import SpeakerKit
import TestSupport
import TestTraits
import Testing

/// A file format at 48 kHz: a fixture, or the program and options that encode a sweep.
struct SourceFormat: CustomTestStringConvertible, Sendable {
  let name: String
  var program = "ffmpeg"
  var options: [String] = []
  var isFixture = false
  /// Maximum error against ffmpeg's decoding, in dB; by default none.
  var bound = -Double.infinity
  var testDescription: String { name }
}

private let aac = ["-c:a", "aac", "-aac_pns", "0", "-b:a", "160k"]
private let lossy = [
  SourceFormat(name: "cbr.mp3", program: "lame", options: ["-b", "192"], bound: -75),
  SourceFormat(name: "vbr.mp3", program: "lame", options: ["-V", "2"], bound: -75),
  SourceFormat(name: "mono.mp3", program: "lame", options: ["-m", "m", "-b", "96"], bound: -75),
  SourceFormat(name: "lc.aac", options: aac, bound: -75),
  SourceFormat(name: "lc.m4a", options: aac, bound: -75),
  SourceFormat(name: "front.m4a", options: aac + ["-movflags", "+faststart"], bound: -75),
  SourceFormat(name: "vorbis.ogg", options: ["-c:a", "libvorbis", "-q:a", "6"], bound: -75),
  SourceFormat(name: "he-aac-v1-48k.aac", isFixture: true, bound: -60),
  SourceFormat(name: "he-aac-v1-48k.m4a", isFixture: true, bound: -60),
  SourceFormat(name: "he-aac-v2-48k.aac", isFixture: true, bound: -50),
]
private let lossless = [
  SourceFormat(name: "8.wav", options: ["-c:a", "pcm_u8"]),
  SourceFormat(name: "16.wav"), SourceFormat(name: "t.flac"),
  SourceFormat(name: "t.aiff"), SourceFormat(name: "t.caf"),
  SourceFormat(name: "t.au", options: ["-c:a", "pcm_s16be"]),
  SourceFormat(name: "mono.flac", options: ["-ac", "1"]),
]
/// Formats with more bits than the speaker's file.
private let deep = [
  SourceFormat(name: "24.wav", options: ["-af", "volume=0.7", "-c:a", "pcm_s24le"]),
  SourceFormat(name: "32.wav", options: ["-af", "volume=0.7", "-c:a", "pcm_s32le"]),
  SourceFormat(name: "float.wav", options: ["-af", "volume=0.7", "-c:a", "pcm_f32le"]),
  SourceFormat(name: "24.flac", options: ["-af", "volume=0.7", "-sample_fmt", "s32"]),
]

/// Formats with six channels, each in an order of its own.
private let surround = [
  SourceFormat(name: "six.wav"), SourceFormat(name: "six.flac"),
  SourceFormat(name: "six.caf"), SourceFormat(name: "flac.ogg", options: ["-c:a", "flac"]),
  SourceFormat(name: "vorbis.ogg", options: ["-c:a", "libvorbis", "-q:a", "6"]),
  SourceFormat(name: "opus.ogg", options: ["-c:a", "libopus", "-b:a", "256k"]),
  SourceFormat(name: "lc.m4a", options: ["-c:a", "aac", "-b:a", "320k"]),
  SourceFormat(name: "lc.aac", options: ["-c:a", "aac", "-b:a", "320k"]),
]

/// Sound of every file format at the speaker, at volume 50 and at the session's rate, in a file of 16 bits.
@Suite("Files of every format, as the speakers play them", .tags(.speaker, .files, .codecs))
struct SourceFormatTests {
  /// Writes the file of `format` into `folder` and returns its path.
  private func file(_ format: SourceFormat, in folder: TemporaryFolder) throws -> String {
    if format.isFixture { return Fixtures.path(format.name) }
    let (wav, path) = (folder.file("sweep.wav"), folder.file(format.name))
    try Sound.sweep(sampleRate: 48_000, frames: 60_001).write(to: wav)
    let first =
      format.program == "lame"
      ? ["--quiet"] + format.options + [wav] : ["-v", "error", "-i", wav] + format.options
    try Command.succeed(format.program, first + [path])
    return path
  }

  /// Returns ffmpeg's decoding of a file, in stereo.
  private func reference(_ path: String) throws -> Sound {
    let format = try AudioFile.open(path).format
    // The house decodes mono AAC into two channels.
    var sound = try Sound(ffmpeg: path, format: format)
    if sound.channels.count == 1 { sound.channels.append(sound.channels[0]) }
    return sound
  }

  /// Returns the speaker's sound of a file from `start` on.
  private func played(_ path: String, start: Double = 0) throws -> Sound {
    try HouseHarness.run(speakers: [SpeakerSpec(name: "A", volume: 50)]) { harness in
      try await harness.house.session.play(path, start: start)
      #expect(try await harness.house.session.finish() == .ended(.finished))
    }.played("A")
  }

  @Test(
    "lossy formats differ from ffmpeg's decoding by less than can be heard, and not by a frame",
    arguments: lossy)
  func sounds(format: SourceFormat) throws {
    let folder = try TemporaryFolder()
    let path = try file(format, in: folder)
    let (sound, reference) = (try played(path), try reference(path))
    #expect(sound.frameCount == (try AudioFile.open(path).frameCount))
    let delay = sound.alignment(to: reference).delay
    #expect(abs(delay) < 0.01)
    let error = sound.errorToSignal(against: reference)
    #expect(error <= format.bound, "\(error) dB")
  }

  @Test("lossless formats of up to 16 bits come out bit for bit, from any frame on", arguments: lossless)
  func exact(format: SourceFormat) throws {
    let folder = try TemporaryFolder()
    let path = try file(format, in: folder)
    let reference = try reference(path)
    #expect(reference.frameCount == 60_001)
    #expect(try played(path) == reference)
    // Playback that begins inside a source fades in over a block, so that it does not click.
    let rest = try played(path, start: 0.5)
    #expect(rest.frameCount == 36_001)
    #expect(rest[960..<36_001] == reference[24_960..<60_001])
  }

  @Test("more bits than the speaker's file has are rounded to the nearest", arguments: deep)
  func rounds(format: SourceFormat) throws {
    let folder = try TemporaryFolder()
    let path = try file(format, in: folder)
    let (sound, reference) = (try played(path), try reference(path))
    #expect(sound.frameCount == reference.frameCount)
    for (own, other) in zip(sound.channels, reference.channels) {
      #expect(zip(own, other).allSatisfy { abs($0 - $1) <= 0x1p-16 })
    }
  }

  @Test("begins at a time: to the frame, with what playing from the front has there", arguments: lossy)
  func begins(format: SourceFormat) throws {
    let folder = try TemporaryFolder()
    let path = try file(format, in: folder)
    let whole = try played(path)
    let rest = try played(path, start: 0.5)
    #expect(rest.frameCount == whole.frameCount - 24_000)
    // HE-AAC fills replicated bands with noise that can't be reproduced from the middle.
    if format.isFixture { return }
    // Playback that begins inside a source fades in over a block, so that it does not click.
    let error = rest[960..<rest.frameCount].errorToSignal(against: whole[24_960..<whole.frameCount])
    #expect(error < -95, "\(error) dB")
  }

  @Test("a 5.1 file of any format plays each channel on its role", arguments: surround)
  func surroundOrder(format: SourceFormat) throws {
    let folder = try TemporaryFolder()
    let (wav, path) = (folder.file("tones.wav"), folder.file(format.name))
    let tones = [440.0, 660, 1000, 60, 1500, 2200]
    try Sound(
      sampleRate: 48_000,
      channels: tones.map { Signal.sine($0, amplitude: 0.5, frames: 96_000, sampleRate: 48_000) }
    ).write(to: wav)
    // Files of WAV's plain kind name no layout: without one the encoders would choose theirs.
    try Command.succeed(
      "ffmpeg", ["-v", "error", "-channel_layout", "5.1", "-i", wav] + format.options + [path])
    let roles: [ChannelRole] = [.frontLeft, .frontRight, .center, .lfe, .surroundLeft, .surroundRight]
    let speakers = roles.map { SpeakerSpec(name: $0.rawValue, role: $0, volume: 50) }
    let harness = try HouseHarness.run(speakers: speakers) { harness in
      try await harness.house.session.play(path)
      #expect(try await harness.house.session.finish() == .ended(.finished))
    }
    for (index, role) in roles.enumerated() {
      // A second, in which each tone has a whole number of periods.
      let second = try harness.played(role.rawValue).channels[0][24_000..<72_000]
      let amplitudes = tones.map { tone in
        let step = 2 * Double.pi * tone / 48_000
        let (sine, cosine) = second.enumerated().reduce((0.0, 0.0)) { sum, sample in
          (
            sum.0 + Double(sample.element) * sin(step * Double(sample.offset)),
            sum.1 + Double(sample.element) * cos(step * Double(sample.offset))
          )
        }
        return (sine * sine + cosine * cosine).squareRoot() / 24_000
      }
      for (other, amplitude) in amplitudes.enumerated() {
        #expect(other == index ? amplitude > 0.25 : amplitude < 0.01, "\(role) has \(tones[other]) Hz")
      }
    }
  }

  @Test(
    "a file that was cut off is heard up to there and ends with an error, also where nothing is rendered",
    arguments: ["music-44k.flac", "base.aiff", "front.m4a"], [nil, Output.null])
  func cutOff(name: String, output: Output?) throws {
    let folder = try TemporaryFolder()
    var path = Fixtures.path(name)
    if name == "front.m4a" {
      path = folder.file(name)
      let source = Fixtures.path("aac-lc-44k.m4a")
      try Command.succeed(
        "ffmpeg", ["-v", "error", "-i", source, "-c", "copy", "-movflags", "+faststart", path])
    }
    let whole = try #require(try AudioFile.open(path).frameCount)
    let bytes = try readBytes(path)
    let cut = try folder.write(Array(bytes.prefix(bytes.count * 6 / 10)), to: "cut-\(name)")
    var (codes, elapsed): ([String], Double) = ([], 0)
    try HouseHarness.run(output: output) { harness in
      harness.house.events.on { event in
        if case .error(let code, _, _, _) = event { codes.append(code) }
      }
      try await harness.house.session.play(cut)
      let begin = harness.loop.now
      #expect(try await harness.house.session.finish() == .ended(.failed))
      elapsed = begin.duration(to: harness.loop.now) / .seconds(1)
    }
    #expect(codes == ["audio.unreadable"])
    let there = try #require(try AudioFile.open(cut).frameCount)
    #expect(there < whole * 7 / 10 && there > whole * 4 / 10)
    #expect(abs(elapsed - Double(there) / 44_100) < 0.05)
  }

  /// Truncated and damaged files of each format: all after the first bytes is missing or replaced.
  @Test("an undecodable file, of every format, leaves the current source as it is, bit for bit")
  func continues()
    throws
  {
    var source: Sound?
    let names = [
      "base-24bit.wav", "base.aiff", "base.caf", "music-44k.flac", "music-44k.ogg", "mp3-cbr128-44k.mp3",
      "mp3-mpeg25-32-11k-mono.mp3", "aac-lc-44k.aac", "he-aac-v2-48k.aac", "aac-lc-44k.m4a",
    ]
    let harness = try HouseHarness.run(speakers: [SpeakerSpec(name: "A", volume: 50)]) { harness in
      let good = try harness.source("good.wav", Signal.noise(seed: 7, amplitude: 0.5, frames: 96_000))
      source = try Sound(file: good)
      try await harness.house.session.play(good)
      var random = SeededRandom(seed: 70)
      for name in names {
        let head = try Array(readBytes(Fixtures.path(name)).prefix(12))
        for bytes in [[], head, head + [UInt8](repeating: 0, count: 3000), head + random.bytes(3000)] {
          let bad = try harness.folder.write(bytes, to: "bad")
          let error = await harness.failure { try await harness.house.session.play(bad) }
          #expect(error?.code == "audio.unreadable", "\(name): \(error?.message ?? "it plays")")
          #expect(error?.message.contains("found ") == true && error?.message.contains(" at byte ") == true)
          #expect(harness.house.session.state == .playing)
          try await harness.wait(0.01)
        }
      }
      #expect(harness.house.session.source?.path == good)
      #expect(try await harness.house.session.finish() == .ended(.finished))
    }
    #expect(try harness.played("A") == source)
  }
}
