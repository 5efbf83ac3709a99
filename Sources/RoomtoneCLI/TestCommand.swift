internal import EventLoop
internal import Glibc
internal import LuaRuntime
internal import Roomtone
internal import Scheduling
internal import SpeakerKit

/// Command `roomtone test`.
enum TestCommand {
  /// A test that was run.
  struct Result {
    let title: String
    let outcome: SpecFile.Outcome
    /// The time of the machine that it took, in seconds.
    let seconds: Double
  }

  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    // The user's own configuration must not decide whether a test passes.
    let configuration = EngineSetup.simulatedHouse(
      try arguments.text(.specConfig).map { try EngineSetup.configuration(file: $0) } ?? Configuration(),
      output: .null)
    let filter = arguments.text(.filter)?.lowercased()
    let output = try arguments.text(.junit).map { try OutputFile($0, replaces: true, kind: .report) }
    var report = JUnitReport()
    var (passed, failed) = (0, 0)
    // All files are read first, so that a wrong name is an error before the first test.
    let specs = try arguments.operands.flatMap(files).map {
      ($0, SpecFile(try ScriptText(path: $0, kind: "spec")))
    }
    for (path, spec) in specs {
      Terminal.print(path)
      var results: [Result] = []
      do {
        let tests = try inScratch { try spec.tests(in: engine(configuration, nil, $0)) }
        for (index, test) in tests.enumerated() where filter.map(test.title.lowercased().contains) ?? true {
          let result = try run(index + 1, test, of: spec, configuration)
          print(result)
          results.append(result)
        }
      } catch let error as LuaError {
        let outcome = SpecFile.Outcome(failure: error.description)
        results.append(Result(title: "the file", outcome: outcome, seconds: 0))
        print(results[0])
      }
      failed += results.count { !$0.outcome.failures.isEmpty }
      passed += results.count { $0.outcome.failures.isEmpty }
      report.add(path, results)
    }
    Terminal.print("\(passed) passed, \(failed) failed")
    try output?.write(Array(report.text.utf8))
    if passed + failed == 0 {
      Terminal.failure("no test was run; see whether the files have tests, and --filter")
    }
    return failed > 0 || passed == 0 ? 1 : 0
  }

  /// Returns the path of a stations file that a spec names: relative to the working folder, else to the spec's.
  private static func path(of stations: String, beside spec: String) -> String {
    guard !stations.hasPrefix("/"), access(stations, F_OK) != 0, let slash = spec.lastIndex(of: "/") else {
      return stations
    }
    return spec[...slash] + stations
  }

  /// Returns the path itself, or the specs in a folder, sorted.
  private static func files(_ path: String) -> [String] {
    guard let names = try? LinuxFiles.names(in: path) else { return [path] }
    return names.filter { $0.hasSuffix("_spec.lua") }.sorted().map {
      path.hasSuffix("/") ? path + $0 : "\(path)/\($0)"
    }
  }

  private static func run(
    _ number: Int, _ test: SpecFile.Test, of spec: SpecFile, _ configuration: Configuration
  ) throws -> Result {
    let start = ContinuousClock.now
    let outcome: SpecFile.Outcome
    do {
      outcome = try inScratch {
        try spec.run(number, in: engine(configuration, test, $0, beside: spec.text.name))
      }
    } catch let error as any CodedError {
      outcome = SpecFile.Outcome(failure: "\(error)")
    }
    return Result(title: test.title, outcome: outcome, seconds: (ContinuousClock.now - start).inSeconds)
  }

  private static func print(_ result: Result) {
    let isPassed = result.outcome.failures.isEmpty
    Terminal.print("  \(isPassed ? "✓" : "✗") \(result.title.onOneLine)")
    for failure in result.outcome.failures { Terminal.print("      \(failure)") }
    guard !isPassed else { return }
    let (lines, limit) = (result.outcome.lines, 20)
    if lines.count > limit { Terminal.print("      printed \(lines.count) lines, the last of them:") }
    for line in lines.suffix(limit) { Terminal.print("      printed: \(line)") }
  }

  // MARK: Engines

  private static func inScratch<Result>(_ body: (ScratchFolder) throws -> Result) throws -> Result {
    let scratch = try ScratchFolder()
    defer { scratch.remove() }
    return try body(scratch)
  }

  /// Returns an engine under virtual time, with a house, a store and a recorder of its own.
  private static func engine(
    _ configuration: Configuration, _ test: SpecFile.Test?, _ scratch: ScratchFolder, beside spec: String = ""
  ) throws -> Engine {
    try EngineSetup.engine(
      EngineSetup.simulation(
        configuration, from: LocalDateTime(parsing: test?.start ?? SimulateCommand.defaultStart),
        in: test?.timezone.map { try ZoneFile(meaning: $0) } ?? ProcessZone(),
        stations: test?.stations.map {
          try ScriptText(path: path(of: $0, beside: spec), kind: "stations file")
        }, seed: 1, scratch))
  }
}

/// A report in the XML format that JUnit's Ant task writes, as CI systems read it.
struct JUnitReport {
  private var suites: [String] = []

  mutating func add(_ path: String, _ results: [TestCommand.Result]) {
    let failures = results.count { !$0.outcome.failures.isEmpty }
    let name = Self.escaped(path)
    var lines = [
      "  <testsuite name=\"\(name)\" tests=\"\(results.count)\" failures=\"\(failures)\" "
        + "time=\"\(Self.seconds(results.reduce(0) { $0 + $1.seconds }))\">"
    ]
    for result in results {
      let head =
        "    <testcase classname=\"\(name)\" name=\"\(Self.escaped(result.title))\" time=\"\(Self.seconds(result.seconds))\""
      guard let first = result.outcome.failures.first else {
        lines.append(head + "/>")
        continue
      }
      let all = result.outcome.failures.joined(separator: "\n")
      lines.append(
        "\(head)><failure message=\"\(Self.escaped(first))\">\(Self.escaped(all))</failure></testcase>")
    }
    suites.append((lines + ["  </testsuite>"]).joined(separator: "\n"))
  }

  /// The whole document.
  var text: String {
    (["<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<testsuites>"] + suites + ["</testsuites>", ""])
      .joined(separator: "\n")
  }

  private static func seconds(_ seconds: Double) -> String {
    let milliseconds = Int((seconds * 1000).rounded())
    let rest = String(milliseconds % 1000)
    return "\(milliseconds / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
  }

  /// Returns a text for an attribute or an element. Control characters, which XML can't have, become U+FFFD.
  private static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "\n", "\t": result += "&#\(scalar.value);"
      case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF:
        result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
