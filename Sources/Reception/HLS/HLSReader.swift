internal import EventLoop
internal import StreamCore

/// Reads the lines of a playlist. Source: RFC 8216 §4.3.
struct HLSReader {
  private let url: String
  private var media = HLSMedia()
  private var variants: [(attributes: HLSAttributes, reference: String)] = []
  private var renditions: [HLSAttributes] = []
  private var isMedia = false

  // The tags before an address.
  private var duration: Double?
  private var title: String?
  private var length: (count: Int, offset: Int?)?
  private var isDiscontinuous = false
  private var isAbsent = false
  private var variant: HLSAttributes?
  /// The date of the next segment: that of a tag, or the end of the segment before.
  private var date: Double?

  // The tags that apply until they are replaced.
  private var encryption: [String: HLSEncryption] = [:]
  private var map: HLSMap?
  private var rangeEnd: (reference: String, byte: Int)?

  init(url: String) { self.url = url }

  private func damage(_ what: String) -> StreamError {
    StreamError(
      .content, "the playlist \(url) can't be read: \(what)", hint: "report it to the station",
      facts: [.init("url", .string(url))])
  }

  mutating func read(_ line: String) throws(StreamError) {
    guard line.hasPrefix("#") else { return line.isEmpty ? () : try readAddress(line) }
    guard line.hasPrefix("#EXT") else { return }
    let colon = line.firstIndex(of: ":")
    let value = colon.map { String(line[line.index(after: $0)...]) } ?? ""
    switch line[..<(colon ?? line.endIndex)] {
    case "#EXTINF": try readLength(value)
    case "#EXT-X-TARGETDURATION":
      isMedia = true
      media.targetDuration = try seconds(value, "EXT-X-TARGETDURATION")
    case "#EXT-X-MEDIA-SEQUENCE":
      isMedia = true
      guard let number = Int(value), (0...HLSPlaylist.sequenceLimit).contains(number) else {
        throw damage("EXT-X-MEDIA-SEQUENCE is \"\(String(value.prefix(40)).cleaned)\"")
      }
      media.sequence = number
    case "#EXT-X-ENDLIST": media.isEnded = true
    case "#EXT-X-BYTERANGE": length = try range(value)
    // The dates of another timeline are unknown until a tag states one.
    case "#EXT-X-DISCONTINUITY": (isDiscontinuous, date) = (true, nil)
    case "#EXT-X-PROGRAM-DATE-TIME": date = HLSDate.seconds(value)
    case "#EXT-X-GAP": isAbsent = true
    case "#EXT-X-KEY": try readKey(HLSAttributes(value))
    case "#EXT-X-MAP": try readMap(HLSAttributes(value))
    case "#EXT-X-STREAM-INF": variant = HLSAttributes(value)
    case "#EXT-X-MEDIA" where renditions.count < HLSPlaylist.entryLimit:
      renditions.append(HLSAttributes(value))
    default: break
    }
  }

  private func seconds(_ text: some StringProtocol, _ name: String) throws(StreamError) -> Double {
    guard let value = Double(text.trimmingEnds()), value >= 0, value <= 1e9 else {
      throw damage("\(name) is \"\(String(text.prefix(40)).cleaned)\"")
    }
    return value
  }

  private mutating func readLength(_ value: String) throws(StreamError) {
    let comma = value.firstIndex(of: ",")
    duration = try seconds(value[..<(comma ?? value.endIndex)], "the length of a segment")
    title = comma.flatMap { Self.title(String(value[value.index(after: $0)...])) }
  }

  /// Returns the title of a segment: plain text, or `title="…",artist="…"`, as broadcasters write it.
  private static func title(_ text: String) -> String? {
    if text.contains("=\"") {
      let attributes = HLSAttributes(text)
      let parts = [attributes["artist"], attributes["title"]].compactMap { $0?.cleaned }.filter {
        !$0.isEmpty
      }
      return parts.isEmpty ? nil : parts.joined(separator: " - ")
    }
    let text = text.cleaned.trimmingEnds()
    return text.isEmpty || text == "no desc" ? nil : text
  }

  private func range(_ value: String) throws(StreamError) -> (count: Int, offset: Int?) {
    let parts = value.split(separator: "@", maxSplits: 1).map { Int($0.trimmingEnds()) }
    guard let count = parts.first.flatMap(\.self), count > 0, count < 1 << 50,
      parts.allSatisfy({ $0.map { $0 >= 0 && $0 < 1 << 50 } ?? false })
    else { throw damage("a range of bytes is \"\(String(value.prefix(40)).cleaned)\"") }
    return (count, parts.dropFirst().first.flatMap(\.self))
  }

