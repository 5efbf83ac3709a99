import Codecs
import TestSupport

/// An MP4 file, box by box, of the frames of an ADTS stream. Source: ISO/IEC 14496-12 and -14.
struct MP4File {
  var frames: [[UInt8]]
  /// The AudioSpecificConfig.
  var configuration: [UInt8]
  var timescale = 48_000
  /// Duration of a frame in units of `timescale`.
  var frameDuration = 2048
  var perChunk = 5
  var has64Bits = false
  var isMoovFirst = false
  /// Bits of a frame's size in `stz2`; nil for `stsz`.
  var sizeBits: Int?
  var description = SoundDescription.plain
  /// Boxes inside the track, such as `edts`.
  var inTrack: [UInt8] = []
  /// Boxes inside `moov`, such as `udta`.
  var inMovie: [UInt8] = []
  var movieScale = 1000

  /// The forms of the entry that describes the sound. Sources: ISO/IEC 14496-12 §12.2.3; Apple, QuickTime
  /// File Format, "Sound Sample Description (Version 1)" and "(Version 2)".
  enum SoundDescription: CaseIterable {
    case plain
    /// An `AudioSampleEntryV1`, which has no more fields and needs an `stsd` of version 1.
    case isoVersion1
    /// Four more numbers; the additions of MPEG-4 are in a `wave` box.
    case quickTime1
    /// The rate as a float, and 36 bytes more.
    case quickTime2
  }

  /// Reads the frames of an ADTS fixture.
  init(adts name: String, configuration: [UInt8]) throws {
    try self.init(path: Fixtures.path(name), configuration: configuration)
  }

  /// Reads the frames of an ADTS file.
  init(path: String, configuration: [UInt8]) throws {
    let bytes = try readBytes(path)
    frames = ADTSFraming.frames(of: bytes).map {
      Array(bytes[($0.offset + $0.headerLength)..<($0.offset + $0.length)])
    }
    self.configuration = configuration
  }

