/// The headers of a logical stream of sound in Ogg: what a decoder needs before the first packet of sound.
///
/// Sources: Vorbis I §4.2, §A; RFC 7845 §5; "Ogg FLAC Mapping 1.0", Xiph.Org.
public struct OggHeaders: Sendable, Equatable {
  /// A coding of sound in Ogg that is decoded here.
  public enum Codec: Sendable, Equatable {
    case vorbis
    case opus
    case flac
  }

  /// The coding.
  public let codec: Codec
  /// The sample rate in Hz; 48,000 in Opus.
  public let sampleRate: Int
  /// The number of channels.
  public let channels: Int
  /// The PCM frames at the beginning that are no sound, in Opus.
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
    let bytes = identification
    func little(_ index: Int, _ count: Int) -> Int {
      bytes[index..<(index + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    if bytes.starts(with: [1] + Array("vorbis".utf8)), bytes.count >= 30 {
      (codec, channels, sampleRate) = (.vorbis, Int(bytes[11]), little(12, 4))
    } else if bytes.starts(with: "OpusHead".utf8), bytes.count >= 19, bytes[8] < 16 {
      (codec, channels, sampleRate, preSkip) = (.opus, Int(bytes[9]), 48_000, little(10, 2))
    } else if bytes.starts(with: [0x7F] + Array("FLAC".utf8)), bytes.count >= 51 {
      let rate = Int(bytes[27]) << 12 | Int(bytes[28]) << 4 | Int(bytes[29]) >> 4
      (codec, channels, sampleRate) = (.flac, Int(bytes[29]) >> 1 & 7 + 1, rate)
    } else {
      return nil
    }
    guard channels > 0, (1...1_000_000).contains(sampleRate) else { return nil }
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
  ///   - preSkip: the PCM frames at the beginning that are no sound, in Opus; nil for those of the headers.
  /// - Returns: the bytes, and the number of pages.
  public func pages(serial: UInt32, preSkip: Int? = nil) -> (bytes: [UInt8], count: Int) {
    var first = identification
    var packets: [[UInt8]]
    switch codec {
    case .vorbis: packets = [[3] + Array("vorbis".utf8) + comments.bytes + [1], setup]
    case .opus:
      let skip = preSkip ?? self.preSkip
      first.replaceSubrange(10..<12, with: [UInt8(skip & 0xFF), UInt8(skip >> 8 & 0xFF)])
      packets = [Array("OpusTags".utf8) + comments.bytes]
    case .flac:
      let body = comments.bytes
      packets = [
        [0x84, UInt8(body.count >> 16 & 0xFF), UInt8(body.count >> 8 & 0xFF), UInt8(body.count & 0xFF)] + body
      ]
      // One further header packet; the length and the checksum of the sound are not known.
      first.replaceSubrange(7..<9, with: [0, 1])
      first[30] &= 0xF0
      first.replaceSubrange(31..<51, with: [UInt8](repeating: 0, count: 20))
    }
    var (bytes, count): ([UInt8], Int) = ([], 0)
    for (index, packet) in ([first] + packets).enumerated() {
      for page in Self.pages(of: packet, granule: 0, serial: serial, from: count, isFirst: index == 0) {
        bytes += page
        count += 1
      }
    }
    return (bytes, count)
  }

  /// Returns a packet as whole pages, of which the last has the granule position.
  static func pages(
    of packet: [UInt8], granule: Int, serial: UInt32, from sequence: Int, isFirst: Bool
  ) -> [[UInt8]] {
    var lacing = [UInt8](repeating: 255, count: packet.count / 255) + [UInt8(packet.count % 255)]
    var (rest, pages) = (packet[...], [[UInt8]]())
    while !lacing.isEmpty {
      let segments = Array(lacing.prefix(255))
      lacing.removeFirst(segments.count)
      let content = rest.prefix(segments.reduce(0) { $0 + Int($1) })
      rest = rest.dropFirst(content.count)
      let page = OggPage(
        isContinued: !pages.isEmpty, isFirst: isFirst, granule: lacing.isEmpty ? granule : -1, serial: serial,
        sequence: UInt32(sequence + pages.count), lacing: segments)
      pages.append(page.bytes(content))
    }
    return pages
  }
}

/// Reads the header packets of a logical stream as its pages come. Memory: 128 KiB, whatever the headers claim.
struct OggHeaderReader: Sendable {
  /// The limit in bytes of a setup header; libvorbis makes them of 3 to 8 KiB.
  private static let longestSetup = 64 * 1024
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
  /// The number of packets behind the first that have ended, and of those that are to come; nil where they end with a
  /// mark.
  private var count = 0
  private var expected: Int?
  private var comments: OggCommentReader?
  private var packet: [UInt8] = []
  private var isWithin = false
  private var length = 0

  init(_ headers: OggHeaders) {
    self.headers = headers
    switch headers.codec {
    case .vorbis: expected = 2
    case .opus: expected = 1
    case .flac:
      let stated = Int(headers.identification[7]) << 8 | Int(headers.identification[8])
      expected = stated > 0 ? stated : nil
    }
  }

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
    if begins {
      packet = []
      comments = nil
      let isComment: Bool
      switch headers.codec {
      case .vorbis: isComment = bytes.first == 3
      case .opus: isComment = true
      case .flac: isComment = bytes.first.map { $0 & 0x7F == 4 } ?? false
      }
      if isComment {
        comments = OggCommentReader(
          magicLength: headers.codec == .vorbis ? 7 : headers.codec == .opus ? 8 : 4)
      }
    }
    if comments != nil {
      comments?.feed(bytes)
      // The first bytes tell the kind of the packet.
      packet += bytes.prefix(max(0, 8 - packet.count))
    } else if headers.codec == .vorbis, packet.count + bytes.count > Self.longestSetup {
      state = .failed("a Vorbis stream whose setup is longer than \(Self.longestSetup / 1024) KiB")
    } else {
      packet += bytes.prefix(headers.codec == .vorbis ? bytes.count : max(0, 8 - packet.count))
    }
  }

  private mutating func endPacket() {
    count += 1
    if let comments { headers.comments = comments.comments }
    comments = nil
    switch headers.codec {
    case .opus:
      guard packet.starts(with: "OpusTags".utf8) else {
        return state = .failed("Opus in Ogg without its tags")
      }
    case .vorbis where count == 1:
      guard packet.starts(with: [3] + Array("vorbis".utf8)) else {
        return state = .failed("Vorbis without its comments")
      }
    case .vorbis:
      headers.setup = packet
      headers.blockSizes = VorbisSetup.blockSizes(headers)
      guard !headers.blockSizes.isEmpty else { return state = .failed("Vorbis with a damaged setup") }
    case .flac:
      if expected == nil, let first = packet.first, first & 0x80 != 0 { expected = count }
    }
    if count == expected { state = .complete }
  }
}
