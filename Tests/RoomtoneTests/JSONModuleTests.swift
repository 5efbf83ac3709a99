import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("json", .waiting, .tags(.json))
struct JSONModuleTests {
  @Test("values come back with their types; null keeps its place, and is one value")
  func roundTrip() throws {
    #expect(
      try EngineHarness.printed(
        #"""
        local json = require "json"
        local text = '{"a":[1,null,2.0,"é\\u000a"],"b":{"c":null},"d":-9223372036854775808,"e":9007199254740993}'
        local value = json.decode(text)
        print(#value.a, value.a[2] == json.null, math.type(value.a[1]), math.type(value.a[3]), value.b.c)
        print(value.d == math.mininteger, value.e)
        print(json.encode(value) == text, json.encode(nil), json.encode(json.null))
        print(json.encode {}, json.encode(json.decode "{}"), math.type(json.decode "18446744073709551616"))
        print(json.decode ' [ 1e2 , -0.5 ] '[2], json.decode '"\\ud83d\\ude00"', json.decode "null" == json.null)
        """#) == [
          "4\ttrue\tinteger\tfloat\tnull", "true\t9007199254740993", "true\tnull\tnull", "[]\t[]\tfloat",
          "-0.5\t😀\ttrue",
        ])
  }

  @Test("pretty is a line for each part, which is read again as it was")
  func pretty() throws {
    let lines = try EngineHarness.printed(
      """
      local json = require "json"
      local text = json.encode({ a = { 1, { b = {} } }, c = "x" }, { pretty = true })
      print(text)
      print(json.encode(json.decode(text)))
      """)
    #expect(
      lines.joined(separator: "\n") == """
        {
          "a": [
            1,
            {
              "b": []
            }
          ],
          "c": "x"
        }
        {"a":[1,{"b":[]}],"c":"x"}
        """)
  }

  @Test(
    "a mistake is told with line and column",
    arguments: [
      ("{\"a\":1,}", "line 1, column 8: a name in quotes expected, got \"}\""),
      ("\n\n [1 2]", "line 3, column 5: ',' or ']' expected, got \"2\""),
      ("{\"é\" 1}", "line 1, column 6: ':' expected, got \"1\""), ("[01]", "line 1, column 3: ',' or ']'"),
      ("nul", "line 1, column 1: a value expected"), ("", "line 1, column 1: a value expected, got the end"),
      ("\"a", "column 1: a string without its end"), ("\"a\\x\"", "column 3: no escape of JSON"),
      ("\"\\ud800\"", "column 2: no escape of JSON, or half of a surrogate pair"),
      ("[1.]", "column 4: a digit expected"), ("-", "column 2: a digit expected, got the end"),
      ("1e999", "column 1: a number beyond"), ("[1] x", "column 5: the end expected, got \"x\""),
      ("\"a\nb\"", "column 3: a control character"),
      (String(repeating: "[", count: 65), "column 65: more than 64 lists"),
      (".5", "column 1: a value expected"), ("+1", "column 1: a value expected"),
    ])
  func mistakes(_ text: String, _ part: String) throws {
    let harness = try EngineHarness()
    _ = try harness.folder.write(Array(text.utf8), to: "text.json")
    let lines = try harness.printed(
      """
      local text = assert(io.open "\(harness.folder.file("text.json"))"):read "a"
      local err = failure(require "json".decode, text)
      print(err.code) print(err.message)
      """)
    #expect(lines.first == "json.syntax" && lines.last?.contains(part) == true, "\(lines)")
  }

  @Test("what has no form, or takes too much, is refused by its place")
  func refused() throws {
    #expect(
      try EngineHarness.printed(
        #"""
        local json = require "json"
        local knot = {} knot.a = { knot }
        local deep = {} for _ = 1, 64 do deep = { deep } end
        for _, value in ipairs { { a = { print } }, { 1, [3] = 2 }, { 0 / 0 }, { a = 1, 2 }, knot, deep, { "\xff" } } do
          local err = failure(json.encode, value)
          print(err.code, err.message)
        end
        print(code(json.encode, ("x"):rep(5 << 20)), code(json.decode, ("x"):rep(5 << 20)))
        print(message(json.decode, "\"\xff\""))
        print(message(json.decode, 5), message(json.encode))
        print(message(json.encode, 1, { prety = true }))
        """#
      ).map { $0.replacing("json.not_json\tjson.encode: ", with: "") } == [
        "value.a[1] is a function", "value is a list without element 2", "value[1] is -nan, no finite number",
        "value has both names and places in a list", "value.a[1] is a table that holds itself",
        "value" + String(repeating: "[1]", count: 25)
          + "…" + String(repeating: "[1]", count: 10) + " is more than 64 tables deep",
        "value[1] is text that is not UTF-8", "json.too_large\tjson.too_large",
        "json.decode: line 1, column 1: a string that is not UTF-8",
        "bad argument #1 to 'decode' (string expected, got number)\t"
          + "bad argument #1 to 'encode' (value expected, got no value)",
        "bad argument #2 to 'encode' (no option is called 'prety'; did you mean 'pretty'?)",
      ])
  }
}
