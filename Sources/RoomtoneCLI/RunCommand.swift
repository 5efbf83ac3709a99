internal import EventLoop
internal import LuaModules
internal import Roomtone
internal import SpeakerKit

/// Command `roomtone run`.
enum RunCommand {
  struct Options {
    var text: ScriptText
    var arguments: [String]
    var limit: Duration?
    var output: Output?
    var configuration: String?
    var verbose: Bool
  }

  static func run(_ options: Options) throws -> Int32 {
    let engineOptions = EngineSetup.ownHouse(
      try EngineSetup.configuration(file: options.configuration, output: options.output),
      command: "run", script: options.text.name)
    let engine = try EngineSetup.engine(engineOptions, verbose: options.verbose)
    let (script, main) = try EngineSetup.load(options.text, arguments: options.arguments, into: engine)
    return engine.run(script, main, arguments: options.arguments, limit: options.limit, handlesSignals: true)
      .status
  }
}