  private mutating func readKey(_ attributes: HLSAttributes) throws(StreamError) {
    let format = attributes["KEYFORMAT"] ?? "identity"
    switch attributes["METHOD"] {
    case "NONE": encryption = [:]
    case "AES-128" where format == "identity":
      guard let reference = attributes["URI"] else { throw damage("EXT-X-KEY has no URI") }
      var vector: [UInt8]?
      if let text = attributes["IV"] {
        guard let bytes = Self.hexadecimal(text), bytes.count == 16 else {
          throw damage("the IV of EXT-X-KEY does not have 16 bytes")
        }
        vector = bytes
      }
      encryption = encryption.filter { $0.key != format }
      encryption[format] = .aes128(reference: reference, vector: vector)
    case let method?:
      let system = Self.systems[format.lowercased()] ?? (format == "identity" ? nil : Self.shown(format))
      let words = system.map { "\(Self.shown(method)) of \($0)" } ?? Self.shown(method)
      if encryption.count < 16 { encryption[format] = .foreign(words) }
    case nil: throw damage("EXT-X-KEY has no METHOD")
    }
  }

  private static func shown(_ text: String) -> String { String(text.prefix(60)).cleaned }

  private static let systems = [
    "com.apple.streamingkeydelivery": "FairPlay", "com.microsoft.playready": "PlayReady",
    "urn:uuid:edef8ba9-79d6-4ace-a3c8-27dcd51d21ed": "Widevine",
    "urn:uuid:9a04f079-9840-4286-ab92-e65be0885f95": "PlayReady",
  ]

  private static func hexadecimal(_ text: String) -> [UInt8]? {
    guard text.lowercased().hasPrefix("0x") else { return nil }
    let digits = text.dropFirst(2).map(\.hexDigitValue)
    guard digits.count <= 32, !digits.contains(nil) else { return nil }
    let all = [Int?](repeating: 0, count: 32 - digits.count) + digits
    return stride(from: 0, to: 32, by: 2).map { UInt8((all[$0] ?? 0) << 4 | (all[$0 + 1] ?? 0)) }
  }

  /// The encryption of the segments that follow: the supported kind, if there is one.
  private var currentEncryption: HLSEncryption? {
    encryption["identity"].flatMap { if case .aes128 = $0 { $0 } else { nil } }
      ?? encryption.min { $0.key < $1.key }?.value
  }

  private mutating func readMap(_ attributes: HLSAttributes) throws(StreamError) {
    guard let reference = attributes["URI"] else { throw damage("EXT-X-MAP has no URI") }
    var bytes: Range<Int>?
    if let text = attributes["BYTERANGE"] {
      let (count, offset) = try range(text)
      bytes = (offset ?? 0)..<((offset ?? 0) + count)
    }
    map = HLSMap(reference: reference, range: bytes, encryption: currentEncryption)
  }

  private mutating func readAddress(_ reference: String) throws(StreamError) {
    if let variant {
      self.variant = nil
      guard variants.count < HLSPlaylist.entryLimit else { throw damage("it lists too much") }
      variants.append((variant, reference))
      return
    }
    guard isMedia || duration != nil else { return }
    guard media.segments.count < HLSPlaylist.entryLimit else {
      throw damage("it lists more than \(HLSPlaylist.entryLimit) segments")
    }
    var segment = HLSSegment(
      sequence: media.end, reference: reference, duration: duration ?? media.targetDuration, title: title)
    if let length {
      let start = length.offset ?? (rangeEnd?.reference == reference ? rangeEnd?.byte : nil) ?? 0
      let (end, isBeyond) = start.addingReportingOverflow(length.count)
      guard !isBeyond, start <= end, end <= 1 << 53 else { throw damage("a byte range has no end") }
      segment.range = start..<end
      rangeEnd = (reference, end)
    }
    (segment.encryption, segment.map) = (currentEncryption, map)
    (segment.isDiscontinuous, segment.isAbsent, segment.date) = (isDiscontinuous, isAbsent, date)
    media.segments.append(segment)
    date = date.map { $0 + segment.duration }
    (duration, title, length, isDiscontinuous, isAbsent) = (nil, nil, nil, false, false)
  }

  // MARK: The whole playlist

  mutating func finish() throws(StreamError) -> HLSPlaylist {
    guard variants.isEmpty else { return .master(master()) }
    guard isMedia || !media.segments.isEmpty else {
      throw StreamError(
        .notFound, "the playlist \(url) lists nothing that can be played",
        hint: "open it in a text editor to see what it holds", facts: [.init("url", .string(url))])
    }
    // The tag may follow segments, though it should not.
    media.segments = media.segments.enumerated().map { index, segment in
      guard segment.sequence != media.sequence + index else { return segment }
      var copy = HLSSegment(
        sequence: media.sequence + index, reference: segment.reference, duration: segment.duration,
        title: segment.title)
      (copy.range, copy.encryption, copy.map) = (segment.range, segment.encryption, segment.map)
      (copy.isDiscontinuous, copy.isAbsent, copy.date) = (
        segment.isDiscontinuous, segment.isAbsent, segment.date
      )
      return copy
    }
    return .media(media)
  }

