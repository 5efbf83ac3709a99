internal import EventLoop
internal import LuaRuntime
internal import LuaSyntax
internal import TestSupport
internal import TestTraits
internal import Testing

/// Lua's own compiler.
private final class Compiler {
  private let loop = EventLoop(name: "compiler")
  private let state: LuaState

  init() throws {
    state = try LuaState(name: "compiler", loop: loop, limits: LuaLimits(), watchdog: try LuaWatchdog())
  }

  deinit {
    state.close()
    loop.close()
  }

  /// Returns Lua's message for a text that it refuses.
  func refusal(of text: [UInt8]) -> String? {
    do {
      _ = try state.load(text, chunkName: "=x")
      return nil
    } catch {
      return error.message
    }
  }
}

/// Returns the reason for which our parser refuses a text.
private func refusal(of text: [UInt8]) -> LuaSyntaxError? {
  do {
    _ = try LuaTree(parsing: text)
    return nil
  } catch {
    return error
  }
}

/// Paths of all Lua files of the repository.
private func luaFiles() throws -> [String] {
  let found = try Command.succeed(
    "find", [Fixtures.repository("scripts"), Fixtures.repository("stdlib"), "-name", "*.lua"])
  return found.text.split(separator: "\n").map(String.init).sorted()
}

@Suite("Lua's syntax", .tags(.check)) struct LuaTreeTests {
  @Test("all Lua files of the repository are accepted, as by luac")
  func repository() throws {
    let files = try luaFiles()
    #expect(files.count > 60)
    for file in files {
      _ = try Command.succeed("luac5.4", ["-p", file])
      let text = try Command.succeed("cat", [file]).output
      let reason = refusal(of: text)
      #expect(reason == nil, "\(file)")
    }
  }

  /// Texts at the borders of the grammar.
  static let texts = [
    "", ";", ";;;", "return", "return;", "return 1,2;", "return return", "return 1 x = 2", "x", "x.y", "x:y",
    "x()", "x{}.y = 1",
    "(x) = 1", "(x).y = 1", "(f())", "f().x = 1", "f() = 1", "a, b = 1", "a, f() = 1", "a.b, c[1] = 1, 2",
    "x = = 1",
    "local a <const> = 1", "local a <const> = 1 a = 2", "local a <close> = nil",
    "local a <close>, b <close> = nil",
    "local a <foo> = 1", "local a <const> = 1 function a() end", "local a <const> = {} function a.b() end",
    "local a <const> = 1; local function f() a = 2 end", "local function f() end", "local function f.x() end",
    "function f.a.b:c() end", "function f:a.b() end", "function f:a:b() end", "function() end",
    "local x = function() end",
    "function f(a, b, ...) end", "function f(..., a) end", "function f(a,) end", "function f(,) end",
    "function f(a.b) end",
    "function f() return ... end", "return ...", "local f = function(...) return ... end",
    "function f(...) return function() return ... end end", "break", "while true do break end",
    "repeat break until true",
    "for i = 1, 2 do break end", "while true do local f = function() break end end", "if x then break end",
    "for i = 1 do end", "for i = 1, 2, 3, 4 do end", "for a, b in x do end", "for a.b in x do end",
    "for a in x, y, z do end",
    "for i = 1, 2 do i = 3 end", "goto a ::a::", "::a:: goto a", "goto a", "::a:: ::a::",
    "do ::a:: end ::a::",
    "::a:: do ::a:: end", "goto a local x ::a::", "goto a local x ::a:: x = 1",
    "goto a local x ::a:: ; ::b::",
    "do goto a end local x ::a:: print(x)", "do goto a end ::a:: local x",
    "repeat goto c local x ::c:: until x",
    "repeat goto c local x ::c:: ; until true", "for i = 1, 3 do goto continue local x ::continue:: end",
    "goto a; do ::a:: end", "function f() goto a end ::a::", "::a:: function f() goto a end",
    "goto a ::a:: ::b:: goto b",
    "do goto x end do ::x:: end", "::goto::", "goto = 1", "if x then", "if x then else else end",
    "if x then elseif y then else end", "if x then else elseif y then end", "end", "do end end", "do",
    "repeat until", "while do end",
    "x = {1, 2; 3, a = 1, [2] = 3, f(), }", "x = {,}", "x = {1 2}", "x = {a = }", "x = {[1] 2}",
    "x = {a.b = 1}", "x = {;}",
    "x = {...}", "x = a.b.c[d].e:f(1)'x'{y}[[z]]", "x = a.1", "x = a.end", "x = {end = 1}", "x = a:b",
    "x = a:b.c",
    "x = 'a' .. 'b' .. 1 .. 2", "x = 1..2", "x = 1 ..2", "x = - - 1", "x = --1", "x = not not nil",
    "x = #a ^ -b", "x = 2^-3^4",
    "x = ~1 ~ 2", "x = a ~= b", "x = a != b", "x = a // b >> c << d & e | f", "x = a && b", "x += 1",
    "x = a ? b : c",
    "x = 1e5", "x = 1e", "x = 1e+", "x = 1e+5", "x = 0x", "x = 0x1p4", "x = 0x1p", "x = 0xA.8p1", "x = 0x.1",
    "x = 0x.",
    "x = 3.", "x = .5", "x = .", "x = 3..5", "x = 3x", "x = 0xg", "x = 1_000", "x = 0b1", "x = 1.2.3",
    "x = 5f", "x = 1e5.5",
    "x = 99999999999999999999", "x = 0xffffffffffffffffff", "x = 1//0", "x = 'a\\z   b'", "x = 'a\\\nb'",
    "x = 'a\nb'", "x = 'a",
    "x = \"a\\\"b\"", "x = 'a\\'", "x = '\\x41'", "x = '\\x4'", "x = '\\xg1'", "x = '\\65'", "x = '\\256'",
    "x = '\\u{48}'",
    "x = '\\u{7FFFFFFF}'", "x = '\\u{80000000}'", "x = '\\u{}'", "x = '\\u48'", "x = '\\u{48'", "x = '\\q'",
    "x = '\\",
    "x = '\\u{110000}'", "x = [[a]]", "x = [==[a]]==]", "x = [=[a]]", "x = [=a]", "x = [[a", "-- a", "--[[ a",
    "--[[ a ]] x = 1",
    "--[==[ a ]] ]==] x = 1", "--[=a\nx = 1", "#!/usr/bin/lua\nx = 1", "# x = ", " #!x", "x = 1 # y",
    "\u{E4} = 1", "x = '\u{E4}'",
    "x = 'a\0b'", "x\0 = 1", "\0", "x = @", "x = `a`", "x = $", "x = a\\b", "f'a''b'", "f\n(a)",
    "a = f\n(g).x()", "local x, y",
    "local x, = 1", "local", "local x = ", "local x <const>", "local 1", "x, = 1", "x = 1,", "f(1,)", "f(",
    "f)", "f((1)", "f{1)",
    "x = function() end()", "x = (function() end)()", "(function() end)()", "'x':len()", "('x'):len()",
    "{}.x = 1", "nil = 1",
    "x = nil.y", "x = (nil).y", "x = true.y", "local a <const>, b <close> = 1", "local goto = 1", "x = goto",
    "in = 1",
    "for in in in do end", "return function() end, {}", "do return end", "do return end x = 1",
    "do return; end", "do return; ; end",
    "if x then return end return", "a.b:c = 1", "a:b().c = 1", "a:b'c'", "a::b()", "::a",
    "x = a or b and c == d", "x = not a == b",
    "x = a < b < c", "x = -2 ^ 2", "x = a.b'x'.c", "local t <const> = {} t.x = 1",
    "local function f(a) local a = a end",
    "\u{FEFF}x", "x \u{A0} = 1", "\r\nx = 1\r\n", "x = '\\\r\nb'", "x = '\r\n'", "\t\u{B}\u{C}x = 1",
    "x = 'a\\zb'", "x = '\\z",
    "function a.b.c.d() end", "function a['b']() end", "function 1() end", "local function 1() end",
    "async function f() end",
    "continue", "x++", "x = y++", "if (x) { }", "while (x) do end", "import x", "local x: number = 1",
    "x = y?.z", "x = [1, 2]",
  ]

  @Test("a text is accepted or refused as Lua does", arguments: texts)
  func grammar(_ text: String) throws {
    let lua = try Compiler().refusal(of: Array(text.utf8))
    let ours = refusal(of: Array(text.utf8))
    #expect((lua == nil) == (ours == nil), "Lua: \(lua ?? "accepted"), ours: \(String(describing: ours))")
    #expect(ours?.kind != .limit)
  }

  @Test("a function has at most 200 local variables, as in Lua")
  func variables() throws {
    let compiler = try Compiler()
    for count in [199, 200, 201] {
      let text = Array((0..<count).map { "local v\($0)\n" }.joined().utf8)
      #expect((compiler.refusal(of: text) == nil) == (refusal(of: text) == nil), "\(count)")
      let blocks = Array(("do " + (0..<count).map { "local v\($0)\n" }.joined() + " end local a").utf8)
      #expect((compiler.refusal(of: blocks) == nil) == (refusal(of: blocks) == nil), "\(count) in a block")
    }
  }

  @Test("changed files are accepted or refused as Lua does")
  func mutations() throws {
    let compiler = try Compiler()
    var random = SeededRandom(seed: 15)
    var (accepted, refused) = (0, 0)
    for file in try luaFiles() {
      let text = try Command.succeed("cat", [file]).output
      // The host refuses definitions before Lua compiles them.
      if text.starts(with: "---@meta".utf8) { continue }
      for _ in 0..<12 {
        let changed = random.mutated(text)
        let lua = compiler.refusal(of: changed)
        let ours = refusal(of: changed)
        #expect(
          (lua == nil) == (ours == nil),
          "\(file): Lua: \(lua ?? "accepted"), ours: \(String(describing: ours))")
        if lua == nil { accepted += 1 } else { refused += 1 }
      }
    }
    #expect(accepted > 50 && refused > 50, "\(accepted) \(refused)")
  }

  /// The words of random programs.
  private static let words = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local",
    "nil", "not",
    "or", "repeat", "return", "then", "true", "until", "while", "+", "-", "*", "/", "%", "^", "#", "&", "~",
    "|", "<<",
    ">>", "//", "==", "~=", "<=", ">=", "<", ">", "=", "(", ")", "{", "}", "[", "]", "::", ";", ":", ",", ".",
    "..",
    "...", "a", "b", "f", "1", "0x2p3", "'s'", "[[t]]", "const", "close", "::l::", "goto l", "local a =",
    "a = 1", "f()",
    "do local b end", "if a then", "function f(...)", "function a.b:c()", "while a do", "for i = 1, 2 do",
    "repeat",
    "for k, v in f() do", "local x <const> = 1", "end", "end", "end", "until a",
  ]

  @Test("random programs of Lua's words are accepted or refused as Lua does")
  func randomPrograms() throws {
    let compiler = try Compiler()
    var random = SeededRandom(seed: 54)
    var accepted = 0
    for _ in 0..<20_000 {
      let count = Int.random(in: 1...12, using: &random)
      let words = (0..<count).compactMap { _ in Self.words.randomElement(using: &random) }
      let text = Array(words.joined(separator: " ").utf8)
      let lua = compiler.refusal(of: text)
      let ours = refusal(of: text)
      if (lua == nil) != (ours == nil) {
        Issue.record(
          "\(words.joined(separator: " ")): Lua: \(lua ?? "accepted"), ours: \(String(describing: ours))")
      }
      if lua == nil { accepted += 1 }
    }
    #expect(accepted > 100, "\(accepted)")
  }

  @Test("random bytes neither crash nor hang the parser")
  func noise() {
    var random = SeededRandom(seed: 1)
    for _ in 0..<3_000 { _ = refusal(of: random.someBytes(upTo: 400)) }
    let letters = Array("(){}[]=\"'\\-\n.:,aif01xeu \0#~<>".utf8)
    for _ in 0..<3_000 {
      let count = Int.random(in: 0...300, using: &random)
      _ = refusal(of: (0..<count).compactMap { _ in letters.randomElement(using: &random) })
    }
  }

  /// Large texts, with the word of the refusal; nil for texts that are accepted.
  static let large: [(String, String?)] = {
    func repeated(_ text: String, _ count: Int = 1_500_000) -> String {
      String(repeating: text, count: count / text.utf8.count)
    }
    return [
      (repeated("x", 10 << 20), "larger than 2 MB"), (repeated("("), "levels"), (repeated("x = {"), "levels"),
      (repeated("do "), "levels"), (repeated("f("), "levels"), (repeated("x = function() "), "levels"),
      ("x = " + repeated("not "), "levels"), ("x = " + repeated("a .. "), "levels"),
      ("x = " + repeated("2^"), "levels"),
      ("x = a" + repeated(" + a"), "parts"), ("x = a" + repeated(".b"), "parts"),
      ("f" + repeated("()"), "parts"),
      ("x = '" + repeated("a"), "unfinished string"), ("x = [==[" + repeated("]="), "unfinished long string"),
      ("--[[" + repeated("="), "unfinished long comment"), ("x = " + repeated("["), "unfinished long string"),
      ("x = " + repeated("1"), nil), ("x = " + repeated("1") + "x", "malformed number"),
      (repeated("x = 1;"), nil),
      (repeated("local x;"), "too many local variables"), (repeated("goto a "), "no visible label"),
      (repeated("do goto a end "), "no visible label"), (repeated("goto a ") + "::a::", nil),
      (repeated("do ::a:: goto a end "), nil), (repeated("::a"), "syntax error"),
      (repeated("a,") + "a = 1", nil),
      ("return {" + repeated("1,") + "}", nil), (repeated("if a then else "), "levels"),
      ("if a then " + repeated("elseif a then ") + "end", nil), (repeated("--[[]]"), nil),
      (repeated("\0"), "unexpected symbol"),
      (repeated("function f() end "), nil), (repeated("do local x = x end "), nil), (repeated("f{}"), nil),
      ("f" + repeated("{}"), "parts"),
    ]
  }()

  @Test("a large text takes time and memory in proportion to its size", arguments: large.indices)
  func hostile(_ index: Int) {
    let (text, word) = Self.large[index]
    let start = ContinuousClock.now
    let reason = refusal(of: Array(text.utf8))
    #expect(ContinuousClock.now - start < .seconds(60))
    if let word { #expect(reason?.message.contains(word) == true, "\(String(describing: reason))") }
    if word == nil { #expect(reason == nil) }
  }
}
