internal import EventLoop
internal import Glibc
internal import Home
public import LuaModules
public import LuaRuntime

/// The end of a run: the exit status of the command.
public struct RunResult: Sendable, Equatable {
  /// 0 after success, 1 after a failure, 129, 130 and 143 after SIGHUP, SIGINT and SIGTERM, or the status of
  /// `os.exit`.
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

  /// Runs loaded scripts in one house, each until it has nothing left to do, then ends everything tidily. Blocks the
  /// calling thread.
  /// - Parameters:
  ///   - limit: ends the scripts after this time, which is no failure.
  ///   - handlesSignals: `true` if SIGINT, SIGTERM and SIGHUP end them.
  public func run(
    _ loaded: LoadedScript..., limit: Duration? = nil, handlesSignals: Bool = false
  ) -> RunResult { run(loaded, limit: limit, handlesSignals: handlesSignals) }

  /// Runs several loaded scripts, as `run(_:limit:handlesSignals:)` does.
  public func run(
    _ loaded: [LoadedScript], limit: Duration? = nil, handlesSignals: Bool = false
  ) -> RunResult {
    let run = ScriptRun(engine: self, scripts: loaded.map(\.script))
    if handlesSignals { run.watchSignals() }
    if let limit { run.limit(to: limit) }
    for (script, main, arguments) in loaded.map({ ($0.script, $0.main, $0.arguments) }) {
      // The main routine has reported its failure: all that it started ends with it.
      script.call(
        main, arguments.map { .string($0) }, name: script.name, onFailure: { run.stop(script) })
    }
    return run.finish()
  }

  /// Runs a script until it has nothing left to do, then ends everything tidily. Blocks the calling thread.
  /// - Parameters:
  ///   - script: made by `makeScript`.
  ///   - main: its compiled text.
  ///   - arguments: the values of `...`.
  ///   - limit: ends the script after this time, which is no failure.
  ///   - handlesSignals: `true` if SIGINT, SIGTERM and SIGHUP end it.
  public func run(
    _ script: Script, _ main: LuaReference, arguments: [String] = [], limit: Duration? = nil,
    handlesSignals: Bool = false
  ) -> RunResult {
    run(
      [LoadedScript(script: script, main: main, arguments: arguments)], limit: limit,
      handlesSignals: handlesSignals)
  }
}

/// A run of scripts in one house from their start to the tidy end of the last one. Confined to the loop.
final class ScriptRun {
  private let engine: Engine
  private let loop: EventLoop
  private let scripts: [Script]
  private var signals: EndSignals?
  private var timer: LoopTimer?
  private var phase: Phase
  private var headway: Headway
  private var turns = 0
  /// `true` while a turn or two may still bring an event to a script that has nothing to do.
  private var isProbing = false
  /// The ends of scripts that ended before the last one.
  private var endings: [Task<Void, Never>] = []

  private enum Phase {
    /// The scripts that run, and those that were stopped and end next.
    case running([Script], stopped: [Script])
    case ending
    case ended
  }

  init(engine: Engine, scripts: [Script]) {
    (self.engine, self.scripts) = (engine, scripts)
    phase = .running(scripts, stopped: [])
    loop = engine.loop
    headway = Headway(longestStandstill: engine.options.longestStandstill)
  }

  /// Lets these signals end the scripts, as `EndSignals` says.
  func watchSignals(_ numbers: [Int32] = EndSignals.usual) {
    signals = EndSignals(numbers, of: engine) { [unowned self] in stop() }
  }

  /// Ends the scripts after `time`.
  func limit(to time: Duration) {
    timer = loop.after(time, keepsAlive: false) { [unowned self] in stop() }
  }

  /// Ends a script.
  func stop(_ script: Script) {
    guard case .running(let running, let stopped) = phase else { return }
    phase = .running(running, stopped: stopped + [script])
    settle()
  }

  /// Ends all scripts.
  func stop() {
    guard case .running(let running, _) = phase else { return }
    phase = .running(running, stopped: running)
    settle()
  }

  /// Runs the loop to the end.
  func finish() -> RunResult {
    while !hasEnded {
      let result = loop.run(until: {
        if loop.isVirtual { countTurn() }
        if !isProbing, isTimeToAsk(), hasDue { settle() }
        return hasEnded
      })
      if hasEnded { break }
      if result == .idle { failDeadlocked() } else if result == .stopped { break }
    }
    timer?.cancel()
    engine.closeServices()
    signals?.cancel()
    loop.close()
    let requested = scripts.compactMap(\.requestedExit).first { $0 != 0 }
    return RunResult(status: signals?.status ?? requested ?? (scripts.contains { $0.failures > 0 } ? 1 : 0))
  }

