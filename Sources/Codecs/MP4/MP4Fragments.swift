/// The frames of AAC in fragments of MP4, which come in pieces: `moof` boxes, each before its sound.
///
/// ```swift
/// var fragments = try MP4Fragments(initialization: bytes)
/// fragments.begin()  // a segment
/// try fragments.feed(bytes) { item in … }
/// ```
/// Memory: one `moof` of at most 1 MiB with the positions of its frames, and one frame.
///
/// Sources: ISO/IEC 14496-12 §8.8 (fragments), RFC 8216 §3.3, ISO/IEC 23009-1 §5.10.3.3 (`emsg`).
public struct MP4Fragments: Sendable {
  /// An item of a segment, in order.
  public enum Item {
    /// The time of the frame that follows, in seconds, where a fragment states it.
    case time(Double)
    /// A frame that begins with an ADTS header.
    case frame([UInt8])
    /// A message beside the sound, as a tag of ID3, and the seconds between the time of the next frame and its own.
    case message([UInt8], after: Double)
  }

  /// The number of bytes of the longest initialization section.
  public static let longestInitialization = 1 << 20
  private static let longestHeader = 1 << 20
  private static let longestMessage = 64 * 1024
  /// The most frames of a fragment: 25 minutes of sound.
  private static let mostFrames = 1 << 16

  private struct Defaults {
    var size = 0
    var duration = 0
  }

  private enum State {
    /// In the header of a box, which starts at that byte.
    case header(start: Int)
    /// In the content of a box that is kept whole.
    case content(type: String, start: Int, rest: Int)
    /// In a box whose content is not kept; nil for one that extends to the end.
    case passing(rest: Int?)
  }

  private let configuration: AACConfiguration
  private let track: Int
  private let timescale: Int
  private let defaults: Defaults
  private var state = State.header(start: 0)
  private var kept: [UInt8] = []
  /// The byte of the segment that comes next.
  private var position = 0
  /// The frames of the fragment that have not come, in the order of their bytes.
  private var frames: ArraySlice<Range<Int>> = []
  private var frame: [UInt8] = []

  /// The bytes that are held.
  public var pendingBytes: Int { kept.count + frame.count }

  /// Reads an initialization section: `ftyp` and `moov`.
  public init(initialization: [UInt8]) throws(MP4Obstacle) {
    let all = MP4Bytes(bytes: initialization[...], offset: 0)
    guard let moov = all.box("moov") else {
      throw MP4Obstacle(found: "an initialization section without a moov box", byte: 0)
    }
    let tracks = moov.boxes().filter { $0.type == "trak" }.map(\.content)
    guard let track = tracks.first(where: { $0.box("mdia/hdlr")?.type(8) == "soun" }),
      let stbl = track.box("mdia/minf/stbl")
    else { throw MP4Obstacle(found: "an MP4 file without a track of sound", byte: moov.offset) }
    guard let scale = MP4Demuxer.time(track.box("mdia/mdhd"))?.scale, scale > 0,
      let head = track.box("tkhd"), let id = head.number(head.number(0, 1) == 1 ? 20 : 12, 4)
    else { throw MP4Obstacle(found: "a track without a measure of time", byte: track.offset) }
    (timescale, self.track) = (scale, id)
    switch try MP4Demuxer.description(stbl) {
    case .aac(let configuration): self.configuration = configuration
    case .other(let kind): throw MP4Obstacle(found: kind, byte: stbl.offset, isUnsupported: true)
    }
    if let obstacle = configuration.obstacle {
      throw MP4Obstacle(found: "\(obstacle) in MP4", byte: stbl.offset, isUnsupported: true)
    }
    guard configuration.samplesPerFrame == 1024 else {
      throw MP4Obstacle(found: "AAC in frames of 960 samples in MP4", byte: stbl.offset, isUnsupported: true)
    }
    let extensions = moov.box("mvex")?.boxes().filter { $0.type == "trex" }.map(\.content) ?? []
    let own = extensions.first { $0.number(4, 4) == id }
    defaults = Defaults(size: own?.number(16, 4) ?? 0, duration: own?.number(12, 4) ?? 0)
  }

