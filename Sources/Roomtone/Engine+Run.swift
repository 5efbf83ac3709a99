internal import EventLoop
internal import Glibc
public import LuaModules
public import LuaRuntime
internal import StreamKit

/// How a run ended: the exit status of the command.
public struct RunResult: Sendable, Equatable {
  /// 0 done, 1 something failed, 130 and 143 after SIGINT and SIGTERM, or what `os.exit` asked for.
  public let status: Int32
}

extension Engine {
  /// Runs a script until it has nothing left to do, then ends everything tidily. Blocks the calling thread.
  /// - Parameters:
  ///   - script: made by `makeScript`.
  ///   - main: its compiled text.
  ///   - arguments: what `...` is.
  ///   - limit: ends the script after this time, which is no failure.
  ///   - handlesSignals: whether SIGINT and SIGTERM end it.
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

/// One run from its start to its tidy end. Confined to the loop.
final class ScriptRun {
  private let engine: Engine
  private let script: Script
  private let loop: EventLoop
  private var signals: EndSignals?
  private var timer: LoopTimer?
  private var isStopping = false
  private var isProbing = false
  private var phase = Phase.running
  private var standstill = (moment: Instant.start, turns: 0)

  private enum Phase { case running, ending, ended }

  init(engine: Engine, script: Script) {
    self.engine = engine
    self.script = script
    loop = engine.loop
  }

  /// SIGINT and SIGTERM end the script; a second one within 3 s ends the process.
  func watchSignals(_ numbers: [Int32] = [SIGINT, SIGTERM]) {
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
      if result == .idle { dieOfThirst() } else if result == .stopped { break }
    }
    timer?.cancel()
    signals?.cancel()
    engine.streams.close()
    engine.recorder.close()
    engine.awaitThreads()
    loop.close()
    return RunResult(
      status: signals?.status ?? script.requestedExit.flatMap { $0 == 0 ? nil : $0 }
        ?? (script.failures > 0 ? 1 : 0))
  }

  private var shouldEnd: Bool { isStopping || script.requestedExit != nil || !script.isAlive }

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
    let (engine, script) = (engine, script)
    loop.start { [self] in
      await script.end()
      await engine.headsets.close()
      await engine.house.close()
      loop.next(turns: 3) { [self] in phase = .ended }
    }
  }

  /// Virtual time stands still while anything is ready: who always is keeps every timer from its time, the limit's and
  /// that of the last grace too.
  private func countTurn() {
    guard standstill.moment == loop.now else {
      standstill = (loop.now, 0)
      return
    }
    standstill.turns += 1
    guard standstill.turns > engine.options.longestStandstill else { return }
    standstill.turns = 0
    if phase == .ending { return script.giveUp() }
    script.report(
      LuaError(
        code: "simulate.stuck", message: "\(script.name): is busy without letting time pass",
        hint: "sleep longer than 0 between steps"))
    end()
  }

  /// Nothing can wake the script any more, and it still waits.
  private func dieOfThirst() {
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
