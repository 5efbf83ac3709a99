import HeadsetLink
import LuaModules
import Reference
import TestSupport
import TestTraits
import Testing

/// Each function and method that `stdlib/meta` describes for the host, called through Lua in virtual time.
@Suite(
  "the functions of the host, as stdlib/meta describes them", .waiting,
  .tags(.error, .speaker, .stream, .headset))
struct BindingTests {
  private static let reference = ReferenceCheck.reference
  private static let described = reference.functions.filter { function in
    (Script.moduleNames + ["Subscription"]).contains(String(function.owner.prefix { $0 != "." }))
  }

  private func harness() throws -> EngineHarness {
    var harness = try EngineHarness()
    let locked = "{ url = 'http://fm/', user = 'me', password_file = '\(harness.folder.file("secret"))' }"
    harness.configuration =
      "house { output = 'null' } limits { store = 1 } stations { morning = 'http://fm/', locked = \(locked) }"
    let file = Fixtures.path("mp3-cbr128-44k.mp3")
    harness.stations =
      """
      station('http://fm/', { file = '\(file)', name = 'FM', titles = { { at = 0, title = 'A - B' } } })
      station('http://show/', { file = '\(file)', is_file = true })
      station('http://gone/', { status = 404 }) station('http://private/', { status = 401 })
      station('http://broken/', { status = 500 }) station('http://page/', { html = true })
      station('http://refused/', { refuses = true }) station('http://silent/', { silent = true })
      answer('http://lamp/', { body = '{"on":true}', headers = { ["X-Level"] = "20" } })
      answer('http://failing/', { status = 500, body = "no" })
      """
    _ = try harness.folder.write(Array("no sound at all, but a text".utf8), to: "text.wav")
    _ = try harness.folder.write(Array("#EXTM3U\nhttp://fm/\n".utf8), to: "stations.m3u")
    _ = try harness.folder.write(Array("MThd\0\0\0\u{6}\0\0\0\u{1}\0\u{1}".utf8), to: "midi.mid")
    _ = try harness.folder.write(HeadsetHarness.firmware().bytes, to: "new.rtfw")
    return harness
  }

  @Test("each have a row in the table, and each row is a function's") func complete() {
    let names = Set(BindingTable.rows.map(\.function))
    #expect(Self.described.count > 200 && names.count == BindingTable.rows.count)
    #expect(names == Set(Self.described.map(\.name)))
  }

  @Test("raise each code of their definitions in a row, or in tests of their own") func codes() {
    let rows = Dictionary(uniqueKeysWithValues: BindingTable.rows.map { ($0.function, $0) })
    let general: Set = ["argument", "speaker.closed", "task.cannot_suspend"]
    var unused = Set(BindingTable.elsewhere.keys)
    for function in Self.described {
      let raised = Set((rows[function.name]?.errors ?? []).map(\.code))
      for code in Set(function.raises.map(\.code)).subtracting(general).subtracting(raised) {
        let key = ["\(function.name) \(code)", code].first { BindingTable.elsewhere[$0] != nil }
        #expect(key != nil, "\(function.name) \(code)")
        if let key { unused.remove(key) }
      }
      let unknown = raised.subtracting(Self.reference.codes(of: function.name).map(\.code))
      #expect(unknown.isEmpty, "\(function.name)")
    }
    #expect(unused.isEmpty)
  }

