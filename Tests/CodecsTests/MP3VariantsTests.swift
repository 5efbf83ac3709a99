import AudioCore
import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

@Suite("MP3 files of rarer forms", .tags(.codecs)) struct MP3VariantsTests {
  private let folder: TemporaryFolder
  private let original = Sound.sweep(sampleRate: 44_100, frames: 44_100)

  init() throws {
    folder = try TemporaryFolder()
    try original.write(to: folder.file("t.wav"))
  }

  /// Returns the path of an MP3 file of the sweep, made with `options`.
  private func encode(_ options: [String]) throws -> String {
    try Command.succeed("lame", ["--quiet"] + options + [folder.file("t.wav"), folder.file("t.mp3")])
    return folder.file("t.mp3")
  }

  private func checkSeeks(_ path: String, whole: Sound) throws {
    let decoder = try AudioFile.open(path)
    #expect(decoder.frameCount == whole.frameCount)
    for target in [1, 1152, 20_000, whole.frameCount - 1000, whole.frameCount] {
      try decoder.seek(toFrame: target)
      let rest = try Sound(decoding: decoder)
      #expect(rest.frameCount == whole.frameCount - target)
      let error =
        target < whole.frameCount ? rest.errorToSignal(against: whole[target..<whole.frameCount]) : -.infinity
      #expect(error <= -130, "at \(target): \(error) dB")
    }
  }

  @Test(
    "average rate, checksums, no tag, mono and all but nothing lost sound as ffmpeg decodes them",
    arguments: [
      ["--abr", "110"], ["-b", "96", "-p"], ["-b", "160", "-t"], ["-m", "m", "-b", "64"],
      ["-b", "320", "-m", "s"], ["-V", "9"], ["--nores", "-b", "128"],
    ])
  func variants(options: [String]) throws {
    let path = try encode(options)
    let sound = try Sound(file: path)
    let reference = try Sound(ffmpeg: path, format: sound.format)
    #expect(sound.frameCount == reference.frameCount)
    let error = sound.errorToSignal(against: reference)
    #expect(error <= -75, "\(options): \(error) dB")
    try checkSeeks(path, whole: sound)
  }

  /// ffmpeg does not read free format: LAME's own decoder is the reference, which writes 16 bits.
  @Test("free format sounds as LAME decodes it, and seeks", arguments: [450, 330, 200]) func freeFormat(
    rate: Int
  )
    throws
  {
    for tag in [[], ["-t"]] {
      let path = try encode(["--freeformat", "-b", "\(rate)"] + tag)
      let sound = try Sound(file: path)
      try Command.succeed("lame", ["--quiet", "--decode", path, folder.file("reference.wav")])
      let reference = try Sound(file: folder.file("reference.wav"))
      let alignment = sound.alignment(to: reference)
      #expect(abs(alignment.delay - Double(alignment.frames)) < 0.01)
      #expect(tag == ["-t"] || alignment.frames == 0)
      let error = sound.errorToSignal(against: reference, delay: alignment.frames)
      #expect(error <= -75, "\(rate) kbit/s: \(error) dB")
      #expect(tag == ["-t"] || sound.frameCount == original.frameCount)
      try checkSeeks(path, whole: sound)
    }
  }

  @Test("layer II sounds as ffmpeg decodes it, and seeks") func layerII() throws {
    try Command.succeed("ffmpeg", ["-v", "error", "-i", folder.file("t.wav"), folder.file("t.mp2")])
    let sound = try Sound(file: folder.file("t.mp2"))
    let error = try sound.errorToSignal(against: Sound(ffmpeg: folder.file("t.mp2"), format: sound.format))
    #expect(error <= -75, "\(error) dB")
    try checkSeeks(folder.file("t.mp2"), whole: sound)
  }

  /// Returns a frame of sound, of layer III without a bit reservoir or of layer II.
  private func oneFrame(layer: Int) throws -> [UInt8] {
    if layer == 2 {
      try Command.succeed("ffmpeg", ["-v", "error", "-i", folder.file("t.wav"), folder.file("t.mp2")])
    }
    let path = try layer == 2 ? folder.file("t.mp2") : encode(["-b", "128", "-t", "--nores"])
    let bytes = try readBytes(path)
    let frame = try #require(MPEGAudioFraming.frames(of: bytes).dropFirst(3).first)
    return Array(bytes[frame.offset..<(frame.offset + frame.length)])
  }

  @Test("a file of one frame plays, with tags around it too", arguments: [2, 3]) func oneFrameFile(layer: Int)
    throws
  {
    let frame = try oneFrame(layer: layer)
    let id3v2 = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 20] + [UInt8](repeating: 0, count: 20)
    let id3v1 = Array("TAG".utf8) + [UInt8](repeating: 32, count: 125)
    var sounds: [Sound] = []
    for bytes in [frame, frame + id3v1, id3v2 + frame, id3v2 + frame + id3v1] {
      let decoder = try AudioFile.open(folder.write(bytes, to: "one.mp3"))
      #expect(decoder.frameCount == 1152)
      sounds.append(try Sound(decoding: decoder))
    }
    #expect(sounds.allSatisfy { $0.frameCount == 1152 && $0 == sounds[0] })
    #expect(sounds[0].interleaved.contains { abs($0) > 0.01 })
  }

  @Test("a stream of one frame sounds as the file does", arguments: [2, 3]) func oneFrameStream(layer: Int)
    throws
  {
    final class Frames: FrameSource {
      var frames: [[UInt8]]
      init(_ frames: [[UInt8]]) { self.frames = frames }
      func nextFrame() -> [UInt8]? { frames.isEmpty ? nil : frames.removeFirst() }
    }
    let frame = try oneFrame(layer: layer)
    let file = try Sound(file: folder.write(frame, to: "one.mp3"))
    #expect(try Sound(decoding: MPEGStreamDecoder(Frames([frame]))) == file)
  }

  @Test("a file that holds only the frame which describes it has an error that names this") func onlyTag()
    throws
  {
    let bytes = try readBytes(encode(["-V", "4"]))
    let first = try #require(MPEGAudioFraming.frames(of: bytes).first)
    let path = try folder.write(Array(bytes[..<first.length]), to: "tag.mp3")
    let error = #expect(throws: AudioError.self) { try AudioFile.open(path) }
    #expect(error?.code == "audio.unreadable")
    #expect(error?.message.contains("without a frame of sound") == true, "\(error as Any)")
  }

  @Test("layer II in free format, which libmpg123 turns into noise, is refused by name") func freeLayerII()
    throws
  {
    try Command.succeed(
      "ffmpeg",
      ["-v", "error", "-i", folder.file("t.wav"), "-ar", "48000", "-b:a", "192k", folder.file("t.mp2")])
    var bytes = try readBytes(folder.file("t.mp2"))
    for frame in MPEGAudioFraming.frames(of: bytes) { bytes[frame.offset + 2] &= 0x0F }
    let path = try folder.write(bytes, to: "free.mp2")
    let error = #expect(throws: AudioError.self) { try AudioFile.open(path) }
    #expect(
      error?.code == "audio.unsupported" && error?.message.contains("free format") == true, "\(error as Any)")
  }

  @Test("layer I in free format, of which libmpg123 loses frames, is refused by name") func freeLayerI()
    throws
  {
    // Silence at 48 kHz: no band has bits.
    let frame: [UInt8] = [0xFF, 0xFF, 0x04, 0xC0] + [UInt8](repeating: 0, count: 140)
    let path = try folder.write((0..<20).flatMap { _ in frame }, to: "free.mp1")
    let error = #expect(throws: AudioError.self) { try AudioFile.open(path) }
    #expect(error?.code == "audio.unsupported", "\(error as Any)")
    #expect(error?.message.contains("layer I in free format") == true, "\(error as Any)")
  }

  @Test("frames with the reserved emphasis sound as any other") func reservedEmphasis() throws {
    let plain = try readBytes(encode(["-b", "128"]))
    var odd = plain
    for frame in MPEGAudioFraming.frames(of: plain) {
      odd[frame.offset + 3] = odd[frame.offset + 3] & 0xFC | 2
    }
    let (whole, marked) = try (
      Sound(file: folder.write(plain, to: "plain.mp3")), Sound(file: folder.write(odd, to: "odd.mp3"))
    )
    #expect(marked == whole)
  }

  @Test(
    "a tag that claims more frames than the file has room for is not believed", arguments: ["Xing", "VBRI"])
  func claims(kind: String) throws {
    var bytes = kind == "VBRI" ? try VBRI.file(frames: 100) : try readBytes(encode(["-V", "4"]))
    let whole = try Sound(file: folder.write(bytes, to: "whole.mp3"))
    let offset = try #require((0..<200).first { bytes[$0...].starts(with: kind.utf8) })
    let frames = offset + (kind == "VBRI" ? 14 : 8)
    bytes.replaceSubrange(frames..<(frames + 4), with: [0x40, 0, 0, 0])
    let decoder = try AudioFile.open(folder.write(bytes, to: "claim.mp3"))
    let count = decoder.frameCount
    let sound = try Sound(decoding: decoder)
    #expect(count == sound.frameCount)
    #expect(abs(sound.frameCount - whole.frameCount) <= 3 * 1152)
  }

  @Test("a tag that counts no frames has them counted") func tagWithoutFrames() throws {
    var bytes = try readBytes(encode(["-V", "4"]))
    let offset = try #require((0..<200).first { bytes[$0...].starts(with: "Xing".utf8) })
    let end = try #require(MPEGAudioFraming.frames(of: bytes).first.map { $0.offset + $0.length })
    bytes[offset + 7] &= 0xFE
    bytes.insert(contentsOf: [0, 0, 0, 0], at: end)
    bytes.removeSubrange((offset + 8)..<(offset + 12))
    let decoder = try AudioFile.open(folder.write(bytes, to: "uncounted.mp3"))
    let count = decoder.frameCount
    #expect(try count == Sound(decoding: decoder).frameCount)
    #expect(count.map { $0 >= original.frameCount } == true)
  }
}
