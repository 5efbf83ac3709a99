import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("Ownership by scripts", .waiting, .tags(.schedule, .daemon)) struct OwnershipTests {
  @Test("lives without a handle: timers, jobs and subscriptions survive the garbage collector")
  func rooted() throws {
    let home = try Home()
    let script = try home.script(
      """
      local schedule, speaker, task = require "schedule", require "speaker", require "task"
      local kitchen = speaker.device "Kitchen"
      local weak = setmetatable({}, { __mode = "v" })
      local function start()
        weak[1] = task.spawn(function() task.sleep("2s") print "routine" end)
        weak[2] = schedule.every("2s", function() print "job" end)
        weak[3] = schedule.at("00:00:03", function() print "time of day" end)
        weak[4] = speaker.on("volume", function(event) print("house " .. event.volume) end)
        weak[5] = speaker.device "Kitchen":on("volume", function(event) print("kitchen " .. event.volume) end)
        weak[6] = kitchen:once("volume", function() print "once" end)
        task.spawn(function() speaker.device "Kitchen":wait("volume") print "waited" end)
      end
      start()
      for volume = 1, 2 do
        for _ = 1, 10 do collectgarbage() task.sleep(0.05) end
        kitchen:set_volume(volume)
        task.sleep(0.1)
      end
      for index = 1, 6 do print("handle", weak[index]) end
      for _ = 1, 40 do collectgarbage() task.sleep(0.1) end
      """)
    let outcome = try home.run("simulate", "--for", "5s", script)
    #expect(outcome.status == 0, "\(outcome)")
    let lines = outcome.lines.dropFirst().map { $0.drop { $0 != " " }.drop { $0 == " " } }.map(String.init)
    #expect(lines.filter { $0 == "handle\tnil" }.count == 6, "\(outcome)")
    for (line, count) in [
      ("routine", 1), ("job", 2), ("time of day", 1), ("house 1", 1), ("house 2", 1), ("kitchen 1", 1),
      ("kitchen 2", 1), ("once", 1), ("waited", 1),
    ] {
      #expect(lines.filter { $0 == line }.count == count, "\(line): \(outcome)")
    }
  }
}

@Suite("Jobs where the clocks change", .waiting, .tags(.schedule, .time)) struct ClockChangeTests {
  private func runs(_ code: String, from: String, span: String = "3d") throws -> [String] {
    let home = try Home()
    let script = try home.script("local schedule = require 'schedule'\n" + code)
    let outcome = try home.run(
      "simulate", script, "--from", from, "--for", span, "--timezone", "Europe/Berlin")
    #expect(outcome.status == 0, "\(outcome)")
    #expect(outcome.errors == "")
    // Each line begins with the time of the time line, which must equal that of os.date.
    return outcome.lines.compactMap { line in
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 4 else { return nil }
      #expect(words[0] == words[2], "\(line)")
      return words[1...].joined(separator: " ")
    }
  }

  private static let daily = """
    schedule.at("02:30", { days = "mon-sun" }, function() print(os.date("%F %T %z")) end)
    """

  @Test("a time that is skipped in March runs right after the gap")
  func march() throws {
    #expect(
      try runs(Self.daily, from: "2026-03-28T00:00") == [
        "2026-03-28 02:30:00 +0100", "2026-03-29 03:00:00 +0200", "2026-03-30 02:30:00 +0200",
      ])
  }
}
