import EventLoop
import HeadsetBoard
import HeadsetKit
import HeadsetLink
import LuaModules
import LuaRuntime
import Roomtone
import TestSupport
import TestTraits
import Testing

@Suite("headset", .waiting, .tags(.headset, .connection))
struct HeadsetTests {
  // MARK: The connection

  @Test("connects, identifies itself, is in the list, and disconnects")
  func connects() throws {
    let lines = try HeadsetHarness.printed(
      """
      print(h.connected, h.name, h.address, h.model, h.firmware_version, table.concat(h.capabilities, " "))
      print(h, #headset.list(), headset.list()[1] == h)
      h:disconnect()
      print(h.connected, h.model, #headset.list(), h)
      print(message(function() h.connected = true end), message(function() h.firmware_version = "2" end))
      print(code(h.battery, h), failure(h.battery, h).seed_name)
      local other = headset.connect { transport = "unix:other" }
      print(other ~= h, other.address, #headset.list())
      """)
    #expect(
      lines == [
        "true\tRoomtone RT-1\tunix:headset\tRT-1\t1.0.0\tambient battery equalizer firmware_update noise_cancelling",
        "headset \"Roomtone RT-1\" (unix:headset, connected)\t1\ttrue",
        "false\tRT-1\t0\theadset \"Roomtone RT-1\" (unix:headset, not connected)",
        "the field 'connected' of a headset is for reading; call :disconnect(…) to change it\t"
          + "the field 'firmware_version' of a headset is for reading; call :update_firmware(…) to change it",
        "headset.not_connected\tDEVICE_NOT_CONNECTED",
        "true\tunix:other\t1",
      ])
  }

  @Test("one that is connected can't be connected again; the list has it")
  func twice() throws {
    let lines = try HeadsetHarness.printed(
      """
      local err = failure(headset.connect)
      print(err.code, err.seed_name, err.message, err.hint)
      -- Also while the first one is under way.
      local first = task.spawn(function() return headset.connect { transport = "unix:b" } end)
      task.spawn(function() print(code(headset.connect, { transport = "unix:b" })) end)
      print(first:await().address, #headset.list())
      """)
    #expect(
      lines == [
        "headset.already_connected\tCONNECTION_PROCESS_FAILED_DEVICE_IS_ALREADY_CONNECTED\t"
          + "the headset at unix:headset is connected already\t"
          + "headset.list() has it; disconnect it first to connect anew",
        "unix:b\t2", "headset.already_connected",
      ])
  }

  @Test("a connection that no caller waits for any more is cancelled in every phase")
  func cancelledConnection() throws {
    let lines = try HeadsetHarness.printed(
      """
      local connected = 0
      for turns = 0, 60 do
        local attempt = task.spawn(headset.connect, { transport = "unix:b" })
        for _ = 1, turns do task.sleep(0) end
        attempt:cancel()
        -- It may have come about in the very turn.
        task.sleep(0)
        for _, other in ipairs(headset.list()) do
          if other.address == "unix:b" then
            connected = connected + 1
            other:disconnect()
          end
        end
        if #headset.list() ~= 1 then print("left", turns, #headset.list()) end
      end
      local other = headset.connect { transport = "unix:b" }
      print(connected > 10, connected < 61, other.connected, #headset.list())
      """)
    #expect(lines == ["true\ttrue\ttrue\t2"])
  }

  @Test("a lost link is made again, with an event; requests meanwhile raise that it is not connected")
  func reconnects() throws {
    let lines = try HeadsetHarness.printed(
      """
      h:set_noise_cancelling(true)
      h:on("disconnected", function(event) print("lost", event.reason, event.headset == h, code(h.ambient, h)) end)
      local event = h:wait("connected")
      print("back", event.name, event.headset == h, h:noise_cancelling(), #headset.list())
      """, gestures: [(5, "disconnect")])
    #expect(
      lines == [
        "lost\tthe link to unix:headset ended: the other side closed it\ttrue\theadset.not_connected",
        "back\tRoomtone RT-1\ttrue\ttrue\t1",
      ])
  }

  @Test("a wait ends as closed when a headset is disconnected for good while its link is lost")
  func closedWhileLost() throws {
    let lines = try HeadsetHarness.printed(
      """
      task.spawn(function() h:wait("disconnected") h:disconnect() end)
      print(h:wait("connected"))
      """, gestures: [(1, "disconnect")])
    #expect(lines == ["nil\tclosed"])
  }

  @Test("a script that has nothing but a headset has ended, and its headset receives GOODBYE")
  func ends() throws {
    var harness = try EngineHarness()
    var board: Board?
    var log: [String] = []
    harness.prepare = { engine in
      engine.loop.after(.seconds(1)) {
        board = engine.boards?[SimulatedBoards.usualAddress]
        engine.boards?.onLog { log.append($0) }
      }
    }
    let outcome = try harness.run(
      """
      local h = require "headset".connect()
      h:on("battery", print)
      task.sleep(5)
      local guard <close> = setmetatable({}, { __close = function() print(h:noise_cancelling()) end })
      """)
    #expect(outcome.failures.isEmpty && outcome.lines == ["false"] && outcome.seconds < 10)
    #expect(board?.report.isConnected == false && log == ["disconnected (the board ends the link)"], "\(log)")
  }

  @Test("scripts of one engine share a headset: the last one that has it lets it go")
  func shared() throws {
    let harness = try EngineHarness()
    let engine = try harness.engine()
    var lines: [String] = []
    engine.onPrint = { lines.append($0) }
    engine.onFailure = { lines.append($0.description) }
    func start(_ name: String, _ code: String) throws -> (Script, LuaReference) {
      let script = try engine.makeScript(name, isFile: false)
      let head = "local headset, task = require 'headset', require 'task' "
      return (script, try script.state.load(Array((head + code).utf8), chunkName: "=\(name)"))
    }
    let (first, firstMain) = try start(
      "first", "headset.connect() task.sleep(7) headset.connect { transport = 'unix:own' } task.sleep(20)")
    let (second, secondMain) = try start(
      "second",
      "task.sleep(5) H = headset.list()[1] print(H.address) task.sleep(10) print(H:battery().percent)")
    first.call(firstMain, name: "first")
    engine.loop.after(.seconds(10)) { engine.loop.start { await first.end() } }
    engine.loop.after(.seconds(14)) {
      for address in [SimulatedBoards.usualAddress, .unix(path: "own")] {
        lines.append("\(address) \(engine.boards?[address]?.report.isConnected == true)")
      }
    }
    #expect(engine.run(second, secondMain).status == 0)
    #expect(lines == ["unix:headset", "unix:headset true", "unix:own false", "80"])
    #expect(engine.boards?[SimulatedBoards.usualAddress]?.report.isConnected == false)
  }

  // MARK: Waiting for a headset

  @Test("auto_connect reports the headset whenever it appears, and keeps the script until it is switched off")
  func automatic() throws {
    let harness = try EngineHarness()
    let outcome = try harness.run(
      """
      local headset = require "headset"
      headset.on("connected", function(event)
        print("on", event.headset.model, event.name, event.headset:battery().percent)
      end)
      headset.auto_connect(true)
      headset.auto_connect(true)
      task.spawn(function()
        local event = headset.wait("connected")
        print("wait", event.name, #headset.list())
        task.sleep("2h")
        headset.auto_connect(false)
        print(event.headset.connected)
      end)
      """)
    #expect(outcome.failures.isEmpty)
    #expect(outcome.lines.sorted() == ["on\tRT-1\tRoomtone RT-1\t80", "true", "wait\tRoomtone RT-1\t1"])
    #expect(outcome.seconds >= 7200 && outcome.seconds < 7300)
  }

  @Test("auto_connect without a configured headset logs that and waits, in place of a failure of the script")
  func unconfigured() throws {
    let outcome = try EngineHarness(wall: true).run(
      """
      local headset = require "headset"
      headset.auto_connect(true)
      headset.auto_connect(true)
      print "waits"
      headset.auto_connect(false)
      """)
    #expect(outcome.failures.isEmpty && outcome.lines == ["waits"], "\(outcome)")
    let notes = outcome.log.map(\.message).filter {
      $0.hasPrefix("auto_connect waits: no headset is configured")
    }
    #expect(notes.count == 1, "\(outcome.log)")
  }

  @Test("auto_connect of a headset that is connected emits nothing, and keeps it connected")
  func automaticallyConnected() throws {
    let outcome = try EngineHarness().run(
      """
      local headset = require "headset"
      local h = headset.connect()
      headset.on("connected", function(event) print("connected", event.name) end)
      headset.auto_connect(true)
      task.sleep("1m")
      print(headset.list()[1] == h, h.connected)
      headset.auto_connect(false)
      print(h.connected)
      """)
    #expect(outcome.failures.isEmpty && outcome.lines == ["true\ttrue", "true"])
  }

  @Test("auto_connect continues until the limit unless it is switched off")
  func patient() throws {
    var harness = try EngineHarness()
    harness.limit = .seconds(86_400)
    let outcome = try harness.run("require 'headset'.auto_connect(true)")
    #expect(outcome.failures.isEmpty && outcome.status == 0 && outcome.seconds >= 86_400)
  }

  @Test("auto_connect is over when the script disconnects the headset")
  func gaveUp() throws {
    let outcome = try EngineHarness().run(
      """
      local headset = require "headset"
      headset.on("connected", function(event) print(event.name) event.headset:disconnect() end)
      headset.auto_connect(true)
      """)
    #expect(outcome.failures.isEmpty && outcome.lines == ["Roomtone RT-1"] && outcome.seconds < 60)
  }

  // MARK: The time line

  @Test("the time line of a simulation shows what headsets do")
  func timeline() throws {
    let harness = try EngineHarness()
    let engine = try harness.engine()
    var lines: [String] = []
    let timeline = Timeline(engine)
    timeline.listen { lines.append(TimelineHarness.line($0, in: engine.options.zone)) }
    engine.onFailure = { lines.append($0.description) }
    engine.gesture("battery 15", after: 40)
    let script = try engine.makeScript("test.lua", isFile: false)
    let main = try script.state.load(
      Array(
        """
        local headset, task = require "headset", require "task"
        local h = headset.connect()
        task.sleep(30)
        h:set_noise_cancelling(true)
        h:set_ambient { left = 2 }
        h:set_preset "voice"
        task.sleep(30)
        """.utf8), chunkName: "=test.lua")
    #expect(engine.run(script, main).status == 0)
    timeline.finish()
    #expect(
      lines == [
        "2026-01-05 00:00 Headset: connected: Roomtone RT-1",
        "2026-01-05 00:00:30 Headset: noise cancelling on",
        "2026-01-05 00:00:30 Headset: ambient 2 left, 0 right",
        "2026-01-05 00:00:30 Headset: equalizer voice: -6 -4 -2 +1 +4 +5 +4 +2 0 -2",
        "2026-01-05 00:00:40 Headset: battery 15 %", "2026-01-05 00:01 Headset: disconnected",
      ])
  }
}
