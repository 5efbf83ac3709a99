import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("The store of scripts", .waiting, .tags(.store)) struct StoreTests {
  private static let counter =
    """
    local store = require "store"
    store.set("runs", store.get("runs", 0) + 1)
    print(store.get "runs", table.concat(store.keys(), " "))
    """

  @Test("a script that is run again resumes from its stored values; a simulation neither sees nor changes it")
  func twice() throws {
    let home = try Home()
    let script = try home.script(Self.counter)
    #expect(try home.run("run", script) == Outcome(status: 0, output: "1\truns\n", errors: ""))
    let simulated = try home.run("simulate", script)
    #expect(simulated.status == 0 && simulated.lines.last?.hasSuffix("1\truns") == true, "\(simulated)")
    #expect(try home.run("simulate", script) == simulated)
    #expect(try home.run("run", home.path(script)).output == "2\truns\n")
    #expect(try home.run("run", home.script(Self.counter, as: "other.lua")).output == "1\truns\n")
    #expect(try home.run("run", "-", input: .text(Self.counter)).output == "1\truns\n")
    #expect(try home.run("run", "-e", Self.counter).output == "1\truns\n")
    #expect(
      try home.run("repl", script, input: .text("print(store.keys()[1])\n")).lines == ["3\truns", "runs"])
    #expect(try home.run("repl", input: .text("print(#store.keys())\n")).lines == ["0"])
    #expect(try home.run("run", script).output == "4\truns\n")
    var info = stat()
    #expect(stat(home.path("state/roomtone/store.db"), &info) == 0 && info.st_mode & 0o777 == 0o600)
  }

  @Test("values are there after the process was killed")
  func killed() throws {
    let home = try Home()
    let script = try home.script(
      """
      local store = require "store"
      print(store.get "song")
      store.set("song", { title = "Café", plays = 3 })
      print(store.get "song".title)
      os.execute("kill -9 $PPID")
      require "task".sleep "1h"
      """)
    #expect(try home.run("run", script).lines == ["nil", "Café"])
    let outcome = try home.run("run", "-e", "print(#require 'store'.keys())")
    #expect(outcome == Outcome(status: 0, output: "0\n", errors: ""))
    #expect(try home.run("run", script).lines.first?.hasPrefix("table") == true)
  }

  @Test("processes that run at once share the store of their script, and lose nothing")
  func together() throws {
    let home = try Home()
    let script = try home.script(
      "local store = require 'store' for i = 1, 40 do store.set(arg[1] .. i, i) end print(#store.keys() >= 40)"
    )
    let runs = try (0..<4).map { try home.start(["run", script, "run \($0) "]) }
    for run in runs { #expect(try run.finish() == Outcome(status: 0, output: "true\n", errors: "")) }
    try home.script("print(#require 'store'.keys())", as: script)
    #expect(try home.run("run", script).output == "160\n")
  }
}
