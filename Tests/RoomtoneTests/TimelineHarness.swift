import Home
import LuaModules
import LuaRuntime
import Roomtone
import Scheduling
import TestSupport

/// The time line of a script that runs for a week at most, from Monday 2026-01-05 on.
struct TimelineHarness {
  let entries: [JournalEntry]
  let failures: [LuaError]
  private let zone: any LocalZone

  /// Runs a script, which finds the modules in variables.
  init(_ code: String, stations: String? = nil) throws {
    var harness = try EngineHarness()
    harness.stations = stations
    let engine = try harness.engine()
    var entries: [JournalEntry] = []
    var failures: [LuaError] = []
    let timeline = Timeline(engine)
    timeline.listen { entries.append($0) }
    engine.onPrint = { timeline.addPrinted($0) }
    engine.onLog = { timeline.addLog($0, $1, $2) }
    engine.onJobLog = { _, _, _ in }
    engine.onFailure = { error in
      timeline.add(error)
      failures.append(error)
    }
    let script = try engine.makeScript(harness.folder.file("test.lua"), isFile: true)
    let modules = EngineHarness.modules
    // Code that opens the house itself, or has no need of it, runs as it is.
    let opens = code.contains("speaker.") && !code.contains("speaker.open")
    let opening = opens ? "speaker.open { add_all = true } " : ""
    let main = try script.state.load(Array((modules + opening + code).utf8), chunkName: "@test.lua")
    _ = engine.run(script, main, limit: .seconds(7 * 86_400))
    timeline.finish()
    (engine.onPrint, engine.onLog, engine.onFailure) = ({ _ in }, { _, _, _ in }, { _ in })
    (self.entries, self.failures, zone) = (entries, failures, engine.options.zone)
  }

  /// The lines, each with day and time: `05 00:00:05 Kitchen: volume 22 → 30`.
  var lines: [String] {
    entries.map { String(Self.line($0, in: zone).dropFirst(8)) }
  }

  /// Returns an entry as a line: `2026-01-05 00:00:05 Kitchen: volume 22 → 30`.
  static func line(_ entry: JournalEntry, in zone: any LocalZone) -> String {
    "\(zone.local(entry.at)) \(entry.room): \(JournalText(zone: zone, now: entry.at).marked(entry))"
  }

  /// Returns the lines.
  /// - Throws: the first failure of the script.
  func linesWithoutFailures() throws -> [String] {
    if let failure = failures.first { throw failure }
    return lines
  }
}

extension EngineHarness {
  fileprivate static let modules =
    "local speaker, task, schedule, stream, log, fade = require 'speaker', require 'task', require 'schedule', "
    + "require 'stream', require 'log', require 'fade' "
}
