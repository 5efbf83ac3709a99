import LuaRuntime
import Reference
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

@Suite("the definitions in stdlib/meta", .waiting, .tags(.help))
struct DefinitionTests {
  private let reference = StandardLibrary.reference(in: Fixtures.repository("stdlib"))

  /// Names of the functions behind a name and a mark: of `speaker.` those of the module.
  private func functions(of prefix: String) -> [String] {
    reference.functions.map(\.name).filter { name in
      name.hasPrefix(prefix) && !name.dropFirst(prefix.count).contains { ".:".contains($0) }
    }.map { String($0.dropFirst(prefix.count)) }
  }

  @Test("describe the modules that scripts can require, and no other") func modules() {
    #expect(reference.modules.map(\.name).sorted() == PromptGlobals.modules)
  }

  @Test("describe each module in full, and nothing that is not there", arguments: PromptGlobals.modules)
  func module(_ module: String) throws {
    let values = reference.values(of: module).map { String($0.name.dropFirst(module.count + 1)) }
    // `pairs` does not visit fields whose values change.
    let fields = reference.values(of: module).filter { $0.value == "nil" }.map { field in
      let name = field.name.dropFirst(module.count + 1)
      return "if not seen.\(name) and module.\(name) ~= nil then print '\(name)' end"
    }
    let lines = try EngineHarness.printed(
      """
      local module, seen = require "\(module)", {}
      for name, value in pairs(module) do
        seen[name] = true
        print(name .. (type(value) == "function" and "()" or ""))
      end
      \(fields.joined(separator: "\n"))
      """)
    let described = functions(of: module + ".").map { $0 + "()" } + values
    #expect(lines.sorted() == described.sorted())
  }

  private static let show = "{ url = 'http://127.0.0.1/', cron = '@daily', duration = 1 }"

  private static let remote = "{ topic = 'a', room = 'Kitchen', map = {} }"

  private static let wake = "{ at = '06:45', rooms = 'Kitchen', sources = { 'http://127.0.0.1/' } }"

  /// Connects the headset as the global `h`.
  private static let headset = "(function() h = require 'headset'.connect() return h end)()"

  /// An expression for an object of each class.
  static let objects = [
    ("speaker.Device", "speaker.device 'Kitchen'"), ("speaker.Session", "speaker.own"),
    ("speaker.Group", "speaker.group 'Kitchen'"), ("Subscription", "speaker.on('time', print)"),
    ("speaker.Snapshot", "speaker.snapshot()"), ("speaker.House", "speaker.house()"),
    ("stream.Stream", "require 'stream'.new 'http://127.0.0.1/'"),
    ("stream.Recording", "_G.recording or require 'stream'.new 'http://127.0.0.1/':record 'a'"),
    ("stream.Tap", "require 'stream'.new 'http://127.0.0.1/':tap(print)"),
    ("headset.Headset", "_G.h or require 'headset'.connect()"),
    ("recorder.Show", "require 'recorder'.schedule \(show)"),
    ("alarm.Alarm", "require 'alarm'.set \(wake)"),
    ("fade.Fade", "require 'fade'.volume { 'Kitchen', to = 5, over = 5 }"),
    // There is one party at a time: the global `night`.
    ("party.Party", "_G.night or (function() night = require 'party'.start {} return night end)()"),
    ("sleep_timer.Timer", "require 'sleep_timer'.start { after = 60 }"),
    ("zone.Zone", "require 'zone'.define('z', { 'Kitchen' })"),
    ("remote.Binding", "require 'remote'.bind \(remote)"),
    ("task.Task", "task.spawn(os.time)"), ("schedule.Job", "schedule.at('06:45', os.time)"),
  ]

  @Test("describe every field and method of every class, and nothing that is not there", arguments: objects)
  func classes(_ name: String, _ expression: String) throws {
    // The error for a name that resembles none lists them all.
    let lines = try EngineHarness.printed(
      """
      local object = \(expression)
      local list = message(function() return object.qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq end):match("known: (.*)")
      for name in list:gmatch("[%w_]+") do
        print(name .. (type(object[name]) == "function" and "()" or ""))
      end
      os.exit(0)
      """)
    let described = reference.fields(of: name).map(\.name) + functions(of: name + ":").map { $0 + "()" }
    #expect(lines.sorted() == described.sorted())
  }

