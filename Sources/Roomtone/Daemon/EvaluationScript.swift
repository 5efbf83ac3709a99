internal import EventLoop
internal import Home
internal import JSONText
internal import LuaModules
internal import LuaRuntime

/// The Lua state in which clients of the daemon evaluate code that belongs to no script: all modules are globals, and
/// variables stay until `os.exit`. Made by its first use. Confined to the loop.
final class EvaluationScript {
  let name = "ctl"
  private let engine: Engine
  private let log: DaemonLog
  private let evaluations: Evaluations
  private var script: Script?
  /// The script; nil before its first use.
  var current: Script? { script }
  private var ending: [Task<Void, Never>] = []

  init(engine: Engine, log: DaemonLog, _ evaluations: Evaluations) {
    (self.engine, self.log, self.evaluations) = (engine, log, evaluations)
  }

  /// The number of the script in the engine; nil before its first use.
  var number: Int? { script?.number }

  /// Returns the script.
  func ready() throws -> Script {
    if let script { return script }
    let new = try engine.makeScript(name, isFile: false, global: true)
    new.sharePromptSession(in: engine.options.configuration.defaultRooms)
    try PromptGlobals.add(to: new)
    new.state[global: "live"] = evaluations.live(in: new)
    evaluations.connect(new, as: name)
    new.onFailure = { [weak self, log, name] error in
      log.add(.error, error.report, script: name)
      if error.code == "script.flooded" { self?.end() }
    }
    new.onExit = { [weak self] _ in self?.end() }
    script = new
    return new
  }

  /// Ends the script; the next use makes a new one.
  func end() {
    guard let script else { return }
    self.script = nil
    let loop = engine.loop
    ending.append(
      loop.start { [evaluations] in
        // In a turn of its own: the script may be in the middle of the call that ends it.
        try? await loop.sleep(for: .zero)
        await script.end()
        evaluations.hasEnded(script)
      })
  }

  /// Returns when all that ended has unwound.
  func hasEnded() async {
    for task in ending { await task.value }
    ending = []
  }
}

/// The output of the daemon's scripts, and the code that clients have evaluated in them: the output of that
/// code goes to the client, all other output to the log. Confined to the loop.
final class Evaluations {
  /// The most printed lines of one evaluation, and the most rows and columns of `live()`.
  private static let mostLines = 1000

  private struct Evaluation {
    let script: Int
    /// Receives printed lines at once; nil to have them with the results.
    let onPrint: ((String) -> Void)?
    /// Receives the rows of `live()` and its number; nil to have them printed once.
    let onLive: (([String], Int) -> Void)?
    var printed: [JSON] = []
    let finish: (Result<JSON, any Error>) -> Void
  }

  private let log: DaemonLog
  private unowned let engine: Engine
  private var open: [ObjectIdentifier: Evaluation] = [:]
  /// The environments of code in scripts of the folder, by the numbers of those.
  private var environments: [Int: LuaReference] = [:]
  /// Ends each `live()` that is shown, by its number.
  private var lives: [Int: () -> Void] = [:]
  private var lastLive = 0

  init(engine: Engine, log: DaemonLog) { (self.engine, self.log) = (engine, log) }

  /// Sends the output of a script to the log under `name`.
  func connect(_ script: Script, as name: String) {
    script.onLog = { [log] in log.add(.init($0), $1, fields: $2, script: name) }
    script.state.onWarning = { [log] in log.add(.warn, $0, script: name) }
    script.state.reportHolds { [log] in log.add(.warn, $0, script: name) }
    script.state.onPrint = { [unowned self, unowned state = script.state] line in
      if let running = state.running, open[ObjectIdentifier(running)] != nil {
        collect(line, of: ObjectIdentifier(running))
      } else {
        log.add(.print, line, script: name)
      }
    }
  }

  private func collect(_ line: String, of id: ObjectIdentifier) {
    if let onPrint = open[id]?.onPrint { return onPrint(line) }
    guard let count = open[id]?.printed.count, count < Self.mostLines else { return }
    open[id]?.printed.append(.string(line))
  }

  /// Returns the environment of code that is evaluated in a script of the folder, which has no modules as globals.
  func environment(beside script: Script) throws(LuaError) -> LuaReference {
    if let known = environments[script.number] { return known }
    let new = try PromptGlobals.environment(beside: script, [("live", live(in: script))])
    environments[script.number] = new
    return new
  }

  /// Returns the function `live` for the code that is evaluated in a script.
  func live(in script: Script) -> LuaValue {
    let live = LuaFunction("live", arity: 0) { [unowned self, unowned script] call in
      guard let id = call.state.running.map({ ObjectIdentifier($0) }), let draw = open[id]?.onLive else {
        let lines = LiveView(engine, script).lines(width: Self.mostLines, height: Self.mostLines)
        for line in lines { call.state.onPrint(line) }
        return .none
      }
      return try call.suspend { [unowned self] continuation in
        lastLive += 1
        let number = lastLive
        let display = LiveDisplay(engine, script) { view in
          draw(view.lines(width: Self.mostLines, height: Self.mostLines), number)
        }
        let end = { [weak self] in
          self?.lives[number] = nil
          display.end()
        }
        lives[number] = {
          end()
          continuation.resume(returning: [])
        }
        return end
      }
    }
    return script.state.value(of: live)
  }

