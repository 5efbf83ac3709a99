/// The headers of a logical stream of sound in Ogg, which a decoder needs before the first packet of sound.
///
/// Sources: Vorbis I §4.2, §A; RFC 7845 §5; "Ogg FLAC Mapping 1.0", Xiph.Org.
public struct OggHeaders: Sendable, Equatable {
  /// The codec, one with a mapping to Ogg.
  public let codec: Codec
  /// The mapping of the codec.
  var mapping: any OggMapping.Type {
    guard let mapping = codec.mapping else { preconditionFailure("headers are those of a codec in Ogg") }
    return mapping
  }
  /// The sample rate in Hz; 48,000 in Opus.
  public let sampleRate: Int
  /// The number of channels.
  public let channels: Int
  /// The number of PCM frames at the beginning that are not sound, in Opus.
  public internal(set) var preSkip = 0
  /// The comments, without pictures and other long fields.
  public var comments = OggComments()
  /// The first packet.
  var identification: [UInt8]
  /// The third packet of Vorbis, with the codebooks; empty in others.
  var setup: [UInt8] = []
  /// The number of PCM frames of a block by the first byte of its packet, in Vorbis; 0 for a packet of another kind.
  var blockSizes: [UInt16] = []

  /// Reads the first packet of a logical stream; nil when that is of no codec that is decoded here, or damaged.
  init?(_ packet: some Collection<UInt8>) {
    identification = Array(packet.prefix(1024))
    guard let codec = Codec(firstPacket: identification), let mapping = codec.mapping,
      let format = mapping.format(identification), format.channels > 0,
      (1...1_000_000).contains(format.sampleRate)
    else { return nil }
    self.codec = codec
    (channels, sampleRate, preSkip) = (format.channels, format.sampleRate, format.preSkip)
  }

  /// Reads the headers from whole pages, as `bytes` returns them; nil when they are damaged or incomplete.
  public init?(pages bytes: [UInt8]) {
    var framing = OggFraming()
    bytes.withUnsafeBytes { framing.feed($0) }
    _ = framing.next()
    guard let headers = framing.headers else { return nil }
    self = headers
  }

  /// Returns the headers as whole pages, for the start of a file.
  /// - Parameters:
  ///   - serial: the number of the logical stream.
  ///   - preSkip: the PCM frames at the beginning that are not sound, in Opus; nil for those of the headers.
  /// - Returns: the bytes, and the number of pages.
  public func pages(serial: UInt32, preSkip: Int? = nil) -> (bytes: [UInt8], count: Int) {
    let packets = mapping.packets(of: self, preSkip: preSkip ?? self.preSkip)
    let pages = OggPage.pages(of: packets.map { [($0, 0)] }, serial: serial, isStart: true)
    return (pages.flatMap { $0 }, pages.count)
  }
}

/// Reads the header packets of a logical stream as its pages come. Memory: 128 KiB, whatever the headers claim.
struct OggHeaderReader: Sendable {
  /// The limit in bytes of all headers: those with a picture have some MiB.
  private static let longest = 16 << 20

  enum State: Equatable {
    case reading
    case complete
    /// The headers can't be used: in words.
    case failed(String)
  }

  private(set) var state = State.reading
  private(set) var headers: OggHeaders
  /// The number of packets after the first that have ended.
  private var count = 0
  private var comments: OggCommentReader?
  private var packet: [UInt8] = []
  private var isWithin = false
  private var length = 0

  init(_ headers: OggHeaders) { self.headers = headers }

  /// Reads the next page of the logical stream.
  mutating func read(_ page: OggPage, _ bytes: UnsafeRawBufferPointer) {
    length += page.length
    guard length <= Self.longest else { return state = .failed("Ogg whose headers have no end") }
    for part in page.parts {
      guard case .reading = state else { return }
      // The start of the packet is missing.
      if !part.begins, !isWithin { continue }
      read(bytes[part.range], begins: part.begins)
      isWithin = !part.ends
      if part.ends { endPacket() }
    }
  }

  private mutating func read(_ bytes: some Collection<UInt8>, begins: Bool) {
    let mapping = headers.mapping
    if begins {
      packet = []
      comments = mapping.commentStart(bytes.first).map { OggCommentReader(magicLength: $0) }
    }
    comments?.feed(bytes)
    if comments == nil, let limit = mapping.longestSetup {
      guard packet.count + bytes.count <= limit else {
        let title = headers.codec.title
        return state = .failed("a \(title) stream whose setup is longer than \(limit / 1024) KiB")
      }
      packet += bytes
    } else {
      // The first bytes give the kind of the packet.
      packet += bytes.prefix(max(0, 8 - packet.count))
    }
  }

  private mutating func endPacket() {
    count += 1
    if let comments { headers.comments = comments.comments }
    comments = nil
    state = headers.mapping.read(packet, number: count, into: &headers)
  }
}