  static func big(_ value: Int, _ size: Int) -> [UInt8] {
    (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    big(content.count + 8, 4) + Array(type.utf8) + content
  }

  /// Returns a box with a list of numbers behind their count.
  static func table(_ type: String, _ entries: [[UInt8]]) -> [UInt8] {
    box(type, big(0, 4) + big(entries.count, 4) + entries.flatMap { $0 })
  }

  static func edits(_ parts: [(length: Int, start: Int)], version: Int = 0) -> [UInt8] {
    let width = version == 1 ? 8 : 4
    let entries = parts.map { big($0.length, width) + big($0.start, width) + [0, 1, 0, 0] }
    var list = table("elst", entries)
    list[8] = UInt8(version)
    return box("edts", list)
  }

  /// Returns a comment in the form of iTunes.
  static func iTunes(delay: Int, padding: Int, length: Int) -> [UInt8] {
    func hex(_ value: Int, _ digits: Int) -> String {
      let text = String(value, radix: 16, uppercase: true)
      return String(repeating: "0", count: digits - text.count) + text
    }
    let text = " 00000000 \(hex(delay, 8)) \(hex(padding, 8)) \(hex(length, 16)) 00000000 00000000"
    let entry =
      box("mean", big(0, 4) + Array("com.apple.iTunes".utf8))
      + box("name", big(0, 4) + Array("iTunSMPB".utf8))
      + box("data", big(1, 4) + big(0, 4) + Array(text.utf8))
    return box("udta", box("meta", big(0, 4) + box("ilst", box("----", entry))))
  }

  func bytes() -> [UInt8] {
    let head = Self.box("ftyp", Array("M4A ".utf8) + Self.big(0, 4))
    let sound = Self.box("mdat", frames.flatMap { $0 })
    guard isMoovFirst else { return head + sound + moov(soundAt: head.count + 8) }
    let size = moov(soundAt: 0).count
    return head + moov(soundAt: head.count + size + 8) + sound
  }

  private func moov(soundAt start: Int) -> [UInt8] {
    typealias F = MP4File
    let time = F.big(0, 12) + F.big(timescale, 4) + F.big(frames.count * frameDuration, 4) + F.big(0, 4)
    let handler = F.box("hdlr", F.big(0, 8) + Array("soun".utf8) + F.big(0, 13))
    let media = F.box("mdhd", time) + handler + F.box("minf", F.box("stbl", tables(soundAt: start)))
    let movie = F.box("mvhd", F.big(0, 12) + F.big(movieScale, 4) + F.big(0, 84))
    return F.box("moov", movie + F.box("trak", inTrack + F.box("mdia", media)) + inMovie)
  }

  private func tables(soundAt start: Int) -> [UInt8] {
    typealias F = MP4File
    var chunkOffsets: [[UInt8]] = []
    var offset = start
    for (index, frame) in frames.enumerated() {
      if index % perChunk == 0 { chunkOffsets.append(F.big(offset, has64Bits ? 8 : 4)) }
      offset += frame.count
    }
    let perChunk = min(perChunk, frames.count)
    let lastChunk = (frames.count - 1) % perChunk + 1
    var runs = [F.big(1, 4) + F.big(perChunk, 4) + F.big(1, 4)]
    if lastChunk != perChunk { runs.append(F.big(chunkOffsets.count, 4) + F.big(lastChunk, 4) + F.big(1, 4)) }
    return descriptions
      + F.table("stts", [F.big(frames.count, 4) + F.big(frameDuration, 4)]) + F.table("stsc", runs)
      + sizes + F.table(has64Bits ? "co64" : "stco", chunkOffsets)
  }

  private var sizes: [UInt8] {
    typealias F = MP4File
    guard let sizeBits else {
      return F.box("stsz", F.big(0, 8) + F.big(frames.count, 4) + frames.flatMap { F.big($0.count, 4) })
    }
    var numbers = frames.map(\.count)
    if sizeBits == 4 {
      numbers = stride(from: 0, to: numbers.count, by: 2).map {
        numbers[$0] << 4 | ($0 + 1 < numbers.count ? numbers[$0 + 1] : 0)
      }
    }
    let entries = numbers.flatMap { F.big($0, max(1, sizeBits / 8)) }
    return F.box("stz2", F.big(0, 7) + F.big(sizeBits, 1) + F.big(frames.count, 4) + entries)
  }

  private var descriptions: [UInt8] {
    typealias F = MP4File
    func descriptor(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
      [tag, 0x80, 0x80, UInt8(content.count)] + content
    }
    let decoder = [0x40, 0x15] + F.big(0, 11) + descriptor(5, configuration)
    let esds = F.box("esds", F.big(0, 4) + descriptor(3, F.big(1, 3) + descriptor(4, decoder)))
    let wave = F.box("wave", F.box("frma", Array("mp4a".utf8)) + F.box("mp4a", F.big(0, 4)) + esds)
    /// Returns an entry with the fields of all forms; those behind the version differ in meaning.
    func entry(_ version: Int, _ channels: Int, _ bits: Int, _ rest: [UInt8]) -> [UInt8] {
      F.big(0, 6) + F.big(1, 2) + F.big(version, 2) + F.big(0, 6) + F.big(channels, 2) + F.big(bits, 2) + rest
    }
    let rate = F.big(0, 4) + F.big(min(timescale, 0xFFFF), 2) + F.big(0, 2)
    let content: [UInt8]
    switch description {
    case .plain: content = entry(0, 2, 16, rate) + esds
    case .isoVersion1: content = entry(1, 2, 16, rate) + esds
    case .quickTime1: content = entry(1, 2, 16, rate + F.big(1024, 4) + F.big(0, 12)) + wave
    case .quickTime2:
      let double = F.big(Int(Double(timescale).bitPattern), 8)
      let fields = F.big(72, 4) + double + F.big(2, 4) + F.big(0x7F00_0000, 4) + F.big(0, 12) + F.big(1024, 4)
      content = entry(2, 3, 16, F.big(0xFFFE_0000, 4) + F.big(0x1_0000, 4) + fields) + wave
    }
    var table = F.table("stsd", [F.box("mp4a", content)])
    table[8] = description == .isoVersion1 ? 1 : 0
    return table
  }
}
