internal import EventLoop
internal import StreamCore

/// An ID3 tag that comes with the sound of a stream. Source: ID3v2.3.0 and ID3v2.4.0, informal standards; RFC
/// 8216 §3.4 for the time of packed audio.
struct TimedTag: Sendable, Equatable {
  /// The title and the artist, as "artist - title"; nil if the tag has neither.
  private(set) var title: String?
  /// The time of the first frame of packed audio in ticks of 90 kHz.
  private(set) var time: Int?

  /// The length in bytes of the longest tag that is read.
  static let limit = 256 * 1024
  /// The length in bytes of a tag's header.
  static let headerSize = 10
  private static let timeOwner = "com.apple.streaming.transportStreamTimestamp"

  /// Returns the length in bytes of the tag with these first bytes; nil if they do not begin a tag.
  static func length(_ start: some Collection<UInt8>) -> Int? {
    let head = Array(start.prefix(headerSize))
    guard head.count == headerSize, head.starts(with: "ID3".utf8), head[6...].allSatisfy({ $0 < 0x80 }) else {
      return nil
    }
    return headerSize + syncsafe(head[6...]) + (head[5] & 0x10 != 0 ? 10 : 0)
  }

  /// Reads a whole tag; nil if the bytes are not a tag.
  init?(_ bytes: [UInt8]) {
    guard let length = Self.length(bytes), length <= bytes.count, bytes[3] == 3 || bytes[3] == 4 else {
      return nil
    }
    let (isNew, flags) = (bytes[3] == 4, bytes[5])
    var rest = bytes[Self.headerSize..<(length - (flags & 0x10 != 0 ? 10 : 0))]
    if flags & 0x80 != 0, !isNew { rest = Self.synchronized(rest)[...] }
    if flags & 0x40 != 0, rest.count >= 4 {
      let size = isNew ? Self.syncsafe(rest.prefix(4)) : Self.number(rest.prefix(4)) + 4
      rest = rest.dropFirst(size)
    }
    var texts: [String: String] = [:]
    while rest.count > 10, rest.first != 0 {
      let name = String(decoding: rest.prefix(4), as: UTF8.self)
      let sizeBytes = rest.dropFirst(4).prefix(4)
      let size = isNew ? Self.syncsafe(sizeBytes) : Self.number(sizeBytes)
      let format = rest.dropFirst(9).first ?? 0
      guard size <= rest.count - 10 else { break }
      var content = rest.dropFirst(10).prefix(size)
      if isNew, format & 0x01 != 0 { content = content.dropFirst(4) }
      if isNew, format & 0x02 != 0 { content = Self.synchronized(content)[...] }
      // The frame is neither compressed nor encrypted.
      if format & (isNew ? 0x0C : 0xC0) == 0 { read(name, content, into: &texts) }
      rest = rest.dropFirst(10 + size)
    }
    let parts = [texts["TPE1"], texts["TIT2"]].compactMap(\.self)
    title = parts.isEmpty ? nil : parts.joined(separator: " - ")
  }

  private mutating func read(_ name: String, _ content: ArraySlice<UInt8>, into texts: inout [String: String])
  {
    switch name {
    case "TIT2", "TPE1":
      let text = Self.text(content).cleaned.trimmingEnds()
      if !text.isEmpty { texts[name] = String(text.prefix(1000)) }
    case "PRIV":
      guard let zero = content.firstIndex(of: 0),
        content[..<zero].elementsEqual(Self.timeOwner.utf8), content.endIndex - zero == 9
      else { return }
      time = Self.number(content[(zero + 1)...].suffix(5)) & (1 << 33 - 1)
    default: break
    }
  }

  private static func text(_ content: ArraySlice<UInt8>) -> String {
    let body = content.dropFirst()
    switch content.first {
    case 0, 3:
      if let text = MarkedText.utf16(body) { return String(text.prefix { $0 != "\0" }) }
      let bytes = body.prefix { $0 != 0 }
      return content.first == 3
        ? String(decoding: bytes, as: UTF8.self)
        : String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    case 1, 2:
      let isLittle = content.first == 1 && body.starts(with: [0xFF, 0xFE])
      let units = stride(from: body.startIndex, to: body.endIndex - 1, by: 2).map { index in
        let (one, other) = (UInt16(body[index]), UInt16(body[index + 1]))
        return isLittle ? other << 8 | one : one << 8 | other
      }
      return String(decoding: units.prefix { $0 != 0 }.filter { $0 != 0xFEFF }, as: UTF16.self)
    default: return ""
    }
  }

  /// Returns bytes without the zeros after 0xFF that keep decoders from finding frames in them.
  private static func synchronized(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var (result, previous) = ([UInt8](), UInt8(0))
    for byte in bytes {
      if !(previous == 0xFF && byte == 0) { result.append(byte) }
      previous = byte
    }
    return result
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
  private static func syncsafe(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reduce(0) { $0 << 7 | Int($1 & 0x7F) }
  }
}