  private func master() -> HLSMaster {
    var master = HLSMaster()
    for (attributes, reference) in variants {
      let rate = (attributes["BANDWIDTH"] ?? attributes["AVERAGE-BANDWIDTH"]).flatMap { Int($0) }
      let codecs = attributes["CODECS"]?.lowercased().split(separator: ",").map { $0.trimmingEnds() } ?? []
      let isVideo =
        attributes["RESOLUTION"] != nil
        || codecs.contains { codec in
          ["avc", "hvc", "hev", "dvh", "av01", "vp0", "mp4v"].contains { codec.hasPrefix($0) }
        }
      let sounds = codecs.filter { codec in
        ["mp4a", "ac-3", "ec-3", "opus", "flac", "alac", "dts", "ac-4"].contains { codec.hasPrefix($0) }
      }
      let isForeign = !sounds.isEmpty && !sounds.contains { $0.hasPrefix("mp4a") }
      if let rendition = rendition(attributes["AUDIO"]) {
        master.variants.append(
          .init(
            reference: rendition, bitRate: isVideo ? nil : rate, kind: isVideo ? .rendition : .audio,
            isForeign: isForeign))
      }
      master.variants.append(
        .init(reference: reference, bitRate: rate, kind: isVideo ? .video : .audio, isForeign: isForeign))
    }
    return master
  }

  /// Returns the playlist of the sound of a group: the default one, else the first.
  private func rendition(_ group: String?) -> String? {
    guard let group else { return nil }
    let members = renditions.filter { $0["TYPE"] == "AUDIO" && $0["GROUP-ID"] == group && $0["URI"] != nil }
    return (members.first { $0["DEFAULT"] == "YES" } ?? members.first)?["URI"]
  }
}

/// A list of attributes: `NAME=value,NAME="text"`. Source: RFC 8216 §4.2.
struct HLSAttributes: Sendable {
  private static let limit = 64
  private var values: [String: String] = [:]

  /// Reads attributes up to the first damage; the first attribute of a name counts.
  init(_ text: String) {
    var rest = text[...]
    while values.count < Self.limit, let equals = rest.firstIndex(of: "=") {
      let name = rest[..<equals].trimmingEnds()
      rest = rest[rest.index(after: equals)...]
      let value: Substring
      if rest.first == "\"" {
        rest = rest.dropFirst()
        let end = rest.firstIndex(of: "\"") ?? rest.endIndex
        value = rest[..<end]
        rest = rest[end...].drop { $0 != "," }
      } else {
        value = rest.prefix { $0 != "," }
        rest = rest[value.endIndex...]
      }
      if values[name] == nil { values[name] = String(value) }
      rest = rest.dropFirst()
    }
  }

  subscript(name: String) -> String? { values[name] }
}

/// A date of a playlist. Source: RFC 8216 §4.3.2.6; ISO 8601.
enum HLSDate {
  /// Returns the seconds since 1970 of a date like `2026-01-05T06:45:00.25+01:00`, of UTC if no zone is
  /// stated; nil for other text.
  static func seconds(_ text: some StringProtocol) -> Double? {
    let text = Array(text.utf8)
    func digits(_ range: Range<Int>) -> Int? {
      guard range.upperBound <= text.count, text[range].allSatisfy({ (48...57).contains($0) }) else {
        return nil
      }
      return text[range].reduce(0) { $0 * 10 + Int($1 - 48) }
    }
    guard text.count >= 19, text[4] == 45, text[7] == 45, text[13] == 58, text[16] == 58,
      let year = digits(0..<4), let month = digits(5..<7), let day = digits(8..<10),
      let hour = digits(11..<13), let minute = digits(14..<16), let second = digits(17..<19),
      (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second <= 60
    else { return nil }
    var index = 19
    var (fraction, scale) = (0.0, 0.1)
    if index < text.count, text[index] == 46 || text[index] == 44 {
      index += 1
      while let digit = digits(index..<(index + 1)) {
        fraction += Double(digit) * scale
        (scale, index) = (scale / 10, index + 1)
      }
    }
    var zone = 0
    if index < text.count, text[index] == 43 || text[index] == 45 {
      let rest = text[(index + 1)...].filter { $0 != 58 }
      guard rest.count >= 2, rest.allSatisfy({ (48...57).contains($0) }) else { return nil }
      let number = rest.prefix(4).reduce(0) { $0 * 10 + Int($1 - 48) }
      let minutes = rest.count >= 4 ? number / 100 * 60 + number % 100 : number * 60
      zone = (text[index] == 45 ? -minutes : minutes) * 60
    }
    let days = days(year, month, day)
    return Double(days * 86_400 + hour * 3600 + minute * 60 + second - zone) + fraction
  }

  /// Returns the days from 1970-01-01 to a Gregorian date, whose years are counted from March on here.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let year = month > 2 ? year : year - 1
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
  }
}
