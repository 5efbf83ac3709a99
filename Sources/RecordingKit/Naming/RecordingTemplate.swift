public import EventLoop

/// The template of a recording's path: `{station}/{start:%Y-%m-%d %H.%M} {title}.{ext}`.
///
/// Fields are in braces; `{{` and `}}` are literal braces. A value from a station fills a field, never more
/// than one component of the path: slashes are replaced, and no component is `.`, `..`, hidden or too long.
public struct RecordingTemplate: Sendable, Equatable {
  /// The values of the fields.
  public struct Values: Sendable, Equatable {
    /// The station's name; nil is written as `unknown`.
    public var station: String?
    /// The title; nil is written as `untitled`.
    public var title: String?
    /// The artist; nil leaves out the field and the separator after it.
    public var artist: String?
    /// The extension, as in `mp3`.
    public var ext: String
    /// The local time at which the file begins.
    public var start: LocalTime
    /// The number of the file in its recording, from 1 on; written with at least two digits.
    public var track: Int

    /// Creates values; by default no station, title or artist is known.
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
    /// The number that makes a name unique.
    case n
  }

  enum Part: Sendable, Equatable {
    case text(String)
    case field(Field)
    case start(format: String)
  }

  /// The template as it was written.
  public let text: String
  let parts: [Part]

  /// Returns the default template: the title names the files of a split recording, the time alone those of
  /// others, as their first song is one of many.
  public static func usual(splits: Bool) -> String {
    splits ? "{station}/{start:%Y-%m-%d %H.%M} {title}.{ext}" : "{station}/{start:%Y-%m-%d %H.%M}.{ext}"
  }

  /// The time format of `{start}` alone.
  static let usualTime = "%Y-%m-%d %H.%M"

  /// Parses a template.
  /// - Throws: the first mistake in it; nothing is guessed.
  public init(_ text: String) throws(TemplateError) {
    self.text = text
    var reader = TemplateReader(text)
    parts = try reader.read()
  }

  /// Returns `true` if the template has a field.
  public func has(_ field: Field) -> Bool {
    parts.contains {
      switch $0 {
      case .text: false
      case .field(let other): other == field
      case .start: field == .start
      }
    }
  }

  /// Returns an unused path for one recording: `{n}`, or a number after the name, as in `Show (2).mp3`, makes
  /// it unique.
  /// - Parameter isOccupied: returns `true` if a path is in use.
  /// - Throws: `record.exists` if ten thousand are in use.
  public func path(
    _ values: Values, isOccupied: (String) -> Bool = PartFile.isOccupied
  ) throws(RecordError) -> String {
    let first = expanded(values, number: 1)
    if !isOccupied(first) { return first }
    let isNumbered = has(.n)
    for number in 2...RecordingName.highest {
      let next =
        isNumbered ? expanded(values, number: number) : RecordingName.numbered(first, number)
      if !isOccupied(next) { return next }
    }
    throw RecordError(
      .exists, "\(first.onOneLine) and \(RecordingName.highest) numbers after it are taken",
      hint: "give the template a {start} or a {title}", facts: [.init("path", .string(first))])
  }

  /// Returns the path with this number, in use or not.
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

  /// Appends text to the names; its slashes separate folders.
  private func append(_ text: String, to names: inout [TemplateName], isOwn: Bool) {
    for (index, piece) in text.split(separator: "/", omittingEmptySubsequences: false).enumerated() {
      if index > 0 { names.append(TemplateName()) }
      names[names.count - 1].add(isOwn ? .own(String(piece)) : .time(String(piece)))
    }
  }
}

/// A mistake in a template; the hint is the correction to make.
public typealias TemplateError = Failure<TemplateErrorKind>

/// The kinds of mistakes in a template; the raw value is the stable code, as scripts see it.
public enum TemplateErrorKind: String, FailureKind {
  /// The script gave a template that can't be read.
  case argument
}
