public import Codecs
public import EventLoop
internal import Glibc

/// The titles of a recording with their positions: a text that players read beside the sound.
///
/// Source: "CDRWIN User's Guide", cue sheet commands; values without a command stand in remarks.
public struct CueSheet: Sendable, Equatable {
  /// A title and its position.
  public struct Track: Sendable, Equatable {
    /// The name of the title.
    public var title: String
    /// The performer.
    public var performer: String?
    /// The position in the file at which it begins, in seconds.
    public var start: Double
    /// The name of its own file; nil if it is a part of the whole.
    public var file: String?

    /// Creates a title that begins at `start`.
    public init(_ title: String, performer: String? = nil, start: Double = 0, file: String? = nil) {
      (self.title, self.performer, self.start, self.file) = (title, performer, start, file)
    }
  }

  /// A gap in the sound.
  public struct Gap: Sendable, Equatable {
    /// The position in the recording, in seconds.
    public var at: Double
    /// The length of the gap in seconds.
    public var seconds: Double

    /// Creates a gap of `seconds` at `at`.
    public init(at: Double, seconds: Double) { (self.at, self.seconds) = (at, seconds) }
  }

  /// The name of the station.
  public var station: String?
  /// The URL of the source, without a password.
  public var url: String?
  /// The local time of the beginning.
  public var start: LocalTime
  /// The name of the file of the whole; nil if every title has its own.
  public var file: String?
  /// The codec of the frames.
  public var codec: Codec
  /// The titles, in order.
  public var tracks: [Track]
  /// The gaps, in order.
  public var gaps: [Gap]

  /// Creates a sheet for the file called `file` in the same folder, or for the files of the titles.
  public init(
    file: String? = nil, codec: Codec, station: String? = nil, url: String? = nil, start: LocalTime,
    tracks: [Track] = [], gaps: [Gap] = []
  ) {
    (self.file, self.codec, self.station, self.url) = (file, codec, station, url)
    (self.start, self.tracks, self.gaps) = (start, tracks, gaps)
  }

  /// The text of the sheet, in UTF-8.
  public var text: String {
    var lines = ["REM DATE \(start.formatted("%Y-%m-%d"))", "REM TIME \(start.formatted("%H:%M:%S"))"]
    if let station { lines.append("REM STATION \(Self.quoted(station))") }
    if let url { lines.append("REM URL \(Self.quoted(url))") }
    for gap in gaps {
      // Infinity and NaN have no decimal form.
      let seconds = gap.seconds.isFinite ? Self.decimal(gap.seconds) : "0.000"
      lines.append("REM GAP \(Self.index(gap.at)) \(seconds)")
    }
    if let station { lines.append("PERFORMER \(Self.quoted(station))") }
    lines.append("TITLE \(Self.quoted("\(station ?? "Recording") \(start.formatted("%Y-%m-%d %H:%M"))"))")
    var last: String?
    for (index, track) in listed.enumerated() {
      if let file = track.file ?? file, file != last {
        lines.append("FILE \(Self.quoted(file)) \(codec == .mp3 ? "MP3" : "WAVE")")
        last = file
      }
      lines.append("  TRACK \(index < 9 ? "0" : "")\(index + 1) AUDIO")
      lines.append("    TITLE \(Self.quoted(track.title))")
      if let performer = track.performer { lines.append("    PERFORMER \(Self.quoted(performer))") }
      lines.append("    INDEX 01 \(Self.index(track.start))")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Writes the sheet, replacing an existing one: a reader finds the old one or the new one, whole.
  /// - Throws: `record.disk_full`, `record.write`.
  public func write(to path: String) throws(RecordError) {
    let new = path + ".new"
    let file = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o666)
    guard file >= 0 else { throw RecordError("write", path, errno: errno) }
    defer { close(file) }
    do throws(RecordError) {
      try FileBytes.write(Array(text.utf8)[...], file, path, at: 0)
      guard fdatasync(file) == 0, rename(new, path) == 0 else {
        throw RecordError("write", path, errno: errno)
      }
    } catch {
      unlink(new)
      throw error
    }
  }

  /// The tracks of the sheet: in one file they begin at its start, each at a position of its own.
  private var listed: [Track] {
    var result: [Track] = []
    for track in tracks {
      if let last = result.last, track.file == last.file, Self.frame(track.start) <= Self.frame(last.start) {
        // The last title was replaced before any sound of it.
        if Self.frame(track.start) == Self.frame(last.start) { result[result.count - 1] = track }
        continue
      }
      result.append(track)
    }
    if file != nil, result.first.map({ $0.file == nil && Self.frame($0.start) > 0 }) ?? true {
      result.insert(Track(station ?? "Recording"), at: 0)
    }
    return result
  }

  // MARK: Forms

  /// Returns a position in frames of a disc, 75 a second.
  private static func frame(_ seconds: Double) -> Int {
    // The limit is about a hundred years.
    Int(max(0, min(4e9, seconds.isNaN ? 0 : seconds)) * 75)
  }

  /// Returns a position as `mm:ss:ff`; an hour has 60 minutes, a day 1440.
  static func index(_ seconds: Double) -> String {
    let frame = frame(seconds)
    return [frame / 75 / 60, frame / 75 % 60, frame % 75].map { ($0 < 10 ? "0" : "") + String($0) }
      .joined(separator: ":")
  }

  private static func decimal(_ seconds: Double) -> String {
    let thousandths = Int(max(0, min(4e9, seconds)) * 1000 + 0.5)
    let rest = String(thousandths % 1000)
    return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }

  /// Returns a text in quotes; quotes and control characters in it are replaced, as the format can't escape
  /// them.
  private static func quoted(_ text: String) -> String {
    let scalars = text.unicodeScalars.prefix(1000).map { scalar -> Unicode.Scalar in
      if scalar == "\"" { return "'" }
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: return " "
      default: return scalar
      }
    }
    return "\"\(String(String.UnicodeScalarView(scalars)))\""
  }
}
