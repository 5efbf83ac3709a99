import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("simulate --html", .waiting, .tags(.weekPage, .simulation)) struct WeekPageTests {
  private static let routine =
    """
    local speaker, schedule = require "speaker", require "schedule"
    speaker.open { add_all = false }
    local kitchen = speaker.device "Kitchen"
    schedule.at("06:45", { days = "mon-fri", name = "wake <up>" }, function()
      kitchen:join()
      speaker.play("music.mp3", { title = "</script>" })
      speaker.finish()
    end)
    """

  private func text(_ path: String) throws -> String { String(decoding: try readBytes(path), as: UTF8.self) }

  @Test("a page of a week is written whole, twice to the same bytes, beside the lines")
  func written() throws {
    let home = try Home()
    try home.music()
    let script = try home.script(Self.routine)
    let plain = try home.run("simulate", script)
    #expect(try home.run("simulate", script, "--html", "week.html") == plain && plain.status == 0)
    let page = try text(home.path("week.html"))
    #expect(page.hasPrefix("<!doctype html>") && page.hasSuffix("</html>\n"))
    #expect(page.contains("<h1><bdi>routine.lua</bdi></h1>") && page.contains("7 days"))
    #expect(page.contains("wake &lt;up&gt;") && !page.contains("<up>") && !page.contains("</script>"))
    #expect(page.split(separator: "class=\"b music").count == 6)
    _ = try home.run("simulate", script, "--json", "--html", "again.html")
    #expect(try text(home.path("again.html")) == page)
    let other = try home.script("require 'task'.sleep '1s'", as: "other.lua")
    #expect(try home.run("simulate", script, "--with", other, "--html", "week.html").status == 0)
    #expect(try text(home.path("week.html")).contains("<h1><bdi>routine.lua, other.lua</bdi></h1>"))
  }

  @Test("a script that fails has a page that shows it, and its own exit status")
  func failing() throws {
    let home = try Home()
    let script = try home.script("require 'task'.sleep '90s' error 'no <disk>'")
    #expect(try home.run("simulate", script, "--html", "week.html").status == 1)
    let page = try text(home.path("week.html"))
    #expect(page.contains("no &lt;disk&gt;") && page.contains("ended by itself on Monday at 00:01:30"))
  }

  @Test("a page that can't be written is refused before anything is simulated")
  func refused() throws {
    let home = try Home()
    let script = try home.script("print 'simulated'")
    try home.script("return {}", as: "config.lua")
    for (path, message) in [
      ("none/week.html", "roomtone: can't write none/week.html: No such file or directory (simulate.page)\n"),
      ("state", "roomtone: state is there and is not a file (simulate.page)\n"),
    ] {
      #expect(
        try home.run("simulate", script, "--html", path) == Outcome(status: 1, output: "", errors: message))
    }
    let own = try home.run("simulate", script, "--html", "./\(script)")
    #expect(own.status == 2 && own.output.isEmpty)
    #expect(own.errors.contains("--html would replace routine.lua, which is read"), "\(own)")
    #expect(try text(home.path(script)) == "print 'simulated'")
    let long = try home.run("simulate", script, "--html", "week.html", "--for", "32d")
    #expect(long.status == 2 && long.errors.contains("--html shows 31 days at most"), "\(long)")
    #expect(access(home.path("week.html"), F_OK) != 0)
  }
}
