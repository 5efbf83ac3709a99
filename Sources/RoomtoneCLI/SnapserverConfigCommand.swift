internal import Roomtone
internal import SpeakerKit

/// Command `roomtone snapserver-config`.
enum SnapserverConfigCommand {
  /// Port of the first stream; others follow.
  private static let firstPort = 4953

  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let most = SnapcastSettings.mostSessions
    var sessions = 4
    if let given = arguments.operands.first {
      guard let number = Int(given), (1...most).contains(number) else {
        throw UsageError(
          .operand,
          "snapserver-config: a number of sessions from 1 to \(most) expected, got \(quoted(given))",
          help: "roomtone snapserver-config")
      }
      sessions = number
    }
    let configuration = try EngineSetup.configuration(file: arguments.text(.config))
    let settings = configuration.driver as? SnapcastSettings ?? SnapcastSettings()
    let ports = (0...sessions).map { firstPort + $0 }
    Terminal.print(
      "# Streams of roomtone: one that stays idle, and one for each of \(sessions) sessions at a time.")
    Terminal.print("[stream]")
    for line in settings.sources(ports: ports) { Terminal.print(line) }
    return 0
  }
}

extension CommandSpec {
  static let snapserverConfig = CommandSpec(
    name: "snapserver-config",
    summary: "prints the streams that a snapserver needs, as lines of snapserver.conf",
    operands: [
      OperandSpec(
        name: "SESSIONS", summary: "the number of sessions at a time (default: 4)", isOptional: true)
    ],
    options: [.config],
    notes: [
      """
      The lines begin with the section [stream] and can be appended to the configuration: \
      'roomtone snapserver-config | sudo tee -a /etc/snapserver.conf'. The streams receive sound from this machine \
      only; speakers without a session are on the idle one. 'roomtone help snapcast' shows the way to three rooms.
      """
    ],
    examples: [
      ExampleSpec("roomtone snapserver-config 8", "streams for eight sessions at a time")
    ])
}
