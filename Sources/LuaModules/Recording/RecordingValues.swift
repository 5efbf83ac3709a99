internal import EventLoop
internal import LuaRuntime
internal import RecordingKit

// The rows of the catalogue, as scripts see them.

extension RecordingEntry {
  var luaValue: LuaValue {
    .record([
      ("path", .string(path)), ("part", .optional(part)), ("station", .optional(station)),
      ("url", .string(url)),
      ("start", .number(start.inSeconds)), ("seconds", .number(seconds)),
      ("bytes", .int(bytes)),
      ("codec", .string(codec)), ("sample_rate", .int(sampleRate)), ("channels", .int(channels)),
      ("gaps", .list(gaps.map(\.luaValue))), ("titles", .list(titles.map(\.luaValue))),
      ("state", .string(state.rawValue)), ("error", .optional(error)), ("job", .optional(job)),
    ])
  }
}

extension RecordingEntry.Gap {
  var luaValue: LuaValue { .record([("at", .number(at)), ("seconds", .number(seconds))]) }
}

extension RecordingEntry.Title {
  var luaValue: LuaValue { .record([("at", .number(at)), ("title", .string(text))]) }
}

extension RecordingVerdict {
  var luaValue: LuaValue {
    .record([
      ("path", .string(path)), ("good", .bool(isGood)), ("whole", .bool(isWhole)), ("open", .bool(isOpen)),
      ("checked", .bool(notChecked == nil)), ("damage", .optional(damage)),
      ("known", .bool(entry != nil)), ("frames", .int(frames)), ("seconds", .number(seconds)),
      ("bytes", .int(bytes)), ("junk_bytes", .int(junkBytes)),
      ("differences", .list(differences.map { .string($0) })),
    ])
  }
}
