internal import AudioCore

/// The kind of a file, detected from its bytes; names and extensions are ignored.
enum SourceKind: Equatable {
  /// Sound of a codec, or in a container, that is decoded here; the first frame starts at this byte, 0 in containers.
  case sound(Codec, firstFrame: Int)
  /// Audio of a kind that has no decoder here, in words.
  case unsupported(String)
  /// A playlist in M3U; `isOfSegments` for one of HLS.
  case playlist(isOfSegments: Bool)
  /// Unknown content, in words, and the byte where it was found.
  case unknown(found: String, byte: Int)

  /// The number of bytes in which the first MPEG frame must start.
  private static let searchLength = 65_536

  /// Detects the kind from the start of `file`, after ID3v2 tags; reads 64 KiB at most.
  init(of file: borrowing FileDescriptor) {
    guard file.size > 0 else {
      self = .unknown(found: "nothing, the file is empty,", byte: 0)
      return
    }
    var start = 0
    while let length = StreamTag.id3v2(file.bytes(at: start, count: 10)[...]) {
      guard start + length < file.size else {
        self = Self.behindDoubtfulTag(of: file, at: start)
        return
      }
      start += length
    }
    let head = file.bytes(at: start, count: Self.searchLength)
    if let kind = Self.container(head) {
      self = kind
      return
    }
    let isText = Self.isText(head.prefix(4096))
    let reachesEnd = start + head.count >= file.size
    let mpeg = isText ? nil : Self.firstFrame(of: MPEGAudioHeader.self, in: head, reachesEnd: reachesEnd)
    let adts = isText ? nil : Self.firstFrame(of: ADTSHeader.self, in: head, reachesEnd: reachesEnd)
    if let first = [mpeg, adts].compactMap({ $0 }).min(by: { $0.offset < $1.offset }) {
      self = .sound(first.codec, firstFrame: start + first.offset)
    } else {
      self = .unknown(found: isText ? "text" : Self.describe(head), byte: start)
    }
  }

  /// Detects the frames in a file whose tag at `start` claims to reach to its end or beyond.
  private static func behindDoubtfulTag(of file: borrowing FileDescriptor, at start: Int) -> SourceKind {
    let head = file.bytes(at: start, count: searchLength)
    var framing = AudioFraming(longestTag: 0)
    framing.feed(head)
    if start + head.count >= file.size { framing.end() }
    guard let frame = framing.next() else {
      return .unknown(found: "the end of the file inside or after an ID3 tag", byte: file.size)
    }
    return .sound(frame.codec, firstFrame: start + frame.encoded.offset)
  }

  /// Returns the codec of the first frame of a stream and its index in `head`; nil when no frame is found.
  private static func firstFrame<Header: FrameHeader>(
    of header: Header.Type, in head: [UInt8], reachesEnd: Bool
  ) -> (codec: Codec, offset: Int)? {
    var scanner = FrameScanner<Header>()
    scanner.feed(head)
    if reachesEnd { scanner.end() }
    return scanner.next().map { ($0.header.codec, $0.frame.offset) }
  }

  /// Returns the kind of a container's magic number, nil for an unknown one.
  private static func container(_ head: [UInt8]) -> SourceKind? {
    if let codec = Codec(head: head) { return codec == .ogg ? ogg(head[...]) : .sound(codec, firstFrame: 0) }
    if head.starts(with: "#EXTM3U".utf8) || head.starts(with: "\u{FEFF}#EXTM3U".utf8) {
      // Source: RFC 8216 §4.3: tags that only lists of HLS have.
      let text = String(decoding: head.prefix(4096), as: UTF8.self)
      return .playlist(isOfSegments: text.contains("#EXT-X-"))
    }
    // Some packets identify it: a later one may be damaged.
    if ForeignSound.isTransportStream(head.prefix(8 * 188)) {
      return .unsupported(ForeignSound.transportStream)
    }
    return ForeignSound.name(of: head[...]).map(Self.unsupported)
  }

  private static func ogg(_ head: ArraySlice<UInt8>) -> SourceKind {
    let packet = OggPage.firstPacket(head) ?? []
    if let foreign = ForeignSound.name(ofOgg: packet) { return .unsupported(foreign) }
    return .sound(Codec(firstPacket: packet) ?? .ogg, firstFrame: 0)
  }

  private static let others: [(magic: [UInt8], name: String)] = [
    ([0x89, 0x50, 0x4E, 0x47], "a PNG image"), ([0xFF, 0xD8, 0xFF], "a JPEG image"),
    (Array("GIF8".utf8), "a GIF image"), (Array("%PDF".utf8), "a PDF document"),
    (Array("PK\u{3}\u{4}".utf8), "a ZIP archive"), ([0x1F, 0x8B], "a gzip archive"),
    ([0x7F, 0x45, 0x4C, 0x46], "a Linux program"), (Array("RIFF".utf8), "a RIFF file without WAVE"),
    (Array("FORM".utf8), "an IFF file that is not AIFF"),
  ]

  private static func describe(_ head: [UInt8]) -> String {
    if let other = others.first(where: { head.starts(with: $0.magic) }) { return other.name }
    if MPEGAudioHeader(head, at: 0) != nil {
      return "a frame of MPEG audio that is cut off or not followed by another"
    }
    if head.allSatisfy({ $0 == 0 }) { return "zeros" }
    let digits = head.prefix(4).map { byte in
      let digits = String(byte, radix: 16)
      return digits.count < 2 ? "0" + digits : digits
    }
    return "bytes that no decoder knows (\(digits.joined(separator: " ")))"
  }

  /// `true` for UTF-8 without control characters other than white space.
  private static func isText(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F || (0x09...0x0D).contains($0) }
      && (String(validating: bytes.prefix(bytes.count - trailingPart(bytes)), as: UTF8.self) != nil)
  }

  /// Returns the bytes of a character that is cut off at the end.
  private static func trailingPart(_ bytes: ArraySlice<UInt8>) -> Int {
    var count = 0
    while count < min(3, bytes.count), bytes[bytes.endIndex - 1 - count] & 0xC0 == 0x80 { count += 1 }
    let hasLead = count < bytes.count && bytes[bytes.endIndex - 1 - count] >= 0xC0
    return hasLead ? count + 1 : 0
  }
}
