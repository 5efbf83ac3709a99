import JSONText
import TestTraits
import Testing

@Suite(.tags(.json)) struct JSONTests {
  @Test(
    "a text is parsed and written again as it was",
    arguments: [
      "null", "true", "-7", "1.5", "1e+300", "\"a \\\"b\\\" \\\\ ü\"", "[]", "{}", "[1, [2, {\"a\": null}]]",
      "{\"b\": 1, \"a\": [false]}",
    ])
  func roundTrip(text: String) { #expect(JSON(parsing: text.utf8)?.line == text) }

  @Test(
    "a text that is no JSON is refused",
    arguments: [
      "", " ", "nul", "01x", "[1,]", "[1", "{\"a\"}", "{a: 1}", "\"a", "\"\\x\"", "\"\u{1}\"", "1 2", "+1",
      "\"\\ud800\"", "[1]]", "{} x",
    ])
  func refused(text: String) { #expect(JSON(parsing: text.utf8) == nil) }

  @Test("a text may nest 64 deep and no deeper")
  func depth() {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(JSON(parsing: nested(JSON.deepest).utf8) != nil)
    #expect(JSON(parsing: nested(JSON.deepest + 1).utf8) == nil)
    #expect(JSON(parsing: nested(100_000).utf8) == nil)
  }

  @Test("members and elements are reached by name; of equal names the last counts")
  func access() throws {
    let value = try #require(JSON(parsing: #"{"a": 1, "b": ["x", true], "a": 2}"#.utf8))
    #expect(value["a"]?.int == 2 && value["c"] == nil)
    #expect(value["b"]?.elements?.first?.text == "x" && value["b"]?.elements?.last?.bool == true)
    #expect(JSON(parsing: "\"a\\nb\"".utf8)?.text == "a\nb")
  }

  @Test("a text on one line has no control character")
  func control() { #expect(JSON.string("a\nb\u{7f}\u{9b}").line == "\"a\\u000ab\\u007f\\u009b\"") }
}
