import AudioCore
import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

@Suite("Ogg files", .tags(.codecs, .ogg, .files)) struct OggTests {
  private let folder: TemporaryFolder
  private let music = Fixtures.path("music-44k.flac")

  init() throws { folder = try TemporaryFolder() }

  /// Returns the path of the music as FLAC in Ogg: `isPiped` leaves its length out, as a write to a pipe
  /// does.
  private func flacInOgg(isPiped: Bool = false) throws -> String {
    let path = folder.file("t.oga")
    // Pages of a tenth of a second.
    try Command.succeed(
      "ffmpeg", ["-v", "error", "-y", "-i", music, "-c:a", "flac", "-page_duration", "100000", path])
    guard !isPiped else { return path }
    var bytes = try readBytes(path)
    // STREAMINFO is behind the page's header of 28 bytes and the mapping's of 13: 36 bits of samples up to
    // byte 18.
    let range = 28 + 13 + 4 + 14
    bytes.replaceSubrange((range)..<(range + 4), with: [0, 0, 0xAC, 0x44])
    OggPages.seal(&bytes, 0..<(28 + Int(bytes[27])))
    return try folder.write(bytes, to: "told.oga")
  }

  @Test(
    "FLAC in Ogg plays bit for bit, and seeks to a frame, with and without a stated length",
    arguments: [false, true])
  func flac(isPiped: Bool) throws {
    let whole = try Sound(file: music)
    let decoder = try AudioFile.open(flacInOgg(isPiped: isPiped))
    #expect(decoder.format == whole.format && decoder.frameCount == whole.frameCount)
    #expect(try Sound(decoding: decoder) == whole)
    for frame in [40_000, 0, 12_345, 4096, whole.frameCount] {
      try decoder.seek(toFrame: frame)
      #expect(try Sound(decoding: decoder) == whole[frame..<whole.frameCount], "at \(frame)")
    }
    #expect(throws: AudioError.self) { try decoder.seek(toFrame: whole.frameCount + 1) }
  }

  @Test("FLAC in Ogg that is cut off has the frames that are there") func cut() throws {
    let bytes = try readBytes(flacInOgg())
    let decoder = try AudioFile.open(folder.write(Array(bytes.prefix(bytes.count / 2)), to: "cut.oga"))
    var samples = [Float](repeating: 0, count: 4096)
    var frames = 0
    do {
      while case let got = try samples.withUnsafeMutableBufferPointer({ try decoder.read(into: $0) }), got > 0
      {
        frames += got
      }
    } catch let error as AudioError {
      #expect(error.code == "audio.unreadable")
    }
    #expect((10_000..<40_000).contains(frames))
    let error = #expect(throws: AudioError.self) {
      try AudioFile.open(folder.write(Array(bytes.prefix(1000)), to: "cut.oga"))
    }
    #expect(error?.code == "audio.unreadable")
  }

  /// Source: RFC 7845 §5.1: the input sample rate "is not the sample rate to use for playback".
  @Test("Opus sounds at 48 kHz, whatever rate was encoded", arguments: [8_000, 16_000, 44_100]) func opus(
    rate: Int
  ) throws {
    let (source, path) = (folder.file("t.wav"), folder.file("t.opus"))
    try Sound.sweep(sampleRate: rate, frames: rate).write(to: source)
    try Command.succeed("ffmpeg", ["-v", "error", "-i", source, "-c:a", "libopus", path])
    let sound = try Sound(file: path)
    #expect(sound.format.sampleRate == 48_000)
    let reference = try Sound(ffmpeg: path, format: sound.format)
    #expect(abs(sound.frameCount - reference.frameCount) <= 1)
    #expect(sound.errorToSignal(against: reference) <= -50, "\(sound.errorToSignal(against: reference)) dB")
  }

  @Test(
    "an Opus file whose positions do not begin at 0, as one cut from another, sounds from its first frame on")
  func offsetOpus() throws {
    let (source, path) = (folder.file("t.wav"), folder.file("t.opus"))
    try Sound.sweep(sampleRate: 48_000, frames: 48_000).write(to: source)
    try Command.succeed("ffmpeg", ["-v", "error", "-i", source, "-c:a", "libopus", path])
    var bytes = try readBytes(path)
    for page in OggPages.ranges(bytes).dropFirst(2) { OggPages.shift(&bytes, page, by: 104) }
    #expect(try Sound(file: folder.write(bytes, to: "shifted.opus")) == Sound(file: path))
  }
}

/// Pages of an Ogg file. Source: RFC 3533 §6.
private enum OggPages {
  /// Returns the byte range of each page of `bytes`.
  static func ranges(_ bytes: [UInt8]) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    while case let start = ranges.last?.upperBound ?? 0, start + 27 <= bytes.count {
      let segments = Int(bytes[start + 26])
      let length = bytes[(start + 27)..<(start + 27 + segments)].reduce(27 + segments) { $0 + Int($1) }
      ranges.append(start..<(start + length))
    }
    return ranges
  }

  /// Adds `count` to the position of the page at `page`.
  static func shift(_ bytes: inout [UInt8], _ page: Range<Int>, by count: Int) {
    let range = (page.lowerBound + 6)..<(page.lowerBound + 14)
    let position = bytes[range].reversed().reduce(0) { $0 << 8 | Int($1) } + count
    bytes.replaceSubrange(range, with: (0..<8).map { UInt8(truncatingIfNeeded: position >> (8 * $0)) })
    seal(&bytes, page)
  }

  /// Sets the checksum of the page at `page`.
  static func seal(_ bytes: inout [UInt8], _ page: Range<Int>) {
    let range = (page.lowerBound + 22)..<(page.lowerBound + 26)
    bytes.replaceSubrange(range, with: [0, 0, 0, 0])
    var checksum: UInt32 = 0
    for byte in bytes[page] {
      checksum ^= UInt32(byte) << 24
      for _ in 0..<8 { checksum = checksum & 0x8000_0000 != 0 ? checksum << 1 ^ 0x04C1_1DB7 : checksum << 1 }
    }
    bytes.replaceSubrange(range, with: (0..<4).map { UInt8(truncatingIfNeeded: checksum >> (8 * $0)) })
  }
}