  @Test("describe the fields of error objects: all that failures of the modules carry")
  func errors() throws {
    var harness = try EngineHarness()
    let owner = try HouseOwner(of: harness.folder.file("state"), as: "night watch")
    defer { withExtendedLifetime(owner) {} }
    harness.stateFolder = owner.folder
    _ = try harness.folder.write(Array("no sound at all, but a text".utf8), to: "text.wav")
    let lines = try harness.printed(
      """
      local seen = {}
      local function note(f, ...) for name in pairs(failure(f, ...)) do seen[name] = true end end
      note(speaker.open, { wait = false })
      os.remove "\(owner.lock)"
      note(speaker.device, "Kitchn")
      note(speaker.device, "Room")
      note(speaker.play, "nowhere.wav", { rooms = "Kitchen" })
      note(speaker.play, "text.wav", { rooms = "Kitchen" })
      note(speaker.play, { "nowhere.wav", "text.wav" }, { rooms = "Kitchen" })
      note(speaker.play, "tone.wav", { start = 60, rooms = "Kitchen" })
      speaker.play("tone.wav", { rooms = "Kitchen" })
      note(speaker.seek, 60)
      local kitchen = speaker.device("Kitchen")
      note(kitchen.set_name, kitchen, "Bathroom")
      speaker.session { devices = { kitchen }, priority = 101 }:play "tone.wav"
      note(speaker.play, "tone.wav", { rooms = kitchen })
      speaker.house():unplug(kitchen)
      note(kitchen.set_volume, kitchen, 3)
      note(function() while true do speaker.session() end end)
      note(require "stream".new, "mms://radio")
      local h = require "headset".connect()
      note(require "headset".connect)
      note(h.update_firmware, h, "nowhere")
      for name in pairs(seen) do print(name) end
      """)
    // The embedded house lacks no capability; CapabilityTests asks another driver, HTTPModuleTests a server.
    let others = ["capability", "status", "retry_after"]
    #expect((lines + others).sorted() == reference.fields(of: "Error").map(\.name).sorted())
  }

