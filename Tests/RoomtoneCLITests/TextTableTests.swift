import JSONText
import TestTraits
import Testing

@testable import RoomtoneCLI

@Suite("Tables and lines for people", .tags(.command)) struct TextTableTests {
  @Test("columns are as wide as their widest cell, in letters, and lines have no blanks at their ends")
  func columns() {
    var table = TextTable(["A", "LONGER", "C"])
    table.add(["Küche", "é", ""])
    table.add(["e\u{301}", "", "x"])
    #expect(table.lines == ["A      LONGER  C", "Küche  é", "e\u{301}              x"])
  }

  @Test("without titles or rows there are no lines; rows may differ in length")
  func odd() {
    #expect(TextTable().lines == [])
    var table = TextTable()
    table.add(["a"])
    table.add(["bb", "c", ""])
    table.add([])
    #expect(table.lines == ["a", "bb  c", ""])
  }

  @Test("a cell can't break its line or move the cursor")
  func hostile() {
    var table = TextTable()
    table.add(["a\nb\u{1b}[2J", "\u{9b}x"])
    #expect(table.lines == ["a\\nb\\x1b[2J  \\x9bx"])
  }

  @Test("balance is shown as a side")
  func balance() {
    #expect([-6, -1, 0, 6].map(LookCommand.balance) == ["6 left", "1 left", "0", "6 right"])
  }

  @Test(
    "the line of progress shows time in hours only when there are some, and is cut where a terminal would break it"
  )
  func progress() {
    func line(_ position: Int, _ duration: Int?, columns: Int = 80, title: String = "a.mp3") -> String {
      ProgressLine.text(
        title: title, position: position, duration: duration, places: "Bath", columns: columns)
    }
    #expect(line(7, 83) == "▶ a.mp3  0:07 / 1:23  Bath")
    #expect(line(3_599, nil) == "▶ a.mp3  59:59  Bath")
    #expect(line(3_600, 36_061) == "▶ a.mp3  1:00:00 / 10:01:01  Bath")
    #expect(line(0, nil, title: "a\r\u{1b}b") == "▶ a\\r\\x1bb  0:00  Bath")
    #expect(line(7, 83, columns: 27) == "▶ a.mp3  0:07 / 1:23  Bath")
    #expect(line(7, 83, columns: 26) == "▶ a.mp3  0:07 / 1:23  Ba…")
    #expect(line(7, 83, columns: 0) == "…")
    #expect(
      ProgressLine.text(
        title: "a.mp3", position: 7, duration: 83, notes: ["2 of 5", "volume 20"], isPaused: true,
        places: "Bath",
        columns: 80) == "⏸ a.mp3  0:07 / 1:23  2 of 5  volume 20  Bath")
  }
}

@Suite("JSON", .tags(.json, .command)) struct JSONTests {
  @Test("strings are escaped, members keep their order, empty containers are closed at once")
  func line() {
    let value = JSON.object([
      ("b\"", "a\\\"\n\u{7f}\u{9b}ü\u{1F3B5}"), ("a", [JSON.null, true, -3].array), ("o", .object([])),
      ("none", .optional(String?.none)), ("flag", .optional(false)),
    ])
    #expect(
      value.line
        == #"{"b\"": "a\\\"\u000a\u007f\u009bü🎵", "a": [null, true, -3], "o": {}, "none": null, "flag": false}"#
    )
  }

  @Test("for people there is a line for each element")
  func lines() {
    #expect(JSON.array([]).lines == "[]" && JSON.object([]).lines == "{}" && JSON("x").lines == "\"x\"")
    let list = JSON.array([.object([("a", 1)]), [JSON](["x"]).array])
    #expect(list.lines == "[\n  {\"a\": 1},\n  [\"x\"]\n]")
    #expect(
      JSON.object([("a", 1), ("b", list)]).lines == "{\n  \"a\": 1,\n  \"b\": [{\"a\": 1}, [\"x\"]]\n}")
  }
}

extension [JSON] {
  fileprivate var array: JSON { .array(self) }
}
