internal import EventLoop
internal import Home
internal import RecordingKit
internal import Roomtone
internal import Scheduling
internal import StreamCore

/// Command `roomtone record`.
enum RecordCommand {
  /// Checked arguments of the command.
  struct Plan {
    let station: NamedStations.Station
    /// The name of the lock file: a hash of the job, or of the operand and the template.
    let lockName: String
    var options: RecordingOptions
    let waitsForAudio: Bool
    let isQuiet: Bool
  }

  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    var configuration = try EngineSetup.configuration(file: arguments.text(.config))
    configuration.stations.common = try StationSettings(arguments, of: "record")
    let plan = try plan(arguments, configuration)
    let lock = try lock(plan)
    defer { withExtendedLifetime(lock) {} }
    let engine = try EngineSetup.engine(
      EngineSetup.ownHouse(configuration, command: "record", script: nil))
    let line = RecordingLine(isShown: Terminal.showsProgress && !plan.isQuiet)
    defer { line.end() }
    let run = RecordRun(plan, engine, line)
    let result = try engine.performWithoutHouse { try await run.record() }
    line.end()
    if let failure = run.failure { throw failure }
    if let summary = run.summary {
      if !plan.isQuiet {
        Terminal.print(summary)
      } else if let missing = run.missing {
        Terminal.log(.warn, "\(missing): \(summary)", [])
      }
    }
    return result.status
  }

  // MARK: Arguments

  static func plan(_ arguments: ParsedArguments, _ configuration: Configuration) throws -> Plan {
    let given = arguments.operands[0]
    let station: NamedStations.Station
    do throws(StreamError) { station = try configuration.stations.station(given) } catch {
      throw wrong(error.message + (error.hint.map { "; \($0)" } ?? ""))
    }
    let (template, folder) = (
      arguments.text(.into) ?? configuration.recordings.template
        ?? RecordingTemplate.usual(splits: arguments.has(.split)),
      configuration.recordings.folder
    )
    do throws(TemplateError) { _ = try RecordingTemplate(template) } catch {
      throw wrong(error.message + (error.hint.map { "; \($0)" } ?? ""))
    }
    // A template on the command line is relative to the working directory, the configured one to the folder.
    var options = RecordingOptions(
      template: RecordingTemplate.absolute(template, from: arguments.has(.into) ? nil : folder))
    options.appends = arguments.has(.append)
    if arguments.has(.split) { options.split = .init() }
    if let shortest = arguments.duration(.shortestTrack) {
      guard options.split != nil else { throw wrong("--min-track goes with --split") }
      options.split?.minimumLength = shortest
    }
    options.duration = arguments.duration(.recordFor)
    if options.duration == .zero { throw wrong("--for: more than 0s expected") }
    options.until = try arguments.text(.recordUntil).map(moment)
    options.minimumFree = configuration.recordings.minimumFree
    options.job = arguments.text(.job)
    return Plan(
      station: station, lockName: lockName(options, given), options: options,
      waitsForAudio: arguments.has(.waitForAudio),
      isQuiet: arguments.has(.quiet))
  }

  private static func moment(_ text: String) throws -> WallTime {
    let (now, zone) = (Timestamp.now, ProcessZone())
    var moment: WallTime?
    do throws(ScheduleError) {
      moment = try Recurrence.at(text, now: now, in: zone).next(after: now, in: zone)
    } catch {
      throw wrong("--until: \(error.message)" + (error.hint.map { "; \($0)" } ?? ""))
    }
    guard let moment else { throw wrong("--until: \(quoted(text)) has passed") }
    return moment
  }

  private static func wrong(_ message: String) -> UsageError {
    UsageError(.value, message, help: "roomtone record")
  }

  // MARK: One at a time

  /// Returns the name of the lock of a job; of a recording without a job, by its operand and template.
  private static func lockName(_ options: RecordingOptions, _ given: String) -> String {
    let key = options.job.map { "job \($0)" } ?? "\(given) \(options.template)"
    // FNV-1a: a file name for any text.
    let hash = key.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return "\(String(hash, radix: 16)).lock"
  }

  /// Acquires the lock of a plan.
  /// - Returns: nil when no lock can be made.
  /// - Throws: `record.busy`.
  private static func lock(_ plan: Plan) throws -> FileLock? {
    guard let folder = UserFolders.state else { return nil }
    let taken: FileLock?
    do throws(CommandFailure) {
      taken = try FileLock.acquire("\(folder)/locks/\(plan.lockName)")
    } catch {
      // A recording is more important than the lock.
      Terminal.log(.warn, "\(error.message); nothing keeps this job from running twice at a time", [])
      return nil
    }
    guard let taken else {
      throw CommandFailure(
        .recordingJob,
        plan.options.job.map { "the job \(quoted($0)) is being recorded already" }
          ?? "\(plan.station) is being recorded into the same place already",
        hint: "give another --job if both are wanted")
    }
    return taken
  }
}
