import AudioCore
import Codecs
import TestSupport

extension Sound {
  /// The first frames of `decoder`, at most `limit`.
  init(decoding decoder: any Decoder, limit: Int) throws {
    var samples: [Float] = []
    let channels = decoder.format.channels
    var rest = limit
    while rest > 0 {
      var chunk = [Float](repeating: 0, count: min(rest, 700) * channels)
      let got = try chunk.withUnsafeMutableBufferPointer { try decoder.read(into: $0) }
      if got == 0 { break }
      samples += chunk[..<(got * channels)]
      rest -= got
    }
    self.init(interleaved: samples, format: decoder.format)
  }
}

/// A WAV file, byte by byte. Source: Microsoft, "Multimedia Programming Interface", 1991.
struct WAVBytes {
  var format = 1
  var bits: Int
  var channels: Int
  var sampleRate = 48_000
  /// The length in the data chunk, nil for the true one.
  var claimedSize: Int?

  func bytes(data: [UInt8]) -> [UInt8] {
    let size = claimedSize ?? data.count
    func little(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    let frame = channels * bits / 8
    let description =
      little(format, 2) + little(channels, 2) + little(sampleRate, 4) + little(sampleRate * frame, 4)
      + little(frame, 2) + little(bits, 2)
    return Array("RIFF".utf8) + little(size + 36, 4) + Array("WAVEfmt ".utf8) + little(16, 4) + description
      + Array("data".utf8) + little(size, 4) + data
  }
}

/// The growth of `peakMemory()`, in bytes, that hostile input may cause. The address space is that of the process, so a
/// test that measures it has a process of its own; a claim in a file is of more than this.
let memoryLimit = 1_000_000_000

/// Returns the peak of the process's address space in bytes.
func peakMemory() -> Int {
  let status = (try? readBytes("/proc/self/status")) ?? []
  let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmPeak") }
  return (line?.split(separator: " ").dropLast().last.flatMap { Int($0) } ?? 0) * 1024
}

/// A decoder of pieces in memory, each with a format of its own.
final class MemoryDecoder: Decoder {
  private let pieces: [Sound]
  private var piece = 0
  private var position = 0

  init(_ pieces: Sound...) { self.pieces = pieces }

  var format: AudioFormat { pieces[piece].format }
  var frameCount: Int? { pieces.count == 1 ? pieces[0].frameCount : nil }

  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    if position == pieces[piece].frameCount, piece + 1 < pieces.count {
      piece += 1
      position = 0
    }
    let sound = pieces[piece]
    let got = min(buffer.count / format.channels, sound.frameCount - position)
    _ = buffer.update(fromContentsOf: sound[position..<(position + got)].interleaved)
    position += got
    return got
  }

  func seek(toFrame frame: Int) throws { position = frame }
}
