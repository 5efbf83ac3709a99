public import EventLoop
public import StreamCore

/// A playlist: addresses of a stream, as pls, m3u, xspf or asx.
public struct Playlist: Sendable, Equatable {
  /// An address in a playlist.
  public struct Entry: Sendable, Equatable {
    /// The address.
    public let address: StreamAddress
    /// The title in the playlist.
    public let title: String?

    /// Creates an entry called `title`.
    public init(address: StreamAddress, title: String? = nil) {
      self.address = address
      // The text comes from outside.
      self.title = title.map(\.cleaned).flatMap { $0.isEmpty ? nil : $0 }
    }
  }

  /// A line or an element of a playlist, before it is resolved.
  struct Reference {
    /// A URL, or a reference relative to that of the playlist.
    let text: String
    var title: String?
  }

  /// The format of a playlist.
  public enum Format: String, Sendable {
    case pls, m3u, xspf, asx
  }

  /// The limit of a playlist in bytes.
  public static let sizeLimit = 1 << 20
  /// The depth to which playlists may lead to playlists.
  public static let depthLimit = 4
  /// The limit of entries that are read.
  static let entryLimit = 1000

  /// The entries, in the order in which they are to be tried.
  public let entries: [Entry]

  /// Returns the format of a body: by its first bytes, otherwise by the content type or the name; nil if it
  /// is not a playlist.
  /// - Parameters:
  ///   - start: the first bytes, a few hundred.
  ///   - contentType: the content type without parameters, in lower case.
  ///   - path: the path of the URL.
  public static func format(start: some Collection<UInt8>, contentType: String?, path: String) -> Format? {
    let marked = MarkedText.utf16(start.prefix(512))
    let text = (marked ?? String(decoding: start.prefix(512), as: UTF8.self)).trimmingStart().lowercased()
    if text.hasPrefix("[playlist]") { return .pls }
    if text.hasPrefix("#extm3u") { return .m3u }
    if text.hasPrefix("<asx") { return .asx }
    if text.hasPrefix("<playlist") { return .xspf }
    if text.hasPrefix("<?xml") {
      if text.contains("<playlist") { return .xspf }
      if text.contains("<asx") { return .asx }
    }
    // Old playlists have no mark: all lines are addresses or comments. Audio under such a name is audio.
    let isText =
      marked.map { Self.isText($0.utf8) } ?? (start.first != 0xFF && Self.isText(start.prefix(512)))
    guard isText, !text.hasPrefix("<") else { return nil }
    return named(contentType) ?? named(extensionOf: path)
  }

  /// Returns `true` if an M3U list is one of HLS: of segments, or of versions.
  static func isHLS(_ bytes: [UInt8]) -> Bool {
    bytes.split(separator: UInt8(ascii: "\n")).contains { line in
      ["#EXT-X-TARGETDURATION", "#EXT-X-MEDIA-SEQUENCE", "#EXT-X-STREAM-INF"].contains {
        line.starts(with: $0.utf8)
      }
    }
  }

  private static func isText(_ bytes: some Collection<UInt8>) -> Bool {
    bytes.allSatisfy { $0 >= 32 && $0 != 127 || (9...13).contains($0) }
  }

  private static func named(_ contentType: String?) -> Format? {
    switch contentType {
    case "audio/x-scpls", "application/pls+xml", "audio/scpls": .pls
    case "audio/x-mpegurl", "audio/mpegurl", "application/x-mpegurl", "application/vnd.apple.mpegurl": .m3u
    case "application/xspf+xml": .xspf
    case "video/x-ms-asf", "video/x-ms-asx", "audio/x-ms-wax", "video/x-ms-wvx": .asx
    default: nil
    }
  }

  /// Returns the format that a path's extension names: `/listen.m3u8`.
  public static func named(extensionOf path: String) -> Format? {
    let end = path.split(separator: ".").last.map { $0.lowercased() }
    switch end {
    case "pls": return .pls
    case "m3u", "m3u8": return .m3u
    case "xspf": return .xspf
    case "asx", "wax", "wvx": return .asx
    default: return nil
    }
  }

  /// Parses a playlist.
  /// - Parameters:
  ///   - base: the address of the playlist, for relative entries.
  /// - Throws: `stream.not_found` if it lists nothing playable, `stream.unsupported` if all entries are of
  ///   unsupported kinds, or it is a list of segments; `stream.content` if it is too large.
  public init(_ bytes: [UInt8], format: Format, base: StreamAddress) throws(StreamError) {
    let url = ErrorFact("url", .string(base.description))
    guard bytes.count <= Self.sizeLimit else {
      throw StreamError(.content, "the playlist \(base) has more than 1 MiB", facts: [url])
    }
    let found = try Self.references(in: bytes, format: format, name: base.description)
    var refused: String?
    var other: StreamAddress?
    var entries: [Entry] = []
    for reference in found.prefix(Self.entryLimit) {
      switch base.resolving(reference.text) {
      case .address(let address)? where address.scheme.isRTSP: other = other ?? address
      case .address(let address)?: entries.append(Entry(address: address, title: reference.title))
      case .unsupported(let scheme)?: refused = refused ?? scheme
      case nil: break
      }
    }
    if entries.isEmpty, let other {
      throw StreamError(
        .unsupported, "the playlist \(base) lists only rtsp:// addresses",
        hint: "play the stream by its own address: \(other)",
        facts: [url, .init("scheme", .string(other.scheme.rawValue))])
    }
    if entries.isEmpty, let refused {
      throw StreamError(
        .unsupported, "the playlist \(base) lists only \(refused):// addresses, which don't work here",
        facts: [url, .init("scheme", .string(refused))])
    }
    guard !entries.isEmpty else {
      throw StreamError(
        .notFound, "the playlist \(base) lists nothing that can be played",
        hint: "open it in a text editor to see what it holds", facts: [url])
    }
    self.entries = entries
  }

