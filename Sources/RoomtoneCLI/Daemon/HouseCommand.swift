internal import EventLoop
internal import Home
internal import JSONText
internal import Roomtone
internal import SpeakerKit

/// Commands `roomtone volume`, `mute`, `pause` and the like: through the daemon, or, without one, on the house itself.
enum HouseCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let verb = arguments.command.name
    let words = arguments.operands
    let change = words.dropFirst().first
    if let change { _ = try RoomActions.VolumeChange(parsing: change) }
    let result: JSON
    if let client = try ControlClient.connect() {
      var parameters = words.first.map { [(name: "room", value: JSON.string($0))] } ?? []
      if let change { parameters.append(("volume", .string(change))) }
      result = try client.call(verb, parameters)
    } else {
      result = try perform(verb, words.first, change, arguments)
    }
    if arguments.has(.jsonList) {
      Terminal.print(result.lines)
    } else {
      ControlText.rooms(result, verb).lines.forEach(Terminal.print)
    }
    return 0
  }

  /// Performs a verb on the house, which is opened without an output: nothing plays in it.
  private static func perform(
    _ verb: String, _ room: String?, _ change: String?, _ arguments: ParsedArguments
  ) throws -> JSON {
    let configuration = try EngineSetup.configuration(file: arguments.text(.config), output: .null)
    let engine = try EngineSetup.engine(EngineSetup.ownHouse(configuration, command: verb, script: nil))
    var result = JSON.null
    let run = try engine.changes.asPerson(at: "the shell") {
      try engine.perform(wait: .zero) { house in
        let actions = RoomActions(house)
        switch verb {
        case "volume":
          let levels =
            try change.map { try actions.setVolume(RoomActions.VolumeChange(parsing: $0), in: room) }
            ?? actions.levels(in: room)
          result = .array(levels.map(RoomReport.level))
        case "mute", "unmute":
          result = .array(try actions.setMuted(verb == "mute", in: room).map(RoomReport.level))
        case "pause": result = .array(try actions.pause(room).map(RoomReport.playing))
        case "resume": result = .array(try actions.resume(room).map(RoomReport.playing))
        case "next": result = .array(try actions.next(room).map(RoomReport.playing))
        case "previous": result = .array(try actions.previous(room).map(RoomReport.playing))
        case "stop": result = .array(try await actions.stop(room).map(RoomReport.playing))
        default: result = .array(try actions.playing(in: room).map(RoomReport.playing))
        }
        // Levels take effect some milliseconds after the call.
        try await house.loop.sleep(for: .milliseconds(50))
      }
    }
    if run.status != 0 { throw CancellationError() }
    return result
  }
}
