internal import EventLoop
internal import Glibc
internal import Home
internal import LuaModules
public import LuaRuntime

/// Evaluates the blocks of a prompt in another process. Confined to the loop.
public protocol PromptRemote: AnyObject {
  /// Evaluates code, an expression or statements.
  /// - Parameter finish: receives the results as text, or the error, once.
  func evaluate(_ code: String, finish: @escaping (Result<[String], LuaError>) -> Void)
  /// Cancels the evaluation, whose `finish` receives the error.
  func cancel()
}

/// Evaluates blocks of Lua and shows the results: a block is compiled as an expression first, as a statement
/// second. Confined to the loop.
public final class Prompt {
  /// Receives results, whole lines.
  public var show: (String) -> Void = { _ in }
  /// Receives the error of a block.
  public var showError: (LuaError) -> Void = { _ in }
  /// Checks a script file that a block runs, and shows the findings; the path is as it was typed.
  public var check: (_ path: String) -> Void = { _ in }
  /// Returns the number of columns for results.
  public var width: () -> Int = { 80 }
  /// The source of blocks; standard input without a terminal by default.
  public lazy var input: any PromptInput = LineInput(of: self, prompts: nil) { _ in }

  /// The process in which blocks are evaluated; nil for this one.
  public var remote: (any PromptRemote)?

  let engine: Engine
  let script: Script
  /// The code before the first block.
  private let first: LuaReference?
  /// `true` if a person types the blocks.
  let isInteractive: Bool
  private var machine = PromptMachine()
  private var front: LuaRoutine?
  private var run: ScriptRun?
  private var hasLostRemote = false
  /// The names of local variables that have ended with their blocks.
  private var endedLocals: Set<String> = []
  /// Ends `live()` as a key does; nil while it is not shown.
  var endsLive: (() -> Void)?
  /// Blocks that failed.
  public private(set) var failures = 0

  /// Creates a prompt with a script of its own, whose modules are globals.
  /// - Parameters:
  ///   - text: runs before the first block is read.
  ///   - isInteractive: `true` if a person types the blocks.
  /// - Throws: `LuaError` of the text's syntax.
  public init(engine: Engine, after text: ScriptText? = nil, isInteractive: Bool) throws {
    self.engine = engine
    self.isInteractive = isInteractive
    script = try engine.makeScript(text?.name ?? "repl", isFile: text?.isFile ?? false, global: true)
    script.sharePromptSession(in: engine.options.configuration.defaultRooms)
    first = try text.map { [script] in try script.state.load($0.bytes, chunkName: $0.chunkName) }
    defineLive()
    try PromptGlobals.add(to: script)
    if isInteractive { try checkFiles() }
  }

  /// Replaces the global `dofile` by one that checks the file first.
  private func checkFiles() throws {
    let check = LuaFunction("dofile", arity: 1) { [unowned self] call in
      if case .string(let path) = call.value(1) { self.check(path) }
      return .none
    }
    let text = "local check, run = ...; function dofile(path) check(path); return run(path) end"
    let replacement = try script.state.load(Array(text.utf8), chunkName: "=dofile")
    script.state.start(
      replacement, arguments: [script.state.value(of: check), script.state[global: "dofile"]], name: "prompt")
  }

  /// Lines that scripts have read from standard input.
  public var linesRead: Int { engine.input.lineEnds }

  /// Standard input, which the prompt shares with scripts.
  var standardInput: InputReader { engine.input }

  /// Redirects all output of the script to standard output to `receive`.
  public func redirectOutput(_ receive: @escaping ([UInt8]) -> Void) {
    script.state.replaceOutput(receive)
  }

  /// Reads the input to its end, then ends the script. Blocks the calling thread.
  public func evaluateInput() -> RunResult {
    let run = ScriptRun(engine: engine, scripts: [script])
    self.run = run
    script.staysAlive { true }
    // Without a terminal no person interrupts single lines: SIGINT ends everything, as for a script.
    run.watchSignals(EndSignals.usual.filter { !isInteractive || $0 != SIGINT })
    let interrupts =
      isInteractive ? try? engine.loop.onSignal([SIGINT]) { [unowned self] _ in interrupt() } : nil
    if let first { begin(first, name: script.name, text: nil) } else { perform(machine.frontEnded()) }
    // The definitions take some milliseconds to read: after the first prompt, and before the first Tab.
    if isInteractive {
      engine.loop.after(.milliseconds(300), keepsAlive: false) { [weak self] in _ = self?.completer }
    }
    let result = run.finish()
    input.close()
    interrupts?.cancel()
    let hasFailed = hasLostRemote || failures > 0 && !isInteractive
    return result.status == 0 && hasFailed ? RunResult(status: 1) : result
  }

