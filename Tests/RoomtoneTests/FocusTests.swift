import EventLoop
import Home
import LuaRuntime
import Roomtone
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard

/// `scripts/focus.lua`, on a simulated Monday.
@Suite("The routine that sets the headset for the hour", .waiting, .tags(.headset))
struct FocusTests {
  /// Runs it for a day, and shows at these times how the headset is set.
  private func day(
    showing times: [String], profile: BoardProfile = .standard, gestures: [(Double, String)] = []
  ) throws -> EngineHarness.Outcome {
    var harness = try EngineHarness()
    harness.limit = .seconds(86_400)
    harness.boardProfile = profile
    harness.prepare = { engine in
      for (hour, line) in gestures { engine.gesture(line, after: hour * 3600) }
    }
    let script = String(
      decoding: try readBytes(Fixtures.repository("scripts/focus.lua")), as: UTF8.self)
    let names = times.map { "\"\($0)\"" }.joined(separator: ", ")
    return try harness.run(
      script + """

        for _, time in ipairs { \(names) } do
          schedule.at(time, function()
            local h = headset.list()[1]
            local eq, ambient = h:equalizer(), task.try(h.ambient, h) or { left = "-", right = "-" }
            print(time, h:noise_cancelling(), ambient.left, ambient.right, eq.preset_name, eq.values[4])
          end)
        end
        """)
  }

  @Test("each part of the day sets noise cancelling, ambient sound and equalizer, from midnight on")
  func parts() throws {
    let outcome = try day(showing: ["00:01", "06:29", "06:31", "08:31", "12:01", "13:01", "18:01", "23:59"])
    #expect(outcome.failures.isEmpty && outcome.log.isEmpty, "\(outcome)")
    #expect(
      outcome.lines == [
        "RT-1: the evening", "00:01\tfalse\t3\t3\tmusic\t0", "06:29\tfalse\t3\t3\tmusic\t0",
        "RT-1: on the way",
        "06:31\ttrue\t2\t2\tuser\t2", "RT-1: work", "08:31\ttrue\t0\t0\tuser\t-2", "RT-1: lunch",
        "12:01\tfalse\t7\t7\tvoice\t1", "RT-1: work again", "13:01\ttrue\t0\t0\tuser\t-2",
        "RT-1: the evening",
        "18:01\tfalse\t3\t3\tmusic\t0", "23:59\tfalse\t3\t3\tmusic\t0",
      ])
  }

  @Test("a headset that comes back gets the settings of the hour; its wearer's changes stay till then")
  func comesBack() throws {
    let outcome = try day(
      showing: ["09:05", "09:30"],
      gestures: [(9, "noise off"), (9, "preset 0"), (9, "ambient left 5"), (9.25, "disconnect")])
    #expect(outcome.failures.isEmpty, "\(outcome)")
    #expect(
      outcome.lines[2...5] == [
        "RT-1: work", "09:05\tfalse\t5\t0\tmusic\t0", "RT-1: work", "09:30\ttrue\t0\t0\tuser\t-2",
      ], "\(outcome.lines)")
  }

  @Test("an ability that a headset lacks is reported once a part, and the rest is done")
  func lacks() throws {
    let outcome = try day(showing: ["12:01"], profile: try BoardProfile(named: "no-ambient"))
    #expect(outcome.failures.isEmpty, "\(outcome)")
    #expect(outcome.lines.contains("12:01\tfalse\t-\t-\tvoice\t1"), "\(outcome.lines)")
    #expect(outcome.log.count == 6, "\(outcome.log)")
    #expect(
      outcome.log.allSatisfy { $0.level == .warn && $0.message.contains("(headset.unsupported)") },
      "\(outcome.log)")
  }
}
