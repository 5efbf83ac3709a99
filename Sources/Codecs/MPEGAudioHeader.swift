/// The four bytes in front of every MPEG audio frame.
///
/// Source: ISO/IEC 11172-3 §2.4.1.3 and §2.4.2.3, ISO/IEC 13818-3 §2.4.2.3; MPEG-2.5 as encoders agreed on it.
struct MPEGAudioHeader: Equatable {
  enum Version: UInt8 {
    case mpeg25 = 0
    case mpeg2 = 2
    case mpeg1 = 3
  }

  let version: Version
  /// 1, 2 or 3.
  let layer: Int
  /// In bit/s; 0 for free format, whose frames are as long as the distance to the next header.
  let bitRate: Int
  /// In Hz.
  let sampleRate: Int
  let isPadded: Bool
  /// 1 or 2.
  let channels: Int

  /// Reads a header from the first four of `bytes`, nil when they are none.
  init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count >= 4 else { return nil }
    let (b1, b2, b3) = (bytes[bytes.startIndex + 1], bytes[bytes.startIndex + 2], bytes[bytes.startIndex + 3])
    guard bytes[bytes.startIndex] == 0xFF, b1 & 0xE0 == 0xE0 else { return nil }
    guard let version = Version(rawValue: b1 >> 3 & 3), b1 >> 1 & 3 != 0 else { return nil }
    guard b2 >> 4 != 15, b2 >> 2 & 3 != 3, b3 & 3 != 2 else { return nil }
    self.version = version
    layer = 4 - Int(b1 >> 1 & 3)
    bitRate = Self.bitRate(index: Int(b2 >> 4), version: version, layer: layer)
    let halvings = version == .mpeg1 ? 0 : version == .mpeg2 ? 1 : 2
    sampleRate = [44_100, 48_000, 32_000][Int(b2 >> 2 & 3)] >> halvings
    isPadded = b2 & 2 != 0
    channels = b3 >> 6 == 3 ? 1 : 2
  }

  /// PCM frames in one MPEG frame.
  var samplesPerFrame: Int {
    layer == 1 ? 384 : layer == 3 && version != .mpeg1 ? 576 : 1152
  }

  /// Bytes from this header to the next one, nil for free format.
  var frameLength: Int? {
    guard bitRate > 0 else { return nil }
    let padding = isPadded ? 1 : 0
    return layer == 1
      ? (12 * bitRate / sampleRate + padding) * 4
      : samplesPerFrame / 8 * bitRate / sampleRate + padding
  }

  /// Whether both may stand in one stream; bit rate and padding change from frame to frame.
  func agrees(with other: MPEGAudioHeader) -> Bool {
    version == other.version && layer == other.layer && sampleRate == other.sampleRate
  }

  private static func bitRate(index: Int, version: Version, layer: Int) -> Int {
    let table: [Int]
    switch (version, layer) {
    case (.mpeg1, 1): table = [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448]
    case (.mpeg1, 2): table = [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384]
    case (.mpeg1, _): table = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
    case (_, 1): table = [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256]
    default: table = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
    }
    return table[index] * 1000
  }

  /// Finds where MPEG audio starts: the first of three headers that agree, each where the one before says.
  /// Near the end of the file fewer than three will do.
  /// - Parameters:
  ///   - bytes: a part of the file.
  ///   - reachesEnd: whether the file ends with `bytes`.
  /// - Returns: index of the first header in `bytes`, nil when there is none.
  static func firstFrame(in bytes: [UInt8], reachesEnd: Bool) -> Int? {
    for start in bytes.indices where bytes[start] == 0xFF {
      guard let first = MPEGAudioHeader(bytes[start...]) else { continue }
      // Free format says no length; only the very first bytes get the benefit of the doubt.
      guard let length = first.frameLength else {
        if start == 0 { return start }
        continue
      }
      var next = start + length
      var agreeing = 1
      while agreeing < 3, next + 4 <= bytes.count, let header = MPEGAudioHeader(bytes[next...]),
        header.agrees(with: first), let length = header.frameLength
      {
        agreeing += 1
        next += length
      }
      let isLast = reachesEnd && next + 4 > bytes.count
      if agreeing == 3 || (isLast && (agreeing == 2 || start == 0)) { return start }
    }
    return nil
  }
}
