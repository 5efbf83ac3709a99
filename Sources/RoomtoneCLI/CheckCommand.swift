internal import EventLoop
internal import Glibc
internal import Home
internal import JSONText
internal import LuaSyntax
internal import Reference
internal import Roomtone
internal import Scheduling
internal import ScriptCheck
internal import SpeakerKit

/// Command `roomtone check`, and the warnings of the commands that run or schedule scripts.
enum CheckCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let configuration = try EngineSetup.configuration(file: arguments.text(.config))
    // All files are read first, so that a wrong name is an error before the first finding.
    let texts = try arguments.operands.flatMap(files).map { try ScriptText(path: $0) }
    let house = try names(of: configuration)
    // The tests of a spec have the house of `--config`, by default the demonstration's, without its saved
    // state.
    let ownHouse = try names(of: arguments.has(.config) ? configuration : Configuration(), state: nil)
    let reference = StandardLibrary.reference()
    let findings = texts.flatMap { text in
      var checker = ScriptChecker(
        reference: reference, house: text.name.hasSuffix("_spec.lua") ? ownHouse : house,
        modules: FolderModules(beside: text))
      checker.now = ProcessZone().local(Timestamp.now)
      return checker.check(text.bytes, name: text.name).map { (text.shownName, $0) }
    }
    if arguments.has(.jsonFindings) {
      Terminal.print(JSON.array(findings.map(object)).lines)
    } else {
      for (file, finding) in findings { Terminal.print(line(file, finding)) }
    }
    return findings.isEmpty ? 0 : 1
  }

  /// Writes the mistakes in a script file as warnings, unless the configuration shows no warnings.
  static func warn(about text: ScriptText, _ configuration: Configuration, atPrompt: Bool = false) {
    for line in warnings(about: text, configuration, atPrompt: atPrompt) { Terminal.log(.warn, line, []) }
  }

  /// Returns the mistakes in a script file, a line each.
  static func warnings(about text: ScriptText, _ configuration: Configuration, atPrompt: Bool = false)
    -> [String]
  {
    guard text.isFile, configuration.logLevel <= .warn else { return [] }
    let modules = FolderModules(beside: text)
    // For a script without modules, the reference is needed only for the words of a finding.
    let plain = ScriptChecker(reference: Reference.load(from: []), house: HouseNames(), modules: modules)
    if !atPrompt, !text.bytes.contains("require".utf8), plain.check(text.bytes, name: text.name).isEmpty {
      return []
    }
    let house = (try? names(of: configuration)) ?? HouseNames()
    var checker = ScriptChecker(reference: StandardLibrary.reference(), house: house, modules: modules)
    checker.hasModuleGlobals = atPrompt
    checker.now = ProcessZone().local(Timestamp.now)
    return checker.check(text.bytes, name: text.name).filter { !isReportedByRun($0) }
      .map { line(text.shownName, $0) }
  }

  /// `true` for a mistake that the run itself reports at once, and for a limit of the check, which is no
  /// mistake.
  private static func isReportedByRun(_ finding: ScriptFinding) -> Bool {
    finding.code == .syntax || finding.code == .limit
  }

  private static func line(_ file: String, _ finding: ScriptFinding) -> String {
    "\(file.onOneLine):\(finding.position.line):\(finding.position.column): \(finding.message.onOneLine) (\(finding.code.rawValue))"
  }

  private static func object(_ file: String, _ finding: ScriptFinding) -> JSON {
    .object([
      ("file", .string(file)), ("line", .number(finding.position.line)),
      ("column", .number(finding.position.column)), ("code", .string(finding.code.rawValue)),
      ("message", .string(finding.message)),
    ])
  }

  /// Returns the path itself, or the Lua files in a folder and its subfolders, sorted.
  private static func files(_ path: String) throws -> [String] {
    guard let found = lua(in: path, depth: 0) else { return [path] }
    guard !found.isEmpty else {
      throw UsageError(.operand, "there are no Lua files in \(quoted(path))", help: "roomtone check")
    }
    return found
  }

  /// Returns the Lua files in a folder; nil for a path that is no folder. Links to folders are not followed,
  /// as they may lead back.
  private static func lua(in path: String, depth: Int) -> [String]? {
    guard depth < 16, let names = try? LinuxFiles.names(in: path) else { return nil }
    let folder = path.hasSuffix("/") ? String(path.dropLast()) : path
    return names.sorted().filter { !$0.hasPrefix(".") }.flatMap { name -> [String] in
      let place = "\(folder)/\(name)"
      if name.hasSuffix(".lua") { return [place] }
      var status = stat()
      guard lstat(place, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return [] }
      return lua(in: place, depth: depth + 1) ?? []
    }
  }

  /// Returns the names in the saved state of the house, and in the configuration.
  private static func names(of configuration: Configuration, state: String? = UserFolders.state)
    throws(SpeakerError) -> HouseNames
  {
    // Only the servers of other drivers know their speakers.
    if !configuration.isEmbedded {
      return HouseNames(stations: Array(configuration.stations.addresses.keys))
    }
    let speakers = try HouseDriver.savedSpeakers(configuration.house.speakers, stateFolder: state)
    return HouseNames(
      speakers: speakers.map(\.name),
      groups: Set(speakers.map(\.groupName)).subtracting([Group.ungrouped]).sorted(), ids: speakers.map(\.id),
      stations: Array(configuration.stations.addresses.keys))
  }
}

/// The modules in the folder of a script.
private struct FolderModules: ModuleSource {
  /// The folder, with a slash at its end; nil for text that comes from no file.
  private let folder: String?
  /// The path of the script itself, which is not a module.
  private let script: String

  init(beside text: ScriptText) {
    script = text.name
    folder = text.isFile ? text.name.lastIndex(of: "/").map { String(text.name[...$0]) } ?? "" : nil
  }

  func text(of module: String) -> [UInt8]? {
    guard let folder, !module.isEmpty, !module.utf8.contains(0) else { return nil }
    let path = folder + String(module.map { $0 == "." ? "/" : $0 }) + ".lua"
    guard path != script else { return nil }
    return try? WholeFile.read(path, atMost: 2 << 20)
  }

  func isInternal(_ module: String) -> Bool { StandardLibrary.hasModule(module) }

  func hasFile(_ path: String) -> Bool? {
    guard let folder, !path.utf8.contains(0) else { return nil }
    let places: [String]
    if path.hasPrefix("~/") {
      guard let home = getenv("HOME") else { return nil }
      places = [String(cString: home) + path.dropFirst()]
    } else {
      places = path.hasPrefix("/") ? [path] : [path, folder + path]
    }
    // A mount that does not answer would hold up the check, and the end of the script that it belongs to.
    guard places.allSatisfy({ RemoteMount.of($0) == nil }) else { return nil }
    return places.contains { access($0, F_OK) == 0 }
  }

  var names: [String] {
    guard let folder, let names = try? LinuxFiles.names(in: folder.isEmpty ? "." : folder) else { return [] }
    return names.filter { $0.hasSuffix(".lua") }.map { String($0.dropLast(4)) }
  }
}

extension ScriptText {
  /// The name of the text in messages on the command line.
  fileprivate var shownName: String { name == "-" ? "stdin" : name }
}
