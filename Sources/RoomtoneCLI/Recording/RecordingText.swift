internal import EventLoop
internal import Home
internal import JSONText
internal import RecordingKit
internal import Scheduling

/// Text forms of recordings, for people and programs.
enum RecordingText {
  static func table(_ entries: [RecordingEntry]) -> TextTable {
    var table = TextTable(["START", "LENGTH", "SIZE", "GAPS", "STATE", "STATION", "FILE"])
    for entry in entries {
      table.add([
        String("\(ProcessZone().local(entry.start))".prefix(16)), clock(entry.seconds),
        ByteSize.describe(entry.bytes), gaps(entry.gaps) ?? "-", entry.state.rawValue, entry.station ?? "-",
        entry.path,
      ])
    }
    return table
  }

  /// Returns a length as `1:02:03`, truncated to whole seconds.
  static func clock(_ seconds: Double) -> String {
    clockText(Int(max(0, min(seconds, 1e9))))
  }

  /// Returns number and length of gaps: `2 (8.5 s)`; nil without gaps.
  static func gaps(_ gaps: [RecordingEntry.Gap]) -> String? {
    if gaps.isEmpty { return nil }
    let tenths = Int((gaps.reduce(0) { $0 + max(0, min($1.seconds, 1e9)) } * 10).rounded())
    return "\(gaps.count) (\(tenths / 10).\(tenths % 10) s)"
  }

  /// Returns all fields of a recording, under the names that scripts use; times as text.
  static func object(_ entry: RecordingEntry) -> JSON {
    .object([
      ("path", .string(entry.path)), ("part", .optional(entry.part)), ("station", .optional(entry.station)),
      ("url", .string(entry.url)), ("start", .string(Timestamp.text(entry.start))),
      ("seconds", .decimal(entry.seconds)), ("bytes", .number(entry.bytes)), ("codec", .string(entry.codec)),
      ("sample_rate", .number(entry.sampleRate)), ("channels", .number(entry.channels)),
      (
        "gaps",
        .array(entry.gaps.map { .object([("at", .decimal($0.at)), ("seconds", .decimal($0.seconds))]) })
      ),
      (
        "titles",
        .array(entry.titles.map { .object([("at", .decimal($0.at)), ("title", .string($0.text))]) })
      ),
      ("state", .string(entry.state.rawValue)),
      ("open", .bool(entry.state == .recording || entry.state == .joining)),
      ("error", .optional(entry.error)), ("job", .optional(entry.job)),
    ])
  }
}

extension RecordingText {
  /// The result of verifying a file.
  enum Finding {
    case read(String, RecordingVerdict)
    case unreadable(String, RecordError)

    var isGood: Bool {
      if case .read(_, let verdict) = self { verdict.isGood } else { false }
    }

    /// Lines for people: `good  1:00:00  58 MB  /radio/show.mp3`, and the reasons below a bad one.
    var lines: [String] {
      switch self {
      case .unreadable(let path, let error):
        ["bad   \(path.onOneLine)", "      \(error.description.onOneLine)"]
      case .read(let path, let verdict):
        [
          "\(Self.word(verdict))\(Self.length(verdict))  \(ByteSize.describe(verdict.bytes))  \(path.onOneLine)"
            + (verdict.entry == nil ? "  (not in the catalogue)" : "")
        ] + Self.flaws(verdict).map { "      " + $0.onOneLine }
      }
    }

    private static func word(_ verdict: RecordingVerdict) -> String {
      if verdict.isOpen { return "open  " }
      if verdict.notChecked != nil, verdict.differences.isEmpty { return "not checked  " }
      return verdict.isGood ? "good  " : "bad   "
    }

    private static func length(_ verdict: RecordingVerdict) -> String {
      verdict.notChecked != nil && verdict.samples == 0 ? "-" : RecordingText.clock(verdict.seconds)
    }

    private static func flaws(_ verdict: RecordingVerdict) -> [String] {
      if verdict.isOpen { return [] }
      let reason = verdict.notChecked.map { "its sound was not checked: \($0)" }
      return verdict.differences + [verdict.damage ?? reason].compactMap { $0 }
    }

    var json: JSON {
      switch self {
      case .unreadable(let path, let error):
        .object([
          ("path", .string(path)), ("good", false), ("code", .string(error.code)),
          ("error", .string(error.message)),
        ])
      case .read(let path, let verdict):
        .object([
          ("path", .string(path)), ("good", .bool(verdict.isGood)), ("whole", .bool(verdict.isWhole)),
          ("checked", .bool(verdict.notChecked == nil)), ("damage", .optional(verdict.damage)),
          ("open", .bool(verdict.isOpen)), ("catalogued", .bool(verdict.entry != nil)),
          ("frames", .number(verdict.frames)), ("seconds", .decimal(verdict.seconds)),
          ("bytes", .number(verdict.bytes)), ("junk_bytes", .number(verdict.junkBytes)),
          ("differences", .array(verdict.differences.map { .string($0) })),
        ])
      }
    }
  }
}
