public import AudioCore
internal import Codecs
public import EventLoop
internal import StreamCore

/// The files of a playlist on this machine, as m3u, pls or xspf.
public struct FilePlaylist: Sendable, Equatable {
  /// A file in a playlist.
  public struct Entry: Sendable, Equatable {
    /// The path of the file; a relative one has been resolved against the folder of the playlist.
    public let path: String
    /// The title in the playlist.
    public let title: String?
  }

  /// The limit of files in a playlist.
  public static let entryLimit = 10_000

  /// The files, in the order of the playlist.
  public let entries: [Entry]

  /// Returns the format of playlists with a path's extension; nil if the path is not a playlist of files.
  public static func format(ofPath path: String) -> Playlist.Format? {
    switch Playlist.named(extensionOf: path) {
    case .asx, nil: nil
    case let format?: format
    }
  }

  /// Parses the playlist at `path`.
  /// - Throws: `audio.not_found` for a list without entries; `audio.unsupported` for one that lists a URL
  ///   other than of a file of this machine, and for one of more than `Playlist.sizeLimit` or `entryLimit`.
  public init(_ bytes: [UInt8], format: Playlist.Format, path: String) throws(AudioError) {
    let fact = ErrorFact("path", .string(path))
    guard bytes.count <= Playlist.sizeLimit else {
      throw AudioError(.unsupported, "the playlist \(path) has more than 1 MiB", facts: [fact])
    }
    if format == .m3u, Playlist.isHLS(bytes) { throw .playlist(path, isOfSegments: true) }
    let references: [Playlist.Reference]
    do { references = try Playlist.references(in: bytes, format: format, name: path) } catch {
      throw AudioError(.unsupported, error.message, facts: [fact])
    }
    guard !references.isEmpty else {
      throw AudioError(
        .notFound, "the playlist \(path) lists no file",
        hint: "open it in a text editor to see what it holds",
        facts: [fact])
    }
    guard references.count <= Self.entryLimit else {
      throw AudioError(
        .unsupported, "the playlist \(path) lists \(references.count) files, more than \(Self.entryLimit)",
        facts: [fact])
    }
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    var entries: [Entry] = []
    for reference in references {
      let title = reference.title.map(\.cleaned).flatMap { $0.isEmpty ? nil : $0 }
      let file = try Self.path(reference.text, isURI: format == .xspf, in: path)
      entries.append(Entry(path: file.hasPrefix("/") ? file : folder + file, title: title))
    }
    self.entries = entries
  }

  /// Returns the path that an entry names: the text itself, or that of a `file:` URL.
  private static func path(
    _ text: String, isURI: Bool, in list: String
  ) throws(AudioError) -> String {
    // A colon alone may be part of a name: "Requiem: Lacrimosa.mp3".
    let isFile = StreamAddress.scheme(of: text) == "file"
    guard isFile || StreamAddress.looksLikeURL(text) else { return isURI ? decoded(text) : text }
    guard isFile else {
      let url = StreamAddress.shown(text).cleaned
      throw AudioError(
        .unsupported, "the playlist \(list) lists a station, \(url), and a queue plays files",
        hint: "play stations with play_stream, one at a time",
        facts: [.init("path", .string(list)), .init("url", .string(url))])
    }
    // file:///music/a.mp3, file://localhost/music/a.mp3, file:/music/a.mp3
    var rest = text.dropFirst("file:".count)
    if rest.hasPrefix("//") {
      rest = rest.dropFirst(2)
      rest = rest.drop { $0 != "/" }
    }
    return decoded(String(rest))
  }

  /// Returns a text without percent escapes; an invalid escape stays unchanged. Source: RFC 3986 §2.1.
  private static func decoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.first {
      rest = rest.dropFirst()
      let digits = rest.prefix(2)
      if byte == UInt8(ascii: "%"), digits.count == 2,
        let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
