internal import EventLoop
internal import Glibc
internal import Home
internal import RecordingKit
internal import Roomtone
internal import SpeakerKit
internal import StreamCore

/// The command of a crontab line: the words of a command line of `roomtone`, with the same meaning in any
/// folder.
struct CronJob {
  /// Default name of the job: the name of its script, file or station.
  let name: String
  private let command: CommandSpec
  private let options: [String]
  private let operands: [String]

  /// Parses the words after the time: a script with its arguments, or a command of `roomtone`.
  /// - Throws: `UsageError` for a command that could never run.
  init(_ given: [String]) throws {
    let known: [CommandSpec] = [.run, .play, .record]
    let line = given.first == "--" ? Array(given.dropFirst()) : given
    let isCommand = known.contains { $0.name == line.first }
    guard
      case .perform(let arguments) = try ArgumentParser().parse(isCommand ? line : ["run"] + given)
    else { throw Self.wrong("a job that only shows help") }
    let checked = try Self.check(arguments)
    (command, operands, name) = (arguments.command, checked.operands, checked.name)
    options = arguments.given.flatMap(Self.words) + checked.options
  }

  /// Returns the words of the command, as `["run", "/home/me/show.lua"]`; a recording belongs to the job of
  /// that name.
  func words(named name: String) -> [String] {
    let hasJob = options.contains { $0.hasPrefix("\(OptionSpec.job.dashed)=") }
    let job = command == .record && !hasJob ? ["\(OptionSpec.job.dashed)=\(name)"] : []
    let isGuarded = operands.contains { $0.hasPrefix("-") }
    return [command.name] + options + job + (isGuarded ? ["--"] : []) + operands
  }

  /// Checks the arguments.
  /// - Returns: the operands with absolute paths, additional options, and a name for the job.
  private static func check(
    _ arguments: ParsedArguments
  ) throws -> (operands: [String], options: [String], name: String) {
    // An error of the house should be reported now, too.
    if arguments.command != .record {
      _ = try OwnHouse(arguments, of: arguments.command.name).configuration()
    }
    guard arguments.script != nil, let first = arguments.operands.first else {
      return (arguments.operands, [], "line")
    }
    let rest = Array(arguments.operands.dropFirst())
    if arguments.command == .run {
      guard first != "-" else { throw wrong("cron has no standard input from which a script could be read") }
      // A script that can't run should be reported now.
      let text = try ScriptText(path: first)
      try text.compile()
      CheckCommand.warn(about: text, try EngineSetup.configuration(file: arguments.text(.config)))
      return ([absolute(first)] + rest, [], stem(first))
    }
    let configuration = try EngineSetup.configuration(file: arguments.text(.config))
    if arguments.command == .record {
      guard arguments.has(.recordFor) || arguments.has(.recordUntil) else {
        throw wrong("a recording that cron begins needs an end: --for 2h, or --until 22:30")
      }
      let plan = try RecordCommand.plan(arguments, configuration)
      var options = arguments.has(.quiet) ? [] : [OptionSpec.quiet.dashed]
      // cron runs the command in another working directory.
      if !arguments.has(.into), configuration.recordings.folder == nil {
        options.append("\(OptionSpec.into.dashed)=\(plan.options.template)")
      }
      return ([first], options, stationName(plan.station))
    }
    try check(places: arguments.texts(.on), configuration)
    if configuration.stations.addresses[first] == nil, !StreamAddress.looksLikeURL(first) {
      guard access(first, R_OK) == 0 else {
        throw wrong("can't open the file \(first): \(SystemError(errno).text)")
      }
      return ([absolute(first)], [], stem(first))
    }
    do throws(StreamError) {
      return ([first], [], stationName(try configuration.stations.station(first)))
    } catch { throw wrong(error.message) }
  }

  private static func stationName(_ station: NamedStations.Station) -> String {
    if let name = station.name { return name }
    // An IP address is no useful name: the name of the file is, if there is one.
    let host = station.address.host
    let isNumber = host.allSatisfy { $0.isNumber || $0 == "." } || host.hasPrefix("[") || host == "localhost"
    let file = station.address.path.split(separator: "/").last.map { stem(String($0)) }
    return isNumber ? file ?? host : host
  }

  /// Checks the rooms and speakers of a job against the saved state of the house.
  /// - Throws: `speaker.unknown`.
  private static func check(places: [String], _ configuration: Configuration) throws {
    guard !places.isEmpty else { return }
    var options = EngineOptions()
    options.configuration = configuration
    options.access = .look
    options.stateFolder = UserFolders.state
    _ = try EngineSetup.engine(options).perform { house in
      for place in places { _ = try house.speakers(in: place) }
    }
  }

  /// Returns the file name without its extension: `show` of `scripts/show.lua`.
  private static func stem(_ path: String) -> String {
    let file = path.split(separator: "/").last.map(String.init) ?? path
    return file.lastIndex(of: ".").map { $0 > file.startIndex ? String(file[..<$0]) : file } ?? file
  }

  private static func words(of given: ParsedArguments.Given) -> [String] {
    switch given.option.kind {
    case .flag: [given.option.dashed]
    case .file where given.option == .into:
      [
        "\(given.option.dashed)="
          + (given.text.hasPrefix("~/") ? given.text : RecordingTemplate.absolute(given.text))
      ]
    case .file, .folder: ["\(given.option.dashed)=\(absolute(given.text))"]
    case .output: ["\(given.option.dashed)=\(output(given.text))"]
    default: ["\(given.option.dashed)=\(given.text)"]
    }
  }

  /// Returns the output with its path as an absolute one, if it has a path.
  private static func output(_ text: String) -> String {
    for (name, form) in Output.forms where form.hasPath && text.hasPrefix("\(name):") {
      return "\(name):\(absolute(String(text.dropFirst(name.count + 1))))"
    }
    return text
  }

  /// Returns the absolute form of a path; `~/` remains, since its readers expand it.
  private static func absolute(_ path: String) -> String {
    path.hasPrefix("~/") ? path : UserFolders.absolute(path)
  }

  private static func wrong(_ message: String) -> UsageError {
    UsageError(.operand, message, help: "roomtone cron")
  }
}

/// The environment of a job.
enum JobEnvironment {
  /// Variables for the paths of files, the time zone and the proxy. cron sets HOME alone, from the system's
  /// user database.
  private static let names = [
    "TZ", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "ROOMTONE_STDLIB", "http_proxy",
    "https_proxy",
    "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
  ]

  /// Returns the variables set here that a job needs, besides those that cron sets.
  /// - Parameter left: called with the name of each variable with a password, which is left out: others may
  ///   read the arguments of a shell.
  static func needed(left: (String) -> Void) -> [(name: String, value: String)] {
    var result: [(name: String, value: String)] = []
    let passwd = getpwuid(getuid()).map { String(cString: $0.pointee.pw_dir) }
    if let home = value("HOME"), home != passwd { result.append(("HOME", home)) }
    for name in names {
      guard let value = value(name), !value.isEmpty else { continue }
      if StreamAddress.redacted(value) == value { result.append((name, value)) } else { left(name) }
    }
    return result
  }

  private static func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
