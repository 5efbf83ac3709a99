internal import CTag
public import Codecs
public import EventLoop
internal import Glibc

/// The metadata in a recording's file: an ID3v2 tag before the frames, with room for values that are known
/// only at the end.
///
/// TagLib writes the tag into memory, never into the recording: TagLib's own saving moves the sound if a tag
/// outgrows its room, or has more room than TagLib thinks fit, and a kill in that moment would destroy the
/// file.
public struct RecordingTag: Sendable, Equatable {
  /// The title of the song or the show.
  public var title: String?
  /// The artist.
  public var artist: String?
  /// The station, as the album.
  public var album: String?
  /// The genre sent by the station.
  public var genre: String?
  /// The number of the file in its recording.
  public var track: Int?
  /// The local time of the beginning.
  public var start: LocalTime?
  /// The URL of the source, without a password.
  public var url: String?

  /// Creates a tag.
  public init(
    title: String? = nil, artist: String? = nil, album: String? = nil, genre: String? = nil,
    track: Int? = nil, start: LocalTime? = nil, url: String? = nil
  ) {
    (self.title, self.artist, self.album, self.genre, self.track) = (title, artist, album, genre, track)
    (self.start, self.url) = (start, url)
  }

  /// The limit of a text in bytes of UTF-8: the whole tag fits into a page of memory, which the system writes
  /// at once.
  static let longestText = 400
  /// The length in bytes beyond which a tag is left unchanged.
  static let longestTag = 1 << 20

  /// Returns `true` if files of a codec carry such a tag.
  public static func suits(_ codec: Codec) -> Bool {
    codec.hasFrames && !codec.isOgg && !codec.isSamples
  }

  /// Returns the bytes to begin a file with.
  /// - Parameter padding: the number of bytes left empty for `update`, at most 1 MiB.
  /// - Throws: `record.write` if the process has no descriptor for it, TagLib has no memory, or TagLib can't
  ///   be loaded.
  public func make(padding: Int = 2048) throws(RecordError) -> [UInt8] {
    let frames = try frames(after: [], limit: Self.longestText)
    return Self.tag(frames, length: Self.headLength + frames.count + max(0, min(padding, Self.longestTag)))
  }

  /// Writes the known values into the tag of the file at `path`, which keeps its length and its other frames;
  /// texts that do not fit are cut.
  /// - Returns: `true` if the file begins with a tag that had room.
  /// - Throws: `record.write`.
  @discardableResult
  public func update(_ path: String) throws(RecordError) -> Bool {
    try FileBytes.withFile(path, writable: true) { (file, size) throws(RecordError) in
      let head = try FileBytes.read(file, path, at: 0, count: Self.headLength)
      let length = AudioFraming.tagLength(head)
      guard length > 0, length <= size, length <= Self.longestTag else { return false }
      let old = try FileBytes.read(file, path, at: 0, count: length)
      for limit in [Self.longestText, 200, 100, 50] {
        let frames = try frames(after: old, limit: limit)
        guard Self.headLength + frames.count <= length else { continue }
        try FileBytes.write(Self.tag(frames, length: length)[...], file, path, at: 0)
        return true
      }
      return false
    }
  }

  /// Returns the comments of an Ogg stream, completed with these values where it has none of its own.
  func added(to comments: OggComments) -> OggComments {
    var comments = comments
    let values = [
      ("TITLE", title), ("ARTIST", artist), ("ALBUM", album), ("GENRE", genre),
      ("TRACKNUMBER", track.map(String.init)),
      ("DATE", start?.formatted("%Y-%m-%dT%H:%M:%S")), ("DESCRIPTION", comment),
    ]
    for (name, value) in values where comments[name] == nil {
      if let text = Self.clean(value, Self.longestText) { comments.fields.append(.init(name, text)) }
    }
    return comments
  }

  // MARK: Texts

  private static func clean(_ text: String?, _ limit: Int) -> String? {
    guard let text else { return nil }
    // A limit of the work, above that of any stored text.
    let scalars = text.unicodeScalars.prefix(4 * limit).map { scalar -> Unicode.Scalar in
      scalar.properties.generalCategory == .control ? " " : scalar
    }
    let line = RecordingName.prefix(String(String.UnicodeScalarView(scalars)), bytes: limit)
    return line.allSatisfy { $0 == " " } ? nil : line
  }

  private var comment: String? {
    let time = start.map { "Recorded " + $0.formatted("%Y-%m-%d %H:%M:%S") }
    guard let url else { return time }
    return (time ?? "Recorded") + " from " + url
  }

