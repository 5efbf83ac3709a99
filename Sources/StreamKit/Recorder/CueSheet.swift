internal import EventLoop
internal import Glibc

/// Which title is where in a recording: a text that players read beside the sound.
///
/// Source: "CDRWIN User's Guide", cue sheet commands; what it has no command for stands in remarks.
public struct CueSheet: Sendable, Equatable {
  /// A title.
  public struct Track: Sendable, Equatable {
    /// What it is called.
    public var title: String
    /// Who plays.
    public var performer: String?
    /// Seconds of the file at which it begins.
    public var start: Double
    /// The name of its own file; nil when it is a part of the whole.
    public var file: String?

    /// A title that begins at `start`.
    public init(_ title: String, performer: String? = nil, start: Double = 0, file: String? = nil) {
      (self.title, self.performer, self.start, self.file) = (title, performer, start, file)
    }
  }

  /// Something that is missing.
  public struct Gap: Sendable, Equatable {
    /// Seconds of the recording at which it is.
    public var at: Double
    /// How much is missing, in seconds.
    public var seconds: Double

    /// `seconds` are missing at `at`.
    public init(at: Double, seconds: Double) { (self.at, self.seconds) = (at, seconds) }
  }

  /// The station.
  public var station: String?
  /// Where it comes from, without a password.
  public var url: String?
  /// When it begins.
  public var start: LocalTime
  /// The name of the file of the whole; nil when every title has its own.
  public var file: String?
  /// What the frames are.
  public var codec: StreamCodec
  /// The titles, in their order.
  public var tracks: [Track]
  /// What is missing, in its order.
  public var gaps: [Gap]

  /// A sheet for the file called `file`, beside which it lies, or for files that their titles name.
  public init(
    file: String? = nil, codec: StreamCodec, station: String? = nil, url: String? = nil, start: LocalTime,
    tracks: [Track] = [], gaps: [Gap] = []
  ) {
    (self.file, self.codec, self.station, self.url) = (file, codec, station, url)
    (self.start, self.tracks, self.gaps) = (start, tracks, gaps)
  }

  /// The sheet, in UTF-8.
  public var text: String {
    var lines = ["REM DATE \(start.formatted("%Y-%m-%d"))", "REM TIME \(start.formatted("%H:%M:%S"))"]
    if let station { lines.append("REM STATION \(Self.quoted(station))") }
    if let url { lines.append("REM URL \(Self.quoted(url))") }
    for gap in gaps {
      // A number that no clock shows is none that a station lost.
      let seconds = gap.seconds.isFinite ? Self.decimal(gap.seconds) : "0.000"
      lines.append("REM GAP \(Self.place(gap.at)) \(seconds)")
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
      lines.append("    INDEX 01 \(Self.place(track.start))")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Writes the sheet, in place of the one that is there: a reader finds the old one or the new one, whole.
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

  /// The tracks of the sheet: in one file they go on from its start, each at a place of its own.
  private var listed: [Track] {
    var result: [Track] = []
    for track in tracks {
      if let last = result.last, track.file == last.file, Self.frame(track.start) <= Self.frame(last.start) {
        // Told again before anything of it was heard.
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

  /// Frames of a disc, 75 a second.
  private static func frame(_ seconds: Double) -> Int {
    // Some hundred years.
    Int(max(0, min(4e9, seconds.isNaN ? 0 : seconds)) * 75)
  }

  /// `mm:ss:ff`; an hour has 60 minutes, a day 1440.
  static func place(_ seconds: Double) -> String {
    let frame = frame(seconds)
    return [frame / 75 / 60, frame / 75 % 60, frame % 75].map { ($0 < 10 ? "0" : "") + String($0) }
      .joined(separator: ":")
  }

  private static func decimal(_ seconds: Double) -> String {
    let thousandths = Int(max(0, min(4e9, seconds)) * 1000 + 0.5)
    let rest = String(thousandths % 1000)
    return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }

  /// A text in quotes, for which the format has no other form.
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
