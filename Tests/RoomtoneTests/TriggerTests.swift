import EventLoop
import Home
import LuaRuntime
import MQTT
import Roomtone
import Scheduling
import TestSupport
import TestTraits
import Testing

@Suite("triggers", .waiting, .tags(.trigger))
struct TriggerTests {
  private func read(_ text: String) throws -> [(time: String, name: String, value: String?, origin: String)] {
    let zone = try ZoneFile(named: "Europe/Berlin")
    return try TriggersFile.read(Array(text.utf8), path: "triggers.lua", in: zone).triggers.map {
      ("\(zone.local($0.time))", $0.trigger.name, $0.trigger.value, $0.trigger.origin.rawValue)
    }
  }

  @Test("the file has messages of MQTT too, whose payloads are text, or other values as JSON")
  func messages() throws {
    let text = #"""
      mqtt("zigbee2mqtt/door", { at = "2026-03-29T18:03", payload = { action = "single" } })
      mqtt("state", { at = "2026-03-29T18:04", payload = "ON", retained = true })
      mqtt("state", { at = "2026-03-29T18:05" })
      """#
    let zone = try ZoneFile(named: "Europe/Berlin")
    let messages = try TriggersFile.read(Array(text.utf8), path: "triggers.lua", in: zone).messages
    #expect(messages.map { "\(zone.local($0.time))" }.first == "2026-03-29 18:03")
    #expect(
      messages.map { String(decoding: $0.message.payload, as: UTF8.self) } == [
        #"{"action":"single"}"#, "ON", "",
      ])
    #expect(messages.map(\.message.isRetained) == [false, true, false])
    for (wrong, code) in [
      (#"mqtt("a/#", { at = "2026-03-29T18:03" })"#, "mqtt.topic"), (#"mqtt("a", {})"#, "argument"),
      (#"mqtt("a", { at = "2026-03-29T18:03", payload = print })"#, "argument"),
    ] {
      #expect { try TriggersFile.read(Array(wrong.utf8), path: "triggers.lua", in: zone) } throws: {
        ($0 as? LuaError)?.code == code
      }
    }
  }

  @Test("a trigger reaches all who listen, each with a copy of its value, at its time")
  func fire() throws {
    #expect(
      try EngineHarness.printed(
        """
        local trigger = require "trigger"
        trigger.on("doorbell", function(event)
          print("one", event.name, event.origin, event.value.button, event.at == os.time())
          event.value.button = "changed"
        end)
        trigger.on("doorbell", function(event) print("two", event.value.button) end)
        trigger.on("other", print)
        trigger.fire("doorbell", { button = "front" })
        trigger.fire "nobody.listens-to_this"
        task.sleep "1s"
        """) == ["one\tdoorbell\tscript\tfront\ttrue", "two\tfront"])
  }

  @Test("a value comes back as it was: nothing, false, numbers, lists and tables")
  func values() throws {
    #expect(
      try EngineHarness.printed(
        """
        local trigger = require "trigger"
        trigger.on("bell", function(event)
          local value = event.value
          print(type(value), math.type(value), type(value) == "table" and value.list[2] or value)
        end)
        for _, value in ipairs { false, 1, 1.5, "text", { list = { 1, 2 } } } do trigger.fire("bell", value) end
        trigger.fire "bell"
        task.sleep "1s"
        """) == [
          "boolean\tnil\tfalse", "number\tinteger\t1", "number\tfloat\t1.5", "string\tnil\ttext",
          "table\tnil\t2", "nil\tnil\tnil",
        ])
  }

  @Test(
    "wrong names and values are refused, with what is wrong",
    arguments: [
      ("on('door bell', print)", "trigger.name", "1 to 64 letters"), ("wait('')", "trigger.name", "letters"),
      ("fire(('x'):rep(65))", "trigger.name", "64"), ("once('türe', print)", "trigger.name", "letters"),
      ("on('bell')", "argument", "function expected"), ("fire()", "argument", "string expected"),
      ("fire('bell', { a = { print } })", "trigger.not_json", "value.a[1] is a function"),
      ("fire('bell', ('x'):rep(65536))", "trigger.too_large", "64 KiB"),
    ])
  func misuse(_ call: String, _ code: String, _ part: String) throws {
    let lines = try EngineHarness.printed(
      "local err = failure(function() require 'trigger'.\(call) end) print(err.code) print(tostring(err))")
    #expect(lines.first == code && lines.last?.contains(part) == true, "\(lines)")
  }

  @Test("a listener that fails is reported as the trigger, and the others are called")
  func failing() throws {
    let outcome = try EngineHarness().run(
      """
      local trigger, task = require "trigger", require "task"
      trigger.on("bell", function() error "no bell" end)
      trigger.on("bell", function() print "rings" end)
      trigger.fire "bell"
      task.sleep "1s"
      """)
    #expect(outcome.lines == ["rings"])
    #expect(outcome.failures.map(\.context) == ["trigger \"bell\""])
  }

  @Test("a triggers file lists names, times, values and origins")
  func file() throws {
    let triggers = try read(
      """
      trigger("doorbell", { at = "2026-03-29T18:03", value = { button = "front" } })
      trigger("door", { at = "2026-03-29 02:30", origin = "mqtt" })
      """)
    #expect(triggers.map(\.name) == ["doorbell", "door"])
    #expect(triggers.map(\.time) == ["2026-03-29 18:03", "2026-03-29 03:00"])
    #expect(triggers.map(\.value) == [#"{"button":"front"}"#, nil])
    #expect(triggers.map(\.origin) == ["file", "mqtt"])
  }

  @Test("a triggers file may compute what it lists, the same each time, and has nothing that reads or writes")
  func computed() throws {
    let text = """
      for index, time in ipairs { "09:15", "18:03" } do
        trigger("bell", { at = "2026-03-29T" .. time, value = { index, math.random(1000), tostring(time) } })
      end
      """
    let triggers = try read(text)
    #expect(triggers.map(\.time) == ["2026-03-29 09:15", "2026-03-29 18:03"])
    #expect(try read(text).map(\.value) == triggers.map(\.value))
    for name in ["io", "os", "require", "load", "dofile", "print", "_G"] {
      let error = #expect(throws: LuaError.self) { try read("local x = \(name)") }
      #expect(error?.message.contains("'\(name)'") == true, "\(name)")
    }
  }

  @Test(
    "mistakes in a triggers file are told with their line",
    arguments: [
      ("trigger('a b', { at = '2026-03-29T18:03' })", "1 to 64 letters"), ("trigger('a', {})", "'at'"),
      ("trigger('a', { at = '2026-02-30T18:03' })", "is not a date"),
      ("trigger('a', { at = '18:03' })", "date and time"),
      ("trigger('a', { at = '2026-03-29T18:03', origin = 'phone' })", "known: ctl, http, mqtt, script, file"),
      ("trigger('a', { at = '2026-03-29T18:03', valeu = 1 })", "did you mean 'value'?"),
      ("trigger('a', { at = '2026-03-29T18:03', value = function() end })", "function"),
      ("triger('a', {})", "did you mean 'trigger'?"),
    ])
  func mistakes(_ text: String, _ part: String) throws {
    let error = #expect(throws: LuaError.self) { try read("\n" + text) }
    let shown = error?.description ?? ""
    #expect(shown.hasPrefix("triggers.lua:2: ") && shown.contains(part), "\(shown)")
  }
}
