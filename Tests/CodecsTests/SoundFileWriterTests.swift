import AudioCore
import Codecs
import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("WAV writer", .tags(.recording, .outputs)) struct SoundFileWriterTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func write(_ samples: [Float], to writer: SoundFileWriter, piece: Int = 1920) throws {
    for start in stride(from: 0, to: samples.count, by: piece) {
      try samples[start..<min(samples.count, start + piece)].withUnsafeBufferPointer { try writer.write($0) }
    }
  }

  /// Returns the header's count of the bytes behind its first eight.
  private func riffSize(_ bytes: [UInt8]) -> Int {
    (0..<4).reduce(0) { $0 | Int(bytes[4 + $1]) << (8 * $1) }
  }

  @Test("16 bits go there and back unchanged") func roundTrip() throws {
    let samples = (Int16.min...Int16.max).map { Float($0) / 32_768 }
    let format = AudioFormat(sampleRate: 48_000, channels: 2)
    let writer = try SoundFileWriter(path: folder.file("a.wav"), format: format)
    try write(samples, to: writer)
    try writer.finish()
    let sound = try Sound(file: folder.file("a.wav"))
    #expect(sound.interleaved == samples)
    #expect(sound.format == format)
    #expect(try Sound(ffmpeg: folder.file("a.wav"), format: format) == sound)
  }

  @Test("samples beyond full scale are clamped") func clamps() throws {
    let writer = try SoundFileWriter(
      path: folder.file("a.wav"), format: AudioFormat(sampleRate: 48_000, channels: 1))
    try write([2, -2, 1, -1], to: writer)
    try writer.finish()
    let most = Float(32_767) / 32_768
    #expect(try Sound(file: folder.file("a.wav")).interleaved == [most, -1, most, -1])
  }

  @Test("the same samples make the same bytes, in whatever pieces; it is a plain WAV file")
  func deterministic() throws {
    let noise = Signal.noise(seed: 20, frames: 100_000)
    for (name, piece) in [("a.wav", 1920), ("b.wav", 33_334)] {
      let writer = try SoundFileWriter(path: folder.file(name), format: .session)
      try write(noise, to: writer, piece: piece)
      try writer.finish()
    }
    let bytes = try readBytes(folder.file("a.wav"))
    let same = try bytes == readBytes(folder.file("b.wav"))
    #expect(same)
    #expect(bytes.starts(with: "RIFF".utf8))
    #expect(riffSize(bytes) == bytes.count - 8)
    #expect(bytes.count < noise.count * 2 + 120)
  }

  @Test("a file that is being written, or was never finished, has all but the last second")
  func validAtAnyMoment() throws {
    var writer: SoundFileWriter? = try SoundFileWriter(path: folder.file("a.wav"), format: .session)
    let noise = Signal.noise(seed: 21, frames: 48_000 * 2 * 5 / 2)
    for round in 1...3 {
      if let writer { try write(noise, to: writer) }
      let reader = try Sound(file: folder.file("a.wav"))
      #expect(reader.frameCount > 120_000 * round - 48_000)
      // A lenient reader uses the bytes that are there; a strict one trusts the header.
      let claimed = riffSize(try readBytes(folder.file("a.wav")))
      #expect(claimed > 4 * (120_000 * round - 48_000))
    }
    writer = nil
    #expect(try Sound(file: folder.file("a.wav")).frameCount == 360_000)
  }

  @Test("a file without a frame is a WAV file too") func empty() throws {
    let writer = try SoundFileWriter(path: folder.file("a.wav"), format: .session)
    try writer.finish()
    try writer.finish()
    let bytes = try readBytes(folder.file("a.wav"))
    #expect(bytes.starts(with: "RIFF".utf8) && riffSize(bytes) == bytes.count - 8)
    #expect(throws: AudioError.self) { try write([0, 0], to: writer) }
  }

  @Test("a full disk is reported in the system's words") func diskFull() throws {
    let error = #expect(throws: AudioError.self) {
      let writer = try SoundFileWriter(path: "/dev/full", format: .session)
      try write([0, 0, 0, 0], to: writer)
      try writer.finish()
    }
    #expect(error?.kind == .noOutput)
    #expect(error?.message.lowercased().contains("no space left on device") == true)
  }

  @Test("the target of a symbolic link is not touched", arguments: [true, false]) func link(isThere: Bool)
    throws
  {
    if isThere { _ = try folder.write(Array("precious".utf8), to: "target") }
    try #require(symlink(folder.file("target"), folder.file("a.wav")) == 0)
    let error = #expect(throws: AudioError.self) {
      try SoundFileWriter(path: folder.file("a.wav"), format: .session)
    }
    #expect(error?.message.hasSuffix("a.wav: it is a symbolic link") == true)
    #expect((try? readBytes(folder.file("target"))) == (isThere ? Array("precious".utf8) : nil))
  }

  @Test("a folder that is not there is reported with its path") func noFolder() throws {
    let error = #expect(throws: AudioError.self) {
      try SoundFileWriter(path: folder.file("no/a.wav"), format: .session)
    }
    #expect(error?.kind == .noOutput)
    #expect(error?.message.hasSuffix("no/a.wav: no such file or directory") == true)
  }
}
