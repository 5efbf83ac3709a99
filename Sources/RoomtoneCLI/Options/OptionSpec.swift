/// An option of a command, as specified for the parser and the help text.
struct OptionSpec: Sendable, Equatable {
  /// Name after `--`.
  let long: String
  /// Letter after `-`; nil without a letter.
  let short: Character?
  /// Kind of the value, which decides how it is checked.
  let kind: OptionKind
  /// Placeholder of the value in the help text: `DURATION`; nil for flags.
  let valueName: String?
  /// Sentence for the help text, in lower case and without a full stop.
  let summary: String
  /// `true` if the option may occur several times.
  let isRepeated: Bool
  /// Long names of the options that exclude this one.
  let excludes: [String]
  /// The values that shells propose.
  let sources: [ValueSource]

  init(
    _ long: String, short: Character? = nil, _ kind: OptionKind, valueName: String? = nil,
    isRepeated: Bool = false, excludes: [String] = [], sources: [ValueSource]? = nil, _ summary: String
  ) {
    (self.long, self.short, self.kind, self.excludes) = (long, short, kind, excludes)
    self.sources = sources ?? kind.sources
    self.isRepeated = isRepeated
    self.valueName = valueName ?? kind.valueName
    self.summary = summary
  }

  /// Long name with its dashes: `--for`.
  var dashed: String { "--\(long)" }

  /// Both names and the value: `-e, --execute CODE`; blanks stand for a missing letter.
  var synopsis: String {
    (short.map { "-\($0), " } ?? "    ") + dashed + (valueName.map { " \($0)" } ?? "")
  }
}

/// Kind of an option's value.
enum OptionKind: Sendable, Equatable {
  /// No value: the option is present or not.
  case flag
  /// A text that is not empty.
  case text
  /// A line of Lua; it may be empty.
  case code
  /// The path of a file.
  case file
  /// The path of a folder.
  case folder
  /// A time span: `90s`, `1h30m`, `7d`.
  case duration
  /// A day and a time on local clocks: `2026-03-28T00:00`.
  case dateTime
  /// A time of day, or a day and a time: `22:30`, `2026-03-28T22:30`.
  case moment
  /// A name of the time zone database: `Europe/Berlin`. The command checks that it exists.
  case timeZone
  /// A whole number of this range.
  case number(ClosedRange<UInt64>)
  /// An output of the speakers, as `Output.forms` says.
  case output
  /// A word out of a list.
  case choice([String])

  fileprivate var valueName: String? {
    switch self {
    case .flag: nil
    case .text: "TEXT"
    case .code: "CODE"
    case .file: "FILE"
    case .folder: "DIR"
    case .duration: "DURATION"
    case .dateTime, .moment: "TIME"
    case .timeZone: "ZONE"
    case .number: "N"
    case .output: "OUTPUT"
    case .choice(let words): words.joined(separator: "|")
    }
  }
}
