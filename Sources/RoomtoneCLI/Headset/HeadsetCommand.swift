internal import EventLoop
internal import HeadsetKit
internal import HeadsetLink
internal import Home
internal import JSONText
internal import Roomtone

/// Command `roomtone headset`.
enum HeadsetCommand {
  /// An operation on a connected headset; its result is printed, a line per element.
  private typealias Work = (Headset) async throws -> [String]

  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let line = PercentLine(isShown: Terminal.showsProgress)
    let work = try work(arguments, line)
    var configuration = try EngineSetup.configuration(file: arguments.text(.config))
    configuration.headset = try settings(arguments, configuration.headset)
    let engine = try EngineSetup.engine(
      EngineSetup.ownHouse(configuration, command: "headset", script: nil))
    var printed: [String] = []
    defer { line.end() }
    let result = try engine.performWithoutHouse {
      printed = try await work(try await engine.headsets.headsets.connect())
    }
    line.end()
    if result.status == 0 { printed.forEach(Terminal.print) }
    return result.status
  }

  /// Returns the settings of the headset: those of the configuration, with the command's options.
  /// - Throws: `headset.not_available` without a configured headset; `UsageError`.
  private static func settings(
    _ arguments: ParsedArguments, _ configured: HeadsetSettings
  ) throws -> HeadsetSettings {
    var settings = configured
    if let text = arguments.text(.transport) {
      do throws(HeadsetError) { settings.address = try LinkAddress(parsing: text) } catch {
        throw wrong("--transport: \(error.message); " + (error.hint ?? ""))
      }
    }
    guard settings.address != nil else {
      throw HeadsetError(
        .notAvailable, "no headset is configured",
        hint: "--transport ADDRESS names one, or headset { transport = \"…\" } in the configuration")
    }
    settings.keyFile = arguments.text(.keyFile) ?? settings.keyFile
    settings.firmwareKeyFile = arguments.text(.firmwareKey) ?? settings.firmwareKeyFile
    return settings
  }

  // MARK: Operations

  /// Returns the operation of a command line.
  /// - Throws: `UsageError`, so that errors are reported before a connection is made.
  private static func work(_ arguments: ParsedArguments, _ line: PercentLine) throws -> Work {
    let words = arguments.operands
    switch arguments.action?.name {
    case "anc": return try noiseCancelling(words.first)
    case "ambient": return try ambient(words)
    case "eq": return try equalizer(words.first)
    case "update": return update(words[0], line)
    case "reboot":
      return { headset in
        try await headset.reboot()
        return []
      }
    default:
      let isJSON = arguments.has(.jsonList)
      return { headset in
        let report = try await HeadsetReport(headset)
        return isJSON ? [report.json.lines] : report.table.lines
      }
    }
  }

  private static func noiseCancelling(_ word: String?) throws -> Work {
    guard let word else { return { [try await $0.noiseCancelling() ? "on" : "off"] } }
    guard word == "on" || word == "off" else { throw wrong("'on' or 'off' expected, got \(quoted(word))") }
    return { headset in
      try await headset.setNoiseCancelling(word == "on")
      return []
    }
  }

  private static func ambient(_ words: [String]) throws -> Work {
    guard !words.isEmpty else {
      return { headset in
        let (now, most) = (try await headset.ambient(), try await headset.ambientMost())
        return [HeadsetReport.text(now, most: most)]
      }
    }
    guard words.count == 2 else {
      throw wrong("ambient needs a RIGHT: from 0, or - to leave that side as it is")
    }
    let levels = try words.map { word -> Int? in
      if word == "-" { return nil }
      guard word.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let level = Int(word) else {
        throw wrong("a whole number from 0 or - expected, got \(quoted(word))")
      }
      return level
    }
    return { headset in
      try await headset.setAmbient(left: levels[0], right: levels[1])
      return []
    }
  }

  private static func equalizer(_ word: String?) throws -> Work {
    let names = Headset.presetNames
    guard let word else {
      return { headset in [HeadsetReport.name(ofPreset: try await headset.equalizer().preset)] }
    }
    guard
      let preset = names.firstIndex(of: word) ?? Int(word).flatMap({ names.indices.contains($0) ? $0 : nil })
    else {
      let meant = probable(word, among: names).map { "did you mean '\($0)'?" }
      throw wrong(
        "no preset is called \(quoted(word)); " + (meant ?? "known: \(names.joined(separator: ", "))"))
    }
    return { headset in
      try await headset.select(preset: preset)
      return []
    }
  }

  private static func update(_ path: String, _ line: PercentLine) -> Work {
    { headset in
      let name = (headset.name ?? headset.address).onOneLine
      var lines = UpdateLines(of: name, from: .now)
      let outcome = try await headset.updateFirmware(
        path,
        onEstimate: { estimate in
          if Terminal.showsProgress {
            line.show("updating \(name)", estimate.fraction, left: UpdateLines.words(for: estimate))
          } else {
            lines.line(for: estimate, at: .now).map(Terminal.print)
          }
        })
      switch outcome {
      case .updated(let version): return ["\(name) runs firmware \(version)"]
      case .alreadyThere(let version): return ["\(name) runs firmware \(version) already"]
      }
    }
  }

  private static func wrong(_ message: String) -> UsageError {
    UsageError(.value, message, help: "roomtone headset")
  }
}
