internal import EventLoop

/// The description of a presentation and its media. Sources: RFC 8866; RFC 2326 §C.
package struct SessionDescription: Sendable, Equatable {
  /// A medium.
  package struct Medium: Sendable, Equatable {
    /// The kind, as `audio`.
    package let kind: String
    /// The protocol, as `RTP/AVP`.
    package let transport: String
    /// The payload types.
    package let formats: [Int]
    /// The value of `a=rtpmap` by payload type, as `mpeg4-generic/44100/2`.
    package var maps: [Int: String] = [:]
    /// The value of `a=fmtp` by payload type.
    package var parameters: [Int: String] = [:]
    /// The URI by which it is requested, maybe relative; nil for that of the presentation.
    package var control: String?
    /// The range of the medium; nil without a statement.
    package var range: Range?
  }

  /// A range of normal play time, in seconds.
  package struct Range: Sendable, Equatable {
    package let start: Double
    /// The end; nil for a presentation without one.
    package let end: Double?
  }

  /// The name of the presentation; nil for one without.
  package var name: String?
  package var control: String?
  package var range: Range?
  package var media: [Medium] = []

  /// The limit of the media.
  package static let mediaLimit = 32
  /// The limit of the payload types of a medium.
  private static let formatLimit = 64

  /// Reads a description; unknown lines are ignored.
  /// - Throws: `malformed` for a text that is not one, `tooLarge`.
  package init(_ bytes: [UInt8]) throws(RTSPError) {
    guard bytes.count <= RTSPParser.bodyLimit else {
      throw RTSPError(.tooLarge, "sends a description of more than \(RTSPParser.bodyLimit >> 20) MiB")
    }
    let text = String(decoding: bytes, as: UTF8.self)
    var hasVersion = false
    for line in text.split(whereSeparator: \.isNewline) {
      guard let key = line.first, line.dropFirst().first == "=" else { continue }
      let value = line.dropFirst(2).trimmed
      switch key {
      case "v": hasVersion = true
      case "s" where media.isEmpty:
        if !value.isEmpty, value != "-" { name = String(value.prefix(200)).onOneLine }
      case "m":
        guard media.count < Self.mediaLimit else {
          throw RTSPError(.tooLarge, "describes more than \(Self.mediaLimit) media")
        }
        if let medium = Self.medium(value) { media.append(medium) }
      case "a": read(attribute: value)
      default: break
      }
    }
    guard hasVersion || !media.isEmpty else {
      throw RTSPError(.malformed, "sends no description of its media")
    }
  }

  private static func medium(_ value: Substring) -> Medium? {
    let words = value.split(separator: " ")
    guard words.count >= 3 else { return nil }
    return Medium(
      kind: words[0].lowercased(), transport: words[2].uppercased(),
      formats: words.dropFirst(3).prefix(formatLimit).compactMap { Int($0) }.filter { 0...127 ~= $0 })
  }

  private mutating func read(attribute: Substring) {
    let colon = attribute.firstIndex(of: ":")
    let name = attribute[..<(colon ?? attribute.endIndex)].trimmed.lowercased()
    let value = colon.map { attribute[attribute.index(after: $0)...].trimmed } ?? ""
    let last = media.count - 1
    switch name {
    case "control":
      if last < 0 { control = String(value) } else { media[last].control = String(value) }
    case "range":
      guard let range = Range(value) else { return }
      if last < 0 { self.range = range } else { media[last].range = range }
    case "rtpmap", "fmtp":
      guard last >= 0, let blank = value.firstIndex(of: " "), let type = Int(value[..<blank]),
        media[last].formats.contains(type)
      else { return }
      let rest = String(value[blank...].trimmed)
      if name == "rtpmap" { media[last].maps[type] = rest } else { media[last].parameters[type] = rest }
    default: break
    }
  }
}

extension SessionDescription.Range {
  /// Reads a range of normal play time, as `npt=0-60.5` or `npt=now-`; nil for other units.
  package init?(_ text: some StringProtocol) {
    let text = text.trimmed
    guard text.lowercased().hasPrefix("npt"), let equals = text.firstIndex(of: "=") else { return nil }
    let value = text[text.index(after: equals)...].prefix { $0 != ";" }
    guard let dash = value.firstIndex(of: "-") else { return nil }
    let (first, second) = (value[..<dash].trimmed, value[value.index(after: dash)...].trimmed)
    let end = Self.seconds(second)
    guard end != nil || second.isEmpty else { return nil }
    self.init(start: Self.seconds(first) ?? 0, end: end)
  }

  /// Reads seconds, as `61.5` or `0:01:01.5`; nil for other texts. Source: RFC 2326 §3.6.
  private static func seconds(_ text: some StringProtocol) -> Double? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Double($0) }
    guard parts.count == 1 || parts.count == 3 else { return nil }
    var total = 0.0
    for part in parts {
      guard let part, part.isFinite, part >= 0, part < 1e9 else { return nil }
      total = total * 60 + part
    }
    return total
  }
}

extension SessionDescription {
  /// Returns the URI by which a presentation or a medium is requested: as it is if it is whole, else after
  /// the URI of the description, as servers and their clients do it.
  package static func uri(of control: String?, base: String) -> String {
    guard let control, !control.isEmpty, control != "*" else { return base }
    if control.lowercased().hasPrefix("rtsp://") || control.lowercased().hasPrefix("rtsps://") {
      return control
    }
    let rest = control.first == "/" ? control.dropFirst() : control[...]
    return base.hasSuffix("/") ? base + rest : "\(base)/\(rest)"
  }
}
