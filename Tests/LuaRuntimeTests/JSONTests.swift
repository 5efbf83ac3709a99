import EventLoop
import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("Lua values as JSON", .tags(.json))
struct JSONTests {
  /// Returns a harness with `write(value)`, which returns the text or the problem, and `read(text)`, which
  /// returns the value.
  private func harness(limit: Int = 1 << 20) throws -> ScriptHarness {
    let harness = try ScriptHarness(seed: 1)
    harness.state.register(
      "json",
      [
        LuaFunction("write") { call in
          do throws(JSONProblem) {
            return call.return(.bytes(try call.json(1, called: "it", limit: limit)))
          } catch {
            return call.return(.nil, .string("\(error)"))
          }
        },
        LuaFunction("read") { call in
          guard let value = LuaValue(json: try call.string(1)) else { return call.return(.string("none")) }
          return call.return(value)
        },
      ], global: true)
    return harness
  }

  @Test("is what it should be, byte for byte: sorted, without spaces, whole numbers apart from others")
  func text() throws {
    let lines = try harness().printed(
      """
      print(json.write { b = { 1, 2.0, -0.5 }, a = true, Z = "é\\n\\"", [""] = {} })
      print(json.write(1e20), json.write(10 ^ 15), json.write(math.mininteger), json.write(nil), json.write "\\127\\0")
      """)
    #expect(
      lines == [
        #"{"":[],"Z":"é\u000a\"","a":true,"b":[1,2.0,-0.5]}"#,
        "1e+20\t1000000000000000.0\t-9223372036854775808\tnull\t\"\u{7f}\\u0000\"",
      ])
  }

  @Test("random values come back as they were, and as the same text again")
  func roundTrip() throws {
    let lines = try harness().printed(
      """
      local function text()
        local list = {}
        for i = 1, math.random(0, 12) do
          list[i] = utf8.char(math.random(3) == 1 and math.random(0x10000, 0x10FFFF) or math.random(0, 0xD7FF))
        end
        return table.concat(list)
      end
      local function value(depth)
        local kind = math.random(depth > 0 and 7 or 5)
        if kind == 1 then return math.random(0) end
        if kind == 2 then return math.random(-20, 20) end
        if kind == 3 then return (math.random() - 0.5) * 10.0 ^ math.random(-320, 307) end
        if kind == 4 then return math.random(2) == 1 end
        if kind == 5 then return text() end
        local result = {}
        for i = 1, math.random(0, 5) do result[kind == 6 and i or text()] = value(depth - 1) end
        return result
      end
      local function same(a, b)
        if type(a) ~= "table" then return a == b and math.type(a) == math.type(b) end
        for k, v in pairs(a) do if not same(v, b[k]) then return false end end
        for k in pairs(b) do if a[k] == nil then return false end end
        return true
      end
      for round = 1, 2000 do
        local v = value(5)
        local written = assert(json.write(v))
        local read = json.read(written)
        if not same(v, read) or json.write(read) ~= written then print(round, written) end
      end
      """)
    #expect(lines.isEmpty, "\(lines.prefix(3))")
  }

  @Test("JSON of other writers is read: spaces, escapes, pairs of surrogates")
  func foreign() throws {
    let lines = try harness().printed(
      #"""
      local v = json.read [=[ {"a" : [ 1 ,2E1, -0 , 1e-2, null,
        "\/\b\f\n\r\t\\\"\u00e9\ud83c\udfb6" ] } ]=]
      for i = 1, 5 do print(math.type(v.a[i]), v.a[i]) end
      print(v.a[6] == "/\b\f\n\r\t\\\"é🎶")
      """#)
    #expect(lines == ["integer\t1", "float\t20.0", "integer\t0", "float\t0.01", "nil\tnil", "true"])
  }

  @Test("text that is changed anywhere is refused, or read as what can be written and read again")
  func changed() throws {
    let harness = try harness()
    let texts = Self.changedTexts().map { LuaValue.string($0) }
    harness.state.register(
      "texts", [LuaFunction("all") { call in call.return(.list(texts)) }], global: true)
    let lines = try harness.printed(
      """
      local read, refused = 0, 0
      for _, text in ipairs(texts.all()) do
        local value = json.read(text)
        local written = json.write(value)
        if value == "none" then refused = refused + 1 else read = read + 1 end
        -- A null among others leaves a gap.
        if written and json.write(json.read(written)) ~= written then print(text) end
      end
      print(read > 100, refused > 1000)
      """)
    #expect(lines == ["true\ttrue"])
  }

  private static func changedTexts() -> [String] {
    let seed = Array(#"{"a":[1,-2.5e-3,"é\u000a\ud83c\udfb6",[[],{}],true,false,null],"b":{"":1e300}}"#.utf8)
    let signs = Array("{}[]\",:\\u0189.eE+-tfn \u{0}".utf8) + [0x80, 0xC3, 0xFF]
    var random = SeededRandom(seed: 5)
    return (0..<5000).map { _ in
      var text = seed
      for _ in 0..<Int.random(in: 1...4, using: &random) where !text.isEmpty {
        let index = Int.random(in: 0..<text.count, using: &random)
        let sign = signs[Int.random(in: 0..<signs.count, using: &random)]
        switch Int.random(in: 0..<8, using: &random) {
        case 0: text.removeSubrange(index...)
        case 1: text.removeSubrange(index..<min(text.count, index + 5))
        case 2...4: text.insert(sign, at: index)
        default: text[index] = sign
        }
      }
      return String(decoding: text, as: UTF8.self)
    }
  }

  @Test("is never longer than it may be, and stops where it would be")
  func limit() throws {
    let lines = try harness(limit: 64).printed(
      """
      for n = 0, 100 do
        local text, problem = json.write(("x"):rep(n))
        assert((text ~= nil) == (n <= 62) and (text or problem == "tooLong"), n)
        local list, names = {}, {}
        for i = 1, n do list[i], names["n" .. i] = i % 10, i end
        text = json.write(list)
        assert((text ~= nil) == (n <= 31) and (not text or #text <= 64), n)
        text = json.write(names)
        assert(not text or #text <= 64, n)
      end
      print "done"
      """)
    #expect(lines == ["done"])
  }
}
