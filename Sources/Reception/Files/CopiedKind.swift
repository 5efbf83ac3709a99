internal import Codecs
internal import StreamCore

/// The kind of a file that is recorded byte for byte.
struct CopiedKind: Sendable {
  /// The format of its frames, as far as its first bytes determine it.
  let format: StreamFormat
  /// The extension of its name.
  let fileEnd: String

  /// The number of bytes of an unidentified start, mostly a tag with a picture, after which the content type
  /// decides.
  static let longestStart = 64 * 1024
  /// The extensions that are more exact than the codec.
  private static let ends = Set(
    Codec.allCases.filter { $0.isOgg || [.ogg, .mp4, .pcm].contains($0) }.flatMap(\.extensions)
  ).subtracting(["wav"]).union(["wma", "ape", "wv"])

  /// Returns the name of a container that is refused, for files as for stations; nil for others.
  static func refused(_ start: [UInt8]) -> String? {
    start.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) ? ForeignSound.name(of: start[...]) : nil
  }

  /// Identifies a file that begins with `start`; nil if it is not sound, or more bytes are needed.
  /// - Parameters:
  ///   - path: the path of its address.
  ///   - isWhole: `true` if no bytes follow.
  init?(_ start: [UInt8], contentType: String?, path: String, isWhole: Bool) {
    let path = path.lowercased()
    let end = path.lastIndex(of: ".").map { String(path[path.index(after: $0)...]) } ?? ""
    let isNamed = Self.ends.contains(end)
    if let format = Self.format(start, contentType, isWhole: isWhole) {
      self.format = format
    } else if isNamed, !start.isEmpty, isWhole || start.count >= Self.longestStart {
      // The format is unknown, but the name claims sound.
      format = StreamFormat(codec: .other)
    } else {
      return nil
    }
    fileEnd = isNamed && !format.codec.hasFrames ? end : format.codec.fileEnd
  }

  private static func format(_ start: [UInt8], _ contentType: String?, isWhole: Bool) -> StreamFormat? {
    if ForeignSound.name(of: start[...]) != nil { return StreamFormat(codec: .other) }
    let codec = ContentSniffer.container(start.prefix(ContentSniffer.magicLength))
    if let codec, codec != .ogg { return StreamFormat(codec: codec) }
    var framer = StreamFramer(contentType: contentType)
    start.withUnsafeBytes { framer.feed($0) }
    if isWhole { framer.end() }
    if case .format(let format)? = framer.next() { return format }
    if codec == .ogg { return isWhole || start.count >= longestStart ? StreamFormat(codec: .ogg) : nil }
    // A tag with a picture precedes the sound.
    guard start.count >= longestStart, start.starts(with: "ID3".utf8) else { return nil }
    return StreamFormat(codec: contentType?.contains("aac") == true ? .aac : .mp3)
  }
}
