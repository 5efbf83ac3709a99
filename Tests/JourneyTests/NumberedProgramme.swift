import Glibc
import TestSupport

/// A programme of numbered MP3 frames, so that a recording can be compared with the frames sent: 128 kbit/s
/// at 44.1 kHz, 417 bytes each, no two alike.
enum NumberedProgramme {
  static let frameLength = 417
  static let bytesPerSecond = 16_000
  /// Head of each frame: MPEG-1 layer III, no checksum, stereo; side information of zeros, so that no frame
  /// needs another one.
  private static let head: [UInt8] = [0xFF, 0xFB, 0x90, 0x00] + [UInt8](repeating: 0, count: 32)
  /// Padding without a byte that looks like the beginning of a frame.
  private static let filling = (0..<1024).map { UInt8($0 * $0 / 3 % 127) }

  /// Returns the frame with this number.
  static func frame(_ number: Int) -> [UInt8] {
    let digits = (0..<8).map { UInt8(number >> (7 * $0) & 0x7F) }
    let start = number * 31 % 512
    return head + digits + filling[start..<start + frameLength - head.count - 8]
  }

  /// Returns the programme as a station sends it, with a title every `distance` bytes.
  static func programme(titleEvery distance: Int) -> Programme {
    let titles = (0..<1_000).map { Programme.Title("Artist \($0) - Song \($0)", at: $0 * distance) }
    return Programme(bytesPerSecond: bytesPerSecond, titles: titles) { range in
      var bytes: [UInt8] = []
      bytes.reserveCapacity(range.count + frameLength)
      let first = range.lowerBound / frameLength
      for number in first...max(first, (range.upperBound - 1) / frameLength) { bytes += frame(number) }
      return Array(bytes.dropFirst(range.lowerBound - first * frameLength).prefix(range.count))
    }
  }

  /// Returns the numbers of the frames in `audio`.
  /// - Throws: `TestFailure` unless it consists of whole frames of the programme.
  static func numbers(of audio: ArraySlice<UInt8>, in path: String) throws -> [Int] {
    guard audio.count % frameLength == 0 else {
      throw TestFailure("\(path) ends with a piece of \(audio.count % frameLength) bytes of a frame")
    }
    return try stride(from: audio.startIndex, to: audio.endIndex, by: frameLength).map { offset in
      let found = audio[offset..<offset + frameLength]
      let number = (0..<8).reduce(0) { $0 | Int(audio[offset + head.count + $1]) << (7 * $1) }
      let isWhole = memcmp(Array(found), frame(number), frameLength) == 0
      guard isWhole else { throw TestFailure("\(path) has at byte \(offset) what was never sent") }
      return number
    }
  }
}

/// Returns the offset of the sound in the bytes of a file: after its ID3v2 tag. Source: id3v2.4.0-structure,
/// §3.1.
func endOfTag(_ bytes: [UInt8]) -> Int {
  guard bytes.starts(with: Array("ID3".utf8)), bytes.count >= 10 else { return 0 }
  return 10 + bytes[6..<10].reduce(0) { $0 << 7 | Int($1 & 0x7F) }
}
