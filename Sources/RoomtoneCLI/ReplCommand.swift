internal import EventLoop
internal import Glibc
internal import Roomtone
internal import SpeakerKit

/// Command `roomtone repl`.
enum ReplCommand {
  struct Options {
    /// Script to run before the first line is read; nil for none.
    var text: ScriptText?
    var output: Output?
    var configuration: String?
  }

  static func run(_ options: Options) throws -> Int32 {
    let configuration = try EngineSetup.configuration(file: options.configuration, output: options.output)
    let engineOptions = EngineSetup.ownHouse(configuration, command: "repl", script: options.text?.name)
    if let text = options.text { CheckCommand.warn(about: text, configuration, atPrompt: true) }
    let engine = try EngineSetup.engine(engineOptions)
    let prompt = try Prompt(engine: engine, after: options.text)
    prompt.show = Terminal.write
    prompt.showError = Terminal.failure
    if Terminal.isInteractive {
      prompt.prompts = ("> ", ">> ")
      Terminal.print("Roomtone \(Command.version). Ctrl-C cancels what runs, Ctrl-D leaves.")
    }
    return prompt.run().status
  }
}
