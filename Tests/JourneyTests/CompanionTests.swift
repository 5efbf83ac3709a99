import TestSupport
import TestTraits
import Testing

@Suite("Several scripts in one simulation", .waiting, .tags(.simulation)) struct CompanionTests {
  private let evening = """
    local schedule, speaker = require "schedule", require "speaker"
    speaker.open()
    schedule.at("18:00", { name = "evening", days = "mon" }, function() speaker.device "Kitchen":set_volume(30) end)
    """

  @Test("share the house, and are warned of each other")
  func share() throws {
    let home = try Home()
    let script = try home.script(evening)
    try home.script(
      """
      local schedule, speaker = require "schedule", require "speaker"
      speaker.on("volume", function(event) print(event.device.name, event.volume) end)
      schedule.at("18:00:20", { name = "quiet", days = "mon" }, function() speaker.device "Kitchen":set_volume(5) end)
      """, as: "quiet.lua")
    let outcome = try home.run("simulate", script, "--with", "quiet.lua", "--for", "3d")
    #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
    #expect(
      outcome.lines.map { $0.split(separator: " ").joined(separator: " ") } == [
        "Mon 2026-01-05", #"18:00:00 job "evening" runs"#, "18:00:00 Kitchen volume 22 → 30",
        "18:00:00 Kitchen\t30",
        #"18:00:20 job "quiet" runs"#,
        "18:00:20 Kitchen volume 30 → 5",
        #"18:00:20 Kitchen ? job "evening" and job "quiet" both change the volume of Kitchen, within 20 s"#,
        "18:00:20 Kitchen\t5", "Summary", #"job "evening": 1 run"#,
        #"job "quiet": 1 run"#, "2 runs, 0 failures, 1 warning",
      ], "\(outcome)")
  }

  @Test("are not warned of what a script does for a trigger of its own; of another script's they are")
  func triggers() throws {
    let home = try Home()
    let script = try home.script(
      evening + "\nrequire 'trigger'.on('bell', function() speaker.device 'Kitchen':set_volume(35) end)")
    try home.script("trigger('bell', { at = '2026-01-05T18:00' })", as: "bell.lua")
    let own = try home.run("simulate", script, "--triggers", "bell.lua", "--for", "1d")
    #expect(own.lines.last?.hasSuffix("1 run, 0 failures, 0 warnings") == true, "\(own)")
    try home.script(
      "require 'trigger'.on('bell', function() require 'speaker'.device 'Kitchen':set_volume(1) end)",
      as: "b.lua")
    let other = try home.run("simulate", script, "--with", "b.lua", "--triggers", "bell.lua", "--for", "1d")
    #expect(other.lines.last?.hasSuffix("1 warning") == true, "\(other)")
  }

  @Test("play in their own speakers if they open the house with add_all = false, in any order")
  func addAll() throws {
    let home = try Home()
    try home.script("require 'speaker'.open()", as: "other.lua")
    try home.script(
      """
      local speaker, task = require "speaker", require "task"
      speaker.open { add_all = false }
      speaker.device "Kitchen":join()
      speaker.play_stream "http://a.test/a.mp3"
      task.sleep "5s"
      """, as: "hello.lua")
    for (first, second) in [("hello.lua", "other.lua"), ("other.lua", "hello.lua")] {
      let outcome = try home.run("simulate", first, "--with", second, "--for", "1m")
      let begun = outcome.lines.filter { $0.contains("▶") }.map { $0.split(separator: " ")[1] }
      #expect(begun == ["Kitchen"], "\(outcome)")
    }
  }

  @Test("end one by one: a failure or an exit of one leaves the others, and is the status")
  func ends() throws {
    let home = try Home()
    let script = try home.script(evening)
    try home.script("require 'task'.sleep '1h' error 'broken'", as: "broken.lua")
    let broken = try home.run("simulate", script, "--with", "broken.lua", "--for", "1d")
    #expect(broken.status == 1 && broken.errors.contains("broken.lua:1: broken"), "\(broken)")
    #expect(broken.lines.contains { $0.contains("volume 22 → 30") }, "\(broken)")
    try home.script("require 'task'.sleep '1h' os.exit(7)", as: "leaves.lua")
    try home.script(
      "local t <close> = setmetatable({}, { __close = function() print 'closed' end }) require 'task'.sleep '9d'",
      as: "waits.lua")
    let left = try home.run(
      "simulate", script, "--with", "leaves.lua", "--with", "waits.lua", "--for", "1d")
    #expect(left.status == 7, "\(left)")
    #expect(left.lines.contains { $0.contains("volume 22 → 30") }, "\(left)")
    #expect(left.lines.contains { $0.hasSuffix("closed") }, "\(left)")
  }

  @Test("one that is not there is wrong usage, one with a mistake in its syntax fails with its line")
  func mistakes() throws {
    let home = try Home()
    let script = try home.script(evening)
    let missing = try home.run("simulate", script, "--with", "nothing.lua")
    #expect(missing.status == 2 && missing.errors.contains("can't open the script nothing.lua"), "\(missing)")
    try home.script("x = = 1", as: "wrong.lua")
    let wrong = try home.run("simulate", script, "--with", "wrong.lua")
    #expect(wrong.status == 1 && wrong.errors.contains("wrong.lua:1:"), "\(wrong)")
  }
}
