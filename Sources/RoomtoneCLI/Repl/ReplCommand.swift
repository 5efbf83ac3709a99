internal import EventLoop
internal import Glibc
internal import Home
internal import LineEditor
internal import LuaRuntime
internal import Roomtone
internal import SpeakerKit

/// Command `roomtone repl`.
enum ReplCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let text = try arguments.scriptText
    let (house, attachment) = (try OwnHouse(arguments, of: "repl"), try Attachment(arguments, of: "repl"))
    let script = arguments.text(.ofScript)
    let client = try attachment.client(hasOwnHouse: house.isNamed)
    if client == nil, script != nil { _ = try ControlClient.required() }
    let configuration = try house.configuration()
    let engineOptions = EngineSetup.ownHouse(configuration, command: "repl", script: text?.name)
    if let text { CheckCommand.warn(about: text, configuration, atPrompt: true) }
    let engine = try EngineSetup.engine(engineOptions)
    let isInteractive = Terminal.isInteractive
    let prompt = try Prompt(
      engine: engine, after: client == nil ? text : nil, isInteractive: isInteractive)
    let daemon = try client.map { client in
      try DaemonPrompt(client, of: prompt, engine, script: script, after: text)
    }
    defer { daemon?.close() }
    prompt.show = Terminal.write
    prompt.showError = isInteractive ? { fail($0) } : { Terminal.failure($0) }
    guard isInteractive else { return prompt.evaluateInput().status }
    engine.onFailure = fail
    prompt.check = { path in
      // A file that can't be read is refused by `dofile` itself.
      guard let text = try? ScriptText(path: path) else { return }
      CheckCommand.warn(about: text, configuration, atPrompt: true)
    }
    prompt.width = { Terminal.columns - 1 }
    let place = daemon.map { " in the daemon (process \($0.process))" } ?? ""
    let greeting = ["Roomtone \(Command.version)\(place).", "Ctrl-C cancels what runs, Ctrl-D leaves."]
    Terminal.print(greeting.joined(separator: Terminal.columns < 60 ? "\n" : " "))
    if let screen = screen(prompt, engine) {
      prompt.input = screen
      engine.onPrint = { screen.printLine($0) }
      prompt.show = { text in
        screen.endRow()
        Terminal.write(text)
      }
      let failure: (LuaError) -> Void = { error in
        screen.endRow()
        fail(error)
      }
      (prompt.showError, engine.onFailure) = (failure, failure)
      engine.onForcedExit = screen.restoration
    } else {
      prompt.input = LineInput(of: prompt, prompts: ("> ", ">> "), show: Terminal.write)
    }
    return prompt.evaluateInput().status
  }

  /// Returns the editor of lines; nil for a terminal that can't move its cursor, and, with a warning, without libedit.
  private static func screen(_ prompt: Prompt, _ engine: Engine) -> PromptScreen? {
    let name = getenv("TERM").map { String(cString: $0) } ?? ""
    guard name != "dumb", !name.isEmpty else { return nil }
    do throws(LibraryError) {
      return try PromptScreen(prompt, loop: engine.loop, history: History(path: historyFile()))
    } catch {
      Terminal.log(.warn, "lines can't be edited or completed here: \(error)", [])
      return nil
    }
  }

  /// Returns the path of the history, whose folder is created; nil without a home.
  private static func historyFile() -> String? {
    guard let folder = UserFolders.state else { return nil }
    try? LinuxFiles.makeFolders(folder, mode: 0o700)
    return "\(folder)/history"
  }

  /// Shows an error in red, where the terminal has colours, and its hint on a line of its own.
  private static func fail(_ error: LuaError) {
    var bare = error
    bare.hint = nil
    var lines = bare.report.split(separator: "\n", omittingEmptySubsequences: false).map {
      String($0).onOneLine
    }
    if let hint = error.hint { lines.insert("  \(hint.onOneLine)", at: 1) }
    guard Terminal.hasColor(STDERR_FILENO) else {
      return Terminal.writeError("roomtone: \(lines.joined(separator: "\n"))\n")
    }
    lines[0] = "\u{1B}[31mroomtone: \(lines[0])\u{1B}[m"
    Terminal.writeError(lines.joined(separator: "\n") + "\n")
  }
}
