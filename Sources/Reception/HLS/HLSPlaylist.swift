internal import EventLoop
internal import StreamCore

/// A playlist of HTTP Live Streaming. Source: RFC 8216 §4.
enum HLSPlaylist: Sendable, Equatable {
  /// A list of versions of one programme.
  case master(HLSMaster)
  /// A list of segments.
  case media(HLSMedia)

  /// The limit of entries: nine hours of segments of one second.
  static let entryLimit = 32_768
  /// The greatest number of a segment: above it numbers could not be counted exactly.
  static let sequenceLimit = 1 << 53

  /// Returns `true` if a body with these first bytes is not a list.
  static func isForeign(_ start: [UInt8]) -> Bool {
    var text = start.prefix(64)
    if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
    guard let first = text.first(where: { !" \t\r\n".utf8.contains($0) }) else { return false }
    return first != UInt8(ascii: "#") && first != 0xEF
  }

  /// Parses a playlist.
  /// - Parameter url: the URL of the playlist, for messages.
  /// - Throws: `stream.content` for damage, `stream.not_found` for an empty list.
  init(_ bytes: [UInt8], url: String) throws(StreamError) {
    var reader = HLSReader(url: url)
    for line in bytes.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
      try reader.read(String(decoding: line, as: UTF8.self).trimmingEnds())
    }
    self = try reader.finish()
  }
}

/// The versions of one programme.
struct HLSMaster: Sendable, Equatable {
  /// A version, or the sound of several versions.
  struct Variant: Sendable, Equatable {
    enum Kind: Int, Sendable { case audio, rendition, video }
    /// The playlist, relative to the master.
    let reference: String
    /// The highest rate in bit/s; nil for the sound of several versions.
    let bitRate: Int?
    let kind: Kind
    /// `true` if the list states an unsupported codec.
    var isForeign = false
  }

  var variants: [Variant] = []

  /// Returns the versions in the order in which they are tried: sound alone before pictures with sound; the
  /// highest rate up to `limit` bit/s, then lower ones, then those above, the lowest first.
  func candidates(limit: Int) -> [Variant] {
    func rank(_ variant: Variant) -> (Int, Int, Int, Int) {
      let rate = variant.bitRate ?? 0
      return (
        variant.isForeign ? 1 : 0, variant.kind.rawValue, rate > limit ? 1 : 0, rate > limit ? rate : -rate
      )
    }
    var seen: Set<String> = []
    return variants.enumerated()
      .sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }
      .map(\.element).filter { seen.insert($0.reference).inserted }
  }
}

private func < (one: ((Int, Int, Int, Int), Int), other: ((Int, Int, Int, Int), Int)) -> Bool {
  one.0 == other.0 ? one.1 < other.1 : one.0 < other.0
}

/// A list of segments.
struct HLSMedia: Sendable, Equatable {
  /// The number of the first segment.
  var sequence = 0
  /// The length of the longest segment in seconds, as the list states it.
  var targetDuration = 0.0
  var segments: [HLSSegment] = []
  /// `true` if no segment will be added.
  var isEnded = false

  /// Returns the longest time without bytes, beside that of the options: a list changes once in a target
  /// duration.
  static func silenceLimit(_ targetDuration: Double) -> Duration {
    Duration(inSeconds: min(60, targetDuration * 2))
  }

  /// The number after the last segment.
  var end: Int { sequence + segments.count }

  /// The length of all segments in seconds.
  var duration: Double { segments.reduce(0) { $0 + $1.duration } }

  /// Returns the segment with a number; nil if it is not in the list.
  func segment(_ number: Int) -> HLSSegment? {
    number >= sequence && number < end ? segments[number - sequence] : nil
  }

  /// The number of the segment with which a listener begins: the first of a file; of a live stream the last
  /// that begins three target durations before the end. Source: RFC 8216 §6.3.3.
  var start: Int {
    if isEnded { return sequence }
    var held = 0.0
    for index in segments.indices.reversed() {
      held += segments[index].duration
      // Durations are rounded decimals.
      if held >= 3 * targetDuration - 0.001 { return sequence + index }
    }
    return sequence
  }
}

/// A piece of a stream.
struct HLSSegment: Sendable, Equatable {
  let sequence: Int
  /// The address, relative to the playlist.
  let reference: String
  /// The length in seconds.
  let duration: Double
  var title: String?
  /// The date of its first sound in seconds since 1970; nil if the list states none.
  var date: Double?
  /// The bytes of the resource; nil for all.
  var range: Range<Int>?
  var encryption: HLSEncryption?
  var map: HLSMap?
  /// `true` if its format or its times differ from those of the segment before.
  var isDiscontinuous = false
  /// `true` if the server does not have it (`EXT-X-GAP`).
  var isAbsent = false

  /// The name of its file: folders and parameters may belong to a session.
  var fileName: Substring? { reference.prefix { $0 != "?" }.split(separator: "/").last }

  /// Returns `true` if the segment has the bytes of another one, from another copy of its list.
  func isSame(as other: HLSSegment) -> Bool {
    sequence == other.sequence && range == other.range && fileName == other.fileName
  }
}

/// The initialization section of segments in MP4.
struct HLSMap: Sendable, Hashable {
  let reference: String
  var range: Range<Int>?
  var encryption: HLSEncryption?
}

/// The encryption of a segment.
enum HLSEncryption: Sendable, Hashable {
  /// AES-128 in CBC mode with PKCS7 padding; without `vector` the number of the segment is the vector.
  case aes128(reference: String, vector: [UInt8]?)
  /// Another kind, in words.
  case foreign(String)
}
