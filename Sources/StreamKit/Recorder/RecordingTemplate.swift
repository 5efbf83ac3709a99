public import EventLoop

/// What recordings are called: `{station}/{start:%Y-%m-%d %H.%M} {title}.{ext}`.
///
/// A path with fields in it; `{{` and `}}` stand for braces. What stations send fills a field, never more than one
/// part of a path: slashes are replaced, no part is `.` or `..`, none is hidden, and none is too long.
public struct RecordingTemplate: Sendable, Equatable {
  /// What fills the fields.
  public struct Values: Sendable, Equatable {
    /// `unknown` without one.
    public var station: String?
    /// `untitled` without one.
    public var title: String?
    /// Nothing without one, with what parts it from the next field.
    public var artist: String?
    /// The name's end, as in `mp3`.
    public var ext: String
    /// When it begins.
    public var start: LocalTime
    /// The number of the file among those of its recording, from 1 on; written with two digits at least.
    public var track: Int

    /// Values; by default no station, title or artist is known.
    public init(
      station: String? = nil, title: String? = nil, artist: String? = nil, ext: String, start: LocalTime,
      track: Int = 1
    ) {
      (self.station, self.title, self.artist) = (station, title, artist)
      (self.ext, self.start, self.track) = (ext, start, track)
    }
  }

  /// The names of the fields.
  public enum Field: String, Sendable, CaseIterable {
    case station, title, artist, track, start, ext
    /// A number that makes a name free that is in use.
    case n
  }

  enum Part: Sendable, Equatable {
    case text(String)
    case field(Field)
    case start(format: String)
  }

  /// As it was written.
  public let text: String
  let parts: [Part]

  /// The default names of files: those of a split recording by their titles, others by the time, as their
  /// first song is one of many.
  public static func usual(splits: Bool) -> String {
    splits ? "{station}/{start:%Y-%m-%d %H.%M} {title}.{ext}" : "{station}/{start:%Y-%m-%d %H.%M}.{ext}"
  }

  /// How `{start}` alone is written.
  static let usualTime = "%Y-%m-%d %H.%M"

  /// Reads a template.
  /// - Throws: what is wrong with it; nothing is guessed.
  public init(_ text: String) throws(TemplateError) {
    self.text = text
    var reader = TemplateReader(text)
    parts = try reader.read()
  }

  /// Whether it has a field.
  public func has(_ field: Field) -> Bool {
    parts.contains {
      switch $0 {
      case .text: false
      case .field(let other): other == field
      case .start: field == .start
      }
    }
  }

  /// The path for one recording: `{n}`, or a number behind the name, as in `Show (2).mp3`, makes it one that is free.
  /// - Parameter isTaken: whether a path is in use.
  /// - Throws: `record.exists` when ten thousand are.
  public func path(
    _ values: Values, isTaken: (String) -> Bool = PartFile.isTaken
  ) throws(RecordError) -> String {
    let first = expanded(values, number: 1)
    if !isTaken(first) { return first }
    let isNumbered = has(.n)
    for number in 2...RecordingName.highest {
      let next =
        isNumbered ? expanded(values, number: number) : RecordingName.numbered(first, number)
      if !isTaken(next) { return next }
    }
    throw RecordError(
      .exists, "\(first.onOneLine) and \(RecordingName.highest) numbers behind it are taken",
      hint: "give the template a {start} or a {title}", facts: [.init("path", .string(first))])
  }

  /// The path with this number, whether or not it is in use.
  func expanded(_ values: Values, number: Int) -> String {
    var names: [TemplateName] = [TemplateName()]
    var isArtistMissing = false
    for part in parts {
      switch part {
      case .text(let text):
        let rest = isArtistMissing ? text.drop { " -–—_".contains($0) } : text[...]
        isArtistMissing = false
        append(String(rest), to: &names, isOwn: true)
      case .start(let format):
        isArtistMissing = false
        append(values.start.formatted(format), to: &names, isOwn: false)
      case .field(let field):
        isArtistMissing = false
        switch field {
        case .station: names[names.count - 1].add(values.station, else: "unknown")
        case .title: names[names.count - 1].add(values.title, else: "untitled")
        case .artist:
          isArtistMissing = RecordingName.clean(values.artist ?? "").isEmpty
          names[names.count - 1].add(values.artist, else: "")
        case .track: names[names.count - 1].add(values.track < 10 ? "0\(values.track)" : String(values.track))
        case .ext: names[names.count - 1].addEnd(values.ext)
        case .n: names[names.count - 1].add(String(number))
        case .start: append(values.start.formatted(Self.usualTime), to: &names, isOwn: false)
        }
      }
    }
    return names.enumerated().map { index, name in
      let room = RecordingName.longest - (index == names.count - 1 ? PartFile.suffix.utf8.count : 0)
      return name.text(bytes: room)
    }.joined(separator: "/")
  }

  /// Text of the template, whose slashes part folders.
  private func append(_ text: String, to names: inout [TemplateName], isOwn: Bool) {
    for (index, piece) in text.split(separator: "/", omittingEmptySubsequences: false).enumerated() {
      if index > 0 { names.append(TemplateName()) }
      names[names.count - 1].add(isOwn ? .own(String(piece)) : .time(String(piece)))
    }
  }
}

/// What is wrong with a template.
public struct TemplateError: CodedError, Equatable {
  /// `argument`: it is the script's mistake.
  public let code = "argument"
  /// What is wrong, one line.
  public let message: String
  /// What to write instead.
  public let hint: String?
}