  @Test("raise the codes that no row raises in suites that exist, and name code and function")
  func elsewhere() throws {
    func isNamed(_ name: Substring, in text: String) -> Bool {
      let words = name.split(separator: "_")
      let rest = words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }
      return text.contains(name) || text.contains(words[0] + rest.joined())
    }
    for (key, suite) in BindingTable.elsewhere {
      let text = String(decoding: try readBytes(Fixtures.repository("Tests/\(suite).swift")), as: UTF8.self)
      let words = key.split(separator: " ")
      let code = words[words.count - 1]
      let kind = ".\(code.drop { $0 != "." }.dropFirst())"
      #expect(text.contains("struct \(suite.split(separator: "/").last ?? "") {"), "\(key): \(suite)")
      #expect(text.contains(code) || isNamed(kind[...], in: text), "\(key): \(suite)")
      if words.count == 2, let name = words[0].split(whereSeparator: { ".:".contains($0) }).last {
        #expect(isNamed(name, in: text), "\(key): \(suite)")
      }
    }
  }

  @Test(
    "return what they are described to, suspend as they are described to, and raise their codes",
    arguments: BindingTable.rows)
  func row(_ row: BindingRow) throws {
    let function = try #require(Self.reference.function(row.function))
    let harness = try harness()
    let isOpen = function.returns.last?.name == "..."
    let checks = function.returns.dropLast(isOpen ? 1 : 0).map { BindingTypes.function(for: $0.type) }
    // A block's function is called where nothing can suspend.
    let suspends = function.suspends || function.owner == "stream.Block"
    var script = "local FOLDER = '\(harness.folder.path)'\n" + BindingTable.globals(Script.moduleNames)
    script += BindingTable.prelude + BindingTypes.prelude
    script += "\(BindingTable.setups[function.owner] ?? "")\n\(row.setup)\ntask.sleep(0.1)\n"
    var expected: [String] = []
    if function.suspends {
      script += "print('suspended', code(unsuspended, function() return \(row.call) end))\n"
      expected.append("suspended\ttask.cannot_suspend")
    }
    let call = suspends ? row.call : "unsuspended(function() return \(row.call) end)"
    script += "local results = table.pack(\(call))\n"
    script += "print('type', (wrong(results, { \(checks.joined(separator: ", ")) }, \(isOpen))))\n"
    expected.append("type\tnil")
    if let results = row.results {
      script += "print('results', line(results))\n"
      expected.append("results\t\(results)")
    }
    script += "task.sleep(0.1)\n"
    for effect in row.effects {
      script += "print('then', line(table.pack(\(effect.expression))))\n"
      expected.append("then\t\(effect.values)")
    }
    for error in row.errors {
      script += "print('raised', code(function() \(error.statements) end))\n"
      expected.append("raised\t\(error.code)")
    }
    if function.raises.contains(where: { $0.code == "speaker.closed" }), function.name != "speaker.open" {
      script += "speaker.close() print('closed', code(function() return \(row.call) end))\n"
      expected.append("closed\tspeaker.closed")
    }
    let printed = try harness.printed(script + "os.exit(0)")
    #expect(printed == expected)
  }

  @Test("raise argument, and name themselves, for a first argument of a type that none of them takes")
  func misuse() throws {
    let objects = Dictionary(uniqueKeysWithValues: DefinitionTests.objects)
    let calls = Self.described.compactMap { function -> String? in
      guard let first = function.parameters.first, first.name != "...", first.type.text != "any",
        function.owner != "stream.Block", function.name != "task.try"
      else { return nil }
      let method = "(\(objects[function.owner] ?? "nil")):\(function.shortName)"
      let called = function.isMethod ? method : function.name
      return "probe('\(function.name)', function() \(called)(coroutine.create(print)) end)"
    }
    let lines = try harness().printed(
      """
      \(BindingTable.globals(Script.moduleNames))
      speaker.open()
      _G.recording = stream.new 'http://fm/':record "a"
      _G.h = headset.connect()
      local function probe(name, f)
        local err = failure(f)
        local own = name:match "[%w_]+$"
        if err.code ~= "argument" or not err.message:find("#1 to '" .. own .. "'", 1, true) then
          print(name, err.code, err.message)
        end
      end
      \(calls.joined(separator: "\n"))
      print "done"
      os.exit(0)
      """)
    #expect(calls.count > 100 && lines == ["done"], "\(lines)")
  }
}
