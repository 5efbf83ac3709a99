import Glibc
import JSONText
import TestSupport
import TestTraits
import Testing

/// Causes, as the commands print them.
@Suite("why, as a command", .waiting, .tags(.history, .command)) struct WhyTests {
  private static let script = """
    local schedule, speaker, task = require "schedule", require "speaker", require "task"
    speaker.open { add_all = false }
    local kitchen = speaker.device "Kitchen"
    schedule.cron("30 6 * * *", { name = "wake" }, function()
      kitchen:join()
      kitchen:set_volume(9)
      speaker.play "tune.wav"
      task.sleep "2s"
      kitchen:fade { to = 4, over = "5s" }
      speaker.stop()
    end)
    """

  @Test("simulate --why has the same lines, each with its causes below; with --json as fields")
  func simulation() throws {
    let home = try Home()
    try home.tune(frames: 48_000 * 10)
    try home.script(Self.script)
    let plain = try home.run("simulate", "routine.lua", "--for", "1d")
    let why = try home.run("simulate", "routine.lua", "--for", "1d", "--why")
    #expect(plain.status == 0 && why.status == 0 && why.errors == "")
    let lines = why.output.split(separator: "\n")
    #expect(
      lines.filter { !$0.contains("↳") } == plain.output.split(separator: "\n"), "\(why.output)")
    let causes = lines.filter { $0.contains("↳") }.map { $0.drop { $0 == " " } }
    #expect(
      causes == [
        #"↳ routine.lua:6  set_volume(9), by job "wake" (cron "30 6 * * *")"#,
        #"↳ routine.lua:7  play(), by job "wake" (cron "30 6 * * *")"#,
        #"↳ routine.lua:9  fade(), by job "wake" (cron "30 6 * * *")"#,
        #"↳ routine.lua:10  stop(), by job "wake" (cron "30 6 * * *")"#,
      ])
    let objects = try home.run("simulate", "routine.lua", "--for", "1d", "--why", "--json").output
      .split(separator: "\n").compactMap { JSON(parsing: $0.utf8) }
    let volume = objects.first { $0["kind"]?.text == "volume" }
    #expect(volume?["why"]?.text == String(causes.first?.dropFirst(2) ?? ""))
    #expect(volume?["cause"]?["parent"]?["job"]?.text == "wake" && volume?["cause"]?["line"]?.int == 6)
    let without = try home.run("simulate", "routine.lua", "--for", "1d", "--json").output
    #expect(!without.contains("\"why\"") && !without.contains("\"cause\""))
  }

  @Test("the daemon answers about a file that the command has recorded, by any of its names")
  func recorded() throws {
    let station = try Station()
    var live = Live(
      .init(repeating: Array(try readBytes(Fixtures.path("mp3-without-tag.mp3"))), bytesPerSecond: 16_000))
    live.pace = .realTime(4)
    station.answer("/live", with: .live(live))
    let (home, process) = try ServeTests.serve([])
    mkdir(home.path("radio"), 0o700)
    for (name, job) in [("show", ["--job", "saturday"]), ("other", [])] {
      let outcome = try home.start(
        ["record", station.url("/live"), "-o", "radio/\(name).mp3", "--for", "1s", "-q"] + job
      ).finish()
      #expect(outcome.status == 0, "\(outcome)")
    }
    for name in ["radio/show.mp3", home.path("radio/show.mp3"), "show.mp3"] {
      let outcome = try home.run("ctl", "why", name)
      #expect(
        outcome.status == 0 && outcome.output.contains(home.path("radio/show.mp3")), "\(name): \(outcome)")
      #expect(outcome.output.contains("job \"saturday\""), "\(name): \(outcome)")
    }
    #expect(try home.run("ctl", "why", "radio/other.mp3").output.contains("person at the shell"))
    // Known by the catalogue alone, as one of an earlier version is.
    #expect(try home.runInShell("rm -f state/roomtone/history.db*").status == 0)
    #expect(try home.run("ctl", "why", "radio/none.mp3").status == 1)
    process.send(SIGTERM)
    _ = try process.finish()
  }

  @Test("the daemon answers why and lists the changes, those of before it was killed too")
  func daemon() throws {
    let (home, killed) = try ServeTests.serve([("a.lua", "require 'trigger'.on('bell', function() end)")])
    #expect(try home.run("volume", "kitchen", "20").status == 0)
    try ServeTests.wait("the level is in effect") {
      try home.run("ctl", "why", "kitchen").output.hasPrefix("Kitchen is at 20 (was 22)\n")
    }
    #expect(try home.run("ctl", "why", "Kitchen").output.contains("  person at ctl\n"))
    try ServeTests.wait("the change is in the file") {
      access(home.path("state/roomtone/history.db"), F_OK) == 0
    }
    usleep(2_000_000)
    killed.send(SIGKILL)
    _ = try killed.finish()
    let process = try home.startInShell("exec $ROOMTONE serve --output null scripts")
    try ServeTests.awaitAnswer(home)
    let why = try home.run("ctl", "why", "kitchen")
    #expect(why.output.hasPrefix("Kitchen is at 20 (was 22)\n  ") && why.output.contains("  person at ctl\n"))
    let history = try home.run("ctl", "history", "--since", "1h", "--kind", "volume")
    #expect(history.output.hasSuffix("  Kitchen  volume 22 → 20  person at ctl\n"), "\(history)")
    let objects = JSON(parsing: try home.run("ctl", "history", "--room", "kitchen", "--json").output.utf8)
    #expect(objects?.elements?.first?["cause"]?["kind"]?.text == "person")
    let unknown = try home.run("ctl", "why", "attic")
    #expect(unknown.status == 1 && unknown.errors.contains("nothing is known about \"attic\" (why.unknown)"))
    let wrong = try home.run("ctl", "history", "--kind", "volum")
    #expect(wrong.status == 1 && wrong.errors.contains("did you mean 'volume'?"), "\(wrong.errors)")
    #expect(
      try home.run("ctl", "why").status == 2 && home.run("ctl", "history", "--since", "soon").status == 2)
    process.send(SIGTERM)
    #expect(try process.finish().status == 143)
  }

  @Test("a person at the shell without a daemon, and one at the prompt, are told apart from scripts")
  func shell() throws {
    let home = try Home()
    #expect(try home.run("volume", "kitchen", "20").status == 0)
    let prompt = try home.runInShell(
      "printf '%s\\n' \"speaker.device 'Kitchen':set_volume(3)\" 'task.sleep(1)' \"why 'Kitchen'\" | $ROOMTONE repl"
    )
    #expect(prompt.output.contains("  set_volume(3), by person at the prompt\n"), "\(prompt)")
    #expect(prompt.output.contains("  before that, 20: person at the shell\n"), "\(prompt)")
  }
}
