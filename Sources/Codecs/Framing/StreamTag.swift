/// Tags between frames, which are not audio: ID3v2 with and without footer, ID3v1, APE.
///
/// Sources: ID3v2.4 §3.1 and §3.4, the size is 4 × 7 bits; ID3v1, E. Kemp, 128 bytes; APEv2, the size counts
/// items and footer, little-endian, and flag bit 31 marks a header.
enum StreamTag {
  case none
  /// More bytes are needed to decide.
  case undecided
  case length(Int)

  /// Reads the tag that starts at `index`.
  init(_ bytes: [UInt8], at index: Int, hasEnded: Bool) {
    guard Self.starts(bytes, at: index) else {
      self = .none
      return
    }
    let rest = bytes.count - index
    switch bytes[index + 1] {
    case UInt8(ascii: "D"):
      guard rest >= 10 else { break }
      self = Self.id3v2(bytes[index..<(index + 10)]).map(Self.length) ?? .none
      return
    case UInt8(ascii: "A"):
      self = .length(128)
      return
    default:
      guard rest >= 32 else { break }
      self = Self.ape(bytes[index..<(index + 32)])
      return
    }
    self = hasEnded ? .length(rest) : .undecided
  }

  /// `true` if the letters of a tag are at `index`.
  static func starts(_ bytes: [UInt8], at index: Int) -> Bool {
    guard index + 3 <= bytes.count else { return false }
    switch (bytes[index], bytes[index + 1], bytes[index + 2]) {
    case (0x49, 0x44, 0x33), (0x54, 0x41, 0x47), (0x41, 0x50, 0x45): return true
    default: return false
    }
  }

  /// Returns the length of an ID3v2 tag with header and footer, nil when its ten bytes are not the header of
  /// one.
  static func id3v2(_ bytes: ArraySlice<UInt8>) -> Int? {
    let head = Array(bytes)
    guard head.count == 10, head.starts(with: "ID3".utf8), head[3] != 0xFF, head[4] != 0xFF,
      head[6...].allSatisfy({ $0 < 0x80 })
    else { return nil }
    let size = head[6...].reduce(0) { $0 << 7 | Int($1) }
    return size + (head[5] & 0x10 != 0 ? 20 : 10)
  }

  private static func ape(_ bytes: ArraySlice<UInt8>) -> StreamTag {
    let head = Array(bytes)
    guard head.starts(with: "APETAGEX".utf8) else { return .none }
    func little(_ index: Int) -> Int { (0..<4).reduce(0) { $0 | Int(head[index + $1]) << (8 * $1) } }
    let (size, flags) = (little(12), little(20))
    // Before a footer that is found first, its items were already consumed.
    let isHeader = flags & 0x2000_0000 != 0
    return .length(isHeader ? 32 + size : 32)
  }
}
