import TestTraits
import Testing

@testable import Roomtone

@Suite("The state of a prompt", .tags(.prompt)) struct PromptMachineTests {
  private func reading() -> PromptMachine {
    var machine = PromptMachine()
    #expect(machine.frontEnded() == .read)
    return machine
  }
  private let whole: (String) -> Bool = { !$0.hasSuffix("(") }

  @Test("a block is evaluated, and the next is asked for when it has ended")
  func evaluates() {
    var machine = reading()
    let block = PromptBlock(text: "f()", line: 3)
    #expect(machine.receive(block, isWhole: whole) == .evaluate(block))
    #expect(machine.receive(block, isWhole: whole) == .none)
    #expect(machine.frontEnded() == .read)
    #expect(machine.receive(PromptBlock(text: " \n"), isWhole: whole) == .read)
  }

  @Test("Ctrl-C drops what is typed, or cancels the routine in front and nothing else")
  func interrupts() {
    var machine = PromptMachine()
    #expect(machine.interrupt() == .cancelFront)
    machine = reading()
    #expect(machine.interrupt() == .dropLine)
    _ = machine.receive(PromptBlock(text: "f()"), isWhole: whole)
    #expect(machine.interrupt() == .cancelFront)
    #expect(machine.frontEnded(leaves: true) == .end)
    #expect(machine.interrupt() == .none)
  }

  @Test("& at the end starts a whole block beside the prompt, which reads on")
  func beside() {
    var machine = reading()
    #expect(
      machine.receive(PromptBlock(text: "task.sleep(1) & "), isWhole: whole)
        == .startBeside(PromptBlock(text: "task.sleep(1)")))
    #expect(machine.interrupt() == .dropLine)
    #expect(
      machine.receive(PromptBlock(text: "f( &"), isWhole: whole) == .evaluate(PromptBlock(text: "f( &")))
    _ = machine.frontEnded()
    #expect(machine.receive(PromptBlock(text: " &"), isWhole: whole) == .evaluate(PromptBlock(text: " &")))
  }

  @Test("the end of the input ends the script, once, and not while a routine is in front")
  func ends() {
    var machine = reading()
    _ = machine.receive(PromptBlock(text: "f()"), isWhole: whole)
    #expect(machine.endInput() == .none)
    _ = machine.frontEnded()
    #expect(machine.endInput() == .end)
    #expect(machine.endInput() == .none)
    #expect(machine.receive(PromptBlock(text: "f()"), isWhole: whole) == .none)
  }
}
