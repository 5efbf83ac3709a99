import TestTraits
import Testing

/// `os.time` and `os.date` on the virtual clock answer as Lua's own.
@Suite("Lua's time under simulation", .waiting, .tags(.simulation, .time))
struct SimulatedTimeTests {
  @Test("fields may be numeric texts, and other fields don't matter")
  func fields() throws {
    let lines = try EngineHarness.printed(
      """
      local plain = os.time { year = 2026, month = 7, day = 1, hour = 8 }
      print(os.time { year = "2026", month = " 7 ", day = 1.0, hour = "0x8", title = "breakfast", [1] = {} } == plain)
      print(select(2, pcall(os.time, { year = 2026, month = "July", day = 1 })).message)
      print(select(2, pcall(os.time, { year = 2026, month = 7 })).message)
      print(select(2, pcall(os.time, { year = 1 << 40, month = 7, day = 1 })).message)
      """)
    #expect(lines[0] == "true")
    #expect(lines[1].contains("field 'month' is not an integer"))
    #expect(lines[2].contains("field 'day' missing in date table"))
    #expect(lines[3].contains("field 'year' is out-of-bound"))
  }

  @Test("isdst selects one of two offsets")
  func summerTime() throws {
    let lines = try EngineHarness.printed(
      """
      for month = 1, 12 do
        local function at(isdst) return os.time { year = 2026, month = month, day = 28, isdst = isdst } end
        local isSummer = os.date("*t", at()).isdst
        print(at(false) - at(true), at(isSummer) == at())
      end
      """)
    #expect(lines == Array(repeating: "3600\ttrue", count: 12))
  }

  @Test("%Z is the zone's, E and O modify, and a time beyond the calendar is reported")
  func dates() throws {
    let lines = try EngineHarness.printed(
      """
      print(os.date("!%Z", 0), os.date("%Z", 0))
      print(os.date("!%Ey %Od %EY", 0))
      print(select(2, pcall(os.date, "%Ez", 0)).message)
      print(select(2, pcall(os.date, "%E", 0)).message)
      print(select(2, pcall(os.date, "%c", 1 << 60)).message)
      """)
    #expect(lines[0].hasPrefix("GMT\t") && lines[0].count > 4)
    #expect(lines[1] == "70 01 1970")
    #expect(lines[2].contains("invalid conversion specifier '%Ez'"))
    #expect(lines[3].contains("invalid conversion specifier '%E'"))
    #expect(lines[4].contains("date result cannot be represented in this installation"))
  }
}