  /// Begins a segment; an unfinished one is dropped.
  public mutating func begin() {
    (state, position, kept) = (.header(start: 0), 0, [])
    (frames, frame) = ([], [])
  }

  /// Receives the next bytes of the segment.
  /// - Parameter body: receives the items that they complete.
  public mutating func feed(
    _ bytes: UnsafeRawBufferPointer, _ body: (Item) throws(MP4Obstacle) -> Void
  ) throws(MP4Obstacle) {
    var index = 0
    while index < bytes.count {
      switch state {
      case .header(let start):
        kept.append(bytes[index])
        index += 1
        position += 1
        try readHeader(start)
      case .content(let type, let start, let rest):
        let count = min(rest, bytes.count - index)
        kept += bytes[index..<(index + count)]
        index += count
        position += count
        state = .content(type: type, start: start, rest: rest - count)
        if rest == count { try finish(type, start, body) }
      case .passing(let rest):
        let count = min(rest ?? .max, bytes.count - index)
        try pass(UnsafeRawBufferPointer(rebasing: bytes[index..<(index + count)]), body)
        index += count
        position += count
        state = .passing(rest: rest.map { $0 - count })
        if rest == count { state = .header(start: position) }
      }
    }
  }

  private mutating func readHeader(_ start: Int) throws(MP4Obstacle) {
    let head = MP4Bytes(bytes: kept[...], offset: start)
    guard let short = head.number(0, 4), let type = head.type(4) else { return }
    let headerSize = short == 1 ? 16 : 8
    guard kept.count == headerSize else { return }
    let whole = short == 1 ? head.number(8, 8) : short == 0 ? Int.max : short
    guard let whole, whole >= headerSize else {
      throw MP4Obstacle(found: "an MP4 box of an impossible size", byte: start)
    }
    kept = []
    let rest = whole - headerSize
    switch type {
    case "moof":
      guard rest <= Self.longestHeader else {
        throw MP4Obstacle(found: "a moof box of \(whole) bytes", byte: start)
      }
      state = .content(type: type, start: start, rest: rest)
    case "emsg" where rest <= Self.longestMessage:
      state = .content(type: type, start: start, rest: rest)
    default: state = .passing(rest: short == 0 ? nil : rest)
    }
    if rest == 0 { state = .header(start: position) }
  }

  private mutating func finish(
    _ type: String, _ start: Int, _ body: (Item) throws(MP4Obstacle) -> Void
  ) throws(MP4Obstacle) {
    let content = MP4Bytes(bytes: kept[...], offset: start)
    kept = []
    state = .header(start: position)
    if type == "moof" { return try readFragment(content, start, body) }
    if let message = Self.message(content) { try body(.message(message.bytes, after: message.delay)) }
  }

  // MARK: Fragments

  private mutating func readFragment(
    _ moof: MP4Bytes, _ start: Int, _ body: (Item) throws(MP4Obstacle) -> Void
  ) throws(MP4Obstacle) {
    (frames, frame) = ([], [])
    let damage = MP4Obstacle(found: "a damaged fragment of MP4", byte: start)
    for fragment in moof.boxes() where fragment.type == "traf" {
      let boxes = fragment.content.boxes()
      guard let head = boxes.first(where: { $0.type == "tfhd" })?.content, let flags = head.number(1, 3),
        let id = head.number(4, 4)
      else { throw damage }
      guard id == track else { continue }
      if boxes.contains(where: { $0.type == "senc" }) {
        throw MP4Obstacle(found: "protected sound in MP4", byte: start, isUnsupported: true)
      }
      var (base, defaults, index) = (start, self.defaults, 8)
      func next(_ flag: Int, _ size: Int) -> Int? {
        guard flags & flag != 0 else { return nil }
        defer { index += size }
        return head.number(index, size)
      }
      // An offset from the start of the file is one from that of the segment only where it is its first box.
      if next(0x1, 8) != nil { base = start }
      _ = next(0x2, 4)
      if let duration = next(0x8, 4) { defaults.duration = duration }
      if let size = next(0x10, 4) { defaults.size = size }
      if let times = boxes.first(where: { $0.type == "tfdt" })?.content,
        let time = times.number(4, times.number(0, 1) == 1 ? 8 : 4)
      {
        try body(.time(Double(time) / Double(timescale)))
      }
      var all: [Range<Int>] = []
      for run in boxes where run.type == "trun" {
        try Self.readRun(run.content, base: base, defaults, into: &all, damage)
      }
      frames = all[...]
    }
  }

