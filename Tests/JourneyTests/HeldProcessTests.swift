import Glibc
import JSONText
import TestSupport
import TestTraits
import Testing

/// Code that no hook can interrupt, until it ends the process.
@Suite("code that ends the process", .waiting, .tags(.limits)) struct HeldProcessTests {
  /// A call of Lua's library that takes for ever.
  private static let endless = #"(("a"):rep(30000)):find((".-"):rep(20) .. "b")"#

  @Test("a script that ends the daemon is failed at the next start, and the house runs")
  func script() throws {
    let home = try Home()
    mkdir(home.path("scripts"), 0o700)
    try home.script("require 'task'.sleep '1s';\n\(Self.endless)", as: "scripts/busy.lua")
    try home.script("print 'on'", as: "scripts/other.lua")
    let first = try home.start(["serve", "--output", "null", "scripts"])
    try first.expect("other: on")
    let outcome = try first.finish()
    #expect(outcome.status == 1, "\(outcome)")
    let second = try home.start(["serve", "--output", "null", "scripts"])
    try second.expect("other: on")
    try second.expectError("busy: error: not run: at ")
    try ServeTests.awaitAnswer(home)
    let scripts = try JSON(parsing: home.run("ctl", "scripts", "--json").output.utf8)
    #expect(scripts?.elements?.map { $0["state"]?.text } == ["failed", "running"])
    #expect(scripts?.elements?.first?["error"]?.text?.contains("roomtone ctl restart busy") == true)
    try home.script("print 'mended'", as: "scripts/busy.lua")
    try second.expect("busy: mended")
    second.send(SIGTERM)
    _ = try second.finish()
  }

  @Test("a configuration that ends the process is refused with words from then on, until it changes")
  func configuration() throws {
    let home = try Home()
    mkdir(home.path("config/roomtone"), 0o700)
    // The mark lies beside what earlier runs have kept; the daemon makes the folder.
    mkdir(home.path("state/roomtone"), 0o700)
    try home.script(
      "house { output = 'null' }\nlocal x = \(Self.endless)", as: "config/roomtone/config.lua")
    let first = try home.run("run", "-e", "print 'on'")
    #expect(first.status == 1 && first.errors.contains("can't be interrupted"), "\(first)")
    let second = try home.run("run", "-e", "print 'on'", deadline: .seconds(60))
    #expect(second.status != 0 && second.errors.contains("not run: at "), "\(second)")
    #expect(second.errors.contains("change the file"), "\(second)")
    try home.script("house { output = 'null' }", as: "config/roomtone/config.lua")
    #expect(try home.run("run", "-e", "print 'on'").output == "on\n")
  }
}
