internal import Reference
internal import Scheduling
internal import ScriptCheck
internal import TestTraits
internal import Testing

/// A script with one mistake, and what is expected to be said about it: `line:column: … (code)`.
struct ComplaintCase: CustomTestStringConvertible {
  let script: String
  let position: String
  let code: ScriptFinding.Code
  let word: String

  init(_ script: String, _ position: String, _ code: ScriptFinding.Code, _ word: String) {
    (self.script, self.position, self.code, self.word) = (script, position, code, word)
  }

  var testDescription: String { script }

  /// The script behind the modules that it uses, on one line.
  var whole: String {
    "local speaker, task, schedule, stream, headset, alarm, log, store, eq, recorder = require \"speaker\", "
      + "require \"task\", require \"schedule\", require \"stream\", require \"headset\", require \"alarm\", "
      + "require \"log\", require \"store\", require \"eq\", require \"recorder\"\n" + script
  }
}

@Suite("Complaints", .tags(.check)) struct ComplaintTests {
  static let cases = [
    // Syntax.
    ComplaintCase("speaker.play(\"x\"", "2:17", .syntax, "')' expected"),
    ComplaintCase("if true then\n  print(1)\n", "4:1", .syntax, "to close 'if' at line 2"),
    ComplaintCase("x = = 1", "2:5", .syntax, "unexpected symbol"),
    // Globals.
    ComplaintCase("pritn \"x\"", "2:1", .global, "did you mean 'print'"),
    ComplaintCase("local function f() count = 1 end f()", "2:20", .global, "which nothing declares"),
    ComplaintCase("local volume = 1\nvolum = 2 print(volume)", "3:1", .global, "did you mean 'volume'"),
    ComplaintCase("do local inner = 1 end print(inner)", "2:30", .global, "not visible here"),
    ComplaintCase("zone.get \"x\"", "2:1", .global, "require \"zone\""),
    // Modules.
    ComplaintCase("local x = require \"sceen\" print(x)", "2:19", .module, "did you mean 'scene'"),
    // Names.
    ComplaintCase(
      "speaker.plya \"x.mp3\"", "2:9", .name, "'speaker' has no field or function 'plya'; did you mean 'play'"
    ),
    ComplaintCase("print(speaker.default_session())", "2:15", .name, "write 'speaker.own'"),
    ComplaintCase("speaker.own:plya \"x.mp3\"", "2:13", .name, "no method 'plya'; did you mean 'play'"),
    ComplaintCase(
      "speaker.device(\"Kitchen\"):jion()", "2:27", .name, "no method 'jion'; did you mean 'join'"),
    ComplaintCase("print(speaker.device(\"Kitchen\").volme)", "2:33", .name, "did you mean 'volume'"),
    ComplaintCase("speaker.play(\"x.mp3\", { lop = true })", "2:25", .name, "did you mean 'loop'"),
    ComplaintCase("local opts = { lop = true }\nspeaker.play(\"x.mp3\", opts)", "2:16", .name, "'loop'"),
    ComplaintCase("speaker.on(\"end\", function() end)", "2:12", .name, "ended"),
    ComplaintCase("speaker.on(\"volume\", function(e) print(e.devise) end)", "2:42", .name, "'device'"),
    ComplaintCase("local e = speaker.wait \"ended\"\nprint(e.sorce)", "3:9", .name, "'source'"),
    ComplaintCase("for _, d in ipairs(speaker.devices()) do print(d.nam) end", "2:50", .name, "'name'"),
    ComplaintCase("print(string.fromat \"x\")", "2:14", .name, "'format'"),
    ComplaintCase("print((\"x\"):uper())", "2:13", .name, "'upper'"),
    ComplaintCase("speaker.set_eq { [63] = 3 }", "2:19", .name, "62"),
    ComplaintCase(
      "local function h(e) print(e.resaon) end\nspeaker.on(\"ended\", h)", "2:29", .name, "'reason'"),
    ComplaintCase("speaker.interrupt { play = function(s) s:ply \"x\" end }", "2:42", .name, "'play'"),
    ComplaintCase("task.spawn(function() end):cancle()", "2:28", .name, "'cancel'"),
    // Dots and colons.
    ComplaintCase("speaker:stop()", "2:9", .call, "write '.stop(…)'"),
    ComplaintCase("speaker.device(\"Kitchen\").mute()", "2:27", .call, "call it with a colon"),
    ComplaintCase("print(speaker.device(\"Kitchen\").volume())", "2:33", .call, "without ()"),
    ComplaintCase("print(speaker.device(\"Kitchen\"):volume())", "2:33", .call, "is a field"),
    ComplaintCase("if speaker.is_playing then print \"x\" end", "2:12", .call, "call it with ()"),
    ComplaintCase("print(speaker.volume > 20)", "2:15", .call, "call it with ()"),
    ComplaintCase("print(speaker.device.name)", "2:22", .call, "call it before"),
    ComplaintCase("for _, d in ipairs(speaker.devices) do print(d) end", "2:28", .call, "call it with ()"),
    ComplaintCase("for d in speaker.devices do print(d) end", "2:18", .call, "not an iterator"),
    // Numbers of arguments.
    ComplaintCase("speaker.play()", "2:9", .arguments, "1 to 2 arguments, got 0"),
    ComplaintCase("speaker.stop(1)", "2:9", .arguments, "no arguments, got 1"),
    ComplaintCase("schedule.at(\"06:45\")", "2:10", .arguments, "2 to 3 arguments, got 1"),
    ComplaintCase("math.floor()", "2:6", .arguments, "1 argument, got 0"),
    ComplaintCase("print((\"x\"):rep())", "2:13", .arguments, "got 0"),
    ComplaintCase("alarm.set { at = \"06:45\", rooms = \"Kitchen\" }", "2:11", .arguments, "'sources'"),
    // Values.
    ComplaintCase("speaker.set_volume(51)", "2:20", .value, "0 to 50 expected, got 51"),
    ComplaintCase("speaker.set_volume(20.5)", "2:20", .value, "whole number"),
    ComplaintCase("speaker.set_volume \"20\"", "2:20", .value, "whole number expected, got a string"),
    ComplaintCase("speaker.set_gain(-91)", "2:18", .value, "-90 to 12"),
    ComplaintCase("speaker.device(\"Kitchen\"):set_balance(7)", "2:39", .value, "-6 to 6"),
    ComplaintCase("speaker.device(\"Kitchen\"):set_role \"lefft\"", "2:36", .value, "\"left\""),
    ComplaintCase("speaker.set_eq \"rok\"", "2:16", .value, "\"rock\""),
    ComplaintCase("speaker.set_eq { [62] = 13 }", "2:25", .value, "-12 to 12"),
    ComplaintCase("if speaker.state() == \"play\" then print \"x\" end", "2:23", .value, "never \"play\""),
    ComplaintCase("print(speaker.volume() == \"20\")", "2:27", .value, "never a string"),
    ComplaintCase("schedule.every(\"1m\", { overlap = \"que\" }, function() end)", "2:34", .value, "queue"),
    ComplaintCase("speaker.watch(1)", "2:15", .value, "true or false"),
    ComplaintCase("speaker.on(\"ended\", \"f\")", "2:21", .value, "a function expected"),
    ComplaintCase("speaker.play(\"x\", 5)", "2:19", .value, "a table expected"),
    ComplaintCase("speaker.device { \"Kitchen\" }", "2:16", .value, "a string expected"),
    ComplaintCase(
      "local d = speaker.device \"Kitchen\"\nspeaker.device(d)", "3:16", .value, "a speaker.Device"),
    ComplaintCase("setmetatable({}, { __gc = function() end })", "2:20", .value, "__gc"),
    ComplaintCase("for d in speaker.devices() do print(d) end", "2:10", .value, "ipairs"),
    ComplaintCase("task.spawn(task.sleep \"5s\")", "2:12", .value, "returns nothing"),
    ComplaintCase("task.try(speaker.set_eq, \"rock\", 3)", "2:18", .arguments, "1 argument, got 2"),
    ComplaintCase("speaker.play_stream(arg[1] or \"mornin\")", "2:31", .house, "\"morning\""),
    ComplaintCase("stream.new(\"morning\"):set_buffer_blocks(100001)", "2:41", .value, "10 to 100000"),
    ComplaintCase("stream.new(\"morning\", { buffer_blocks = 9 })", "2:41", .value, "10 to 100000"),
    ComplaintCase("stream.new(\"morning\"):set_max_bit_rate(7)", "2:40", .value, "8 to 10000"),
    ComplaintCase("print(stream.effect.lowpass(20001))", "2:29", .value, "10 to 20000"),
    ComplaintCase(
      "print(speaker.device(\"Kitchen\").group ~= \"Bedroom\")", "2:42", .value, "compare its '.name'"),
    ComplaintCase("print(\"at \" .. speaker.device \"Kitchen\")", "2:16", .value, "got a speaker.Device"),
    ComplaintCase(
      "local x <close> = speaker.device \"Kitchen\" print(x)", "2:19", .value, "can't be closed"),
    ComplaintCase("local x <close> = { 1 } print(x)", "2:19", .value, "a table without a metatable"),
    ComplaintCase(
      "store.set(\"x\", { at = 1, fn = function() end })", "2:31", .value, "JSON can't hold a function"),
    ComplaintCase("store.set(\"x\", { 1, y = 2 })", "2:18", .value, "items and named fields"),
    ComplaintCase("store.set(\"x\", speaker.device \"Kitchen\")", "2:16", .value, "a speaker.Device"),
    ComplaintCase("require(\"trigger\").fire(\"x\", { max = math.huge })", "2:38", .value, "infinite"),
    // Results that may be nil.
    ComplaintCase("print(speaker.find(arg[1]).name)", "2:28", .missing, "'speaker.find' may return nil"),
    ComplaintCase("local e = speaker.wait(\"ended\", \"5m\")\nprint(e.reason)", "3:9", .missing, "test"),
    ComplaintCase("require(\"trigger\").wait(\"x\", 5).value()", "2:33", .missing, "trigger.wait"),
    // Jobs.
    ComplaintCase(
      "local function f() end schedule.at(\"06:00\", { name = \"a\" }, f)\n"
        + "schedule.every(\"1h\", { name = \"a\" }, f)", "3:31", .job, "at line 2"),
    // Fields of tables without a class.
    ComplaintCase("print(headset.connect():ambient().top)", "2:35", .name, "known: left, max, right"),
    // Loops.
    ComplaintCase(
      "while true do if speaker.is_playing() then print \"x\" end end", "2:1", .suspension, "task.sleep"),
    ComplaintCase(
      "local function f() print(1) end repeat f() until false", "2:33", .suspension, "never ends"),
    // Times.
    ComplaintCase("schedule.at(\"24:00\", function() end)", "2:13", .time, "time of day"),
    ComplaintCase("schedule.at(\"sunst-20m\", function() end)", "2:13", .time, "sunset"),
    ComplaintCase("schedule.at(\"2026-13-24 18:00\", function() end)", "2:13", .time, "2026-13-24"),
    ComplaintCase("schedule.at(\"06:45\", { days = \"mo-fri\" }, function() end)", "2:31", .time, "mon-fri"),
    ComplaintCase("schedule.cron(\"60 * * * *\", function() end)", "2:15", .time, "minute"),
    ComplaintCase("schedule.cron(\"0 0 30 2 *\", function() end)", "2:15", .time, "never comes"),
    ComplaintCase("schedule.cron(\"@reboot\", function() end)", "2:15", .time, "@reboot"),
    ComplaintCase(
      "schedule.cron(\"@daily\", { timezone = \"Europe/Berlni\" }, function() end)", "2:38", .time,
      "time zone"),
    ComplaintCase("task.sleep \"5min\"", "2:12", .time, "min"),
    ComplaintCase("task.sleep(-1)", "2:12", .time, "negative"),
    ComplaintCase("local T = \"25:00\"\nschedule.at(T, function() end)", "3:13", .time, "time of day"),
    ComplaintCase(
      "stream.new(\"morning\"):record(\"x\", { [\"until\"] = \"9:30\" })", "2:49", .time, "time of day"),
    // The house.
    ComplaintCase("speaker.device \"Kichen\"", "2:16", .house, "did you mean \"Kitchen\""),
    ComplaintCase("speaker.device \"Bedroom\"", "2:16", .house, "is a group"),
    ComplaintCase("speaker.device \"left\"", "2:16", .house, "several"),
    ComplaintCase("speaker.group \"Atic\"", "2:15", .house, "there are"),
    ComplaintCase("speaker.session { devices = { \"Kitchen\", \"Bedrom\" } }", "2:42", .house, "\"Bedroom\""),
    ComplaintCase("speaker.play_stream \"mornin\"", "2:21", .house, "\"morning\""),
    ComplaintCase(
      "alarm.set { at = \"06:45\", rooms = \"Kitchen\", sources = { \"nigt\" } }", "2:58", .house, "\"night\""
    ),
    ComplaintCase("eq.apply(speaker, \"nigth\")", "2:19", .house, "\"night\""),
    // Assignments.
    ComplaintCase(
      "local d = speaker.device \"Kitchen\"\nd.volume = 3", "3:3", .assignment, "':set_volume(…)'"),
    ComplaintCase("speaker.volume = 20", "2:9", .assignment, "'speaker.set_volume(…)'"),
    ComplaintCase("local d = speaker.device \"Kitchen\"\nd.volum = 3", "3:3", .name, "'volume'"),
    // Results.
    ComplaintCase("speaker.find \"Kitchen\"", "2:9", .unused, "'speaker.find' is not used"),
    ComplaintCase("speaker.devices()", "2:9", .unused, "is not used"),
    // Suspension.
    ComplaintCase(
      "table.sort({}, function(a, b) task.sleep(1) return a < b end)", "2:36", .suspension, "comparator"),
    ComplaintCase(
      "print((\"x\"):gsub(\"x\", function() speaker.finish() end))", "2:42", .suspension, "replacement"),
    ComplaintCase(
      "setmetatable({}, { __tostring = function() task.sleep(1) return \"x\" end })", "2:49", .suspension,
      "__tostring"),
    ComplaintCase("stream.new(\"morning\"):tap(function(b) task.sleep(1) end)", "2:44", .suspension, "tap"),
    ComplaintCase(
      "local function wait() task.sleep(1) end\ntable.sort({}, function(a, b) wait() return a < b end)",
      "3:31",
      .suspension, "'task.sleep'"),
    // Statements that are never reached.
    ComplaintCase("while true do task.sleep(1) end\nprint \"x\"", "3:1", .unreachable, "no 'break'"),
    ComplaintCase("do error \"x\" print \"y\" end", "2:14", .unreachable, "does not return"),
  ]

  @Test("a mistake has one complaint, at its position", arguments: cases)
  func complaint(_ given: ComplaintCase) throws {
    let found = findings(given.whole)
    #expect(found.count == 1, "\(found)")
    let first = try #require(found.first)
    #expect(first.hasPrefix("\(given.position): "), "\(first)")
    #expect(first.hasSuffix("(\(given.code.rawValue))"), "\(first)")
    #expect(first.contains(given.word), "\(first)")
  }

  @Test("every kind of complaint has a case")
  func complete() {
    let missing = Set(ScriptFinding.Code.allCases).subtracting(Self.cases.map(\.code))
    #expect(missing == [.limit, .file])
  }

  @Test("a text that is too large has one complaint")
  func limit() {
    let found = findings(String(repeating: "x = 1\n", count: 400_000))
    #expect(found == ["1:1: the text is larger than 2 MB (check.limit)"])
  }

  /// Correct scripts that resemble mistakes.
  static let correct = [
    "local x\nif speaker.is_open() then x = speaker.device \"Kitchen\" else x = 5 end\nx:anything()",
    "local d = speaker.find \"Attic\"\nif d then d:join() end", "speaker.find(\"Kitchen\"):join()",
    "local e, why = speaker.wait(\"ended\", \"5m\")\nif why == \"timeout\" then return end\nprint(e.reason)",
    "local e = assert(speaker.wait(\"ended\", \"5m\"))\nprint(e.reason)",
    "print(speaker.wait(\"ended\").reason)",
    "local e = speaker.wait(\"ended\", \"5m\")\nassert(e)\nprint(e.reason)",
    "while true do local f = arg[1] f() end", "while true do error \"x\" end",
    "while true do coroutine.yield() end", "repeat print(1) until arg[1]",
    "local job = schedule.at(\"06:00\", { name = \"a\" }, print)\njob:cancel()\n"
      + "schedule.at(\"07:00\", { name = \"a\" }, print)",
    "if arg[1] then schedule.at(\"06:00\", { name = \"a\" }, print)\n"
      + "else schedule.at(\"07:00\", { name = \"a\" }, print) end",
    "local x <close> = nil print(x)", "local f <close> = io.open \"x\" print(f)",
    "local x <close> = setmetatable({}, { __close = print }) print(x)",
    "print(speaker.device(\"Kitchen\").group.name == \"Kitchen\", \"x\" .. speaker.volume())",
    "stream.new(\"morning\", { buffer_blocks = 1200, max_bit_rate = 320 })",
    "print(stream.effect.lowpass(5000))",
    "store.set(\"x\", { { 1, 2 }, { a = 1, b = { 3 } } })", "schedule.at(\"2001-01-01 10:00\", print)",
    "print(pcall(speaker.device, \"Attic\"))",
    "local ok = pcall(function() speaker.device(\"Attic\"):join() end) print(ok)",
    "print(task.try(function() return speaker.device \"Attic\" end))",
    "speaker.device(\"Kitchen\"):set_name \"Attic\"\nspeaker.device(\"Attic\"):join()",
    "function helper() return 1 end\nprint(helper())",
    "count = 0\nlocal function f() count = count + 1 end\nf()",
    "local list = speaker.devices()\ntable.sort(list, function(a, b) return a.name < b.name end)",
    "local play = arg[1] and speaker.play or speaker.play_stream\nplay \"x.mp3\"",
    "print(unknwon) -- check: ignore", "pritn() -- luacheck: ignore",
    "function string.trim(s) return (s:gsub(\"^%s+\", \"\")) end\nprint(string.trim \" x\", (\" x\"):trim())",
    "speaker.on(\"ended\", print)", "speaker.on(arg[1], function(e) print(e.anything) end)",
    "local t = {}\nt.x = speaker.device \"Kitchen\"\nt.x:join()\nt.y()",
    "local h = headset.connect()\nh.set_preset(h, \"music\")",
    "print(task.try(headset.connect().update_firmware, headset.connect(), \"x.rtfw\"))",
    "while true do if arg[1] then break end task.sleep(1) end\nprint \"x\"",
    "while true do if arg[1] then return end task.sleep(1) end",
    "while true do\n  for _ = 1, 3 do goto out end\nend\n::out::\nprint \"x\"",
    "local a, b = speaker.finish(\"5m\")\nprint(a, b)", "task.sleep(0.5)\ntask.sleep \"1h30m\"",
    "schedule.at(\"06:45\", function() end)\nschedule.at(\"sunset-20m\", { days = \"daily\" }, function() end)",
    "schedule.at(os.date \"%H:%M\", function() end)",
    "speaker.play(table.unpack { \"x.mp3\", { loop = true } })",
    "speaker.set_volume(tonumber(arg[1]) or 20)", "speaker.play { \"a.mp3\", \"b.mp3\" }",
    "speaker.play({ \"a.mp3\" }, { shuffle = true, loop = true })",
    "local radio = stream.new \"http://127.0.0.1:8000/x.mp3\"\nradio:on(\"metadata\", function(e) print(e.title, e.artist) end)",
    "if speaker.state() == \"playing\" and speaker.volume() > 3 then speaker.stop() end",
    "local e, why = speaker.wait(\"ended\", \"5m\")\nif e and e.reason == \"finished\" then print(e.source.title, why) end",
    "eq.define(\"nigth\", { [62] = 3 })\neq.apply(speaker, \"nigth\")", "eq.apply(speaker, \"my own\")",
    "goto done\n::done::", "local _ENV = { print = print }\nprint(anything)",
    "print(_G.anything, _VERSION, arg[0])",
    "local mine = require \"roomtone.misuse\" print(mine)", "error(\"x\")", "os.exit(1)",
    "local t = setmetatable({}, { __index = function(_, k) task.sleep(1) return k end })\nprint(t.x)",
    "table.sort({}, function(a, b) task.spawn(function() task.sleep(1) end) return a < b end)",
    "local d = speaker.device \"Kitchen\"\nd = d.group or d\nd:anything()",
    "stream.new(\"morning\"):audiovault { url = \"http://127.0.0.1/x.xml\", delay = -5 }",
    "store.set(\"x\", { a = { 1, 2 }, y = true })\nlog.info(\"x\", { any = 1, field = 2 })",
  ]

  @Test("what is correct, or may be, has no complaint", arguments: correct)
  func silent(_ script: String) {
    #expect(findings(ComplaintCase(script, "", .value, "").whole) == [])
  }

  @Test("modules beside the script are checked by their fields")
  func modules() {
    let texts = [
      "mine": "local M = { x = 1 }\nfunction M.ring() return M.x end\nreturn M",
      "open": "local M = {}\nsetmetatable(M, {})\nreturn M", "broken": "return {",
    ]
    func complaints(_ script: String) -> [String] { findings(script, modules: texts) }
    #expect(complaints("local m = require \"mine\"\nm.ring() print(m.x)") == [])
    #expect(
      complaints("require(\"mine\").rnig()")
        == ["1:17: the module 'mine' has no field or function 'rnig'; did you mean 'ring'? (check.name)"])
    #expect(complaints("require(\"open\").anything() require(\"broken\").x()") == [])
    #expect(complaints("require \"mien\"").first?.contains("did you mean 'mine'") == true)
  }

  @Test("a file beside the script called as a module of the library is not what require finds")
  func namesake() {
    let texts = ["party": "return { ring = 1 }", "speaker": "return {}", "_party": "return { ring = 1 }"]
    let found = findings(
      "local p, s = require \"party\", require \"speaker\"\nprint(p.ring, s.stop, require(\"_party\").ring)",
      modules: texts)
    let words =
      "is the library's, not the file beside the script; rename that file to require it (check.module)"
    #expect(
      found == [
        "1:22: the module 'party' \(words)", "1:39: the module 'speaker' \(words)",
        "2:9: the module 'party' has no field or function 'ring'; known: start (check.name)",
      ])
  }

  @Test("globals of required modules are known, also of those that these require")
  func foreignGlobals() {
    let texts = [
      "helper": "require \"deeper\" function greet() print(level) end",
      "deeper": "require \"helper\" local function set() settings = { volume = 1 } end set()",
      "open": "_G[\"any\" .. \"thing\"] = 1",
    ]
    func complaints(_ script: String) -> [String] { findings(script, modules: texts) }
    #expect(complaints("level = 1 require \"helper\" greet() print(settings.volume)") == [])
    #expect(complaints("require \"open\" print(anything)") == [])
    #expect(
      complaints("require \"helper\" greed()")
        == ["1:18: undefined global 'greed'; did you mean 'greet'? (check.global)"])
  }

  @Test(
    "a file that is nowhere has a complaint, unless the script names it another time or it may be anywhere")
  func files() {
    let head = "local speaker, alarm, task = require \"speaker\", require \"alarm\", require \"task\"\n"
    func complaints(_ script: String, _ files: Set<String>?) -> [String] {
      var modules = Modules()
      modules.files = files
      return ScriptChecker(reference: reference, house: house, modules: modules)
        .check(Array((head + script).utf8), name: "script.lua").map(\.message)
    }
    let play = "speaker.play \"gong.wav\""
    #expect(complaints(play, ["gong.wav"]) == [] && complaints(play, nil) == [])
    let words = "there is no file \"gong.wav\", in the working folder or beside the script"
    #expect(complaints(play, []) == [words])
    let wake = "alarm.set { at = \"06:45\", rooms = \"Kitchen\", sources = { \"morning\", \"gong.wav\" } }"
    #expect(complaints(wake, []) == [words])
    #expect(complaints("task.exec { \"espeak-ng\", \"-w\", \"gong.wav\" } \(play)", []) == [])
    #expect(complaints("speaker.play(arg[1])", []) == [])
  }

  @Test("a date that has passed has a complaint where the time is known")
  func past() throws {
    var checker = ScriptChecker(reference: reference, house: house, modules: Modules())
    checker.now = try LocalDateTime(parsing: "2026-06-01 12:00")
    func complaints(_ date: String, name: String = "script.lua") -> [String] {
      let text = "require(\"schedule\").at(\"\(date)\", function() end)"
      return checker.check(Array(text.utf8), name: name).map(\.message)
    }
    #expect(complaints("2026-06-01 11:59") == ["2026-06-01 11:59 has passed; it is 2026-06-01 12:00 now"])
    #expect(complaints("2026-06-01 12:01") == [] && complaints("11:59") == [])
    #expect(complaints("2026-06-01 11:59", name: "a_spec.lua") == [])
  }

  @Test("a module that can't be read is no misspelt one")
  func unreadable() {
    let checker = ScriptChecker(reference: reference, house: house, modules: UnreadableModules())
    #expect(
      checker.check(Array("require \"secret\"".utf8), name: "script.lua").map(\.message)
        == ["the file of the module 'secret' can't be read"])
  }

  @Test("in specs, mistakes that are expected have no complaint")
  func specs() {
    let spec = """
      local speaker = require "speaker"
      describe("x", function()
        it("y", function()
          expect(function() speaker.device("Attic"):set_volume(99) end):to_raise "speaker.unknown"
        end)
      end)
      """
    #expect(findings(spec, name: "x_spec.lua") == [])
    // Also by what it calls.
    #expect(findings(spec, name: "x.lua") == [])
    let word = findings("expect(1):to_eqal(1)", name: "x_spec.lua")
    #expect(word == ["1:11: an expectation has no method 'to_eqal'; did you mean 'to_equal'? (check.name)"])
    #expect(findings("expect(1):to_equal(1)", name: "x.lua").count == 1)
  }

  @Test("columns count characters, behind a byte order mark, a first line with # and line ends of Windows")
  func columns() {
    #expect(findings("print(\"ä\u{1F468}\u{200D}\u{1F469}\", x)").first?.hasPrefix("1:13: ") == true)
    #expect(findings("\u{FEFF}x()").first?.hasPrefix("1:1: ") == true)
    #expect(findings("#!/usr/bin/env roomtone\nx()").first?.hasPrefix("2:1: ") == true)
    #expect(findings("print(1)\r\nprint(2)\r\n x()").first?.hasPrefix("3:2: ") == true)
  }
}

/// A folder with a file that the user has no right to read.
private struct UnreadableModules: ModuleSource {
  func text(of module: String) -> [UInt8]? { nil }
  func isInternal(_ module: String) -> Bool { false }
  func hasFile(_ path: String) -> Bool? { nil }
  let names = ["secret"]
}
