import AudioCore
import Codecs
import TestSupport
import TestTraits
import Testing

/// The rates of sound files, in Hz.
private let rates = [
  8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 64_000, 88_200, 96_000,
]

/// The rates with more cases than the others.
private let some = [8000, 44_100, 96_000]

/// Files from 8 to 96 kHz, mono and stereo: the reported rate is right, the sound is ffmpeg's, and a seek is
/// exact.
@Suite("Every sample rate", .tags(.rendering)) struct SampleRateTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Compares the sound of files that `encode` makes of a sweep in mono and one in stereo with ffmpeg's.
  private func check(
    _ rate: Int, _ suffix: String, bound: Double, channels reported: [Int] = [1, 2],
    seeks: Double = -.infinity,
    reference: ((String, AudioFormat) throws -> Sound) = Sound.init(ffmpeg:format:),
    encode: (_ wav: String, _ file: String) throws -> Void
  ) throws {
    for channels in 1...2 {
      let original = Sound.sweep(sampleRate: rate, channels: channels, frames: 2500 + rate / 10)
      try original.write(to: folder.file("t.wav"))
      let path = folder.file("t\(channels).\(suffix)")
      try encode(folder.file("t.wav"), path)
      let decoder = try AudioFile.open(path)
      #expect(decoder.format == AudioFormat(sampleRate: rate, channels: reported[channels - 1]))
      let sound = try Sound(decoding: decoder)
      #expect(decoder.frameCount == sound.frameCount)
      let reference = try reference(path, AudioFormat(sampleRate: rate, channels: channels))
      switch suffix {
      // ffmpeg plays the last frame of an MP4 file to its end, and ends Vorbis early or late, whatever the
      // length in the file.
      case "m4a", "ogg": #expect(sound.frameCount == original.frameCount)
      default: #expect(sound.frameCount == reference.frameCount)
      }
      let error = sound.errorToSignal(against: reference)
      #expect(error <= bound, "\(suffix), \(rate) Hz, \(channels): \(error) dB")
      for target in [1, sound.frameCount / 2, sound.frameCount - 700] {
        try decoder.seek(toFrame: target)
        let error = try Sound(decoding: decoder).errorToSignal(against: sound[target..<sound.frameCount])
        #expect(error <= seeks, "\(suffix), \(rate) Hz, at frame \(target): \(error) dB")
      }
    }
  }

  private func ffmpeg(_ arguments: String...) -> (String, String) throws -> Void {
    { try Command.succeed("ffmpeg", ["-v", "error", "-y", "-i", $0] + arguments + [$1]) }
  }

  /// Returns the decoding of a file by LAME's own decoder, in 16 bits. At 24 kHz it and libmpg123 agree, and
  /// ffmpeg 5.1 differs by up to −38 dB in joint stereo.
  private func lame(_ path: String, _ format: AudioFormat) throws -> Sound {
    try Command.succeed("lame", ["--quiet", "--decode", path, folder.file("reference.wav")])
    return try Sound(file: folder.file("reference.wav"))
  }

  @Test("WAV, of 8, 16, 24 and 32 bits and of floats", arguments: rates) func wav(rate: Int) throws {
    try check(rate, "wav", bound: -.infinity) {
      _ = try folder.write(readBytes($0), to: String($1.dropFirst(folder.path.count + 1)))
    }
    guard some.contains(rate) else { return }
    for kind in ["pcm_u8", "pcm_s24le", "pcm_s32le", "pcm_f32le"] {
      // Reduced by a factor that is no power of two, so that all bits are used.
      try check(rate, "wav", bound: -.infinity, encode: ffmpeg("-af", "volume=0.7", "-c:a", kind))
    }
  }

  @Test("FLAC, AIFF and CAF", arguments: rates) func lossless(rate: Int) throws {
    for suffix in some.contains(rate) ? ["flac", "aiff", "caf"] : ["flac"] {
      try check(rate, suffix, bound: -.infinity, encode: ffmpeg())
    }
  }

  @Test("MP3 at constant and at variable bit rate", arguments: rates.filter { $0 <= 48_000 })
  func mp3(rate: Int) throws {
    for options in some.contains(rate) ? [["-b", "64"], ["-V", "3"]] : [["-V", "3"]] {
      let reference = rate == 24_000 ? lame : Sound.init(ffmpeg:format:)
      try check(rate, "mp3", bound: -75, seeks: -130, reference: reference) {
        try Command.succeed(
          "lame", ["--quiet", "--resample", "\(Double(rate) / 1000)"] + options + [$0, $1])
      }
    }
  }

  @Test("AAC in ADTS", arguments: rates) func adts(rate: Int) throws {
    try check(rate, "aac", bound: -75, channels: [2, 2], encode: ffmpeg("-c:a", "aac", "-aac_pns", "0"))
  }

  @Test("AAC in MP4, moov at the end and in front", arguments: rates) func mp4(rate: Int) throws {
    let plain = ["-c:a", "aac", "-aac_pns", "0"]
    for options in some.contains(rate) ? [plain, plain + ["-movflags", "+faststart"]] : [plain] {
      try check(rate, "m4a", bound: -75, channels: [2, 2]) {
        try Command.succeed("ffmpeg", ["-v", "error", "-y", "-i", $0] + options + [$1])
      }
    }
  }

  @Test("Ogg Vorbis", arguments: rates) func vorbis(rate: Int) throws {
    try check(rate, "ogg", bound: -75, encode: ffmpeg("-c:a", "libvorbis", "-q:a", "4"))
  }

  @Test("the silence in front and behind, as LAME and an edit list state it, is left out", arguments: rates)
  func gapless(rate: Int) throws {
    let original = Sound.sweep(sampleRate: rate, frames: 2500 + rate / 10)
    try original.write(to: folder.file("t.wav"))
    var files = ["t.m4a"]
    try ffmpeg("-c:a", "aac", "-aac_pns", "0", "-b:a", "160k")(folder.file("t.wav"), folder.file("t.m4a"))
    if rate <= 48_000 {
      files.append("t.mp3")
      try Command.succeed(
        "lame",
        [
          "--quiet", "--resample", "\(Double(rate) / 1000)", "-V", "0", folder.file("t.wav"),
          folder.file("t.mp3"),
        ])
    }
    for file in files {
      let sound = try Sound(file: folder.file(file))
      #expect(sound.frameCount == original.frameCount, "\(file)")
      let alignment = sound.alignment(to: original)
      #expect(abs(alignment.delay) < 0.05 && alignment.correlation > 0.99, "\(file): \(alignment)")
    }
  }
}