  /// Ends a `live()` that is shown: the code after it runs.
  /// - Returns: `false` if no `live()` has that number.
  func endLive(_ number: Int) -> Bool {
    guard let end = lives[number] else { return false }
    end()
    return true
  }

  /// Compiles code as an expression, else as statements, and runs it in a routine of its own; with `&` at its end as a
  /// task, whose end is printed.
  /// - Parameters:
  ///   - environment: the globals of the code; nil for those of the script.
  ///   - onPrint: receives printed lines at once; nil to have them with the results. With it, the first result is the
  ///     global `_` from then on.
  ///   - onLive: receives the rows of `live()` and its number, until `endLive`; nil to have them printed once.
  ///   - finish: receives the shown results and the printed lines, or the error, once.
  /// - Returns: a function that cancels the routine.
  /// - Throws: `LuaError` of the syntax.
  func run(
    _ code: String, in script: Script, _ environment: LuaReference? = nil,
    onPrint: ((String) -> Void)? = nil, onLive: (([String], Int) -> Void)? = nil,
    finish: @escaping (Result<JSON, any Error>) -> Void
  ) throws -> () -> Void {
    let state = script.state
    if let beside = PromptMachine.beside(code), let function = try? compile(beside, in: state, environment) {
      let task = try startTask(function, beside, in: script)
      finish(
        .success(.object([("results", .array([.string(state.inspect(task))])), ("printed", .array([]))])))
      return {}
    }
    let function = try compile(code, in: state, environment)
    let person = Cause.current ?? Cause(.person, "ctl", at: state.loop.wallNow)
    let routine = state.start(function, name: "eval", context: person)
    let id = ObjectIdentifier(routine)
    open[id] = Evaluation(
      script: script.number, onPrint: onPrint, onLive: onLive, finish: finish)
    routine.whenEnded { [unowned self] outcome in
      guard let evaluation = open.removeValue(forKey: id) else { return }
      func succeed(_ values: [LuaValue]) {
        if evaluation.onPrint != nil, let first = values.first { state[global: "_"] = first }
        let results = values.map { JSON.string(state.inspect($0)) }
        evaluation.finish(
          .success(.object([("results", .array(results)), ("printed", .array(evaluation.printed))])))
      }
      switch outcome {
      case .returned(let values): succeed(values)
      case .failed(let error) where script.isExit(error): succeed([])
      case .failed(let error): evaluation.finish(.failure(error.located))
      case .cancelled: evaluation.finish(.failure(LuaError.cancelled))
      }
    }
    return { [weak routine] in routine?.cancel() }
  }

  private func compile(
    _ code: String, in state: LuaState, _ environment: LuaReference?
  ) throws(LuaError) -> LuaReference {
    let name = "=ctl"
    let code = PromptText.expanded(code, in: state)
    do throws(LuaError) {
      return try state.load(Array("return \(code)".utf8), chunkName: name, environment: environment)
    } catch let unfinished {
      do throws(LuaError) {
        return try state.load(Array(code.utf8), chunkName: name, environment: environment)
      } catch {
        // An incomplete expression is not a statement either, and its first error says more.
        throw unfinished.message.hasSuffix("<eof>") ? unfinished : error
      }
    }
  }

  /// Starts code as a task of its script, which prints its end and results.
  private func startTask(_ function: LuaReference, _ code: String, in script: Script) throws -> LuaValue {
    let name = code.split(whereSeparator: \.isWhitespace).joined(separator: " ").cut(toColumns: 40)
    let task = try script.startTask(function, name)
    task.routine.whenEnded { [unowned script] outcome in
      // The script reports a failure.
      if case .failed = outcome { return }
      guard !script.isEnding else { return }
      var line = script.state.inspect(task.value)
      if case .returned(let values) = outcome, !values.isEmpty {
        line += ": " + values.map { script.state.inspect($0) }.joined(separator: "\t")
      }
      script.state.onPrint(line)
    }
    return task.value
  }

  /// A script has ended: code that is still evaluated in it never ends by itself.
  func hasEnded(_ script: Script) {
    environments[script.number] = nil
    for (id, evaluation) in open where evaluation.script == script.number {
      open[id] = nil
      evaluation.finish(.failure(LuaError.cancelled))
    }
  }
}

extension LuaState {
  /// Measures the time of the code, and passes on a line for the log when it has held all other scripts.
  func reportHolds(_ report: @escaping (String) -> Void) {
    var holds = HoldLog()
    onHold { [unowned self] time, location in
      if let line = holds.line(time, at: location, now: loop.now) { report(line) }
    }
    measureTime()
  }
}

extension LuaError {
  /// The error with its location in the message, for clients that show the message alone.
  var located: LuaError {
    var error = self
    if let location, !location.isEmpty { error.message = "\(location): \(message)" }
    return error
  }
}