  /// Handles Ctrl-C: cancels the foreground routine, or drops the typed line.
  public func interrupt() { if let endsLive { endsLive() } else { perform(machine.interrupt()) } }

  /// Evaluates a block.
  public func receive(_ block: PromptBlock) {
    perform(
      machine.receive(block) { text in
        // A block with `&` becomes a task of this process; a remote process is sent the text as it is.
        guard remote == nil else { return false }
        return if case .success = compile(PromptBlock(text: text)) { true } else { false }
      })
  }

  /// Ends the script, as the input has ended.
  public func endInput() { perform(machine.endInput()) }

  /// Shows and counts the error of input that is not a block.
  func refuse(_ error: LuaError) {
    failures += 1
    showError(error)
  }

  /// Returns `true` if a text is the beginning of a statement that needs more lines.
  public func isUnfinished(_ text: String) -> Bool {
    if let beside = PromptMachine.beside(text), case .success = compile(PromptBlock(text: beside)) {
      return false
    }
    guard case .failure(let error) = compile(PromptBlock(text: text)) else { return false }
    if error.message.hasSuffix("<eof>") { return true }
    // An expression that is cut, such as `{ 1,`, is not the beginning of a statement.
    do {
      _ = try script.state.load(Array("return \(text)".utf8), chunkName: "=(prompt)")
      return false
    } catch {
      return error.message.hasSuffix("<eof>")
    }
  }

  /// Returns `true` if a block declares local variables, which end with it.
  func declaresLocals(_ text: String) -> Bool { !BlockLocals(of: text).names.isEmpty }

  /// Returns `true` if lines that have come together with a whole block belong to it, as a program that is pasted: the
  /// block declares local variables, which would end with it.
  public func joins(_ text: String, _ rest: String) -> Bool {
    guard declaresLocals(text) else { return false }
    return if case .success = compile(PromptBlock(text: "\(text)\n\(rest)")) { true } else { false }
  }

  private func perform(_ action: PromptMachine.Action) {
    switch action {
    case .none: break
    case .read: if !script.isEnding { input.read() }
    case .evaluate(let block): evaluate(block)
    case .startBeside(let block): startBeside(block)
    case .cancelFront:
      input.frontIsCancelled()
      if let remote { remote.cancel() } else { front?.cancel() }
    case .dropLine: input.interrupt()
    case .end: run?.stop()
    }
  }

  private func evaluate(_ block: PromptBlock) {
    endedLocals.formUnion(BlockLocals(of: block.text).names)
    if let remote { return evaluate(block, in: remote) }
    switch compile(block) {
    case .success(let function): begin(function, name: "prompt", text: block.text)
    case .failure(let error):
      refuse(error)
      perform(machine.frontEnded())
    }
  }

  private func evaluate(_ block: PromptBlock, in remote: any PromptRemote) {
    remote.evaluate(block.text) { [unowned self] result in
      endRemoteLive()
      guard !script.isEnding else { return }
      switch result {
      case .success(let results):
        if !results.isEmpty {
          let remark = isInteractive && results == ["nil"] ? endedLocal(block.text.trimmed) : nil
          show(results.joined(separator: "\t") + (remark.map { "  -- \($0)" } ?? "") + "\n")
        }
        remark(on: block.text)
      case .failure(let error): refuse(explaining(error))
      }
      perform(machine.frontEnded())
    }
  }

  /// Ends the prompt: the process of `remote` has ended.
  public func loseRemote(_ error: LuaError) {
    hasLostRemote = true
    endRemoteLive()
    refuse(error)
    run?.stop()
  }

  private func begin(_ function: LuaReference, name: String, text: String?) {
    let person = Cause(.person, "the prompt", at: engine.loop.wallNow)
    front = script.state.start(function, name: name, context: text == nil ? script.beginning : person)
    front?.whenEnded { [unowned self] in ended($0, of: text) }
  }

