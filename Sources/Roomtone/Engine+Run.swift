internal import EventLoop
internal import Glibc
internal import Home
public import LuaModules
public import LuaRuntime
internal import StreamKit

/// The end of a run: the exit status of the command.
public struct RunResult: Sendable, Equatable {
  /// 0 done, 1 something failed, 129, 130 and 143 after SIGHUP, SIGINT and SIGTERM, or what `os.exit` asked for.
  public let status: Int32
}

/// A script of an engine with its compiled text and its arguments, ready to run once.
public struct LoadedScript {
  let script: Script
  let main: LuaReference
  let arguments: [String]
}

extension Engine {
  /// Makes a script with all modules and compiles its text.
  /// - Throws: `LuaError` of its syntax, or when the system gives no memory.
  public func load(_ text: ScriptText, arguments: [String] = []) throws -> LoadedScript {
    let script = try makeScript(text.name, isFile: text.isFile)
    script.setArguments(arguments)
    let main = try script.state.load(text.bytes, chunkName: text.chunkName)
    return LoadedScript(script: script, main: main, arguments: arguments)
  }

  /// Runs a loaded script, as `run(_:_:arguments:limit:handlesSignals:)` does.
  public func run(
    _ loaded: LoadedScript, limit: Duration? = nil, handlesSignals: Bool = false
  ) -> RunResult {
    run(
      loaded.script, loaded.main, arguments: loaded.arguments, limit: limit, handlesSignals: handlesSignals)
  }

  /// Runs a script until it has nothing left to do, then ends everything tidily. Blocks the calling thread.
  /// - Parameters:
  ///   - script: made by `makeScript`.
  ///   - main: its compiled text.
  ///   - arguments: the values of `...`.
  ///   - limit: ends the script after this time, which is no failure.
  ///   - handlesSignals: true if SIGINT, SIGTERM and SIGHUP end it.
  public func run(
    _ script: Script, _ main: LuaReference, arguments: [String] = [], limit: Duration? = nil,
    handlesSignals: Bool = false
  ) -> RunResult {
    let run = ScriptRun(engine: self, script: script)
    if handlesSignals { run.watchSignals() }
    if let limit { run.limit(to: limit) }
    // A routine that failed has said what it had to say: what it started ends with it.
    script.call(main, arguments.map { .string($0) }, name: script.name, onFailure: { run.stop() })
    return run.finish()
  }
}

/// A run of a script from its start to its tidy end. Confined to the loop.
final class ScriptRun {
  private let engine: Engine
  private let script: Script
  private let loop: EventLoop
  private var signals: EndSignals?
  private var timer: LoopTimer?
  private var isStopping = false
  private var isProbing = false
  private var phase = Phase.running
  private var headway: Headway

  private enum Phase { case running, ending, ended }

  init(engine: Engine, script: Script) {
    self.engine = engine
    self.script = script
    loop = engine.loop
    headway = Headway(longestStandstill: engine.options.longestStandstill)
  }

  /// Lets these signals end the script, as `EndSignals` says.
  func watchSignals(_ numbers: [Int32] = EndSignals.usual) {
    signals = EndSignals(numbers, of: engine) { [unowned self] in stop() }
  }

  /// Ends the script after `time`.
  func limit(to time: Duration) {
    timer = loop.after(time, keepsAlive: false) { [unowned self] in stop() }
  }

  /// Ends the script.
  func stop() {
    isStopping = true
    settle()
  }

  /// Runs the loop to the end.
  func finish() -> RunResult {
    while phase != .ended {
      let result = loop.run(until: { [unowned self] in
        if loop.isVirtual { countTurn() }
        if phase == .running && !isProbing && shouldEnd { settle() }
        return phase == .ended
      })
      if phase == .ended { break }
      if result == .idle { failDeadlocked() } else if result == .stopped { break }
    }
    timer?.cancel()
    engine.closeServices()
    signals?.cancel()
    loop.close()
    return RunResult(
      status: signals?.status ?? script.requestedExit.flatMap { $0 == 0 ? nil : $0 }
        ?? (script.failures > 0 ? 1 : 0))
  }

  private var shouldEnd: Bool {
    isStopping || script.requestedExit != nil || script.isFlooded || !script.isAlive
  }

  /// Ends the script when it still has nothing to do after what is ready now has run: an event that is on its way
  /// may start a routine.
  private func settle() {
    isProbing = true
    probe(turns: 3)
  }

  private func probe(turns: Int) {
    loop.next { [self] in
      guard phase == .running, shouldEnd else {
        isProbing = false
        return
      }
      if turns > 0 { probe(turns: turns - 1) } else { end() }
    }
  }

  private func end() {
    guard phase == .running else { return }
    phase = .ending
    engine.onEnding()
    let (engine, script) = (engine, script)
    loop.start { [self] in
      await script.end()
      await engine.headsets.close()
      await engine.house.close()
      loop.next(turns: 3) { [self] in phase = .ended }
    }
  }

  /// Virtual time stands still while anything is ready: a script that always is keeps every timer from its time, the
  /// limit's and that of the last grace too.
  private func countTurn() {
    guard headway.isLostByTurn(at: loop.now) else { return }
    if phase == .ending { return script.giveUp() }
    script.report(
      LuaError(
        code: "simulate.stuck", message: "\(script.name) is busy and lets next to no time pass",
        hint: "sleep longer between steps", location: script.state.lastLocation))
    end()
  }

  /// Fails a script that waits for what can't happen any more.
  private func failDeadlocked() {
    if phase == .running {
      script.report(
        LuaError(
          code: "script.stuck", message: "\(script.name): waits for something that can't happen any more",
          hint: "give wait() a timeout, or let something play, a timer or a job bring the event"))
      end()
    } else {
      phase = .ended
    }
  }
}

/// Turns of the loop beyond those that the virtual time that passed accounts for.
struct Headway {
  /// The turns that a second of virtual time accounts for: some three times those of a script whose simulation takes
  /// as long as the house itself would.
  private static let turnsPerSecond = 200_000.0
  private let longestStandstill: Double
  private var excess = 0.0
  private var last = Instant.start

  /// - Parameter longestStandstill: turns in one moment that are accepted.
  init(longestStandstill: Int) { self.longestStandstill = Double(longestStandstill) }

  /// Counts a turn; true, and the count begins anew, when there are too many.
  mutating func isLostByTurn(at now: Instant) -> Bool {
    if now != last {
      let seconds = last.duration(to: now).inSeconds
      excess = max(0, excess - seconds * Self.turnsPerSecond)
      last = now
    }
    excess += 1
    guard excess > longestStandstill else { return false }
    excess = 0
    return true
  }
}
