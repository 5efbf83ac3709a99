internal import EventLoop
internal import Home
internal import JSONText
internal import Roomtone
internal import SpeakerKit

/// Commands `roomtone volume`, `mute`, `pause` and the like: through the process that has the house, or, without one, on
/// the house of the configuration itself.
enum HouseCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let verb = arguments.command.name
    let words = arguments.operands
    let change = words.dropFirst().first
    if let change { _ = try RoomActions.VolumeChange(parsing: change) }
    var parameters = words.first.map { [(name: "room", value: JSON.string($0))] } ?? []
    if let change { parameters.append(("volume", .string(change))) }
    let file = arguments.text(.config)
    let result: JSON
    var silence = "nothing plays"
    if let client = try ControlClient.connect(toHouseOf: file) {
      result = try client.call(verb, parameters)
    } else {
      let configuration = try EngineSetup.configuration(file: file)
      let isChange = ["mute", "unmute"].contains(verb) || change != nil
      result = try perform(verb, parameters, isChange: isChange, configuration)
      if configuration.driverName != "house" { silence = "nothing that roomtone has started plays" }
    }
    if arguments.has(.jsonList) {
      Terminal.print(result.lines)
    } else {
      ControlText.rooms(result, verb, silence: silence).lines.forEach(Terminal.print)
    }
    return 0
  }

  /// Performs a verb on the house of the configuration, in which nothing plays.
  /// - Throws: also where the change would be lost with this process.
  private static func perform(
    _ verb: String, _ parameters: [(name: String, value: JSON)], isChange: Bool,
    _ configuration: Configuration
  ) throws -> JSON {
    if isChange { try checkThatItLasts(verb, configuration) }
    var options = EngineSetup.ownHouse(configuration, command: verb, script: nil)
    (options.access, options.controlSocket) = (.adjust, nil)
    let result: JSON
    do {
      result = try EngineSetup.engine(options).perform(method: verb, parameters, at: "the shell")
    } catch let error as SpeakerError where error.kind == .busy {
      throw SpeakerError(
        .busy, error.message, hint: "end it; a daemon has a house for all: roomtone serve", facts: error.facts
      )
    }
    if isChange, configuration.driverName == "house", configuration.logLevel <= .info {
      let speakers = configuration.house.speakers == nil ? "the speakers are invented, and " : ""
      Terminal.log(
        .info, "\(speakers)no daemon has the house: the level is kept for what plays next", [])
    }
    return result
  }

  private static func checkThatItLasts(_ verb: String, _ configuration: Configuration) throws {
    let kind = type(of: configuration.driver)
    switch kind.memory {
    case .stateFolder where UserFolders.state == nil:
      throw CommandFailure(
        .noDaemon, "no daemon runs, and without a home folder no level is kept",
        hint: "start one: roomtone serve")
    case .serverWithoutMute where verb != "volume":
      throw CommandFailure(
        .noDaemon,
        "no daemon runs, and a \(kind.server ?? kind.name) knows no mute: the level to return to would end with this command",
        hint: "start one: roomtone serve; or set a level: roomtone volume ROOM N")
    case .stateFolder, .server, .serverWithoutMute: break
    }
  }
}