  /// Returns the function of a block: of an expression, or of statements.
  private func compile(_ block: PromptBlock) -> Result<LuaReference, LuaError> {
    let name = isInteractive ? "=(prompt)" : "=stdin"
    // Without a terminal, errors count lines of the input.
    let lines = isInteractive ? "" : String(repeating: "\n", count: block.line - 1)
    let text = PromptText.expanded(block.text, in: script.state)
    let expression = Array("\(lines)return \(text)\n".utf8)
    if let function = try? script.state.load(expression, chunkName: name) { return .success(function) }
    do {
      return .success(try script.state.load(Array((lines + text).utf8), chunkName: name))
    } catch {
      return .failure(error)
    }
  }

  private func ended(_ outcome: LuaRoutine.Outcome, of text: String?) {
    front = nil
    switch outcome {
    case .returned(let values):
      if let text {
        show(values, of: text)
        remark(on: text)
      }
    case .failed(let error) where script.isExit(error):
      return perform(machine.frontEnded(leaves: true))
    case .failed(let error): refuse(explaining(error))
    // The end of the script cancels its last block, whose result is not needed.
    case .cancelled where script.isEnding: break
    case .cancelled: refuse(.cancelled)
    }
    perform(machine.frontEnded())
  }

  /// Shows results, and keeps the first as `_`.
  private func show(_ values: [LuaValue], of text: String?) {
    guard let first = values.first else { return }
    if case .nil = first {} else { script.state[global: "_"] = first }
    var line = results(values, of: text ?? "")
    if isInteractive, let advice = text.flatMap({ misspelling($0, values) }) { line += "  -- \(advice)" }
    show(line + "\n")
  }

  // MARK: Completion

  /// Returns the ways to complete the word before a cursor, an offset in scalars; nil without one.
  public func complete(_ text: String, cursor: Int) -> Completion? {
    completer.complete(text, cursor: cursor)
  }

  private lazy var completer = Completer(
    names: LiveNames(engine: engine, state: script.state),
    reference: StandardLibrary.reference(in: engine.options.standardLibrary))

  // MARK: Tasks

  private func startBeside(_ block: PromptBlock) {
    do {
      guard case .success(let function) = compile(block) else { return }
      let name = block.text.split(whereSeparator: \.isWhitespace).joined(separator: " ").cut(toColumns: 40)
      let task = try engine.journal.asPerson(at: "the prompt") { try script.startTask(function, name) }
      show([task.value], of: nil)
      task.routine.whenEnded { [unowned self] outcome in
        // The script reports a failure.
        if case .failed = outcome { return }
        guard !script.isEnding else { return }
        var line = script.state.inspect(task.value)
        if case .returned(let values) = outcome, !values.isEmpty { line += ": " + results(values, of: name) }
        show(line + "\n")
      }
    } catch {
      refuse(LuaError(error))
    }
    perform(.read)
  }

  // MARK: Remarks

  /// Shows a person that local variables of a block have ended with it.
  private func remark(on text: String) {
    guard isInteractive, let remark = BlockLocals(of: text).remark else { return }
    show("-- \(remark)\n")
  }

  /// Returns an error about a global that does not exist with a hint: a local variable of an earlier block had its name, or
  /// a global has a similar one.
  private func explaining(_ error: LuaError) -> LuaError {
    guard error.hint == nil, let start = error.message.firstRange(of: "a nil value (global '")?.upperBound,
      let end = error.message[start...].firstIndex(of: "'")
    else { return error }
    let name = String(error.message[start..<end])
    var error = error
    error.hint =
      endedLocal(name) ?? (remote == nil ? nearestGlobal(name) : nil).map { "did you mean '\($0)'?" }
    return error
  }

  private func endedLocal(_ name: String) -> String? {
    endedLocals.contains(name) ? BlockLocals.ended(name) : nil
  }

  /// Returns the remark on a result of nil that comes from a global that does not exist.
  private func misspelling(_ text: String, _ values: [LuaValue]) -> String? {
    guard values.count == 1, case .nil? = values.first else { return nil }
    let name = text.trimmed
    guard !name.isEmpty, name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }), name != "nil",
      name != "_",
      !script.state.globalNames.contains(name)
    else { return nil }
    return endedLocal(name) ?? "no global is called '\(name)'"
      + (nearestGlobal(name).map { "; did you mean '\($0)'?" } ?? "")
  }

  private func nearestGlobal(_ name: String) -> String? {
    nearest(name, among: script.state.globalNames + PromptGlobals.modules)
  }
}

extension StringProtocol {
  /// The text without blanks at its ends.
  var trimmed: String {
    let start = drop(while: \.isWhitespace)
    return String(
      start[..<(start.lastIndex { !$0.isWhitespace }.map { start.index(after: $0) } ?? start.startIndex)])
  }
}
