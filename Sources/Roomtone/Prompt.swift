internal import EventLoop
internal import Glibc
internal import LuaModules
public import LuaRuntime

/// Reads Lua line by line and shows the results: a line is compiled as an expression first, as a statement second. Confined to the loop.
public final class Prompt {
  /// Receives the answers and the prompts, the latter without a line end.
  public var show: (String) -> Void = { _ in }
  /// Receives the error of a line.
  public var showError: (LuaError) -> Void = { _ in }
  /// The prompts for a first line and for a continued one; nil without a terminal.
  public var prompts: (first: String, more: String)?

  private let engine: Engine
  private let script: Script
  /// The code before the first line.
  private let first: LuaReference?
  /// Lines of a statement that is not finished.
  private var chunk = ""
  private var chunkLine = 1
  private var front: LuaRoutine?
  private var cancelRead: () -> Void = {}
  private var end: () -> Void = {}
  /// Lines that failed.
  public private(set) var failures = 0

  /// Creates a prompt with a script of its own, whose modules are globals.
  /// - Parameter text: runs before the first line is read.
  /// - Throws: `LuaError` of the text's syntax.
  public init(engine: Engine, after text: ScriptText? = nil) throws {
    self.engine = engine
    script = try engine.makeScript(text?.name ?? "repl", isFile: text?.isFile ?? false, global: true)
    first = try text.map { [script] in try script.state.load($0.bytes, chunkName: $0.chunkName) }
  }

  /// Reads standard input to its end, then ends the script. Blocks the calling thread.
  public func run() -> RunResult {
    let run = ScriptRun(engine: engine, script: script)
    script.staysAlive { true }
    // Without a terminal nobody sits there to interrupt one line: SIGINT ends all, as for a script.
    run.watchSignals(EndSignals.usual.filter { prompts == nil || $0 != SIGINT })
    let interrupts =
      prompts == nil ? nil : try? engine.loop.onSignal([SIGINT]) { [unowned self] _ in interrupt() }
    end = { run.stop() }
    if let first { begin(first, name: script.name) } else { ask() }
    let result = run.finish()
    interrupts?.cancel()
    return result.status == 0 && failures > 0 && prompts == nil ? RunResult(status: 1) : result
  }

  /// Ctrl-C: cancels the routine in front, or drops the lines that are not finished.
  private func interrupt() {
    if let front { return front.cancel() }
    cancelRead()
    chunk = ""
    if prompts != nil { show("\n") }
    ask()
  }

  /// Asks for the next line; while a routine is in front, lines are its own.
  private func ask() {
    if let prompts { show(chunk.isEmpty ? prompts.first : prompts.more) }
    if chunk.isEmpty { chunkLine = engine.input.lineEnds + 1 }
    cancelRead = engine.input.read(.line(keepsEnd: true)) { [unowned self] line in
      guard let line else { return endInput() }
      let hasEnd = line.last == UInt8(ascii: "\n")
      if line.count > InputReader.longest { return refuse(hasEnd: hasEnd) }
      receive(String(decoding: hasEnd ? line.dropLast() : line[...], as: UTF8.self))
    }
  }

  /// A line that is too long comes in parts, none of which means anything alone.
  private func refuse(hasEnd: Bool) {
    guard hasEnd else {
      cancelRead = engine.input.read(.line(keepsEnd: true)) { [unowned self] part in
        refuse(hasEnd: part.map { $0.last == UInt8(ascii: "\n") } ?? true)
      }
      return
    }
    chunk = ""
    failures += 1
    showError(
      LuaError(
        code: "script.syntax",
        message: "stdin:\(chunkLine): the line is longer than \(InputReader.longest >> 20) MB",
        hint: "run long texts as a file, with roomtone run"))
    ask()
  }

  private func endInput() {
    if prompts != nil { show("\n") }
    guard !chunk.isEmpty else { return end() }
    let rest = chunk
    chunk = ""
    start(rest, isWhole: true)
  }

  private func receive(_ line: String) {
    let text = chunk.isEmpty ? line : chunk + "\n" + line
    chunk = ""
    guard !text.allSatisfy(\.isWhitespace) else { return ask() }
    start(text, isWhole: false)
  }

  private func start(_ text: String, isWhole: Bool) {
    switch compile(text) {
    case .success(let function):
      begin(function, name: "prompt")
    case .failure(let error):
      if !isWhole && error.message.hasSuffix("<eof>") {
        chunk = text
        return ask()
      }
      failures += 1
      showError(error)
      ask()
    }
  }

  private func begin(_ function: LuaReference, name: String) {
    front = script.state.start(function, name: name)
    front?.whenEnded { [unowned self] in ended($0) }
  }

  private func compile(_ text: String) -> Result<LuaReference, LuaError> {
    let name = prompts == nil ? "=stdin" : "=(prompt)"
    // Without a terminal, errors count lines of the input.
    let lines = prompts == nil ? String(repeating: "\n", count: chunkLine - 1) : ""
    if let expression = try? script.state.load(Array("\(lines)return \(text)".utf8), chunkName: name) {
      return .success(expression)
    }
    do {
      return .success(try script.state.load(Array((lines + text).utf8), chunkName: name))
    } catch {
      return .failure(error)
    }
  }

  private func ended(_ outcome: LuaRoutine.Outcome) {
    front = nil
    switch outcome {
    case .returned(let values):
      if !values.isEmpty { show(values.map { script.state.inspect($0) }.joined(separator: "\t") + "\n") }
    case .failed(let error) where script.isExit(error): return end()
    case .failed(let error):
      failures += 1
      showError(error)
    // The end cancels what is left; nobody asked for its result.
    case .cancelled where script.isEnding: break
    case .cancelled:
      failures += 1
      showError(.cancelled)
    }
    if !script.isEnding { ask() }
  }
}
