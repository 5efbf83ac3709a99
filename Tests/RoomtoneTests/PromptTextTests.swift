import TestTraits
import Testing

@testable import Roomtone

@Suite("The text of a prompt's blocks", .tags(.prompt)) struct PromptTextTests {
  @Test(
    "help and live alone are calls, and help with words is one with a text",
    arguments: [
      ("help", "help()"), (" live ", "live()"), ("help zone", "help \"zone\""),
      ("help  sleep timer", "help \"sleep timer\""),
      ("help speaker.Session:pause", "help \"speaker.Session:pause\""),
      ("help 'zone'", "help 'zone'"), ("help(zone)", "help(zone)"), ("help = 5", "help = 5"),
      ("help or print", "help or print"), ("help\nzone", "help\nzone"), ("helper", "helper"), ("", ""),
    ])
  func expanded(_ text: String, _ expected: String) { #expect(PromptText.expanded(text) == expected) }

  @Test(
    "the local variables of a block are those outside of functions; the last statement's are of no use",
    arguments: [
      ("local a = 1", ["a"], ["a"]), ("local a, b <const> = 1, 2", ["a", "b"], ["a", "b"]),
      ("local a = 1 print(a)", ["a"], []), ("local function f() local x = 1 end", ["f"], ["f"]),
      ("f = function() local x = 1 end", [], []), ("do local x = 1 end", [], []),
      ("for i = 1, 2 do end", [], []),
      ("print 'local'", [], []), ("local = 1", [], []), ("1 + local_time", [], []),
    ])
  func locals(_ text: String, _ names: [String], _ unused: [String]) {
    let locals = BlockLocals(of: text)
    #expect(locals.names == names && locals.unused == unused)
    #expect((locals.remark == nil) == unused.isEmpty)
  }
}
