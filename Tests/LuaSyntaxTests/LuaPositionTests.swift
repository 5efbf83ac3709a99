internal import LuaSyntax
internal import TestTraits
internal import Testing

@Suite("Positions in Lua texts", .tags(.check)) struct LuaPositionTests {
  @Test("columns count characters, lines any line end")
  func positions() throws {
    let lines = LuaLines(Array("a\r\n\u{E4}\u{1F468}\u{200D}\u{1F469}x\rb\n\nc".utf8))
    let found = [0, 3, 5, 16, 18, 20, 21].map { lines.position(of: $0) }
    #expect(found.map(\.line) == [1, 2, 2, 2, 3, 4, 5])
    #expect(found.map(\.column) == [1, 1, 2, 3, 1, 1, 1])
  }

  @Test("a byte order mark has no column")
  func mark() {
    let lines = LuaLines(Array("\u{FEFF}x".utf8))
    #expect(lines.position(of: 3) == lines.position(of: 0))
    #expect(lines.position(of: 3).column == 1)
  }

  @Test("an error has the position of Lua's message, in its words")
  func errors() {
    func reason(_ text: String) -> (String, LuaPosition)? {
      do {
        _ = try LuaTree(parsing: Array(text.utf8))
        return nil
      } catch {
        return (error.message, LuaLines(Array(text.utf8)).position(of: error.offset))
      }
    }
    let open = reason("if x then\n  print(1)\n")
    #expect(open?.0 == "'end' expected (to close 'if' at line 1) near <eof>")
    #expect(open?.1.line == 3)
    let comma = reason("f(1\n  2)")
    #expect(comma?.0 == "')' expected (to close '(' at line 1) near a number")
    #expect(comma?.1.line == 2 && comma?.1.column == 3)
    #expect(reason("x = \"abc\ny = 1")?.0 == "unfinished string near '\"abc'")
    #expect(reason("local x <const> = 1\nx = 2")?.0.contains("const variable 'x'") == true)
  }

  @Test("names are resolved to the variables that they mean")
  func names() throws {
    let tree = try LuaTree(
      parsing: Array("local a = 1; local function f(b) a = b; local a = c; return a end; return f(a)".utf8))
    guard case .local(let outer, _) = tree[LuaFunctionID.main].body[0].kind,
      case .localFunction(let f, let function) = tree[LuaFunctionID.main].body[1].kind,
      case .local(let inner, let values) = tree[function].body[1].kind,
      case .global(let name) = tree[values[0]].kind
    else {
      Issue.record("another tree")
      return
    }
    #expect(name == "c")
    #expect(tree[outer[0]].assignments == 1 && tree[outer[0]].reads == 1)
    #expect(tree[inner[0]].assignments == 0 && tree[inner[0]].reads == 1)
    #expect(tree[f].reads == 1)
    #expect(tree[tree[function].parameters[0]].name == "b")
  }
}
