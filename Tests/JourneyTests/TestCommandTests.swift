import TestSupport
import TestTraits
import Testing

@Suite("roomtone test", .waiting, .tags(.specs)) struct TestCommandTests {
  private func spec(_ code: String, _ home: Home) throws -> String {
    try home.write(Array(code.utf8), to: "one_spec.lua")
    return "one_spec.lua"
  }

  @Test(
    "runs each test in a house and a virtual time of its own, and shows a failure with its line and both sides"
  )
  func runs() throws {
    let home = try Home()
    let file = try spec(
      """
      local speaker, task = require "speaker", require "task"
      describe("the house", function()
        it("is quiet", function()
          speaker.open { add_all = true }
          speaker.set_volume(7)
          task.sleep "23h"
          expect(speaker.volume()):to_equal(7)
        end)
        it("is as new", { from = "2026-03-29T01:59", timezone = "Europe/Berlin" }, function()
          task.sleep "1m"
          expect(os.date "%H:%M"):to_equal "03:00"
          print "looked at"
          expect({ volume = speaker.device("Kitchen").volume }):to_equal { volume = 7 }
        end)
      end)
      """, home)
    let outcome = try home.run("test", file, "--junit", "report.xml")
    #expect(outcome.status == 1)
    #expect(
      outcome.lines == [
        "one_spec.lua", "  ✓ the house is quiet", "  ✗ the house is as new",
        "      one_spec.lua:13: expected { volume = 7 }, got { volume = 22 } (spec.expectation)",
        "      printed: looked at", "1 passed, 1 failed",
      ])
    let report = String(decoding: try readBytes(home.path("report.xml")), as: UTF8.self)
    #expect(report.contains("tests=\"2\" failures=\"1\"") && report.contains("name=\"the house is as new\""))
    let filtered = try home.run("test", file, "--filter", "QUIET")
    #expect(filtered.status == 0 && filtered.lines.last == "1 passed, 0 failed")
    #expect(try home.run("test", file, "--filter", "nothing").status == 1)
  }

  @Test(
    "no fault of a spec passes for success",
    arguments: [
      ("it('a', function() it('b', function() end) end)", "'it' is called inside a test"),
      ("it('a', function() describe('b', function() end) end)", "'describe' is called inside a test"),
      ("it('a', function() error(nil) end)", "an error without a message"),
      ("it('a', function() error(false) end)", "false"),
      ("it('a', function() error('\\xff', 0) end)", "\u{FFFD}"),
      ("it('a', function() os.exit(0) end)", "the script ended before the test, as by os.exit"),
      ("it('a', function() require 'task'.sleep '500d' end)", "not done within 400 days"),
      ("it('a', function() end) os.exit() it('b', function() error 'x' end)", "did not run to its end"),
      (
        "it('a', { from = 3 }, function() end)", ":1: bad option 'from' of 'it' (string expected, got number)"
      ),
      ("it('a', { form = 'x' }, function() end)", "did you mean 'from'?"),
      ("it('a', function() expect(1):to_be(1) end)", ":1: no expectation is called 'to_be'"),
      ("it('a', function() expect(1).to_equal(1) end)", ":1: call 'to_equal' with a colon"),
      (
        "it('a', function() expect(1):to_be_near(1) end)", ":1: bad argument to 'to_be_near' (number expected"
      ),
      (
        "it('a', function() expect('a'):to_match '[' end)",
        ":1: bad argument to 'to_match' (malformed pattern"
      ),
      (
        "it('a', function() expect(function() error(true, 0) end):to_raise 'x' end)",
        "expected an error \"x\", got true"
      ),
      (
        "it('a', function() local a, b = {}, {} a.a, b.a, b.c = a, b, 1 expect(a):to_equal(b) end)",
        ":1: expected { a ="
      ),
    ])
  func faults(_ code: String, _ failure: String) throws {
    let home = try Home()
    let outcome = try home.run("test", try spec(code, home))
    #expect(outcome.status == 1 && outcome.output.contains(failure), "\(outcome)")
  }

  @Test("files are read, and the report opened, before the first test")
  func operands() throws {
    let home = try Home()
    let file = try spec("it('a', function() end)", home)
    let missing = try home.run("test", file, "nope_spec.lua")
    #expect(
      missing.status == 2 && missing.output == "" && missing.errors.contains("nope_spec.lua"), "\(missing)")
    let unwritable = try home.run("test", file, "--junit", "/nowhere/report.xml")
    #expect(unwritable.status == 1 && unwritable.output == "" && unwritable.errors.contains("/nowhere"))
  }
}
