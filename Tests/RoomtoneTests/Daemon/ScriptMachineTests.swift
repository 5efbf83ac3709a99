import LuaRuntime
import TestTraits
import Testing

@testable import Roomtone

@Suite(.tags(.daemon)) struct ScriptMachineTests {
  private let error = LuaError(code: "script.syntax", message: "no")

  /// A machine whose first version runs.
  private func running() -> ScriptMachine {
    var machine = ScriptMachine()
    #expect(machine.loaded(1) == [.start(1)])
    return machine
  }

  @Test("a new version starts when the old one has ended")
  func reload() {
    var machine = running()
    #expect(machine.loaded(2) == [.end(1)] && machine.name == "reloading" && machine.current == nil)
    #expect(machine.hasEnded(1) == [.start(2)] && machine.current == 2 && machine.name == "running")
  }

  @Test("of versions that come while the old one ends, the last starts, and the others are discarded")
  func burst() {
    var machine = running()
    _ = machine.loaded(2)
    #expect(machine.loaded(3) == [.discard(2)])
    #expect(machine.hasEnded(1) == [.start(3)])
  }

  @Test("a version that does not compile leaves the last good one running, as stale, until one does")
  func stale() {
    var machine = running()
    machine.unloadable(error)
    #expect(machine.name == "stale" && machine.current == 1 && machine.error?.code == "script.syntax")
    #expect(machine.loaded(3) == [.end(1)])
    machine.unloadable(error)
    #expect(machine.hasEnded(1) == [.start(3)] && machine.name == "stale" && machine.current == 3)
  }

  @Test("a first version that does not compile is failed, and the next that does starts")
  func neverCompiled() {
    var machine = ScriptMachine()
    machine.unloadable(error)
    #expect(machine.name == "failed" && machine.current == nil)
    #expect(machine.loaded(2) == [.start(2)] && machine.error == nil)
  }

  @Test("a version whose main routine fails is ended, and stays failed until it is loaded again")
  func failed() {
    var machine = running()
    #expect(machine.failed(1, error) == [.end(1)])
    #expect(machine.failed(1, error) == [], "it is being ended")
    #expect(machine.hasEnded(1) == [] && machine.name == "failed")
    #expect(machine.loaded(2) == [.start(2)])
  }

  @Test("a version that loads while a failed one is being ended starts")
  func loadedWhileFailing() {
    var machine = running()
    _ = machine.failed(1, error)
    #expect(machine.loaded(2) == [])
    #expect(machine.hasEnded(1) == [.start(2)])
  }

  @Test("a script that ends itself keeps its status")
  func exited() {
    var machine = running()
    #expect(machine.exited(1, status: 3) == [.end(1)])
    _ = machine.hasEnded(1)
    guard case .ended(status: 3) = machine.phase else {
      Issue.record("\(machine.phase)")
      return
    }
  }

  @Test("events of an old version change nothing")
  func late() {
    var machine = running()
    _ = machine.loaded(2)
    _ = machine.hasEnded(1)
    #expect(machine.failed(1, error) == [] && machine.exited(1, status: 1) == [] && machine.hasEnded(1) == [])
    #expect(machine.current == 2)
  }

  @Test("a script whose file is gone ends, and nothing starts it again")
  func removed() {
    var machine = running()
    _ = machine.loaded(2)
    #expect(machine.remove() == [.discard(2)])
    #expect(machine.loaded(3) == [.discard(3)])
    #expect(machine.hasEnded(1) == [.forget] && machine.name == "removed")
    #expect(machine.remove() == [] && machine.loaded(4) == [.discard(4)])
    var failed = ScriptMachine()
    failed.unloadable(error)
    #expect(failed.remove() == [.forget])
  }
}
