internal import EventLoop
internal import Glibc
internal import Home
internal import Roomtone
internal import Scheduling
internal import StreamCore

/// The commands of `roomtone`.
enum Command {
  static let version = ProgramSpec.roomtone.version

  /// The commands, in the order of the help: each with its options, operands and texts, and the function that performs
  /// it and returns the exit status.
  static let all: [(spec: CommandSpec, run: @Sendable (ParsedArguments) throws -> Int32)] = [
    (.run, RunCommand.run), (.simulate, simulate), (.check, CheckCommand.run), (.test, TestCommand.run),
    (.repl, ReplCommand.run), (.serve, ServeCommand.run), (.ctl, ControlCommand.run),
    (.volume, HouseCommand.run), (.mute, HouseCommand.run), (.unmute, HouseCommand.run),
    (.pause, HouseCommand.run), (.resume, HouseCommand.run), (.stop, HouseCommand.run),
    (.next, HouseCommand.run), (.previous, HouseCommand.run), (.now, HouseCommand.run),
    (.play, PlayCommand.run), (.record, RecordCommand.run), (.recordings, RecordingsCommand.run),
    (.headset, HeadsetCommand.run), (.firmware, FirmwareCommand.run), (.board, BoardCommand.run),
    (.cron, CronCommand.run),
    (.devices, LookCommand.run), (.groups, LookCommand.run), (.status, LookCommand.run),
    (.doctor, DoctorCommand.run), (.snapserverConfig, SnapserverConfigCommand.run),
    (.page, PageCommand.run),
    (.completion, CompletionCommand.run), (.man, ManCommand.run), (.meta, MetaCommand.run),
  ]

  /// Runs the command of a command line.
  /// - Returns: the exit status: 0 for success, 1 for a failure, 2 for wrong usage, 130 and 143 after
  ///   signals.
  static func main(_ arguments: [String]) -> Int32 {
    LinuxMemory.useOneArena()
    Terminal.prepare()
    let job = JobRun()
    let status = Terminal.finish(status(of: arguments))
    job?.end(status: status, error: status == 0 ? nil : Terminal.lastFailure)
    return status
  }

  private static func status(of arguments: [String]) -> Int32 {
    if arguments.first == CompletionCommand.query {
      return CompletionCommand.answer(Array(arguments.dropFirst()))
    }
    switch Invocation(arguments) {
    case .show(let text, let stream, let status):
      if stream == .output { Terminal.write(text) } else { Terminal.writeError(text) }
      return status
    case .explain(let name, let command): return HelpCommand.run(name, command)
    case .perform(let arguments):
      do {
        return try perform(arguments)
      } catch let error as UsageError {
        Terminal.writeError(error.line + "\n")
        return UsageError.exitStatus
      } catch let error as ScriptTextError {
        Terminal.failure(error.message)
        return UsageError.exitStatus
      } catch let error as LocalHouse.Interrupted {
        return error.status
      } catch let error as HouseConnection.Interrupted {
        return error.status
      } catch let error as any CodedError
        where error.code == StreamErrorKind.auth.rawValue && arguments.command.options.contains(.user)
      {
        // The error's own hint addresses scripts.
        Terminal.failure("\(error.message) (\(error.code)); give --user NAME and --password-file FILE")
        return 1
      } catch let error as any CodedError {
        Terminal.failure(error)
        return 1
      } catch {
        Terminal.failure("\(error)")
        return 1
      }
    }
  }

  private static func perform(_ arguments: ParsedArguments) throws -> Int32 {
    guard let command = all.first(where: { $0.spec.name == arguments.command.name }) else {
      preconditionFailure("\(arguments.command.name) is not in the table of commands")
    }
    return try command.run(arguments)
  }

  private static func simulate(_ arguments: ParsedArguments) throws -> Int32 {
    guard let text = try arguments.scriptText else { return UsageError.exitStatus }
    let zone: any LocalZone
    do {
      zone = try arguments.text(.timezone).map { try ZoneFile(meaning: $0) } ?? ProcessZone()
    } catch {
      Terminal.failure("\(error)")
      return UsageError.exitStatus
    }
    let limit = arguments.duration(.span) ?? .seconds(7 * 86_400)
    try checkPage(arguments, limit)
    let now = arguments.text(.from) == "now" ? zone.local(Timestamp.now) : nil
    return try SimulateCommand.run(
      SimulateCommand.Options(
        text: text, arguments: arguments.scriptArguments,
        companions: try arguments.texts(.companions).map { try ScriptText(path: $0) },
        from: try now ?? arguments.dateTime(.from) ?? LocalDateTime(parsing: SimulateCommand.defaultStart),
        limit: limit, zone: zone,
        stations: try arguments.text(.stations).map { try ScriptText(path: $0, kind: "stations file") },
        triggers: try arguments.text(.triggers).map { try ScriptText(path: $0, kind: "triggers file") },
        renderFolder: arguments.text(.render), seed: arguments.number(.seed) ?? 1, json: arguments.has(.json),
        why: arguments.has(.why),
        page: arguments.text(.html), configuration: arguments.text(.config)))
  }

  /// Checks the option `--html`: a page has a limit of days, and does not replace a file that is read.
  private static func checkPage(_ arguments: ParsedArguments, _ limit: Duration) throws {
    guard let path = arguments.text(.html) else { return }
    if limit > .seconds(Week.mostDays * 86_400) {
      throw UsageError(
        .value, "--html shows \(Week.mostDays) days at most; give a shorter time with --for",
        help: "roomtone simulate")
    }
    let read: [OptionSpec] = [.stations, .triggers, .config]
    let files =
      ([arguments.script] + read.map(arguments.text)).compactMap { $0 } + arguments.texts(.companions)
    if let file = files.first(where: { OutputFile.areSame($0, path) }) {
      throw UsageError(
        .value, "--html would replace \(file.onOneLine), which is read", help: "roomtone simulate")
    }
  }
}

extension ParsedArguments {
  /// The text of the script; nil without one.
  var scriptText: ScriptText? { get throws { try script.map { try ScriptText(path: $0) } } }
}
