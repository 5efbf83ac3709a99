import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("The prompt, on a screen: pastes, names, the daemon", .waiting, .tags(.prompt))
struct PromptScreenTests {
  private func prompt(_ home: Home, _ arguments: [String] = ["repl", "--output", "null"]) throws -> Screen {
    let screen = try Screen(arguments, of: home)
    try screen.expect("a prompt") { $0.last == ">" }
    return screen
  }

  private static let program = """
    -- two local variables of one program
    local kitchen = speaker.device "Kitchen"
    local function name()
      return kitchen.name
    end
    print("it is " .. name())

    """

  @Test("Ctrl-L clears the screen, and the line goes on to be typed")
  func clears() throws {
    let screen = try prompt(Home())
    try screen.enter("'to be ' .. 'cleared'")
    try screen.expect("to be cleared", ">")
    try screen.type("40 + ")
    try screen.press("C-l")
    try screen.expect("the line alone") { $0 == ["> 40 +"] }
    try screen.press("2", "Enter")
    try screen.expect("42", ">")
    // In the middle of a block of two lines, and twice.
    try screen.enter("for i = 7, 7 do")
    try screen.type("print(i)")
    try screen.press("C-l", "C-l")
    try screen.expect("the block alone") { $0 == ["> for i = 7, 7 do", ">> print(i)"] }
    try screen.press("Enter")
    try screen.enter("end")
    try screen.expect("7", ">")
  }

  @Test("a pasted program is one block, with brackets and without, so that its local variables live")
  func pasted() throws {
    let screen = try prompt(Home())
    try screen.paste(Self.program)
    try screen.expect("the block") { $0.last == ">>" }
    try screen.press("Enter")
    try screen.expect("it is Kitchen", ">")
    try screen.press("C-l")
    try screen.pasteBare(Self.program)
    try screen.expect("it is Kitchen", ">")
    // Without local variables, lines that come together are blocks of their own.
    try screen.pasteBare("x = 40\nx + 2\n")
    try screen.expect("42", ">")
  }

  @Test("a local variable ends with its line: the prompt says so then, and when it is used")
  func locals() throws {
    let screen = try prompt(Home())
    try screen.enter("local k = speaker.device 'Kitchen'")
    try screen.expect("-- 'k' is local and has ended with this line; without 'local' it stays", ">")
    try screen.enter("k:set_volume(7)")
    try screen.expect(
      "roomtone: (prompt):1: attempt to index a nil value (global 'k')",
      "  'k' was local and has ended with its line; without 'local' it stays", ">")
    try screen.enter("k")
    try screen.expect("nil  -- 'k' was local and has ended with its line; without 'local' it stays", ">")
    try screen.enter("local a, b = 1, 2 print(a + b)")
    try screen.expect("> local a, b = 1, 2 print(a + b)", "3", ">")
  }

  @Test("in the daemon, live() is drawn in place until a key is pressed, and & runs a line beside")
  func daemon() throws {
    let (home, process) = try ServeTests.serve([
      ("a.lua", "require 'schedule'.at('06:45', { name = 'wake' }, print)")
    ])
    let screen = try prompt(home, ["repl"])
    try screen.enter("speaker.set_volume(7) live()")
    try screen.expect("the view") { lines in
      lines.contains("plays    nothing") && lines.contains { $0.hasPrefix("jobs     wake  next ") }
        && lines.last == "records  nothing"
    }
    #expect(
      try home.run("ctl", "eval", "require 'schedule'.at('07:00', { name = 'tea' }, print)").status == 0)
    try screen.expect("the new job, in place") { lines in
      lines.contains { $0.hasPrefix("         tea  next ") } && lines.count { $0.hasPrefix("jobs") } == 1
    }
    try screen.press("q")
    try screen.expect("records  nothing", ">")
    try screen.enter("for i = 1, 2 do live() end print('behind', 6 * 7)")
    for count in 2...3 {
      try screen.expect("view \(count)") { lines in lines.count { $0 == "records  nothing" } == count }
      try screen.press("q")
    }
    try screen.expect("records  nothing", "behind  42", ">")
    try screen.enter("while not go do task.sleep(0.05) end return 6 * 7 &")
    try screen.expect(row: "(running)")
    try screen.enter("go = true")
    try screen.expect(row: "(done): 42")
    try screen.enter("live()")
    try screen.expect("records  nothing")
    try screen.press("C-c")
    try screen.enter("#alarm.list() .. ' alarms'")
    try screen.expect("0 alarms", ">")
    try screen.press("C-d")
    try screen.expect("status 0", "cooked")
    process.send(SIGTERM)
    #expect(try process.finish().status == 143)
  }
}
