import TestSupport
import TestTraits
import Testing

@Suite("Triggers of a simulation", .waiting, .tags(.trigger, .simulation)) struct TriggerJourneyTests {
  @Test(
    "a script that only listens runs until the last trigger; its own job is no rival; twice the same"
  )
  func week() throws {
    let home = try Home()
    try home.tune(frames: 48_000)
    let script = try home.script(
      """
      local schedule, speaker, trigger = require "schedule", require "speaker", require "trigger"
      speaker.open()
      schedule.at("18:03:30", { name = "evening" }, function() speaker.device "Kitchen":set_volume(30) end)
      trigger.on("doorbell", function(event)
        speaker.device "Kitchen":set_volume(event.value.volume)
        print(event.origin, event.value.button)
      end)
      """)
    try home.script(
      """
      trigger("doorbell", { at = "2026-01-06T18:03", value = { button = "back", volume = 10 }, origin = "http" })
      trigger("doorbell", { at = "2026-01-05T18:03", value = { button = "front", volume = 5 } })
      trigger("door", { at = "2026-01-13T18:03" })
      """, as: "triggers.lua")
    let arguments = ["simulate", script, "--triggers", "triggers.lua"]
    let outcome = try home.start(arguments).finish()
    #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
    #expect(
      outcome.lines.map { $0.split(separator: " ").joined(separator: " ") } == [
        "Mon 2026-01-05",
        #"18:03:00 trigger "doorbell" came with {"button":"front","volume":5}, and 1 listened"#,
        "18:03:00 file\tfront", "18:03:00 Kitchen volume 22 → 5", #"18:03:30 job "evening" runs"#,
        "18:03:30 Kitchen volume 5 → 30", "Tue 2026-01-06",
        #"18:03:00 trigger "doorbell" came with {"button":"back","volume":10}, and 1 listened"#,
        "18:03:00 http\tback",
        "18:03:00 Kitchen volume 30 → 10", "Mon 2026-01-12",
        #"00:00:00 ? trigger "door" of 2026-01-13 18:03 does not come in the time of the simulation"#,
        "Summary",
        #"job "evening": 1 run"#, "1 run, 0 failures, 1 warning",
      ])
    #expect(try home.start(arguments).finish() == outcome)
  }

  @Test("now is the time of day in the zone of the simulation")
  func now() throws {
    let home = try Home()
    let script = try home.script("print(os.time())")
    let times = try ["Pacific/Kiritimati", "Pacific/Pago_Pago"].map { zone in
      let outcome = try home.run("simulate", script, "--from", "now", "--timezone", zone)
      return try #require(outcome.lines.last?.split(separator: " ").last.flatMap { Int($0) }, "\(outcome)")
    }
    #expect(abs(times[0] - times[1]) < 60)
  }

  @Test("a triggers file that is not there is wrong usage, one with a mistake fails with its line")
  func mistakes() throws {
    let home = try Home()
    let script = try home.script("print 'runs'")
    let missing = try home.run("simulate", script, "--triggers", "nothing.lua")
    #expect(missing.status == 2 && missing.errors.contains("the triggers file nothing.lua"), "\(missing)")
    try home.script("trigger('a', { at = 'now' })", as: "wrong.lua")
    let wrong = try home.run("simulate", script, "--triggers", "wrong.lua")
    #expect(wrong.status == 1 && wrong.output == "" && wrong.errors.contains("wrong.lua:1: "), "\(wrong)")
  }
}
