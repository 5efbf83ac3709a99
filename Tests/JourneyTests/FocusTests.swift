import TestSupport
import TestTraits
import Testing

@Suite("A day with a headset", .waiting, .tags(.headset, .simulation)) struct FocusTests {
  @Test(
    "the time line of scripts/focus.lua shows the headset's settings, the same twice, and nothing is stored")
  func day() throws {
    let home = try Home()
    let script = Fixtures.repository("scripts/focus.lua")
    let outcome = try home.run("simulate", script, "--for", "24h")
    #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
    let lines = outcome.lines.map { line in
      line.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }
    var rest = lines[...]
    for wanted in [
      "Mon 2026-01-05", "00:00:00 Headset connected: Roomtone RT-1", "00:00:00 RT-1: the evening",
      "06:30:00 RT-1: on the way", "06:30:00 Headset noise cancelling on",
      "06:30:00 Headset equalizer user: +3 +4 +4 +2 0 +1 +3 +3 +1 0", "08:30:00 RT-1: work",
      "08:30:00 Headset ambient 0 left, 0 right", "12:00:00 RT-1: lunch",
      "12:00:00 Headset noise cancelling off",
      "12:00:00 Headset equalizer voice: -6 -4 -2 +1 +4 +5 +4 +2 0 -2", "18:00:00 RT-1: the evening",
    ] {
      guard let index = rest.firstIndex(of: wanted) else {
        Issue.record("\(wanted) is not there, or not in order: \(lines)")
        continue
      }
      rest = rest[(index + 1)...]
    }
    #expect(try home.run("simulate", script, "--for", "24h") == outcome)
    #expect(!fileNames(in: home.path("state/roomtone")).contains { $0.hasPrefix("store") })
  }
}
