internal import EventLoop
internal import Glibc
internal import Home
internal import JSONText
internal import RecordingKit
internal import Roomtone
internal import Scheduling

/// Command `roomtone recordings`: recordings in the catalogue and on disk.
enum RecordingsCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    guard let path = UserFolders.catalogue else {
      throw CommandFailure(
        .recordingFolder, "there is no home folder, and so no catalogue of recordings",
        hint: "set HOME or XDG_STATE_HOME")
    }
    // Listing creates no catalogue.
    if arguments.action?.name == "list", access(path, F_OK) != 0 { return show([], arguments) }
    let catalogue = try Catalogue(path: path) { Terminal.log(.warn, $0, []) }
    let library = RecordingLibrary(catalogue: catalogue)
    switch arguments.action?.name {
    case "verify": return try verify(arguments, catalogue, library)
    case "repair": return try repair(arguments, library)
    case "forget": return try forget(arguments, catalogue, library)
    default: return show(try library.list(filter(arguments)), arguments)
    }
  }

  // MARK: list

  private static func show(_ entries: [RecordingEntry], _ arguments: ParsedArguments) -> Int32 {
    if arguments.has(.jsonList) {
      Terminal.print(JSON.array(entries.map(RecordingText.object)).lines)
    } else if entries.isEmpty {
      Terminal.print("no recordings")
    } else {
      RecordingText.table(entries).lines.forEach(Terminal.print)
    }
    return 0
  }

  private static func filter(_ arguments: ParsedArguments) -> Catalogue.Filter {
    let moment = { (option: OptionSpec) in arguments.dateTime(option).map { ProcessZone().match($0).moment } }
    return Catalogue.Filter(
      station: arguments.text(.ofStation), title: arguments.text(.withTitle), since: moment(.since),
      until: moment(.before), state: arguments.text(.inState).flatMap(RecordingEntry.State.init),
      job: arguments.text(.ofJob), limit: arguments.number(.limit).map { Int($0) })
  }

  // MARK: verify

  private static func verify(
    _ arguments: ParsedArguments, _ catalogue: Catalogue, _ library: RecordingLibrary
  ) throws -> Int32 {
    let paths =
      arguments.operands.isEmpty
      ? try catalogue.entries().map(\.path).reversed()
      : try arguments.operands.map { try known($0, catalogue) }
    let findings = try paths.map { path -> RecordingText.Finding in
      do {
        return .read(path, try library.verify(path))
      } catch let error as RecordError {
        return .unreadable(path, error)
      }
    }
    if arguments.has(.jsonList) {
      Terminal.print(JSON.array(findings.map(\.json)).lines)
    } else {
      for line in findings.flatMap(\.lines) { Terminal.print(line) }
    }
    return findings.allSatisfy(\.isGood) ? 0 : 1
  }

  // MARK: repair

  private static func repair(_ arguments: ParsedArguments, _ library: RecordingLibrary) throws -> Int32 {
    let settings = try EngineSetup.configuration(file: arguments.text(.config)).recordings
    if let given = arguments.operands.first, access(given, R_OK | X_OK) != 0 {
      throw CommandFailure(
        .recordingFolder, "can't read the folder \(given): \(SystemError(errno).text)")
    }
    let folder = arguments.operands.first.map(UserFolders.absolute) ?? settings.folder
    var isGood = true
    let done = try library.repair(folder: folder, now: Timestamp.now)
    for one in done {
      switch one.outcome {
      case .failed, .recovered(.failed), .lost:
        isGood = false
        Terminal.failure("\(one)")
      default: Terminal.print("\(one)")
      }
    }
    if done.isEmpty { Terminal.print("nothing to repair") }
    return isGood ? 0 : 1
  }

  // MARK: forget

  private static func forget(
    _ arguments: ParsedArguments, _ catalogue: Catalogue, _ library: RecordingLibrary
  ) throws -> Int32 {
    var isGood = true
    for given in arguments.operands {
      do {
        guard try library.forget(known(given, catalogue)) else {
          throw CommandFailure(
            .unknownRecording, "the catalogue knows no recording \(given)",
            hint: "'roomtone recordings' lists them")
        }
      } catch let error as any CodedError {
        isGood = false
        Terminal.failure(error)
      }
    }
    return isGood ? 0 : 1
  }

  /// Returns the path under which the catalogue has a file: a folder in it may be a symbolic link.
  private static func known(_ given: String, _ catalogue: Catalogue) throws -> String {
    let path = UserFolders.absolute(given)
    guard try catalogue.entry(path: path) == nil, let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return try catalogue.entry(path: String(cString: real))?.path ?? path
  }
}
