internal import EventLoop
internal import Home
internal import JSONText
internal import Roomtone
internal import SpeakerKit

/// The choice between the daemon and this process, for the commands that can use either.
enum Attachment {
  /// Uses a running daemon, unless the command names a house of its own.
  case automatic
  case required
  case refused

  /// Reads `--attach` and `--no-attach`.
  /// - Throws: `UsageError` for both, and for `--attach` with a house of the command's own.
  init(_ arguments: ParsedArguments, of command: String) throws(UsageError) {
    let help = "roomtone \(command)"
    switch (arguments.has(.attach), arguments.has(.noAttach)) {
    case (true, true): throw UsageError(.option, "--attach and --no-attach exclude each other", help: help)
    case (true, false): self = .required
    case (false, true): self = .refused
    case (false, false): self = .automatic
    }
    guard case .required = self else { return }
    for option in [OptionSpec.house, .output, .config] where arguments.has(option) {
      throw UsageError(
        .option, "\(option.dashed) is for a house of its own, and the daemon has one", help: help)
    }
  }

  /// Returns the connection to the daemon; nil for this process.
  /// - Parameter hasOwnHouse: `true` if the command names a driver, an output or a configuration.
  /// - Throws: `ctl.none` where a daemon is required; `ctl.socket`.
  func client(hasOwnHouse: Bool) throws -> ControlClient? {
    switch self {
    case .automatic: hasOwnHouse ? nil : try ControlClient.daemon()
    case .required: try ControlClient.required()
    case .refused: nil
    }
  }
}

/// `roomtone run` through the daemon.
enum AttachedRun {
  /// Hands a script to the daemon, and shows its output until it has ended.
  /// - Returns: the exit status of the script.
  static func run(_ text: ScriptText, _ arguments: ParsedArguments, _ client: ControlClient) throws -> Int32 {
    guard let code = String(validating: text.bytes, as: UTF8.self) else {
      throw CommandFailure(.socket, "\(text.name) is not UTF-8, and can't be handed to the daemon")
    }
    let configuration = try EngineSetup.configuration(file: nil)
    CheckCommand.warn(about: text, configuration)
    let least = arguments.has(.verbose) ? LogLevel.debug : configuration.logLevel
    var parameters: [(name: String, value: JSON)] = [
      ("name", .string(text.isFile ? UserFolders.absolute(text.name) : text.name)), ("code", .string(code)),
      ("is_file", .bool(text.isFile)), ("folder", .string(UserFolders.absolute("."))),
      ("arguments", .array(arguments.scriptArguments.map { .string($0) })),
    ]
    if let limit = arguments.duration(.longest) { parameters.append(("seconds", .exact(limit.inSeconds))) }
    let result = try client.call("run", parameters, isLasting: true) { method, parameters in
      switch method {
      case "print": Terminal.print(parameters["text"]?.text ?? "")
      case "failure": failure(parameters["report"]?.text ?? "")
      case "log":
        guard let level = LogLevel(rawValue: parameters["level"]?.text ?? ""), level >= least else { return }
        var fields: [(String, String)] = []
        if case .object(let members)? = parameters["fields"] {
          fields = members.map { ($0.name, $0.value.text ?? "") }
        }
        Terminal.log(level, parameters["message"]?.text ?? "", fields)
      default: break
      }
    }
    return Int32(clamping: result["status"]?.int ?? 1)
  }

  /// Shows the report of an error: one line, and below it the position in the script.
  private static func failure(_ report: String) {
    let lines = report.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).onOneLine }
    Terminal.writeError("roomtone: \(lines.joined(separator: "\n"))\n")
  }
}
