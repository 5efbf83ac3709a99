import Database
import EventLoop
import Glibc
import LuaModules
import LuaRuntime
import Roomtone
import TestSupport
import TestTraits
import Testing

@Suite("store", .waiting, .tags(.store))
struct StoreTests {
  private static let prelude =
    "local store = require 'store' local function show(v) return math.type(v) or type(v), v end "

  /// A harness whose scripts keep what they store.
  private func harness() throws -> EngineHarness {
    var harness = try EngineHarness()
    harness.store = harness.folder.file("state/store.db")
    return harness
  }

  private func printed(_ harness: EngineHarness, _ code: String) throws -> [String] {
    try harness.printed(Self.prelude + code)
  }

  @Test("the next run reads the values of the one before; the file is its owner's alone")
  func restarts() throws {
    let harness = try harness()
    #expect(
      try printed(harness, "print(store.get 'volume', store.get('volume', 15)) store.set('volume', 20)") == [
        "nil\t15"
      ])
    #expect(try printed(harness, "print(store.get 'volume', store.get('volume', 15))") == ["20\t20"])
    var info = stat()
    for name in ["store.db", "store.db-wal"] where stat(harness.folder.file("state/\(name)"), &info) == 0 {
      #expect(info.st_mode & 0o777 == 0o600, "\(name)")
    }
    #expect(stat(harness.folder.file("state/store.db"), &info) == 0)
  }

  @Test("a script may keep as much as its limit, over all runs; what is deleted or replaced makes room")
  func limit() throws {
    var harness = try harness()
    harness.configuration += " limits { store = 1 }"
    let fill =
      """
      local function set(key, size)
        local ok, err = pcall(store.set, key, size and ("x"):rep(size))
        print(ok or err.code)
        return err
      end\u{20}
      """
    let lines = try printed(
      harness,
      fill
        + """
        set("a", 500000) set("b", 500000)
        print(set("c", 100000).message)
        set("a", 500000) set("a", 400000) set("c", 100000)
        set("d", 100000) set("b") set("d", 100000)
        """)
    #expect(
      lines == [
        "true", "true", "store.full",
        "no room for \"c\": this script keeps 1.0 MB, and 1 MiB are the most", "true", "true", "true",
        "store.full", "true", "true",
      ])
    #expect(
      try printed(harness, fill + "set('e', 500000) set('e', 400000) print(#store.keys())") == [
        "store.full", "true", "4",
      ])
  }

  @Test(
    "a value that would leave less free on the disk than min_free is refused, a smaller one in its place is not"
  )
  func minimumFree() throws {
    var harness = try harness()
    #expect(try printed(harness, "store.set('a', 'a long text') print 'kept'") == ["kept"])
    harness.configuration += " recordings { min_free = '900000TB' }"
    let lines = try printed(
      harness,
      """
      local ok, err = pcall(store.set, "b", 1)
      print(ok, err.code, err.message:match "recordings { min_free } keeps 900000 TB free", err.hint)
      store.set("a", "short")
      print(store.get "a", store.delete "a", #store.keys())
      """)
    #expect(
      lines == [
        "false\tstore.full\trecordings { min_free } keeps 900000 TB free\t"
          + "make room on the disk, or set a smaller min_free in the configuration",
        "short\ttrue\t0",
      ])
  }

  @Test("every value comes back as it was, integers and floats apart")
  func values() throws {
    let harness = try harness()
    let list =
      """
      local list = {
        true, false, 0, -7, math.maxinteger, math.mininteger, 2.0, -0.0, 0.1 + 0.2, 1e300, 5e-324, 1e16, "",
        "Café \\0 \\"\\\\/\\b\\n\\127 🎶", ("x"):rep(1000),
      }\u{20}
      """
    _ = try printed(harness, list + "store.set('list', list)")
    let lines = try printed(
      harness,
      list
        + """
        local back = store.get "list"
        for i, value in ipairs(list) do
          if back[i] ~= value or math.type(back[i]) ~= math.type(value) then print(i, show(back[i])) end
        end
        print(#back, 1 / back[8])
        for i, value in ipairs(list) do
          store.set("one", value)
          assert(store.get "one" == value and math.type(store.get "one") == math.type(value), i)
        end
        """)
    #expect(lines == ["15\t-inf"])
  }

  @Test("tables come back whole: lists, names of any kind, the same table twice, 64 in one another")
  func tables() throws {
    let lines = try printed(
      try harness(),
      """
      local same = { 1, 2 }
      store.set("t", { alarms = { { at = "06:45", on = true }, { at = "07:15" } }, ["odd key"] = same, [""] = same, ["é"] = {} })
      local t = store.get "t"
      print(t.alarms[1].at, t.alarms[1].on, t.alarms[2].at, #t["odd key"], t[""][2], next(t["é"]))
      t.alarms[1].at = "later"
      print(store.get "t".alarms[1].at)
      local deep, depth = {}, 0
      for _ = 1, 63 do deep = { deep } end
      store.set("deep", deep)
      local walk = store.get "deep"
      while walk do walk, depth = walk[1], depth + 1 end
      print(depth)
      store.set("empty", {})
      print(type(store.get "empty"), next(store.get "empty"))
      """)
    #expect(lines == ["06:45\ttrue\t07:15\t2\t2\tnil", "06:45", "64", "table\tnil"])
  }

  @Test("the file holds JSON that other programs can read")
  func otherPrograms() throws {
    let harness = try harness()
    _ = try printed(
      harness, "store.set('t', { at = '06:45', list = { 1, 2.5, true, {} }, ['\\0\\n\"é'] = 1e300 })")
    let rows = try Database(path: try #require(harness.store)).query(
      "SELECT json_valid(json), json_extract(json, '$.at'), json_extract(json, '$.list[1]') FROM value")
    #expect(rows.map(\.values) == [[1, "06:45", 2.5]])
  }

  @Test("keys are sorted; delete and a nil remove")
  func keys() throws {
    let lines = try printed(
      try harness(),
      """
      for _, key in ipairs { "b", "a b", "", "B", "é", "a'; DROP TABLE value; --", ("k"):rep(1024) } do store.set(key, 1) end
      local keys = store.keys()
      print(#keys, keys[1] == "", keys[2], keys[3], keys[4], keys[5], #keys[6], keys[7])
      print(store.delete "b", store.delete "b", store.get "b")
      store.set("B", nil)
      print(#store.keys(), store.get("B", "gone"), store.get("B", print) == print)
      print(table.concat(store.keys "a", "|"), #store.keys "a'; ", #store.keys "absent", #store.keys "é", #store.keys "")
      print(select(2, pcall(store.keys, 5)))
      """)
    #expect(
      lines == [
        "7\ttrue\tB\ta b\ta'; DROP TABLE value; --\tb\t1024\té", "true\tfalse\tnil", "5\tgone\ttrue",
        "a b|a'; DROP TABLE value; --\t1\t0\t1\t5",
        "test.lua:8: bad argument #1 to 'keys' (string expected, got number)",
      ])
  }

  @Test(
    "a value that can't be stored is named with its path, at the caller's line, and the old one stays",
    arguments: [
      ("print", "value is a function"),
      ("{ alarms = { {}, { fn = print } } }", "value.alarms[2].fn is a function"),
      ("{ a = 0/0 }", "no finite number"), ("{ a = 1/0 }", "value.a is inf, no finite number"),
      ("-1/0", "value is -inf"), ("'\\xff'", "value is text that is not UTF-8"),
      ("{ ['\\xff'] = 1 }", "value has a name that is not UTF-8"),
      ("{ ['odd key'] = { ['5x'] = io.stdout } }", "value[\"odd key\"][\"5x\"] is a FILE*"),
      ("{ d = speaker.device 'Kitchen' }", "value.d is a speaker"),
      ("{ co = coroutine.create(print) }", "value.co is a thread"),
      ("{ 1, 2, x = 3 }", "value has both names and places in a list"),
      ("{ 1, nil, 3 }", "value is a list without element 2"),
      ("{ [2] = 1 }", "value is a list without element 1"),
      ("{ [0] = 1 }", "value has the key 0, neither"), ("{ [1.5] = 1 }", "value has the key 1.5, neither"),
      ("{ [true] = 1 }", "value has a key that is a boolean"),
      ("{ o = setmetatable({}, {}) }", "value.o is a table with a metatable"),
      ("{ e = failure(error, {}) , f = select(2, pcall(speaker.device, 'x')) }", "value.f is an error"),
      (
        "(function() local t = { a = {} } t.a.b = { t } return t end)()",
        "value.a.b[1] is a table that holds itself"
      ),
      (
        "(function() local t = {} for _ = 1, 64 do t = { t } end return t end)()",
        "is more than 64 tables deep"
      ),
      ("{ [('k'):rep(5000)] = print }", "kkkk… is a function"),
    ])
  func notStorable(_ value: String, _ problem: String) throws {
    let lines = try printed(
      try harness(),
      """
      store.set("key", "before")
      local err = failure(function()
        store.set("key", \(value))
      end)
      print(err.code) print(tostring(err)) print(store.get "key")
      """)
    try #require(lines.count == 3, "\(lines)")
    #expect(lines[0] == "store.not_storable" && lines[2] == "before")
    #expect(
      lines[1].hasPrefix("test.lua:3: store.set: value") && lines[1].contains(problem)
        && lines[1].count < 250,
      "\(lines[1])")
  }

  @Test("a value may have 1 MiB and no byte more, however it is made")
  func tooLarge() throws {
    var harness = try harness()
    harness.configuration = "house { output = 'null' } limits { run = '60s' }"
    let lines = try printed(
      harness,
      """
      local most = ("x"):rep(2 ^ 20 - 2)
      store.set("most", most)
      print(#store.get "most")
      -- Each step has the processor to itself as long as a script may.
      task.sleep(0)
      print(code(store.set, "most", most .. "x"))
      print(code(store.set, "most", { most }))
      task.sleep(0)
      local twins = {}
      for _ = 1, 30 do twins = { twins, twins } end
      print(code(store.set, "most", twins))
      task.sleep(0)
      local names = {}
      for i = 1, 200000 do names["name" .. i] = true end
      task.sleep(0)
      print(message(store.set, "most", names))
      print(#store.get "most")
      """)
    #expect(
      lines == ["1048574"] + Array(repeating: "store.too_large", count: 3) + [
        "store.set: the value of \"most\" exceeds 1 MiB as JSON", "1048574",
      ])
  }

  @Test(
    "misuse names the argument",
    arguments: [
      ("store.get", "bad argument #1 to 'get' (string expected, got no value)"),
      ("store.get, 5", "bad argument #1 to 'get' (string expected, got number)"),
      ("store.keys and store.set, 'x'", "bad argument #2 to 'set' (value expected, got no value)"),
      ("store.set, '\\xff', 1", "bad argument #1 to 'set' (text in UTF-8 expected, got byte 0xff at 1)"),
      ("store.delete, ('x'):rep(1025)", "bad argument #1 to 'delete' (at most 1024 bytes expected)"),
    ])
  func misuse(_ call: String, _ problem: String) throws {
    #expect(try printed(try harness(), "print(message(\(call)))") == [problem])
  }

  @Test("each script has its own by its file, however that is named; text from nowhere has one by its kind")
  func scripts() throws {
    let harness = try harness()
    func run(_ name: String, isFile: Bool, _ code: String) throws -> [String] {
      let engine = try harness.engine()
      var lines: [String] = []
      engine.onPrint = { lines.append($0) }
      let script = try engine.makeScript(name, isFile: isFile)
      let main = try script.state.load(Array((Self.prelude + code).utf8), chunkName: "=x")
      #expect(engine.run(script, main).status == 0)
      return lines
    }
    for name in ["a.lua", "b.lua"] { _ = try harness.folder.write([], to: name) }
    #expect(symlink(harness.folder.path, harness.folder.file("link")) == 0)
    for name in [harness.folder.file("a.lua"), "-e", "repl"] {
      #expect(
        try run(name, isFile: name.hasSuffix("lua"), "print(store.get 'me') store.set('me', 'x')") == ["nil"])
    }
    for name in [
      "./a.lua", "link/a.lua", "link/../\(harness.folder.path.split(separator: "/").last ?? "")/a.lua",
    ] {
      #expect(try run(harness.folder.file(name), isFile: true, "print(store.get 'me')") == ["x"], "\(name)")
    }
    #expect(try run(harness.folder.file("b.lua"), isFile: true, "print(store.get 'me')") == ["nil"])
    #expect(try run("-", isFile: false, "print(store.get 'me')") == ["nil"])
    #expect(try run("-e", isFile: false, "print(store.get 'me')") == ["x"])
  }

  @Test("concurrent runs see each other's values, and lose none")
  func together() throws {
    // Each thread runs with a copy.
    nonisolated(unsafe) let harness = try harness()
    let outcomes = Lock<[[String]]>([])
    let threads = try (0..<4).map { number in
      try TestThread {
        let lines = try? printed(
          harness, "for i = 1, 50 do store.set('\(number)/' .. i, i) end print(#store.keys())")
        outcomes.withLock { $0.append(lines ?? ["failed"]) }
      }
    }
    for thread in threads { thread.join() }
    let counts = outcomes.withLock { $0.compactMap { $0.first.flatMap { Int($0) } } }
    #expect(counts.count == 4 && counts.max() == 200, "\(counts)")
    #expect(try printed(harness, "print(#store.keys(), store.get '3/50')") == ["200\t50"])
  }

  @Test("without a file it lives in memory, as long as its engine")
  func inMemory() throws {
    let harness = try EngineHarness()
    for _ in 0..<2 {
      #expect(
        try printed(harness, "print(#store.keys()) store.set('a', 1) print(store.get 'a')") == ["0", "1"])
    }
    #expect(fileNames(in: ".").contains { $0.contains("memory") } == false)
  }

  @Test(
    "a damaged file is set aside and reported, one that was removed is begun again, and the script continues")
  func damaged() throws {
    let harness = try harness()
    _ = try printed(harness, "store.set('a', 1)")
    let folder = harness.folder.file("state")
    _ = try harness.folder.write(Array(repeating: 7, count: 8192), to: "state/store.db")
    let outcome = try harness.run(
      Self.prelude
        + """
        print(store.get 'a') store.set('a', 2)
        os.remove "\(folder)/store.db" os.remove "\(folder)/store.db-wal" os.remove "\(folder)/store.db-shm"
        print(store.get 'a') store.set('a', 3) print(store.get 'a')
        """)
    #expect(outcome.lines == ["nil", "nil", "3"] && outcome.failures.isEmpty, "\(outcome)")
    #expect(
      outcome.log.map(\.message) == [
        "the store of the scripts was damaged and is now \(folder)/store.db.damaged; a new store begins"
      ])
    #expect(try printed(harness, "print(store.get 'a')") == ["3"])
  }

  @Test("a file that can't be used, and text in it that is no JSON, raise what they are")
  func unusable() throws {
    var harness = try harness()
    let store = try #require(harness.store)
    _ = try printed(harness, "store.set('a', 1)")
    for text in [
      "", "{", "[1,]", "{\"a\":1", "\"\\ud800\"", "01x", "+1", "[1] 2", "nul",
      String(repeating: "[", count: 1000),
    ] {
      try Database(path: store).execute("UPDATE value SET json = ?", [.text(text)])
      #expect(try printed(harness, "print(code(store.get, 'a'))") == ["database.damaged"], "\(text)")
    }
    try Database(path: store).execute(
      "UPDATE value SET json = ?", [" [ \"\\u00e9\\ud83c\\udfb6\\/\" , 1E2 ,{ } , null]"])
    #expect(try printed(harness, "local v = store.get 'a' print(v[1], v[2], #v)") == ["é🎶/\t100.0\t3"])
    harness.store = harness.folder.file("tone.wav/store.db")
    #expect(
      try printed(harness, "print(code(store.get, 'a'), code(store.set, 'a', 1), code(store.keys))") == [
        "database.unavailable\tdatabase.unavailable\tdatabase.unavailable"
      ])
  }
}
