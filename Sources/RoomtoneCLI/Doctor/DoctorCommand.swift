internal import EventLoop
internal import Glibc
internal import JSONText
internal import LuaRuntime
internal import Roomtone
internal import SpeakerKit

/// Command `roomtone doctor`.
enum DoctorCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let subject = try subject(file: arguments.text(.config))
    let checks =
      SystemChecks.table(subject) + FolderChecks.table(subject)
      + [house(subject)]
      + DriverKinds.all.compactMap { kind in kind.server.map { server($0, of: kind, subject) } }
      + CronChecks.table()
      + NetworkChecks.table(subject, isOffline: arguments.has(.offline)) + PageChecks.table(subject)
    let isJSON = arguments.has(.jsonChecks)
    let width = checks.flatMap(\.names).map(\.onOneLine.columns).max() ?? 0
    let isColored = Terminal.hasColor(STDOUT_FILENO)
    var all: [Finding] = []
    Check.run(checks) { findings in
      all += findings
      if isJSON { return }
      for line in findings.flatMap({ lines($0, width: width, isColored: isColored) }) { Terminal.print(line) }
    }
    if isJSON { Terminal.print(JSON.array(all.map(\.json)).lines) }
    return all.contains { $0.state == .fail } ? 1 : 0
  }

  /// Reads the configuration past its errors, on a separate thread, as reading from a hung mount would never
  /// end.
  /// - Throws: `ScriptTextError` for a file that can't be read, if the command line names it.
  private static func subject(file: String?) throws -> DoctorSubject {
    guard let path = file ?? EngineSetup.userFile() else { return DoctorSubject() }
    var subject = DoctorSubject(path: path)
    let result = Lock<Result<DoctorSubject, ScriptTextError>?>(nil)
    Check.run([
      Check("configuration") {
        let read = read(path)
        result.withLock { $0 = read }
        return .ok("configuration", path)
      }
    ]) { findings in
      subject.errors = [LuaError(code: "config.timeout", message: "\(path): \(findings[0].detail)")]
    }
    switch result.withLock({ $0 }) {
    case .success(let read): return read
    case .failure(let error):
      if file != nil { throw error }
      subject.errors = [LuaError(error)]
      return subject
    case nil: return subject
    }
  }

  private static func read(_ path: String) -> Result<DoctorSubject, ScriptTextError> {
    do throws(ScriptTextError) {
      let text = try ScriptText(path: path, kind: "configuration")
      let (configuration, errors) = Configuration.readAll(text: text.bytes, path: path)
      return .success(DoctorSubject(configuration: configuration, path: path, errors: errors))
    } catch { return .failure(error) }
  }

  private static func house(_ subject: DoctorSubject) -> Check {
    let driver = subject.configuration.driverName
    return Check("house") {
      guard let state = UserFolders.state else { return .ok("house", "not kept between runs") }
      do throws(SpeakerError) {
        guard let owner = try HouseDriver.owner(ofStateFolder: state) else {
          return .ok("house", "driver \(driver); free for the next script")
        }
        return .ok("house", "driver \(driver); used by \(owner)")
      } catch { return .fail("house", error.message, hint: error.hint) }
    }
  }

  /// Returns the check of the server of a kind of driver.
  private static func server(_ server: String, of kind: any DriverKind.Type, _ subject: DoctorSubject)
    -> Check
  {
    let settings = subject.configuration.driver
    let isUsed = type(of: settings) == kind
    return Check([server], isAskedFor: isUsed) {
      guard isUsed else {
        let driver = subject.configuration.driverName
        return [.ok(server, "not used: the speakers are those of the driver \(driver)")]
      }
      do throws(SpeakerError) {
        let state = try settings.probe()
        return [.ok(server, state.text)]
          + state.unknownLimits.map { name in
            .warn(
              server, "the configuration limits \(quoted(name)), which no speaker is called",
              hint: "`roomtone devices` lists the names and ids of the speakers")
          }
      } catch { return [.fail(server, error.message, hint: error.hint)] }
    }
  }

  /// Returns the lines of a finding: state, subject and fact in columns; the hint below the fact.
  static func lines(_ finding: Finding, width: Int, isColored: Bool) -> [String] {
    let state = finding.state.rawValue
    let color =
      switch finding.state {
      case .ok: "\u{1B}[32m"
      case .warn: "\u{1B}[33m"
      case .fail: "\u{1B}[1;31m"
      }
    let name = finding.check.onOneLine
    let blanks = { (count: Int) in String(repeating: " ", count: max(0, count)) }
    let head = (isColored ? "\(color)\(state)\u{1B}[0m" : state) + blanks(4 - state.count)
    let line = "\(head)  \(name)\(blanks(width - name.columns))  \(finding.detail.onOneLine)"
    return [line] + (finding.hint.map { ["\(blanks(width + 8))→ \($0.onOneLine)"] } ?? [])
  }
}

extension CommandSpec {
  static let doctor = CommandSpec(
    name: "doctor",
    summary: "checks what works here, with a hint for each part that does not",
    operands: [],
    options: [.offline, .jsonChecks, .config],
    notes: [
      """
      Each line has a state: 'ok'; 'warn' for a part that does not work and was not asked for; 'FAIL' for one that the \
      configuration or the crontab asks for, or that all others need. Stations are listened to until their format is known, the headset \
      is connected, and the sound card is opened for a moment. Nothing is changed.
      """,
      "Exit status: 0 without a FAIL, 1 with one, 2 for wrong usage.",
    ],
    examples: [
      ExampleSpec("roomtone doctor", "all checks, a line each"),
      ExampleSpec("roomtone doctor --offline --json", "without the stations, for programs"),
    ])
}

extension OptionSpec {
  // Options of `doctor`.
  static let offline = OptionSpec("offline", .flag, "leaves the stations out")
  static let jsonChecks = OptionSpec(
    "json", .flag, "prints an array of {check, state, detail, hint} instead of lines")
}
