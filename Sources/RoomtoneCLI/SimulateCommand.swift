internal import EventLoop
internal import Glibc
internal import Home
internal import LuaRuntime
internal import Roomtone
internal import Scheduling
internal import SpeakerKit

/// Command `roomtone simulate`.
enum SimulateCommand {
  struct Options {
    var text: ScriptText
    var arguments: [String]
    /// Further scripts in the same house, without arguments.
    var companions: [ScriptText] = []
    var from: LocalDateTime
    var limit: Duration
    var zone: any LocalZone
    /// Behaviour of stations; those not listed play a tune.
    var stations: ScriptText?
    /// Triggers with their times.
    var triggers: ScriptText?
    var renderFolder: String?
    var seed: UInt64
    var json: Bool
    /// `true` if each line has its causes below it.
    var why: Bool
    /// File of the page that shows the time as a picture.
    var page: String?
    var configuration: String?
  }

  /// Default start of a simulation, a Monday: fixed, since the result depends on nothing but the options.
  static let defaultStart = "2026-01-05 00:00"

  static func run(_ options: Options) throws -> Int32 {
    let page = try options.page.map { try OutputFile($0, replaces: true, kind: .page) }
    let configuration = EngineSetup.simulatedHouse(
      try EngineSetup.configuration(file: options.configuration),
      output: options.renderFolder.map { .wav(folder: $0) } ?? .null)
    let scratch = try ScratchFolder()
    defer { scratch.remove() }
    var engineOptions = try EngineSetup.simulation(
      configuration, from: options.from, in: options.zone, stations: options.stations, seed: options.seed,
      scratch)
    if let triggers = options.triggers {
      (engineOptions.triggers, engineOptions.messages) = try TriggersFile.read(
        triggers.bytes, path: triggers.name, in: options.zone)
    }
    let engine = try EngineSetup.engine(engineOptions)
    let timeline = Timeline(engine)
    let printer = TimelinePrinter(
      json: options.json, zone: options.zone, now: engine.loop.wallNow, causes: options.why)
    let now = { "\(options.zone.local(engine.loop.wallNow))" }
    let recorder = page.map { _ in WeekRecorder(engine) }
    timeline.listen { printer.print($0) }
    if let recorder { timeline.listen { recorder.add($0) } }
    let end = engine.loop.wallNow.advanced(by: options.limit)
    engine.onPrint = { timeline.addPrinted($0) }
    // Lines on standard error begin with the simulated time, so that they can be found in the time line.
    // Where both are on one terminal, the lines of the time line are enough.
    let (onLog, onFailure) = Terminal.showsAll ? ({ _, _, _ in }, { _ in }) : (engine.onLog, engine.onFailure)
    engine.onLog = { level, message, fields in
      if level >= configuration.logLevel { timeline.addLog(level, message, fields) }
      onLog(level, "\(now()): \(message)", fields)
    }
    engine.onJobLog = { level, message, _ in onLog(level, "\(now()): \(message)", []) }
    engine.onFailure = { error in
      timeline.add(error)
      var error = error
      error.context = now() + (error.context.map { ", \($0)" } ?? "")
      onFailure(error)
    }
    let scripts =
      [try engine.load(options.text, arguments: options.arguments)]
      + (try options.companions.map { try engine.load($0) })
    let result = engine.run(scripts, limit: options.limit, handlesSignals: true)
    timeline.finish()
    // Ends the reference cycle of engine and time line.
    engine.onPrint = { _ in }
    engine.onLog = { _, _, _ in }
    engine.onJobLog = nil
    engine.onFailure = { _ in }
    if let folder = options.renderFolder, !options.json { printer.printFiles(in: folder) }
    if let page, let recorder {
      let names = ([options.text] + options.companions).map { $0.name.split(separator: "/").last ?? "" }
      let title = names.joined(separator: ", ")
      try page.write(Array(WeekPage(recorder.week(title: title, until: end)).text.utf8))
    }
    return result.status
  }
}
