internal import EventLoop
internal import Home
internal import JSONText
internal import Roomtone
internal import SpeakerKit
internal import StreamCore

/// Command `roomtone play`: the method `play` of the daemon, or of a house in this process.
enum PlayCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let own = try OwnHouse(arguments, of: "play")
    let source = try StationSettings(arguments, of: "play")
    let attachment = try Attachment(arguments, of: "play")
    let configuration = try own.configuration()
    let station = try station(arguments, configuration)
    let house =
      if let client = try attachment.client(hasOwnHouse: own.isNamed) { HouseConnection(client) } else {
        try HouseConnection(configuration, .drive, command: "play")
      }
    let line = ProgressLine(isShown: Terminal.showsProgress)
    let keys = PlayKeys(house) {
      if !line.showsControls, Terminal.showsProgress { Terminal.print(PlayKey.help) }
      line.showsControls = true
      line.redraw()
    }
    defer {
      keys.end()
      line.end()
    }
    let parameters = parameters(arguments, source, station, house)
    _ = try house.call("play", parameters, isLasting: true) { method, parameters in
      switch method {
      case "begins":
        if let playback = parameters["playback"]?.int { keys.begin(playback) }
      case "playing":
        keys.resume()
        line.show(parameters)
      case "ended": keys.end()
      case "warning":
        guard configuration.logLevel <= .warn else { return }
        Terminal.log(.warn, parameters["message"]?.text ?? "", [])
      default: break
      }
    }
    return 0
  }

  /// Returns the station that the operands name; nil for files.
  /// - Throws: `UsageError` for an empty operand, a station among other operands, and one with options of files.
  private static func station(
    _ arguments: ParsedArguments, _ configuration: Configuration
  ) throws(UsageError) -> String? {
    let files = arguments.operands
    if files.contains("") { throw UsageError(.operand, "FILE is empty", help: "roomtone play") }
    let stations = files.filter { file in
      configuration.stations.addresses[file] != nil || StreamAddress.looksLikeURL(file)
    }
    guard let station = stations.first else { return nil }
    let shown = quoted(StreamAddress.shown(station))
    if files.count > 1 {
      throw UsageError(
        .operand, "\(shown) is a station, which plays alone; files play one after the other",
        help: "roomtone play")
    }
    if let option = [OptionSpec.shuffle, .loop].first(where: arguments.has) {
      throw UsageError(
        .option, "\(option.dashed) is for files, and \(shown) is a station", help: "roomtone play")
    }
    return station
  }

  /// Returns the parameters of the method `play`.
  private static func parameters(
    _ arguments: ParsedArguments, _ source: StationSettings, _ station: String?, _ house: HouseConnection
  ) -> HouseConnection.Parameters {
    var parameters: HouseConnection.Parameters = [
      ("rooms", .array(arguments.texts(.on).map { .string($0) })),
      ("shuffle", .bool(arguments.has(.shuffle))), ("loop", .bool(arguments.has(.loop))),
      ("keep", .bool(arguments.has(.keep))),
    ]
    if let volume = arguments.number(.volume) { parameters.append(("volume", .number(Int(volume)))) }
    guard let station else {
      let files = arguments.operands.map { JSON.string(house.path($0)) }
      return parameters + [("files", .array(files))]
    }
    let settings = [
      ("station", station), ("charset", arguments.text(.charset)), ("user_agent", source.userAgent),
      ("user", source.user), ("password_file", arguments.text(.passwordFile).map(house.path)),
      ("certificate_file", source.certificateFile.map(house.path)),
    ]
    return parameters + settings.compactMap { name, text in text.map { (name, .string($0)) } }
  }
}
