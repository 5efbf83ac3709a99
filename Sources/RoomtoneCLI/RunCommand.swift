internal import EventLoop
internal import Roomtone
internal import SpeakerKit

/// Command `roomtone run`.
enum RunCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let text = try arguments.scriptText ?? ScriptText(code: arguments.text(.execute) ?? "")
    let (house, attachment) = (try OwnHouse(arguments, of: "run"), try Attachment(arguments, of: "run"))
    if let client = try attachment.client(hasOwnHouse: house.isNamed) {
      return try AttachedRun.run(text, arguments, client)
    }
    let configuration = try house.configuration()
    let options = EngineSetup.ownHouse(configuration, command: "run", script: text.name)
    let engine = try EngineSetup.engine(options, verbose: arguments.has(.verbose))
    let script = try engine.load(text, arguments: arguments.scriptArguments)
    let warnings = ScriptWarnings(about: text, configuration)
    defer { warnings.finish() }
    warnings.appear(during: engine)
    return engine.run(script, limit: arguments.duration(.longest), handlesSignals: true).status
  }
}