  /// Returns the entries of a playlist as they are written in it.
  /// - Parameter name: the name of the playlist, for messages.
  /// - Throws: `stream.unsupported` for a list of segments.
  static func references(
    in bytes: [UInt8], format: Format, name: String
  ) throws(StreamError) -> [Reference] {
    switch format {
    case .pls: pls(text(bytes))
    case .m3u: try m3u(text(bytes), name)
    case .xspf: XMLPlaylist.xspf(bytes)
    case .asx: XMLPlaylist.asx(bytes)
    }
  }

  /// Decodes UTF-16 after a byte order mark, UTF-8 if it is valid, otherwise Latin-1; without the mark.
  private static func text(_ bytes: [UInt8]) -> String {
    if let text = MarkedText.utf16(bytes) { return text }
    let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    return String(validating: bytes, as: UTF8.self)
      ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }

  /// Parses `File1=`, `Title1=`, in the order of their numbers. Source:
  /// http://gonze.com/playlists/playlist-format-survey.html
  private static func pls(_ text: String) -> [Reference] {
    var (files, titles): ([Int: String], [Int: String]) = ([:], [:])
    for line in lines(of: text) {
      guard let equals = line.firstIndex(of: "=") else { continue }
      let key = line[..<equals].trimmingEnds().lowercased()
      let value = line[line.index(after: equals)...].trimmingEnds()
      guard !value.isEmpty else { continue }
      if key.hasPrefix("file"), let number = Int(key.dropFirst(4)) { files[number] = files[number] ?? value }
      if key.hasPrefix("title"), let number = Int(key.dropFirst(5)) {
        titles[number] = titles[number] ?? value
      }
    }
    return files.sorted { $0.key < $1.key }.map { Reference(text: $0.value, title: titles[$0.key]) }
  }

  /// Parses an address on each line that is not a comment; `#EXTINF:` has the title of the next one. Source:
  /// RFC 8216 for the marks of lists of segments.
  private static func m3u(_ text: String, _ name: String) throws(StreamError) -> [Reference] {
    var references: [Reference] = []
    var title: String?
    for line in lines(of: text) {
      let upper = line.prefix(40).uppercased()
      if upper.hasPrefix("#EXT-X-TARGETDURATION") || upper.hasPrefix("#EXT-X-MEDIA-SEQUENCE")
        || upper.hasPrefix("#EXT-X-STREAM-INF")
      {
        throw StreamError(
          .unsupported, "\(name) is a list of segments (HLS), which doesn't work here",
          hint: "look for an address of the station that ends in .mp3, .aac, .pls or .m3u",
          facts: [.init("url", .string(name))])
      }
      if upper.hasPrefix("#EXTINF:") {
        title = line.firstIndex(of: ",").map { line[line.index(after: $0)...].trimmingEnds() }
        if title?.isEmpty == true { title = nil }
      } else if !line.hasPrefix("#") {
        references.append(Reference(text: line, title: title))
        title = nil
      }
    }
    return references
  }

  /// Returns the lines that are not blank, without white space at their ends.
  private static func lines(of text: String) -> [String] {
    text.split(whereSeparator: \.isNewline).map { $0.trimmingEnds() }.filter { !$0.isEmpty }
  }
}

extension StringProtocol {
  /// Returns the text without white space and a byte order mark at the start.
  fileprivate func trimmingStart() -> String { String(drop { $0.isWhitespace || $0 == "\u{FEFF}" }) }
}

/// Parses playlists in XML, also in malformed XML.
enum XMLPlaylist {
  /// Parses `<track><location>` with `<title>`. Source: https://www.xspf.org/spec
  static func xspf(_ bytes: [UInt8]) -> [Playlist.Reference] {
    guard let document = XMLDocument(bytes) else { return [] }
    return document.elements(named: "track").flatMap { track in
      let title = track.children.first { $0.name == "title" }?.text
      return track.children.filter { $0.name == "location" }.map {
        Playlist.Reference(text: $0.text, title: title)
      }
    }
  }

  /// Parses `<entry><ref href=…>` with `<title>`, in the manner of HTML: an element that closes itself may
  /// hold the elements after it. Source:
  /// https://learn.microsoft.com/windows/win32/wmp/windows-media-metafile-elements-reference
  static func asx(_ bytes: [UInt8]) -> [Playlist.Reference] {
    guard let document = XMLDocument(bytes, isLoose: true) else { return [] }
    let entries = document.elements(named: "entry").flatMap { entry in
      let title = entry.children.first { $0.name == "title" }?.text
      return entry.elements(named: "ref")
        .compactMap { $0.attributes["href"] }.map { Playlist.Reference(text: $0, title: title) }
    }
    let others = document.elements(named: "entryref").compactMap { $0.attributes["href"] }
    return entries + others.map { Playlist.Reference(text: $0) }
  }
}
