internal import Home
internal import JSONText
internal import SpeakerKit

/// Commands `roomtone volume`, `mute`, `pause` and the like, and those of `roomtone ctl` that act on rooms.
enum HouseCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let verb = arguments.command.name
    let parameters = try parameters(arguments.operands)
    let house = try HouseConnection.open(arguments.text(.config), .adjust, command: verb)
    return try perform(verb, parameters, on: house, isJSON: arguments.has(.jsonList))
  }

  /// Returns the parameters of a verb: a room, and a level or a change of it.
  /// - Throws: `speaker.range`.
  static func parameters(_ words: [String]) throws -> HouseConnection.Parameters {
    if words.count > 1 { _ = try RoomActions.VolumeChange(parsing: words[1]) }
    return zip(["room", "volume"], words).map { ($0, .string($1)) }
  }

  /// Performs a verb, and prints its result.
  static func perform(
    _ verb: String, _ parameters: HouseConnection.Parameters, on house: HouseConnection, isJSON: Bool
  ) throws -> Int32 {
    let isChange = ["mute", "unmute"].contains(verb) || parameters.count > 1
    let result = try house.call(verb, parameters, isChange: isChange)
    show(result, isJSON: isJSON) { ControlText.rooms($0, verb, silence: house.silence).lines }
    return 0
  }

  /// Prints a result as JSON, or the lines that `text` makes of it.
  static func show(_ result: JSON, isJSON: Bool, _ text: (JSON) -> [String]) {
    (isJSON ? [result.lines] : text(result)).forEach(Terminal.print)
  }
}
