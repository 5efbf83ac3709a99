import EventLoop
import Glibc
import HeadsetBoard
import HeadsetKit
import Home
import LuaModules
import LuaRuntime
import RecordingKit
import Roomtone
import TestSupport

/// Runs scripts through an engine of their own, and keeps their output.
///
/// The script lies in a folder of its own, as `test.lua`, beside `tone.wav` (three seconds) and `long.wav` (ten).
struct EngineHarness {
  /// One line that was logged.
  struct LogLine: Equatable {
    let level: LogLevel
    let message: String
    let fields: [String]
  }

  /// The result of a run.
  struct Outcome {
    var lines: [String] = []
    var failures: [LuaError] = []
    var log: [LogLine] = []
    var status: Int32 = -1
    /// Seconds of the engine's clock from the first to the last moment.
    var seconds = 0.0
  }

  /// The text of the configuration file.
  var configuration = "house { output = 'null' }"
  var isVirtual = true
  var seed: UInt64?
  /// The text of the stations file.
  var stations: String?
  /// The profile of simulated headsets.
  var boardProfile = BoardProfile.standard
  /// Receives the engine before the script begins.
  var prepare: (Engine) -> Void = { _ in }
  /// The folder that keeps the house between runs.
  var stateFolder: String?
  /// The file of what scripts keep.
  var store: String?
  /// The file of the changes of the house.
  var history: String?
  /// `false` for a host without a home, which keeps no catalogue of recordings.
  var hasCatalogue = true
  /// The place of the process at the broker of MQTT.
  var messageRole = MQTTService.Role.guest
  /// The folder of the library; nil for the one inside the program.
  var standardLibrary: String? = Fixtures.repository("stdlib")
  /// The moment at which virtual time begins.
  var start = Self.monday
  /// Turns without time passing, after which a script counts as stuck.
  var longestStandstill: Int?
  /// `true` if the script's own session wants all rooms from the beginning.
  var addsAll = true
  /// Ends the script, so that a test ends that would not.
  var limit: Duration? = .seconds(7 * 86_400)
  let folder: TemporaryFolder

  init(wall: Bool = false) throws {
    folder = try TemporaryFolder()
    isVirtual = !wall
    if wall { limit = .seconds(120) }
    _ = try folder.write(Self.silence(seconds: 3), to: "tone.wav")
    _ = try folder.write(Self.silence(seconds: 10), to: "long.wav")
  }

  /// Midnight, by the clocks of this machine, before Monday 2026-01-05.
  static var monday: WallTime {
    var fields = tm()
    (fields.tm_year, fields.tm_mon, fields.tm_mday, fields.tm_isdst) = (126, 0, 5, -1)
    return WallTime(seconds: Int64(mktime(&fields)))
  }

  /// An engine with the configuration of this harness.
  func engine() throws -> Engine {
    var options = EngineOptions()
    options.clock = isVirtual ? .virtual(start: start) : .wall
    options.seed = seed
    if let longestStandstill { options.longestStandstill = longestStandstill }
    options.configuration = try Configuration(text: Array(configuration.utf8), path: "config.lua")
    options.stateFolder = stateFolder
    options.store = store
    options.history = history
    options.boardProfile = boardProfile
    if let stations {
      (options.stations, options.answers) = try StationsFile.read(
        Array(stations.utf8), path: folder.file("stations.lua"))
    }
    options.recorder.folder = folder.file("recordings")
    options.messageRole = messageRole
    options.recorder.catalogue = hasCatalogue ? folder.file("catalogue.sqlite") : nil
    options.standardLibrary = standardLibrary
    return try Engine(options)
  }

  /// Runs `code` until it has nothing left to do.
  @discardableResult
  func run(_ code: String) throws -> Outcome {
    let engine = try engine()
    let record = Record()
    let start = engine.loop.now
    engine.onPrint = { record.outcome.lines.append($0) }
    engine.onFailure = { record.outcome.failures.append($0) }
    engine.onLog = { level, message, fields in
      record.outcome.log.append(
        LogLine(level: level, message: message, fields: fields.map { "\($0.0)=\($0.1)" }))
    }
    prepare(engine)
    let script = try engine.makeScript(folder.file("test.lua"), isFile: true)
    ReferenceCheck.watch(script)
    // Code that opens the house itself, or has no need of it, runs as it is.
    let opens = addsAll && code.contains("speaker") && !code.contains("speaker.open")
    let opening = opens ? "speaker.open { add_all = true } " : ""
    let main = try script.state.load(
      Array((Self.prelude + opening + code).utf8), chunkName: "@test.lua")
    record.outcome.status = engine.run(script, main, limit: limit).status
    record.outcome.seconds = Double(start.duration(to: engine.loop.now).nanoseconds) / 1e9
    return record.outcome
  }

  /// Returns the lines that `code` printed; throws its first failure.
  func printed(_ code: String) throws -> [String] {
    let outcome = try run(code)
    if let failure = outcome.failures.first { throw failure }
    return outcome.lines
  }

  /// The same on a harness of its own.
  static func printed(_ code: String) throws -> [String] { try EngineHarness().printed(code) }

  private final class Record { var outcome = Outcome() }

  /// On one line, so that line numbers in messages are the script's. `code(f, …)` is the code that a call fails with,
  /// or "none"; `message` the same for the message.
  private static let prelude =
    """
    local speaker, task, schedule, log = require 'speaker', require 'task', require 'schedule', require 'log' \
    local function failure(f, ...) local _, err = task.try(f, ...) return err or { code = 'none', message = 'none' } end \
    local function code(f, ...) local err = failure(f, ...) return type(err) == 'string' and err or err.code end \
    local function message(f, ...) return failure(f, ...).message end \
    local function names(list) local n = {} for i, o in ipairs(list) do n[i] = o.name end return table.concat(n, ', ') end\u{20}
    """

  /// A WAV file of zeros: 48 kHz, one channel, 16 bit.
  static func silence(seconds: Int) -> [UInt8] {
    let size = UInt32(seconds * 96_000)
    func bytes(_ value: UInt32, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(value >> ($0 * 8) & 0xff) }
    }
    let format =
      bytes(16, 4) + bytes(1, 2) + bytes(1, 2) + bytes(48_000, 4) + bytes(96_000, 4) + bytes(2, 2)
      + bytes(16, 2)
    return Array("RIFF".utf8) + bytes(36 + size, 4) + Array("WAVEfmt ".utf8) + format + Array("data".utf8)
      + bytes(size, 4) + [UInt8](repeating: 0, count: Int(size))
  }
}
