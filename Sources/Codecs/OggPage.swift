/// The header of an Ogg page, as far as codec and length in time are concerned.
///
/// Source: RFC 3533 §6.
struct OggPage {
  /// PCM frames up to the end of the page, as most codecs count; −1 where no packet ends.
  let position: Int
  /// Index of the content's first byte.
  let content: Int

  init?(_ bytes: ArraySlice<UInt8>) {
    let start = bytes.startIndex
    guard bytes.count >= 27, bytes.starts(with: "OggS".utf8), bytes[start + 4] == 0 else { return nil }
    let segments = Int(bytes[start + 26])
    guard bytes.count >= 27 + segments else { return nil }
    position = Int(
      Int64(bitPattern: (0..<8).reduce(UInt64(0)) { $0 | UInt64(bytes[start + 6 + $1]) << (8 * UInt64($1)) }))
    content = start + 27 + segments
  }

  /// Returns the first packet of a file that begins with `head`, which identifies its codec; nil when that is
  /// no Ogg page.
  static func firstPacket(_ head: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    OggPage(head).map { head[$0.content...] }
  }

  /// Returns the position in the last page of `file`; nil when none has one in its last 64 KiB, the longest
  /// page.
  static func lastPosition(in file: borrowing FileDescriptor) -> Int? {
    let length = min(file.size, 65_536)
    let tail = file.bytes(at: file.size - length, count: length)
    var index = tail.count
    while let found = tail[..<index].lastIndex(of: UInt8(ascii: "O")) {
      if let page = OggPage(tail[found...]), page.position > 0 { return page.position }
      index = found
    }
    return nil
  }
}
