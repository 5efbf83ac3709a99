/// Puts packets of Opus into pages of Ogg, a page a packet, as a logical stream without an end. Source: RFC
/// 7845.
public struct OpusPages: Sendable {
  private let serial: UInt32
  private let channels: Int
  private var granule = 0
  private var sequence: UInt32 = 2

  /// The length in bytes of the longest packet. Source: RFC 6716 §3.4, three frames of 1275 bytes an interval
  /// of 20 ms.
  public static let longestPacket = 1275 * 48 + 98
  /// The sample rate in Hz of positions, whatever the coded one is.
  public static let sampleRate = 48_000

  /// - Parameters:
  ///   - channels: 1 or 2; packets of the other kind are converted by the decoder.
  ///   - serial: the number of the logical stream.
  public init(channels: Int, serial: UInt32) {
    (self.channels, self.serial) = (min(2, max(1, channels)), serial)
  }

  /// The pages of the headers. The first sound of a stream that is joined late is sound, too: nothing is
  /// skipped.
  public var headers: [UInt8] {
    let rate = Self.sampleRate
    let head =
      OpusMapping.magic + [1, UInt8(channels), 0, 0]
      + (0..<4).map { UInt8(truncatingIfNeeded: rate >> (8 * $0)) } + [0, 0, 0]
    let tags = Array("OpusTags".utf8) + OggComments().bytes
    return OggPage.pages(of: [[(head, 0)], [(tags, 0)]], serial: serial, isStart: true).flatMap { $0 }
  }

  /// Returns the page of the next packet, and the number of its PCM frames; nil for a packet that is damaged.
  public mutating func page(of packet: [UInt8]) -> (bytes: [UInt8], samples: Int)? {
    let samples = OpusMapping.samples(of: packet)
    guard (1...5760).contains(samples), packet.count <= Self.longestPacket else { return nil }
    granule += samples
    let pages = OggPage.pages(of: [[(packet, granule)]], serial: serial, from: sequence)
    guard pages.count == 1, let bytes = pages.first else {
      granule -= samples
      return nil
    }
    sequence &+= 1
    return (bytes, samples)
  }
}