  /// A call for each table of options, with an option that none has.
  static let optionTables = [
    ("speaker.PlayOptions", "speaker.play, 'tone.wav', { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("speaker.StreamOptions", "speaker.play_stream, 'http://127.0.0.1/', { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("speaker.HistoryOptions", "speaker.history, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("stream.Options", "require 'stream'.new, 'http://127.0.0.1/', { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    (
      "stream.AudioVaultOptions",
      "(require 'stream'.new 'http://127.0.0.1/').audiovault, require 'stream'.new 'http://127.0.0.1/', { qqqqqqqqqqqqqqqqqqqqqq = 1 }"
    ),
    (
      "stream.Live365Options",
      "(require 'stream'.new 'http://127.0.0.1/').live365, require 'stream'.new 'http://127.0.0.1/', { qqqqqqqqqqqqqqqqqqqqqq = 1 }"
    ),
    (
      "stream.Elements",
      "(require 'stream'.new 'http://127.0.0.1/').audiovault, require 'stream'.new 'http://127.0.0.1/', { url = 'http://127.0.0.1/', elements = { qqqqqqqqqqqqqqqqqqqqqq = 1 } }"
    ),
    ("speaker.InterruptOptions", "speaker.interrupt, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("speaker.OpenOptions", "speaker.open, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    (
      "stream.RecordOptions",
      "(require 'stream'.new 'http://127.0.0.1/').record, require 'stream'.new 'http://127.0.0.1/', 'a', { qqqqqqqqqqqqqqqqqqqqqq = 1 }"
    ),
    (
      "stream.Split",
      "(require 'stream'.new 'http://127.0.0.1/').record, require 'stream'.new 'http://127.0.0.1/', 'a', { split = { qqqqqqqqqqqqqqqqqqqqqq = 1 } }"
    ),
    ("recordings.Filter", "require 'recordings'.list, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("recordings.ExpireOptions", "require 'recordings'.expire, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("eq.ApplyOptions", "require 'eq'.apply, speaker, 'flat', { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("fade.Options", "require 'fade'.volume, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("follow.Options", "require 'follow'.to, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("speaker.EventOptions", "speaker.on, 'ended', { qqqqqqqqqqqqqqqqqqqqqq = 1 }, print"),
    ("speaker.SessionOptions", "speaker.session, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("speaker.FadeOptions", "speaker.fade, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    (
      "speaker.VolumeFadeOptions",
      "speaker.device'Kitchen'.fade, speaker.device'Kitchen', { qqqqqqqqqqqqqqqqqqqqqq = 1 }"
    ),
    ("speaker.snapshot", "speaker.snapshot, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("speaker.House:add", "speaker.house().add, speaker.house(), { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    (
      "stream.URLOptions",
      "(require 'stream'.new 'http://127.0.0.1/').set_url, require 'stream'.new 'http://127.0.0.1/', 'http://127.0.0.1/', { qqqqqqqqqqqqqqqqqqqqqq = 1 }"
    ),
    ("task.ExecOptions", "task.exec, { 'date', qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("headset.ConnectOptions", "require 'headset'.connect, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("headset.AmbientOptions", "\(headset).set_ambient, h, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("headset.UpdateOptions", "\(headset).update_firmware, h, 'a', { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("recorder.Options", "require 'recorder'.schedule, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("party.Options", "require 'party'.start, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("scene.ApplyOptions", "require 'scene'.apply, 'x', { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("alarm.Options", "require 'alarm'.set, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("announce.PlayOptions", "require 'announce'.play, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("announce.SayOptions", "require 'announce'.say, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("sleep_timer.Options", "require 'sleep_timer'.start, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("json.Format", "require 'json'.encode, 1, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("http.Options", "require 'http'.get, 'http://127.0.0.1/', { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("mqtt.PublishOptions", "require 'mqtt'.publish, 'a', 1, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("remote.Options", "require 'remote'.bind, { qqqqqqqqqqqqqqqqqqqqqq = 1 }"),
    ("schedule.AtOptions", "schedule.at, '06:45', { qqqqqqqqqqqqqqqqqqqqqq = 1 }, print"),
    ("schedule.CronOptions", "schedule.cron, '@daily', { qqqqqqqqqqqqqqqqqqqqqq = 1 }, print"),
    ("schedule.EveryOptions", "schedule.every, '1h', { qqqqqqqqqqqqqqqqqqqqqq = 1 }, print"),
  ]

  @Test("describe all options", arguments: optionTables)
  func options(_ name: String, _ call: String) throws {
    let lines = try EngineHarness.printed(
      "for name in message(\(call)):match('known: ([%w_, ]*)'):gmatch('[%w_]+') do print(name) end")
    let described = reference.class(name) == nil ? reference.options(of: name) : reference.fields(of: name)
    // Messages name options by their names, not those by a position.
    #expect(lines.sorted() == described.map(\.name).filter { !$0.hasPrefix("[") }.sorted())
  }

  /// A call for each list of events, behind which the event goes.
  static let eventLists = [
    ("schedule.JobEventName", "(function() j = schedule.at('06:45', os.time) return j end)().on, j"),
    ("speaker.Event", "speaker.on"),
    ("speaker.DeviceEventName", "speaker.device'Kitchen'.on, speaker.device'Kitchen'"),
    ("speaker.SessionEventName", "speaker.own.on, speaker.own"),
    (
      "stream.EventName",
      "require 'stream'.new'http://127.0.0.1/'.on, require 'stream'.new'http://127.0.0.1/'"
    ),
    (
      "stream.RecordingEventName",
      "(require 'stream'.new'http://127.0.0.1/':record 'a').on, require 'stream'.new'http://127.0.0.1/':record 'a'"
    ),
    ("speaker.GroupEventName", "speaker.group'Kitchen'.on, speaker.group'Kitchen'"),
    ("headset.EventName", "require 'headset'.on"), ("headset.EventName", "\(headset).on, h"),
    (
      "recorder.EventName",
      "(function() show = require 'recorder'.schedule \(show) return show end)().on, show"
    ),
    (
      "fade.EventName",
      "(function() f = require 'fade'.volume { 'Kitchen', to = 5, over = 5 } return f end)().on, f"
    ),
    ("party.EventName", "(function() night = require 'party'.start {} return night end)().on, night"),
    ("alarm.EventName", "(function() a = require 'alarm'.set \(wake) return a end)().on, a"),
    (
      "sleep_timer.EventName",
      "(function() t = require 'sleep_timer'.start { after = 60 } return t end)().on, t"
    ),
  ]

  @Test("describe all events", arguments: eventLists)
  func events(_ name: String, _ call: String) throws {
    let lines = try EngineHarness.printed(
      "for name in message(\(call), 'qq', print):match('events here: ([%w_, ]*)'):gmatch('[%w_]+') do print(name) end os.exit(0)"
    )
    #expect(lines.sorted() == reference.alias(name)?.values.map(\.text).sorted())
  }

  @Test(
    "are valid Lua, and raise an error that names them when a script requires them",
    arguments: StandardLibrary.paths.filter { $0.hasPrefix("meta/") })
  func guarded(_ file: String) throws {
    let name = String(file.dropFirst(5).dropLast(4))
    let harness = try EngineHarness()
    let lines = try harness.printed("print(select(2, pcall(require, 'meta.\(name)')))")
    #expect(lines.first?.contains("is a description, not a module") == true)
  }

  @Test("are refused from any folder, by require, dofile and loadfile")
  func guardedCopies() throws {
    let harness = try EngineHarness()
    let text = Array("---@meta speaker\n\nlocal speaker = {}\n\nreturn speaker\n".utf8)
    let path = try harness.folder.write(text, to: "copied_speaker.lua")
    let lines = try harness.printed(
      """
      print(select(2, pcall(dofile, "\(path)")))
      print(select(2, loadfile("\(path)")))
      print(select(2, pcall(require, "copied_speaker")).code)
      """)
    #expect(lines.count == 3 && lines.last == "script.module", "\(lines)")
    for line in lines.prefix(2) { #expect(line.contains("is a description, not a module"), "\(line)") }
  }

  @Test(
    "have no statement that ends them before their end: a language server reads all of each",
    arguments: StandardLibrary.paths.filter { $0.hasPrefix("meta/") })
  func reachable(_ file: String) throws {
    let text = String(decoding: try #require(StandardLibrary.file(file)), as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() where !line.isEmpty && !line.hasPrefix("-") {
      let isDeclaration = ["local ", "function "].contains { line.hasPrefix($0) }
      let isValue = line.firstRange(of: " = ") != nil
      let isEnd = line.hasPrefix("return ") && lines[(index + 1)...].allSatisfy(\.isEmpty)
      #expect(isDeclaration || isValue || isEnd, "\(file):\(index + 1): \(line)")
    }
  }

  @Test("describe of Lua's own library only what is there, and name what is not")
  func globals() throws {
    let functions = reference.globals.filter { !$0.isOfPrompt }
    #expect(functions.count > 20)
    let names = functions.map { "'\($0.name)'" }.joined(separator: ", ")
    let lines = try EngineHarness.printed(
      """
      for _, name in ipairs { \(names) } do
        local value = _G
        for part in name:gmatch("[^.]+") do value = value[part] end
        if type(value) ~= "function" then print(name, value) end
      end
      print(os.setlocale, package.loadlib, package.cpath, package.searchers)
      for name in pairs(debug) do print("debug." .. name) end
      """)
    #expect(lines.first == "nil\tnil\tnil\tnil")
    #expect(lines.dropFirst().sorted() == ["debug.getinfo", "debug.traceback"])
  }

  @Test("mark as async exactly what suspends, in the modules written in Lua")
  func suspends() throws {
    // Called where nothing can suspend, in an open house, by names that each class is known by here.
    let arguments = [
      // What it does to a headset takes time.
      "eq.apply": "{ set_equalizer = print, set_preset = function() task.sleep(1) end }, 'music'",
      "eq.define": "'mine', {}",
      "recorder.schedule": Self.show, "recorder.Show:on": "'started', print",
      "recorder.Show:once": "'started', print", "recorder.Show:wait": "'started'",
      "alarm.set": Self.wake, "alarm.Alarm:on": "'ringing', tostring",
      "alarm.Alarm:once": "'ringing', tostring", "alarm.Alarm:wait": "'ringing'",
      "announce.play": "{ 'tone.wav' }", "announce.say": "{ 'hello' }",
      "fade.volume": "{ 'Kitchen', to = 5, over = 5 }", "fade.Fade:on": "'done', tostring",
      "fade.Fade:once": "'done', tostring", "fade.Fade:wait": "'done'",
      "follow.to": "{ 'Kitchen', session = speaker.own }",
      "party.start": "{ session = speaker.session() }", "party.Party:on": "'done', tostring",
      "party.Party:once": "'done', tostring", "party.Party:wait": "'done'", "scene.save": "'x'",
      "remote.bind": Self.remote, "scene.apply": "'x'", "scene.delete": "'x'",
      "sleep_timer.start": "{ after = 60 }",
      "sleep_timer.Timer:extend": "1", "sleep_timer.Timer:on": "'done', tostring",
      "sleep_timer.Timer:once": "'done', tostring", "sleep_timer.Timer:wait": "'done'",
      "zone.define": "'z', { 'Kitchen' }", "zone.get": "'z'", "zone.Zone:set_volume": "10",
      "zone.Zone:join": "speaker.session()", "zone.Zone:play": "'tone.wav'",
    ]
    let rows = Set(BindingTable.rows.map(\.function))
    let objects = Dictionary(uniqueKeysWithValues: Self.objects)
    let described = reference.functions.filter {
      !$0.location.hasPrefix("globals.lua") && !$0.isOfPrompt && !rows.contains($0.name)
    }
    let calls = described.map { function in
      let parts = function.name.split(separator: ":").map(String.init)
      let head = parts.count == 2 ? "(\(objects[parts[0]] ?? "nil")):\(parts[1])" : function.name
      return "probe('\(function.name)', function() \(head)(\(arguments[function.name] ?? "")) end)"
    }
    let lines = try EngineHarness.printed(
      """
      \(BindingTable.globals(PromptGlobals.modules))
      speaker.open { add_all = true }
      local function probe(name, f)
        table.sort({ 1, 2 }, function() if code(f) == "task.cannot_suspend" then print(name) end end)
      end
      \(calls.joined(separator: "\n"))
      os.exit(0)
      """)
    #expect(Set(lines).sorted() == described.filter(\.suspends).map(\.name).sorted())
  }
}