  private static func readRun(
    _ run: MP4Bytes, base: Int, _ defaults: Defaults, into frames: inout [Range<Int>], _ damage: MP4Obstacle
  ) throws(MP4Obstacle) {
    guard let flags = run.number(1, 3), let count = run.number(4, 4),
      frames.count + count <= mostFrames
    else { throw damage }
    var index = 8
    // A run that states no offset follows the run before it.
    var place = frames.last?.upperBound ?? base
    if flags & 0x1 != 0 {
      guard let offset = run.number(index, 4) else { throw damage }
      place = base + Int(Int32(truncatingIfNeeded: offset))
      index += 4
    }
    if flags & 0x4 != 0 { index += 4 }
    for _ in 0..<count {
      if flags & 0x100 != 0 { index += 4 }
      var size = defaults.size
      if flags & 0x200 != 0 {
        guard let own = run.number(index, 4) else { throw damage }
        size = own
        index += 4
      }
      if flags & 0x400 != 0 { index += 4 }
      if flags & 0x800 != 0 { index += 4 }
      guard index <= run.count, size <= MP4Track.longestFrame,
        place >= (frames.last?.upperBound ?? 0)
      else { throw damage }
      frames.append(place..<(place + size))
      place += size
    }
  }

  /// Receives bytes that begin at `position`, in which frames may be.
  private mutating func pass(
    _ bytes: UnsafeRawBufferPointer, _ body: (Item) throws(MP4Obstacle) -> Void
  ) throws(MP4Obstacle) {
    while let next = frames.first {
      let wanted = next.lowerBound + frame.count
      guard wanted >= position else {
        throw MP4Obstacle(found: "a fragment whose sound is before it", byte: position)
      }
      let end = min(next.upperBound, position + bytes.count)
      guard wanted <= position + bytes.count else { return }
      if end > wanted { frame += bytes[(wanted - position)..<(end - position)] }
      guard end == next.upperBound else { return }
      frames.removeFirst()
      try body(.frame(configuration.adts(frame)))
      frame.removeAll(keepingCapacity: true)
    }
  }

  /// Returns the tag of ID3 in the content of an `emsg` box. Source: "Carriage of ID3 Timed Metadata in the Common
  /// Media Application Format", AOMedia.
  private static func message(_ box: MP4Bytes) -> (bytes: [UInt8], delay: Double)? {
    guard let version = box.number(0, 1), version < 2 else { return nil }
    func text(_ index: inout Int) -> String? {
      var letters: [UInt8] = []
      while let byte = box.number(index, 1) {
        index += 1
        if byte == 0 { return String(decoding: letters, as: UTF8.self) }
        letters.append(UInt8(byte))
      }
      return nil
    }
    var (index, delay) = (4, 0.0)
    if version == 1 { index += 20 }
    guard let scheme = text(&index), text(&index) != nil, scheme == "https://aomedia.org/emsg/ID3" else {
      return nil
    }
    if version == 0 {
      guard let scale = box.number(index, 4), let ticks = box.number(index + 4, 4) else { return nil }
      if scale > 0 { delay = Double(ticks) / Double(scale) }
      index += 16
    }
    return box.dropping(index).map { ([UInt8]($0.bytes), delay) }
  }
}