  private var hasEnded: Bool { if case .ended = phase { true } else { false } }

  /// The scripts that have nothing left to do, or are to end.
  private var due: [Script] {
    guard case .running(let running, let stopped) = phase else { return [] }
    return running.filter { Self.isDue($0, stopped) }
  }

  /// Counts a turn of the loop. Returns `true` after the last turn of a moment, before the loop waits or
  /// virtual time advances, and from time to time in a long moment.
  private func isTimeToAsk() -> Bool {
    turns &+= 1
    return !loop.hasReadyWork || turns % 8 == 0
  }

  /// `true` if a script has nothing left to do, or is to end.
  private var hasDue: Bool {
    guard case .running(let running, let stopped) = phase else { return false }
    return running.contains { Self.isDue($0, stopped) }
  }

  private static func isDue(_ script: Script, _ stopped: [Script]) -> Bool {
    script.requestedExit != nil || script.isFlooded || stopped.contains { $0 === script } || !script.isAlive
  }

  /// Ends scripts that still have nothing to do after the ready work has run: an event that is on its way may
  /// start a routine.
  private func settle() {
    isProbing = true
    probe(turns: 3)
  }

  private func probe(turns: Int) {
    loop.next { [self] in
      let due = due
      if turns > 0, !due.isEmpty { return probe(turns: turns - 1) }
      isProbing = false
      end(due)
    }
  }

  private func end(_ ending: [Script]) {
    guard case .running(let running, let stopped) = phase, !ending.isEmpty else { return }
    let rest = running.filter { script in !ending.contains { $0 === script } }
    guard rest.isEmpty else {
      phase = .running(rest, stopped: stopped)
      endings += ending.map { script in loop.start { await script.end() } }
      return
    }
    phase = .ending
    engine.onEnding()
    let (engine, endings) = (engine, endings)
    loop.start { [self] in
      for earlier in endings { await earlier.value }
      for script in ending { await script.end() }
      await engine.headsets.close()
      await engine.house.close()
      loop.next(turns: 3) { [self] in phase = .ended }
    }
  }

  /// Counts a turn under virtual time, which does not advance while work is ready: a script that is always
  /// ready keeps every timer from firing, also the timers of the limit and of the last grace.
  private func countTurn() {
    guard headway.isLostByTurn(at: loop.now, runs: engine.jobRuns) else { return }
    guard case .running(let running, _) = phase else {
      return scripts.forEach { $0.giveUp() }
    }
    for script in running {
      script.report(
        LuaError(
          code: "simulate.stuck", message: "\(script.name) is busy and lets next to no time pass",
          hint: "sleep longer between steps", location: script.state.lastLocation))
    }
    end(running)
  }

  /// Fails scripts that wait for an event that can't happen any more.
  private func failDeadlocked() {
    guard case .running(let running, _) = phase else { return phase = .ended }
    for script in running {
      script.report(
        LuaError(
          code: "script.stuck", message: "\(script.name): waits for something that can't happen any more",
          hint: "give wait() a timeout, or let something play, a timer or a job bring the event"))
    }
    end(running)
  }
}

/// Turns of the loop beyond those that the virtual time that passed accounts for.
struct Headway {
  /// The turns that a second of virtual time accounts for: about three times the turns of a script whose
  /// simulation takes as long as the house itself would.
  private static let turnsPerSecond = 200_000.0
  /// The turns that a run of a job counts as: many runs in one moment are jobs that start each other.
  private static let turnsPerRun = 100.0
  private let longestStandstill: Double
  private var excess = 0.0
  private var runs = 0
  private var last = Instant.start

  /// - Parameter longestStandstill: turns in one moment that are accepted.
  init(longestStandstill: Int) { self.longestStandstill = Double(longestStandstill) }

  /// Counts a turn; returns `true`, and begins the count anew, when there are too many.
  /// - Parameter runs: the runs of jobs so far.
  mutating func isLostByTurn(at now: Instant, runs: Int) -> Bool {
    if now != last {
      let seconds = last.duration(to: now).inSeconds
      excess = max(0, excess - seconds * Self.turnsPerSecond)
      last = now
    }
    excess += 1 + Double(runs - self.runs) * Self.turnsPerRun
    self.runs = runs
    guard excess > longestStandstill else { return false }
    excess = 0
    return true
  }
}
