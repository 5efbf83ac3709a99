internal import EventLoop
internal import Roomtone
internal import SpeakerKit

/// Command `roomtone run`.
enum RunCommand {
  struct Options {
    var text: ScriptText
    var arguments: [String]
    var limit: Duration?
    var house: OwnHouse
    var verbose: Bool
    var attachment = Attachment.automatic
  }

  static func run(_ options: Options) throws -> Int32 {
    if let client = try options.attachment.client(hasOwnHouse: options.house.isNamed) {
      return try AttachedRun.run(options, client)
    }
    let configuration = try options.house.configuration()
    let engineOptions = EngineSetup.ownHouse(configuration, command: "run", script: options.text.name)
    let engine = try EngineSetup.engine(engineOptions, verbose: options.verbose)
    let script = try engine.load(options.text, arguments: options.arguments)
    let warnings = ScriptWarnings(about: options.text, configuration)
    defer { warnings.finish() }
    warnings.appear(during: engine)
    return engine.run(script, limit: options.limit, handlesSignals: true).status
  }
}
