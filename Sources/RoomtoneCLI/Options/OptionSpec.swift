/// One option of a command: all that the parser and the help text know of it.
struct OptionSpec: Sendable, Equatable {
  /// The name after `--`.
  let long: String
  /// The letter after `-`, when it has one.
  let short: Character?
  /// What its value is, and how it is checked.
  let kind: OptionKind
  /// What stands for the value in help: `DURATION`; nil for flags.
  let valueName: String?
  /// One sentence for help, in lower case and without a full stop.
  let summary: String
  /// Whether it may be given several times.
  let isRepeated: Bool
  /// Long names of the options that make no sense together with this one.
  let excludes: [String]

  init(
    _ long: String, short: Character? = nil, _ kind: OptionKind, valueName: String? = nil,
    isRepeated: Bool = false, excludes: [String] = [], _ summary: String
  ) {
    (self.long, self.short, self.kind, self.excludes) = (long, short, kind, excludes)
    self.isRepeated = isRepeated
    self.valueName = valueName ?? kind.valueName
    self.summary = summary
  }

  /// `--for`.
  var dashed: String { "--\(long)" }

  /// `-e, --execute CODE`; options without a letter leave its place free.
  var synopsis: String {
    (short.map { "-\($0), " } ?? "    ") + dashed + (valueName.map { " \($0)" } ?? "")
  }
}

/// What follows an option.
enum OptionKind: Sendable, Equatable {
  /// Nothing: the option is there or not.
  case flag
  /// Any text but the empty one.
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
  /// A name of the time zone database: `Europe/Berlin`. Whether it exists is for the command to find out.
  case timeZone
  /// A whole number of this range.
  case number(ClosedRange<UInt64>)
  /// Where speakers sound: `null`, `alsa`, `alsa:DEVICE`, `wav:DIR`.
  case output
  /// One of these words.
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
