import EventLoop
import JSONText
import LuaRuntime
import TestTraits
import Testing

@testable import Roomtone

/// Long texts in the place of names, from scripts and through the control socket.
@Suite("long names", .waiting, .tags(.error, .hostile)) struct LongNameTests {
  private static let long = String(repeating: "x", count: 1 << 20)

  @Test("a name of 1 MB from a script is refused at once, and no error repeats it")
  func scripts() throws {
    let outcome = try EngineHarness().run(
      """
      local long, clock = ("x"):rep(2^20), os.clock
      local speaker = require "speaker"
      speaker.open()
      local calls = {
        why = function() why(long) end, help = function() help(long) end,
        require = function() require(long) end, find = function() speaker.find(long) end,
        device = function() speaker.device(long) end, group = function() speaker.group(long) end,
        interrupt = function() speaker.interrupt({ devices = { long }, file = "tone.wav" }) end,
        option = function() speaker.open({ [long] = 1 }) end,
        field = function() return speaker[long] end,
        history = function() speaker.history { device = long } end,
        kind = function() speaker.history { kind = long } end,
        trigger = function() require "trigger".fire(long) end,
        job = function() require "schedule".every("1h", { name = long }, print) end,
        duration = function() require "task".sleep(long) end,
        preset = function() require "headset".open(long) end,
        stream = function() require "stream".new(long) end,
      }
      for name, call in pairs(calls) do
        local ok, err = pcall(call)
        assert(not ok, name .. " accepts the name")
        local text = tostring(err)
        assert(#text < 1500, name .. " repeats the name: " .. #text)
      end
      print "refused"
      """)
    #expect(outcome.lines == ["refused"], "\(outcome.failures)")
    #expect(outcome.failures.isEmpty)
  }

  @Test(
    "a name of 1 MB through the socket is refused at once, and no answer repeats it",
    arguments: [
      ("why", "thing"), ("volume", "room"), ("volume", "volume"), ("mute", "room"), ("stop", "room"),
      ("now", "room"), ("pause", "room"), ("history", "room"), ("history", "kind"), ("history", "since"),
      ("run_now", "job"), ("skip", "job"), ("restart", "name"), ("reload", "name"), ("trigger", "name"),
      ("log", "script"), ("eval", "script"), ("play", "station"), ("status", "x"),
    ])
  func socket(method: String, parameter: String) throws {
    let daemon = try DaemonHarness([("a.lua", "require 'speaker'.open()")])
    try daemon.begin()
    let error = #expect(throws: RPCError.self) {
      try daemon.call(method, [(parameter == "x" ? Self.long : parameter, .string(Self.long))])
    }
    #expect(error.map { $0.json.line.utf8.count < 1000 } == true)
    let list = #expect(throws: RPCError.self) {
      try daemon.call("play", [("files", .array(["a.mp3"])), ("rooms", .array([.string(Self.long)]))])
    }
    #expect(list?.message == "play: each text of the parameter \"rooms\" has at most 255 bytes, got 1048576")
  }

  @Test("an id of more than 255 bytes is refused, as every answer repeats it")
  func id() {
    var session = ControlSession()
    let line = RPCRequest(id: .string(Self.long.prefix(256).description), method: "status").line + "\n"
    #expect(session.received(Array(line.utf8)).isEmpty)
    #expect(
      String(decoding: session.output, as: UTF8.self).contains("'id' has at most 255 bytes, got 256"))
    #expect(session.output.count < 300)
  }

  @Test("a message of 50 MB is cut before the host copies it")
  func log() throws {
    let outcome = try EngineHarness().run(
      """
      local log = require "log"
      local large = ("x"):rep(50e6 // 1 | 0)
      log.info(large, { field = ("x"):rep(2^20) })
      """)
    #expect(outcome.log.map(\.message.utf8.count).allSatisfy { $0 < 66_000 })
    #expect(outcome.log.first?.message.hasSuffix("… (49934464 bytes more)") == true)
    #expect(outcome.log.first?.fields.allSatisfy { $0.utf8.count < 66_000 } == true)
  }

  @Test("a long text that is given many times is passed on by reference, or refused")
  func copies() throws {
    let outcome = try EngineHarness().run(
      """
      local large, fields, list = ("x"):rep(2^24), {}, {}
      for i = 1, 900 do fields["f" .. i], list[i] = large, large end
      print(message(log.info, "x", fields))
      print(message(task.all, list))
      task.spawn(function(...) print(select("#", ...), #(...), (...) == large) end, table.unpack(list, 1, 200))
      """)
    #expect(
      outcome.lines.first
        == "bad argument #2 to 'info' (at most 1000 fields with 16 MiB of texts expected)",
      "\(outcome)")
    #expect(outcome.lines.last == "200\t16777216\ttrue")
  }

  @Test("an excerpt is the first 200 bytes, without a part of a letter")
  func excerpt() {
    #expect("short".excerpt == "short")
    #expect(String(repeating: "a", count: 201).excerpt == String(repeating: "a", count: 200) + "…")
    #expect(("a" + String(repeating: "ä", count: 200)).excerpt.utf8.count == 199 + 3)
    let once = String(repeating: "b", count: 500).excerpt
    #expect(once.excerpt == once)
  }
}
