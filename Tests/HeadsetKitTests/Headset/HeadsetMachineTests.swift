import EventLoop
import TestTraits
import Testing

@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The rules of a headset's connection, without driver and clock", .tags(.headset, .link, .connection))
struct HeadsetMachineTests {
  private let missing = HeadsetError(.notAvailable, "it is off")
  private let wrongKey = HeadsetError(.auth, "another key")

  private func wait(_ milliseconds: Int64) -> HeadsetMachine.Action { .wait(.milliseconds(milliseconds)) }

  /// A machine whose headset a caller has connected.
  private func connected() -> HeadsetMachine {
    var machine = HeadsetMachine()
    #expect(machine.connect() == [] && machine.connected() == [.emit(.connected)])
    return machine
  }

  /// A machine whose headset is lost, with a first delay of half a second.
  private func waiting() -> HeadsetMachine {
    var machine = connected()
    #expect(machine.lost("it is off") == [.emit(.disconnected("it is off")), wait(500)])
    return machine
  }

  @Test("a first attempt that fails is not repeated, and the headset is unused then") func firstFailure() {
    var machine = HeadsetMachine()
    #expect(machine.mayConnect && machine.connect() == [])
    #expect(machine.isInUse && machine.isConnecting && !machine.isKept && !machine.mayConnect)
    #expect(machine.failed(missing) == [])
    #expect(machine.phase == .idle && !machine.isInUse)
  }

  @Test("a lost connection is made again, after delays that double until it is there") func lost() {
    var machine = waiting()
    for delay in [1_000, 2_000, 4_000] as [Int64] {
      #expect(machine.retry() == [.connect])
      #expect(machine.failed(missing) == [wait(delay)])
    }
    #expect(machine.isKept && machine.isInUse && !machine.isConnecting)
    #expect(machine.retry() == [.connect] && machine.connected() == [.emit(.connected)])
    #expect(machine.lost("again") == [.emit(.disconnected("again")), wait(500)])
  }

  @Test("an attempt of its own ends with a failure that time does not mend, a caller's goes on waiting")
  func refused() {
    var machine = waiting()
    _ = machine.retry()
    #expect(machine.failed(wrongKey) == [.emit(.error(wrongKey))])
    #expect(machine.phase == .idle)
    machine = waiting()
    #expect(machine.connect() == [.stopWaiting])
    #expect(machine.failed(wrongKey) == [wait(1_000)])
    #expect(machine.phase == .waiting)
  }

  @Test("a delay that passes in another phase than waiting begins no attempt") func lateDelay() {
    var machine = connected()
    #expect(machine.retry() == [] && machine.phase == .connected(isKept: true))
    var idle = HeadsetMachine()
    #expect(idle.retry() == [] && idle.phase == .idle)
  }

  @Test("an attempt that is given up fails, and follows once more only if the headset is kept again")
  func givenUp() {
    var machine = HeadsetMachine()
    _ = machine.connect()
    #expect(machine.disconnect(isConnected: false) == ([], .released))
    #expect(machine.isConnecting && !machine.awaitsBoard && !machine.isInUse)
    #expect(machine.failed(missing) == [] && machine.phase == .idle)
    machine = HeadsetMachine()
    _ = machine.connect()
    _ = machine.disconnect(isConnected: false)
    #expect(machine.keep() == [] && machine.isInUse)
    #expect(machine.failed(missing) == [wait(500)])
  }

  @Test("keeping a headset connects it at once, or what is under way lasts") func keep() {
    var machine = HeadsetMachine()
    #expect(machine.keep() == [.wait(.zero)] && machine.keep() == [])
    machine = HeadsetMachine()
    _ = machine.connect()
    #expect(machine.keep() == [] && machine.isKept)
    #expect(machine.failed(missing) == [wait(500)])
    machine = connected()
    #expect(machine.keep() == [] && machine.phase == .connected(isKept: true))
  }

  @Test("a headset that is disconnected reports so, and one that was lost that it is released")
  func disconnect() {
    var machine = connected()
    #expect(machine.disconnect(isConnected: true) == ([], .disconnected("disconnected")))
    #expect(machine.phase == .idle && machine.lost("late") == [])
    // The first one is still saying good-bye.
    #expect(machine.disconnect(isConnected: false) == ([], .released))
    machine = waiting()
    #expect(machine.disconnect(isConnected: false) == ([.stopWaiting], .released))
    #expect(machine.phase == .idle)
  }

  @Test("what reserves the headset sees to the connection; at its end a lost one is made again")
  func reserved() {
    var machine = connected()
    #expect(machine.reserve() == [] && machine.isReserved && !machine.mayConnect)
    #expect(machine.lost("restarted") == [])
    #expect(machine.release(isConnected: true) == [] && machine.phase == .connected(isKept: true))
    _ = machine.reserve()
    #expect(
      machine.release(isConnected: false) == [.emit(.disconnected("it has not come back")), wait(500)])
    #expect(machine.reserve() == [.stopWaiting])
    #expect(machine.release(isConnected: true) == [] && machine.phase == .connected(isKept: true))
  }

  @Test("a headset that is disconnected while it is reserved is kept no more")
  func disconnectedWhileReserved() {
    for isConnected in [false, true] {
      var machine = connected()
      _ = machine.reserve()
      #expect(machine.disconnect(isConnected: true) == ([], .disconnected("disconnected")))
      #expect(machine.release(isConnected: isConnected) == [])
      #expect(machine.phase == (isConnected ? .connected(isKept: false) : .idle))
      #expect(machine.isInUse == isConnected)
    }
    var machine = connected()
    _ = machine.reserve()
    _ = machine.disconnect(isConnected: true)
    _ = machine.release(isConnected: true)
    #expect(machine.lost("off") == [.emit(.disconnected("off"))] && machine.phase == .idle)
  }
}
