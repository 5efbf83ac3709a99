internal import AudioCore

/// The description of the first track of AAC in an MP4 file (M4A, M4B).
///
/// `moov` may precede or follow the sound. Every size is checked against the size of the file; only
/// headers and `moov` are read, which may have up to 64 MiB (that is 80 days of sound).
///
/// Sources: ISO/IEC 14496-12 (boxes), ISO/IEC 14496-14 §5.6 (esds), ISO/IEC 14496-1 §7.2.6 (descriptors),
/// Apple's QuickTime File Format (elst) and "iTunSMPB" as iTunes writes it.
struct MP4Demuxer {
  /// The configuration for the decoder.
  let configuration: AACConfiguration
  /// The positions of the frames.
  let table: MP4SampleTable
  /// The number of units of the track's time in a second.
  let timescale: Int
  /// The audible part, if stated.
  let edit: Edit?

  /// The audible part of the sound; the rest is the encoder's padding.
  struct Edit: Equatable {
    /// The number of units of `scale` at the start that are not audible.
    let start: Int
    /// The number of units of `scale` that are audible, nil for all.
    let length: Int?
    /// The number of units in a second; nil for frames at the rate of the output.
    let scale: Int?
    /// Seconds by which `length` may be rounded.
    let tolerance: Double
  }

  private static let longestHeader = 64 << 20

  /// - Throws: `audio.unsupported` for sound of other kinds, `audio.unreadable` for damage.
  init(_ file: borrowing FileDescriptor, path: String) throws {
    do throws(MP4Obstacle) {
      try self.init(file.topLevelBox("moov", limit: Self.longestHeader).get(), fileSize: file.size)
    } catch {
      throw error.isUnsupported
        ? AudioError.unsupportedKind(path, error.found)
        : AudioError.unreadable(path, found: error.found, atByte: error.byte)
    }
  }

  /// Reads the content of `moov`.
  init(_ moov: MP4Bytes, fileSize: Int) throws(MP4Obstacle) {
    let tracks = moov.boxes().filter { $0.type == "trak" }.map(\.content)
    guard let track = tracks.first(where: { $0.box("mdia/hdlr")?.type(8) == "soun" }),
      let stbl = track.box("mdia/minf/stbl")
    else {
      throw MP4Obstacle(found: "an MP4 file without a track of sound", byte: moov.offset)
    }
    guard let timescale = Self.time(track.box("mdia/mdhd"))?.scale, timescale > 0 else {
      throw MP4Obstacle(found: "a track without a measure of time", byte: track.offset)
    }
    switch try Self.description(stbl) {
    case .aac(let configuration): self.configuration = configuration
    case .other(let kind): throw MP4Obstacle(found: kind, byte: stbl.offset, isUnsupported: true)
    }
    table = try MP4SampleTable(stbl, fileSize: fileSize)
    if table.count == 0, moov.box("mvex") != nil {
      throw MP4Obstacle(found: "fragmented MP4", byte: moov.offset, isUnsupported: true)
    }
    self.timescale = timescale
    let scale = Self.time(moov.box("mvhd"))?.scale ?? 0
    edit = Self.iTunes(moov) ?? Self.editList(track, trackScale: timescale, movieScale: scale)
  }

  /// Returns the units per second in `mdhd` or `mvhd`, and the box's version.
  static func time(_ header: MP4Bytes?) -> (scale: Int, version: Int)? {
    guard let header, let version = header.number(0, 1) else { return nil }
    return header.number(version == 1 ? 20 : 12, 4).map { ($0, version) }
  }

  // MARK: Sample description

  /// The kind of sound of a track.
  enum Description {
    case aac(AACConfiguration)
    case other(String)
  }

  private static let kinds = [
    "alac": "ALAC in MP4", "ac-3": "AC-3 in MP4", "ec-3": "E-AC-3 in MP4", "Opus": "Opus in MP4",
    "fLaC": "FLAC in MP4", ".mp3": "MP3 in MP4", "enca": "protected sound in MP4",
    "drms": "protected sound in MP4",
    "samr": "AMR in MP4",
  ]

  /// Reads the sample description of a track.
  static func description(_ stbl: MP4Bytes) throws(MP4Obstacle) -> Description {
    guard let stsd = stbl.box("stsd"), let entry = stsd.dropping(8)?.boxes(most: 1).first else {
      throw MP4Obstacle(found: "a track that does not state its kind of sound", byte: stbl.offset)
    }
    guard entry.type == "mp4a" else {
      let isName = entry.type.unicodeScalars.allSatisfy { (0x20..<0x7F).contains($0.value) }
      return .other(kinds[entry.type] ?? "sound of kind \(isName ? entry.type : "unknown") in MP4")
    }
    // QuickTime's versions 1 and 2 have more fields before the boxes, and may keep esds in a "wave" box.
    // ISO's own version 1, which an stsd of version 1 marks, has no more fields.
    let version = stsd.number(0, 1) == 1 ? 0 : entry.content.number(8, 2)
    let extra = [0: 0, 1: 16, 2: 36][version ?? 0] ?? 0
    let inner = entry.content.dropping(28 + extra)
    guard let esds = inner?.box("esds") ?? inner?.box("wave/esds") else {
      throw MP4Obstacle(found: "AAC without a description", byte: entry.content.offset)
    }
    return try elementary(esds)
  }

  /// Reads an elementary stream descriptor.
  private static func elementary(_ esds: MP4Bytes) throws(MP4Obstacle) -> Description {
    let damage = MP4Obstacle(found: "a damaged description of AAC", byte: esds.offset)
    guard let all = esds.dropping(4), let stream = descriptor(3, in: all), let flags = stream.number(2, 1)
    else {
      throw damage
    }
    var skip = 3 + (flags & 0x80 != 0 ? 2 : 0) + (flags & 0x20 != 0 ? 2 : 0)
    if flags & 0x40 != 0 { skip += 1 + (stream.number(skip, 1) ?? 0) }
    guard let rest = stream.dropping(skip), let decoder = descriptor(4, in: rest),
      let kind = decoder.number(0, 1)
    else { throw damage }
    switch kind {
    case 0x40, 0x66, 0x67, 0x68: break
    case 0x69, 0x6B: return .other("MP3 in MP4")
    default: return .other("sound of MPEG kind \(kind) in MP4")
    }
    guard let inner = decoder.dropping(13), let specific = descriptor(5, in: inner),
      let configuration = AACConfiguration(audioSpecificConfig: specific.bytes)
    else { throw damage }
    if let obstacle = configuration.obstacle { return .other("\(obstacle) in MP4") }
    return .aac(configuration)
  }

  /// Returns the content of the descriptor with `tag` at the start of `bytes`; its size is in 7 bits a byte.
  private static func descriptor(_ tag: Int, in bytes: MP4Bytes) -> MP4Bytes? {
    guard bytes.number(0, 1) == tag else { return nil }
    var (size, index) = (0, 1)
    while index <= 4, let byte = bytes.number(index, 1) {
      size = size << 7 | byte & 0x7F
      index += 1
      if byte & 0x80 == 0 { break }
    }
    guard let content = bytes.dropping(index) else { return nil }
    return MP4Bytes(bytes: content.bytes.prefix(size), offset: content.offset)
  }
}
