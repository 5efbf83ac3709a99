/// The information about a whole file that its first frame may hold instead of sound.
///
/// Sources: "Xing VBR header", G. Bouvigne and Xing Technology: after the side information, `Xing` or, at a
/// constant bit rate, `Info`; LAME adds the encoder's delay and padding 21 bytes after its name ("LAME Tag
/// rev 1"). `VBRI`, Fraunhofer IIS: always 32 bytes after the header.
public struct StreamLength: Sendable, Equatable {
  /// The format of the frame.
  public enum Kind: Sendable {
    case xing
    case info
    case vbri
  }
  /// The format of this frame.
  public let kind: Kind
  /// The number of frames of sound after this one, if stated.
  public let frames: Int?
  /// The number of bytes of the stream with this frame, if stated.
  public let bytes: Int?
  /// The number of PCM frames that the encoder put at the start, if stated.
  public let delay: Int?
  /// The number of PCM frames that the encoder put at the end, if stated.
  public let padding: Int?

  /// The number of PCM frames in one of the counted frames.
  public let samplesPerFrame: Int
  /// The positions of some frames in the stream, in order; empty if not stated.
  public private(set) var marks: [Mark] = []

  /// A position that the frame states.
  public struct Mark: Sendable, Equatable {
    /// The frames of sound before it; hundredths of the total make it fractional.
    public let frame: Double
    /// The number of bytes from the start of the frame with the `StreamLength`.
    public let byte: Int
  }

  /// Reads a frame of MPEG audio; nil when it holds sound, or is not a frame.
  public init?(_ frame: UnsafeRawBufferPointer) {
    let bytes = [UInt8](frame)
    guard let header = MPEGAudioHeader(bytes, at: 0) else { return nil }
    self.init(bytes[...], header: header)
  }

  /// Returns the bit rate in the header of a frame of MPEG audio, in bit/s; nil in free format.
  public static func bitRate(_ frame: UnsafeRawBufferPointer) -> Int? {
    let rate = MPEGAudioHeader([UInt8](frame.prefix(4)), at: 0)?.bitRate
    return rate == 0 ? nil : rate
  }

  /// Reads a frame of layer III; nil when it holds sound.
  init?(_ frame: ArraySlice<UInt8>, header: MPEGAudioHeader) {
    guard header.layer == 3, frame.count >= 52 else { return nil }
    samplesPerFrame = header.samplesPerFrame
    let start = frame.startIndex
    func word(_ index: Int) -> Int {
      (0..<4).reduce(0) { $0 << 8 | Int(frame[start + index + $1]) }
    }
    if word(36) == 0x5642_5249 {  // VBRI
      (kind, delay, padding) = (.vbri, nil, nil)
      frames = frame.count >= 54 ? word(50) : nil
      bytes = word(46)
      if frame.count >= 62 { readVBRI(frame.dropFirst(54)) }
      return
    }
    // Writers of a checksum differ in whether they count it.
    let places = header.hasChecksum ? [4, 6] : [4]
    let names = [0x5869_6E67: Kind.xing, 0x496E_666F: Kind.info]
    for place in places {
      var next = place + header.sideInformationLength
      guard next + 8 <= frame.count, let kind = names[word(next)] else { continue }
      self.kind = kind
      let flags = word(next + 4)
      next += 8
      var fields: [Int?] = []
      for (bit, size) in [(1, 4), (2, 4), (4, 100), (8, 4)] {
        let isThere = flags & bit != 0 && next + size <= frame.count
        fields.append(isThere ? word(next) : nil)
        if flags & bit != 0 { next += size }
      }
      (frames, bytes) = (fields[0], fields[1])
      let hasLAME = next + 24 <= frame.count && frame[start + next] != 0
      let both = hasLAME ? word(next + 20) & 0xFF_FFFF : 0
      (delay, padding) = hasLAME ? (both >> 12, both & 0xFFF) : (nil, nil)
      if flags & 4 != 0 { readTOC(frame.dropFirst(next - 100 - (flags & 8 != 0 ? 4 : 0)).prefix(100)) }
      return
    }
    return nil
  }

  /// Reads a byte for each hundredth of the time: 256ths of all bytes.
  private mutating func readTOC(_ table: ArraySlice<UInt8>) {
    guard table.count == 100, let frames, let bytes else { return }
    marks = table.enumerated().map { index, share in
      Mark(frame: Double(index * frames) / 100, byte: bytes * Int(share) / 256)
    }
  }

  /// Reads entries, scale, bytes of an entry and frames of an entry, two bytes each; then the lengths of the
  /// parts.
  private mutating func readVBRI(_ table: ArraySlice<UInt8>) {
    func number(_ index: Int, _ size: Int) -> Int {
      table.dropFirst(index).prefix(size).reduce(0) { $0 << 8 | Int($1) }
    }
    let (entries, scale, size, step) = (number(0, 2), number(2, 2), number(4, 2), number(6, 2))
    guard (1...4).contains(size), scale > 0, step > 0, 8 + entries * size <= table.count else { return }
    var byte = 0
    marks = [Mark(frame: 0, byte: 0)]
    for index in 0..<entries {
      byte += number(8 + index * size, size) * scale
      marks.append(Mark(frame: Double((index + 1) * step), byte: byte))
    }
  }
}
