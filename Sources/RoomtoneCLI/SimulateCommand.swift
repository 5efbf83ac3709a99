internal import EventLoop
internal import Glibc
internal import LuaRuntime
internal import Roomtone
internal import Scheduling
internal import SpeakerKit
internal import StreamKit

/// Command `roomtone simulate`.
enum SimulateCommand {
  struct Options {
    var text: ScriptText
    var arguments: [String]
    var from: LocalDateTime
    var limit: Duration
    var zone: any LocalZone
    /// Behaviour of stations; those not listed play a tune.
    var stations: ScriptText?
    var renderFolder: String?
    var seed: UInt64
    var json: Bool
    var configuration: String?
  }

  /// Default start of a simulation, a Monday: fixed, since the result depends on nothing but the options.
  static let defaultStart = "2026-01-05 00:00"

  static func run(_ options: Options) throws -> Int32 {
    let configuration = try EngineSetup.configuration(
      file: options.configuration, output: options.renderFolder.map { .wav(folder: $0) } ?? .null)
    let scratch = try ScratchFolder()
    defer { scratch.remove() }
    let engine = try EngineSetup.engine(
      EngineSetup.simulation(
        configuration, from: options.from, in: options.zone, stations: options.stations, seed: options.seed,
        scratch))
    let timeline = Timeline(engine)
    let printer = TimelinePrinter(json: options.json)
    timeline.onEntry = printer.print
    engine.onPrint = { timeline.addPrinted($0) }
    // Lines on standard error begin with the simulated time, by which they are found on the time line.
    let (onLog, onFailure) = (engine.onLog, engine.onFailure)
    engine.onLog = { level, message, fields in onLog(level, "\(timeline.now): \(message)", fields) }
    engine.onFailure = { error in
      var error = error
      error.context = "\(timeline.now)" + (error.context.map { ", \($0)" } ?? "")
      onFailure(error)
    }
    let script = try engine.load(options.text, arguments: options.arguments)
    let result = engine.run(script, limit: options.limit, handlesSignals: true)
    timeline.finish()
    // Ends the reference cycle of engine and time line.
    engine.onPrint = { _ in }
    engine.onLog = { _, _, _ in }
    engine.onFailure = { _ in }
    if let folder = options.renderFolder, !options.json { printer.printFiles(in: folder) }
    return result.status
  }
}

/// Prints the time line: a date where a day begins, then a line per entry; or a JSON object per line.
final class TimelinePrinter {
  private let json: Bool
  private var date: CalendarDate?

  init(json: Bool) { self.json = json }

  func print(_ entry: Timeline.Entry) {
    if json { return Terminal.print(object(entry).line) }
    if entry.time.date != date {
      date = entry.time.date
      let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
      Terminal.print("\(days[entry.time.date.weekday]) \(entry.time.date)")
    }
    let room = entry.room + String(repeating: " ", count: max(0, 22 - entry.room.count))
    Terminal.print("\(Timestamp.clock(entry.time.time.seconds))  \(room)  \(entry.text)")
  }

  /// Prints the folder's WAV files with their lengths.
  func printFiles(in folder: String) {
    guard let stream = opendir(folder) else { return }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name.hasSuffix(".wav") { names.append(name) }
    }
    guard !names.isEmpty else { return Terminal.print("nothing sounded: no WAV files") }
    Terminal.print("\(names.count) WAV files in \(folder):")
    for name in names.sorted() {
      var info = stat()
      guard stat("\(folder)/\(name)", &info) == 0 else { continue }
      // 48 kHz, two channels, 16 bit, behind a header.
      let tenths = max(0, Int(info.st_size) - 44) * 10 / 192_000
      Terminal.print("  \(name)  \(tenths / 10).\(tenths % 10) s")
    }
  }

  /// Returns the time in the format of RFC 3339: `2026-01-05T06:45:00+01:00`.
  private func timestamp(_ entry: Timeline.Entry) -> String {
    let offset = Timestamp.clock(abs(entry.offset)).dropLast(3)
    return
      "\(entry.time.date)T\(Timestamp.clock(entry.time.time.seconds))\(entry.offset < 0 ? "-" : "+")\(offset)"
  }

  private func object(_ entry: Timeline.Entry) -> JSON {
    .object([
      ("time", .string(timestamp(entry))), ("kind", .string(entry.isPrinted ? "print" : "house")),
      ("room", .string(entry.room)), ("what", .string(entry.text)),
    ])
  }
}
