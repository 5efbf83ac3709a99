internal import EventLoop
internal import Glibc
internal import Home
internal import Roomtone

/// Command `roomtone serve`.
enum ServeCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let folder = try folder(arguments.operands.first)
    let house = try OwnHouse(arguments, of: "serve")
    // The folder is needed for the mark of a configuration that does not end.
    if let folder = UserFolders.state { try? LinuxFiles.makeFolders(folder, mode: 0o700) }
    var configuration = try house.configuration()
    if arguments.has(.install) { return try ServiceUnit.install(folder, arguments) }
    if arguments.has(.verbose) { configuration.logLevel = .debug }
    var options = DaemonOptions(folder: folder, socket: UserFolders.controlSocket)
    guard options.socket != nil else {
      throw CommandFailure(
        .socket, "there is no folder for the control socket", hint: "set XDG_RUNTIME_DIR or HOME")
    }
    options.notifier = notifier()
    var engineOptions = EngineSetup.ownHouse(configuration, command: "serve", script: nil)
    engineOptions.programs = UserFolders.programs
    engineOptions.controlSocket = nil
    engineOptions.messageRole = .house
    let daemon = Daemon(
      engine: try EngineSetup.engine(engineOptions), version: Command.version, options: options)
    let least = configuration.logLevel
    daemon.log.onEntry = { entry in
      if entry.level.isShown(from: least) { Terminal.daemon(entry) }
    }
    let relay = OutputRelay()
    defer { relay.close() }
    return try daemon.run().status
  }

  /// Returns the absolute path of the folder of scripts, and makes the usual one.
  private static func folder(_ given: String?) throws -> String {
    if let given {
      if given.isEmpty { throw UsageError(.operand, "DIR is empty", help: "roomtone serve") }
      return trimmed(UserFolders.absolute(given))
    }
    guard let folder = UserFolders.configuration.map({ "\($0)/scripts" }) else {
      throw UsageError(.operand, "there is no home folder; name a DIR", help: "roomtone serve")
    }
    try? LinuxFiles.makeFolders(folder, mode: 0o755)
    return trimmed(folder)
  }

  private static func trimmed(_ path: String) -> String {
    var path = path[...]
    while path.count > 1, path.hasSuffix("/") { path = path.dropLast() }
    return String(path)
  }

  /// Returns the notifier of the service manager that started the process, and keeps its variables from programs that
  /// scripts start.
  private static func notifier() -> ServiceNotifier {
    let names = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]
    let values = names.map { name in getenv(name).map { String(cString: $0) } }
    for name in names { unsetenv(name) }
    return ServiceNotifier(socket: values[0], watchdogMicroseconds: values[1], watchdogProcess: values[2])
  }
}

extension DaemonLog.Level {
  /// `true` if lines of this level are shown where those of `least` are.
  func isShown(from least: LogLevel) -> Bool {
    switch self {
    case .print: true
    case .debug: least <= .debug
    case .info: least <= .info
    case .warn: least <= .warn
    case .error: true
    }
  }
}
