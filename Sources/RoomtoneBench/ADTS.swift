/// The frames of an ADTS file that is known to be whole.
///
/// Source: ISO/IEC 14496-3 §1.A.2.2.
enum ADTS {
  /// Returns the byte range of each frame, header included.
  static func frames(_ bytes: [UInt8]) throws -> [Range<Int>] {
    var frames: [Range<Int>] = []
    var start = 0
    while start + 7 <= bytes.count {
      let length =
        Int(bytes[start + 3] & 3) << 11 | Int(bytes[start + 4]) << 3 | Int(bytes[start + 5]) >> 5
      guard bytes[start] == 0xFF, bytes[start + 1] & 0xF0 == 0xF0, length > 7, start + length <= bytes.count
      else { throw StartBench.Failed(message: "no ADTS frame at byte \(start)") }
      frames.append(start..<start + length)
      start += length
    }
    return frames
  }

  /// Returns the frames with another index of the rate in their headers.
  static func renamed(_ bytes: [UInt8], toRateIndex index: UInt8) throws -> [UInt8] {
    var renamed = bytes
    for frame in try frames(bytes) {
      renamed[frame.lowerBound + 2] = bytes[frame.lowerBound + 2] & 0b1100_0011 | index << 2
    }
    return renamed
  }
}