  // MARK: TagLib

  private static let library = SharedLibrary<tag_library>(
    "libtag_c.so.0", package: "libtagc0", names: tag_names())
  /// The failure to load TagLib; nil if it is loaded.
  static var libraryFailure: LibraryError? { library.failure }

  /// The length in bytes of a tag's header.
  private static let headLength = 10

  /// Returns the frames of an ID3v2.4 tag: those of `old`, updated to these values.
  private func frames(after old: [UInt8], limit: Int) throws(RecordError) -> ArraySlice<UInt8> {
    let taglib: tag_library
    do throws(LibraryError) { taglib = try Self.library.functions } catch {
      throw RecordError(.write, "can't make a tag: \(error.message)", hint: error.hint)
    }
    let memory = LinuxFiles.inMemory(name: "tag")
    guard memory >= 0 else { throw RecordError("make", "a tag", errno: -memory) }
    defer { close(memory) }
    let path = "/proc/self/fd/\(memory)"
    try FileBytes.write(old[...], memory, path, at: 0)
    guard save(into: path, limit: limit, taglib) else {
      throw RecordError(.write, "TagLib can't make a tag", hint: "see that /proc is there")
    }
    let head = try FileBytes.read(memory, path, at: 0, count: Self.headLength)
    let length = AudioFraming.tagLength(head)
    let tag = try FileBytes.read(memory, path, at: 0, count: min(length, 2 * Self.longestTag))
    let frames = tag[min(Self.headLength, tag.count)..<Self.endOfFrames(tag)]
    // TagLib's C interface supports only years; it keeps the date of an old tag.
    guard let start, old.isEmpty else { return frames }
    return frames + Self.textFrame("TDRC", start.formatted("%Y-%m-%dT%H:%M:%S"))
  }

  private func save(into path: String, limit: Int, _ taglib: tag_library) -> Bool {
    // freed below
    guard let file = taglib.taglib_file_new_type(path, TagLib_File_MPEG) else { return false }
    defer { taglib.taglib_file_free(file) }
    guard taglib.taglib_file_is_valid(file) != 0, let tag = taglib.taglib_file_tag(file) else { return false }
    if let title = Self.clean(title, limit) { taglib.taglib_tag_set_title(tag, title) }
    if let artist = Self.clean(artist, limit) { taglib.taglib_tag_set_artist(tag, artist) }
    if let album = Self.clean(album, limit) { taglib.taglib_tag_set_album(tag, album) }
    if let comment = Self.clean(comment, limit) { taglib.taglib_tag_set_comment(tag, comment) }
    if let genre = Self.clean(genre, limit) { taglib.taglib_tag_set_genre(tag, genre) }
    if let track { taglib.taglib_tag_set_track(tag, UInt32(clamping: track)) }
    return taglib.taglib_file_save(file) != 0
  }

  /// Returns a frame with an ASCII text. Source: ID3v2.4 §4.2.
  private static func textFrame(_ name: String, _ text: String) -> [UInt8] {
    let body = [3] + Array(text.utf8)
    let size = [21, 14, 7, 0].map { UInt8(body.count >> $0 & 0x7F) }
    return Array(name.utf8) + size + [0, 0] + body
  }

  /// Returns the offset of the padding: each frame has a head of ten bytes, four of which state the length of
  /// the rest in seven bits each. Source: ID3v2.4 §4.
  private static func endOfFrames(_ tag: [UInt8]) -> Int {
    var end = min(headLength, tag.count)
    while end + 10 <= tag.count, tag[end] != 0 {
      let length = tag[(end + 4)..<(end + 8)].reduce(0) { $0 << 7 | Int($1 & 0x7F) }
      guard end + 10 + length <= tag.count else { break }
      end += 10 + length
    }
    return end
  }

  /// Returns a tag of `length` bytes.
  private static func tag(_ frames: ArraySlice<UInt8>, length: Int) -> [UInt8] {
    let size = [21, 14, 7, 0].map { UInt8((length - headLength) >> $0 & 0x7F) }
    let bytes = Array("ID3".utf8) + [4, 0, 0] + size + frames
    return bytes + [UInt8](repeating: 0, count: length - bytes.count)
  }
}

/// The library that creates the tags of recordings.
package enum TagLibrary {
  /// The failure to load TagLib; nil if it is loaded.
  package static var failure: LibraryError? { RecordingTag.libraryFailure }
}
