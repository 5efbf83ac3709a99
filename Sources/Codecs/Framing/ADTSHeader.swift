/// The seven bytes before every AAC frame of an ADTS stream.
///
/// Source: ISO/IEC 13818-7 §6.2, ISO/IEC 14496-3 §1.A.2.2.
struct ADTSHeader: FrameHeader, Equatable {
  /// The length in bytes of a header: 12 bits of sync, then fields up to the number of blocks.
  static let size = 7
  /// The length in bytes of the longest frame: the field has 13 bits.
  static let longest = 8191
  /// Sample rates in Hz by rate index; higher indices are reserved.
  static let rates = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
  ]

  /// MPEG-4 audio object type: 1 Main, 2 LC, 3 SSR, 4 LTP.
  let objectType: Int
  /// The index in `rates`.
  let rateIndex: Int
  /// The channel configuration, 1 to 7 as ISO/IEC 14496-3 table 1.19; 0 when the frame describes its channels
  /// inside.
  let channelConfiguration: Int
  /// `true` if a checksum of 16 bits follows the header.
  let hasChecksum: Bool
  /// Raw data blocks, 1 to 4; each holds 1024 samples per channel.
  let blocks: Int
  private let length: Int
  private let isMPEG2: Bool

  init?(_ bytes: [UInt8], at index: Int) {
    guard index + Self.size <= bytes.count, bytes[index] == 0xFF, bytes[index + 1] & 0xF6 == 0xF0 else {
      return nil
    }
    let (b1, b2, b3) = (Int(bytes[index + 1]), Int(bytes[index + 2]), Int(bytes[index + 3]))
    let (b4, b5, b6) = (Int(bytes[index + 4]), Int(bytes[index + 5]), Int(bytes[index + 6]))
    isMPEG2 = b1 & 8 != 0
    hasChecksum = b1 & 1 == 0
    objectType = (b2 >> 6) + 1
    rateIndex = b2 >> 2 & 15
    channelConfiguration = (b2 & 1) << 2 | b3 >> 6
    length = (b3 & 3) << 11 | b4 << 3 | b5 >> 5
    blocks = (b6 & 3) + 1
    // LTP came with MPEG-4.
    guard rateIndex < Self.rates.count, !(isMPEG2 && objectType == 4), length > headerLength else {
      return nil
    }
  }

  var codec: Codec { .aac }
  var frameLength: Int? { length }
  var shortestFrame: Int { Self.size }
  var headerLength: Int {
    guard hasChecksum else { return Self.size }
    // With several blocks the header also holds the start of each but the first.
    return Self.size + 2 * blocks
  }
  var sampleRate: Int { Self.rates[rateIndex] }
  var channels: Int { channelConfiguration == 7 ? 8 : channelConfiguration }
  var samplesPerFrame: Int { 1024 * blocks }

  /// `true` if the fields of the standard's fixed header are equal.
  func agrees(with other: ADTSHeader) -> Bool {
    isMPEG2 == other.isMPEG2 && objectType == other.objectType && rateIndex == other.rateIndex
      && channelConfiguration == other.channelConfiguration && hasChecksum == other.hasChecksum
  }

  func following(_ other: ADTSHeader) -> ADTSHeader { self }
  func spanning(_ distance: Int) -> ADTSHeader { self }
}
