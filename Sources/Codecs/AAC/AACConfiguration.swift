internal import AudioCore

/// The parameters that a decoder of AAC needs before the first frame.
///
/// Describes the core only: spectral band replication and parametric stereo, announced or not, are detected in
/// the frames, which needs less trust in headers and has the same result.
struct AACConfiguration: Sendable, Equatable {
  /// MPEG-4 audio object type: 1 Main, 2 LC, 4 LTP.
  let objectType: Int
  /// The index of the core's rate in `ADTSHeader.rates`.
  let rateIndex: Int
  /// The channel configuration, 1 to 7 as ISO/IEC 14496-3 table 1.19.
  let channelConfiguration: Int
  /// The number of samples of the core per frame and channel: 1024, or 960 in some broadcasts.
  let samplesPerFrame: Int

  /// The core's rate in Hz.
  var sampleRate: Int { ADTSHeader.rates[rateIndex] }

  /// The reason why this configuration is not decoded, nil when it is.
  var obstacle: String? {
    switch objectType {
    case 1, 2, 4: break
    case 3: return "AAC-SSR"
    default: return "MPEG-4 audio of type \(objectType)"
    }
    return (1...7).contains(channelConfiguration) ? nil : "AAC with channels of its own description"
  }

  /// The configuration as an AudioSpecificConfig of two bytes. Source: ISO/IEC 14496-3 §1.6.2.1, §4.4.1.
  var bytes: [UInt8] {
    let frameLength = samplesPerFrame == 960 ? 1 : 0
    let bits = objectType << 11 | rateIndex << 7 | channelConfiguration << 3 | frameLength << 2
    return [UInt8(truncatingIfNeeded: bits >> 8), UInt8(truncatingIfNeeded: bits)]
  }
}

extension AACConfiguration {
  /// The configuration in an ADTS header.
  init(_ header: ADTSHeader) {
    self.init(
      objectType: header.objectType, rateIndex: header.rateIndex,
      channelConfiguration: header.channelConfiguration, samplesPerFrame: 1024)
  }

  /// Reads an AudioSpecificConfig: the core, whether bands are replicated explicitly (object type 5 or 29 at
  /// the start), in an extension at the end, or not announced at all. Nil when it is cut off or has a rate
  /// without an index.
  ///
  /// Source: ISO/IEC 14496-3 §1.6.2.1 and §1.6.5.
  init?(audioSpecificConfig bytes: ArraySlice<UInt8>) {
    var bits = BitReader(bytes)
    guard var type = Self.objectType(&bits), var rate = Self.rateIndex(&bits), let channels = bits.read(4)
    else {
      return nil
    }
    if type == 5 || type == 29 {
      let core = (rate: rate, extended: Self.rateIndex(&bits))
      guard core.extended != nil, let coreType = Self.objectType(&bits) else { return nil }
      (type, rate) = (coreType, core.rate)
    }
    guard let isShort = bits.read(1) else { return nil }
    self.init(
      objectType: type, rateIndex: rate, channelConfiguration: channels,
      samplesPerFrame: isShort == 1 ? 960 : 1024)
  }

  private static func objectType(_ bits: inout BitReader) -> Int? {
    guard let type = bits.read(5) else { return nil }
    return type == 31 ? bits.read(6).map { $0 + 32 } : type
  }

  private static func rateIndex(_ bits: inout BitReader) -> Int? {
    guard let index = bits.read(4) else { return nil }
    if index == 15 { return bits.read(24).flatMap { ADTSHeader.rates.firstIndex(of: $0) } }
    return index < ADTSHeader.rates.count ? index : nil
  }
}

/// Reads whole numbers of a few bits, the highest first.
struct BitReader {
  private let bytes: ArraySlice<UInt8>
  private var position = 0

  init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  /// Returns the next `count` bits, nil when fewer are left.
  mutating func read(_ count: Int) -> Int? {
    guard position + count <= bytes.count * 8 else { return nil }
    var value = 0
    for bit in position..<(position + count) {
      value = value << 1 | Int(bytes[bytes.startIndex + bit / 8] >> (7 - bit % 8) & 1)
    }
    position += count
    return value
  }
}
