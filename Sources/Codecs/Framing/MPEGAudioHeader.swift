/// The four bytes before every MPEG audio frame.
///
/// Source: ISO/IEC 11172-3 §2.4.1.3 and §2.4.2.3, ISO/IEC 13818-3 §2.4.2.3; MPEG-2.5 as encoders agreed on
/// it.
struct MPEGAudioHeader: FrameHeader, Equatable {
  enum Version: UInt8 {
    case mpeg25 = 0
    case mpeg2 = 2
    case mpeg1 = 3
  }

  let version: Version
  /// The layer: 1, 2 or 3.
  let layer: Int
  /// The bit rate in bit/s; 0 for free format, whose frames are as long as the distance to the next header.
  let bitRate: Int
  /// The sample rate in Hz.
  let sampleRate: Int
  let isPadded: Bool
  /// The number of channels: 1 or 2.
  let channels: Int

  /// `true` if a checksum of 16 bits follows the header.
  let hasChecksum: Bool
  /// The number of bytes to the next header without padding, in free format; 0 while they are not known.
  private var freeLength = 0

  static let size = 4
  /// The length in bytes of the longest frame. Layer II at 384 kbit/s and 32 kHz has 1728; free format may
  /// have more, libmpg123 reads up to this.
  static let longest = 3456

  init?(_ bytes: [UInt8], at index: Int) {
    guard index + 4 <= bytes.count else { return nil }
    let (b1, b2, b3) = (bytes[index + 1], bytes[index + 2], bytes[index + 3])
    guard bytes[index] == 0xFF, b1 & 0xE0 == 0xE0 else { return nil }
    guard let version = Version(rawValue: b1 >> 3 & 3), b1 >> 1 & 3 != 0 else { return nil }
    // The emphasis may have its reserved value: no decoder applies it, and some encoders write anything there.
    guard b2 >> 4 != 15, b2 >> 2 & 3 != 3 else { return nil }
    self.version = version
    layer = 4 - Int(b1 >> 1 & 3)
    bitRate = Self.bitRate(index: Int(b2 >> 4), version: version, layer: layer)
    let halvings = version == .mpeg1 ? 0 : version == .mpeg2 ? 1 : 2
    sampleRate = Self.rates[Int(b2 >> 2 & 3)] >> halvings
    isPadded = b2 & 2 != 0
    hasChecksum = b1 & 1 == 0
    channels = b3 >> 6 == 3 ? 1 : 2
  }

  var codec: Codec { layer == 3 ? .mp3 : layer == 2 ? .layer2 : .layer1 }

  /// The number of PCM frames in one MPEG frame.
  var samplesPerFrame: Int {
    layer == 1 ? 384 : layer == 3 && version != .mpeg1 ? 576 : 1152
  }

  /// The number of bytes of padding, a slot of the layer.
  private var padding: Int { isPadded ? (layer == 1 ? 4 : 1) : 0 }

  /// The number of bytes from this header to the next one; nil in free format while that distance is not
  /// known.
  var frameLength: Int? {
    guard bitRate > 0 else { return freeLength > 0 ? freeLength + padding : nil }
    return layer == 1
      ? 12 * bitRate / sampleRate * 4 + padding
      : samplesPerFrame / 8 * bitRate / sampleRate + padding
  }

  /// The number of bytes of the shortest frame of this version and rate, that of the lowest bit rate.
  var shortestFrame: Int { samplesPerFrame / 8 * (version == .mpeg1 ? 32_000 : 8000) / sampleRate }

  var headerLength: Int { hasChecksum ? 6 : 4 }

  /// The number of bytes of side information after header and checksum, in layer III.
  var sideInformationLength: Int {
    version == .mpeg1 ? (channels == 1 ? 17 : 32) : (channels == 1 ? 9 : 17)
  }

  /// `true` if both may occur in one stream; bit rate and padding change from frame to frame.
  func agrees(with other: MPEGAudioHeader) -> Bool {
    version == other.version && layer == other.layer && sampleRate == other.sampleRate
      && (bitRate == 0) == (other.bitRate == 0)
  }

  func following(_ other: MPEGAudioHeader) -> MPEGAudioHeader {
    var header = self
    header.freeLength = other.freeLength
    return header
  }

  func spanning(_ distance: Int) -> MPEGAudioHeader {
    var header = self
    header.freeLength = max(0, distance - padding)
    return header
  }

  private static let rates = [44_100, 48_000, 32_000]
  private static let layerI = [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448]
  private static let layerII = [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384]
  private static let layerIII = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
  private static let lowLayerI = [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256]
  private static let lowOthers = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]

  private static func bitRate(index: Int, version: Version, layer: Int) -> Int {
    switch (version, layer) {
    case (.mpeg1, 1): layerI[index] * 1000
    case (.mpeg1, 2): layerII[index] * 1000
    case (.mpeg1, _): layerIII[index] * 1000
    case (_, 1): lowLayerI[index] * 1000
    default: lowOthers[index] * 1000
    }
  }
}
