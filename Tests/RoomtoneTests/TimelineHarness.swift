import LuaModules
import LuaRuntime
import Roomtone
import TestSupport

/// The time line of a script that runs for a week at most, from Monday 2026-01-05 on.
struct TimelineHarness {
  let entries: [TimelineEntry]
  let failures: [LuaError]

  /// Runs a script, which finds the modules in variables.
  init(_ code: String, stations: String? = nil) throws {
    var harness = try EngineHarness()
    harness.stations = stations
    let engine = try harness.engine()
    var entries: [TimelineEntry] = []
    var failures: [LuaError] = []
    let timeline = Timeline(engine)
    timeline.onEntry = { entries.append($0) }
    engine.onPrint = { timeline.addPrinted($0) }
    engine.onLog = { timeline.addLog($0, $1, $2) }
    engine.onJobLog = { _, _ in }
    engine.onFailure = { error in
      timeline.add(error)
      failures.append(error)
    }
    let script = try engine.makeScript(harness.folder.file("test.lua"), isFile: true)
    let modules = EngineHarness.modules
    let main = try script.state.load(Array((modules + code).utf8), chunkName: "@test.lua")
    _ = engine.run(script, main, limit: .seconds(7 * 86_400))
    timeline.finish()
    (engine.onPrint, engine.onLog, engine.onFailure) = ({ _ in }, { _, _, _ in }, { _ in })
    (self.entries, self.failures) = (entries, failures)
  }

  /// The lines, each with day and time: `05 00:00:05 Kitchen: volume 22 → 30`.
  var lines: [String] {
    entries.map { entry in
      let clock = "\(entry.time)".split(separator: " ")
      return "\(clock[0].dropFirst(8)) \(clock[1]) \(entry.room): \(entry.text)"
    }
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
