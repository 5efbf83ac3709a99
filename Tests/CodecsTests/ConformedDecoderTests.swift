import AudioCore
import Codecs
import TestSupport
import TestTraits
import Testing

@Suite("Conformed decoder", .tags(.rendering)) struct ConformedDecoderTests {
  private func noise(_ seed: UInt64, channels: Int, rate: Int, frames: Int) -> Sound {
    Sound(
      sampleRate: rate,
      channels: (0..<channels).map { Signal.noise(seed: seed + UInt64($0), amplitude: 0.5, frames: frames) })
  }

  @Test("stereo at the session's rate passes bit for bit") func passes() throws {
    let sound = noise(1, channels: 2, rate: 48_000, frames: 10_000)
    let decoder = try ConformedDecoder(MemoryDecoder(sound))
    #expect(decoder.frameCount == 10_000)
    #expect(try Sound(decoding: decoder, frames: 960) == sound)
  }

  @Test("mono is on both sides, bit for bit") func mono() throws {
    let sound = noise(2, channels: 1, rate: 48_000, frames: 5000)
    let output = try Sound(decoding: ConformedDecoder(MemoryDecoder(sound)))
    #expect(output.channels == [sound.channels[0], sound.channels[0]])
  }

  @Test("5.1 keeps its sides apart and can't exceed full scale") func surround() throws {
    let loud = Sound(sampleRate: 48_000, channels: (0..<6).map { _ in Signal.constant(1, frames: 10) })
    let output = try Sound(decoding: ConformedDecoder(MemoryDecoder(loud)))
    #expect(output.peak <= 1 && output.peak > 0.999)
    var left = Sound(sampleRate: 48_000, channels: (0..<6).map { _ in Signal.constant(0, frames: 10) })
    left.channels[0] = Signal.constant(1, frames: 10)
    left.channels[4] = Signal.constant(1, frames: 10)
    let sides = try Sound(decoding: ConformedDecoder(MemoryDecoder(left)))
    #expect(sides.channels[0][5] > 0.7 && sides.channels[1][5] == 0)
  }

  @Test("numbers of channels without a meaning are refused") func refuses() throws {
    let sound = noise(3, channels: 7, rate: 48_000, frames: 10)
    #expect(throws: AudioError.self) { try ConformedDecoder(MemoryDecoder(sound)) }
  }

  @Test(
    "blocks are whole until the end, and the length is the one reported",
    arguments: [44_100, 22_050, 32_000])
  func blocks(rate: Int) throws {
    let decoder = try ConformedDecoder(MemoryDecoder(noise(4, channels: 2, rate: rate, frames: 30_001)))
    let count = decoder.frameCount
    var total = 0
    var block = [Float](repeating: 0, count: 1920)
    while true {
      let got = try block.withUnsafeMutableBufferPointer { try decoder.read(into: $0) }
      total += got
      if got < 960 { break }
    }
    #expect(total == count)
    #expect(count == Int((30_001.0 * 48_000 / Double(rate)).rounded()))
  }

  @Test(
    "a seek at another rate equals reading from the start", arguments: [48_000, 44_100, 22_050])
  func seeks(rate: Int) throws {
    let source = MemoryDecoder(noise(5, channels: 2, rate: rate, frames: rate))
    let decoder = try ConformedDecoder(source)
    let whole = try Sound(decoding: decoder)
    #expect(whole.frameCount == 48_000)
    for frame in [0, 1, 959, 20_000, 33_333, 47_999, 48_000] {
      try decoder.seek(toFrame: frame)
      let rest = try Sound(decoding: decoder)
      #expect(rest.frameCount == 48_000 - frame)
      if frame < 48_000 {
        #expect(rest.errorToSignal(against: whole[frame..<48_000]) < -100, "at \(frame)")
      }
    }
    #expect(throws: AudioError.self) { try decoder.seek(toFrame: 48_001) }
    #expect(throws: AudioError.self) { try decoder.seek(toFrame: -1) }
  }

  @Test("an MP3 at 44.1 kHz sounds the same at 48 kHz, and seeks there") func mp3() throws {
    let path = Fixtures.path("mp3-vbr-v4-44k.mp3")
    let decoder = try ConformedDecoder(AudioFile.open(path))
    let whole = try Sound(decoding: decoder)
    #expect(whole.frameCount == 144_000)
    let original = try Sound(file: path)
    #expect(abs(whole.level - original.level) < 0.05)
    try decoder.seek(toFrame: 100_000)
    #expect(try Sound(decoding: decoder).errorToSignal(against: whole[100_000..<144_000]) < -115)
  }

  @Test("a source that changes rate and channels continues without losing a frame") func changes() throws {
    let first = Signal.sine(300, amplitude: 0.5, frames: 44_100, sampleRate: 44_100)
    let second = Signal.sine(300, amplitude: 0.5, frames: 24_000, sampleRate: 24_000)
    let third = Signal.sine(300, amplitude: 0.5, frames: 48_000, sampleRate: 48_000)
    let decoder = try ConformedDecoder(
      MemoryDecoder(
        Sound(sampleRate: 44_100, channels: [first, first]), Sound(sampleRate: 24_000, channels: [second]),
        Sound(sampleRate: 48_000, channels: [third, third])))
    let output = try Sound(decoding: decoder)
    #expect(output.frameCount == 144_000)
    let sine = Signal.sine(300, amplitude: 0.5, frames: 144_000, sampleRate: 48_000)
    let reference = Sound(sampleRate: 48_000, channels: [sine, sine])
    for second in 0..<3 {
      let range = (second * 48_000 + 2000)..<(second * 48_000 + 46_000)
      #expect(output[range].errorToSignal(against: reference[range]) < -100, "second \(second)")
    }
  }
}
