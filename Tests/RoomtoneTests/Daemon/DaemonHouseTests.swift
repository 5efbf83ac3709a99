import EventLoop
import Home
import JSONText
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

@Suite("Scripts that share the house of a daemon", .tags(.daemon, .speaker)) struct DaemonHouseTests {
  /// Plays in the kitchen alone.
  private static let hello = """
    local speaker, task = require "speaker", require "task"
    print(#speaker.active_devices())
    speaker.device "Kitchen":join()
    speaker.play_stream "http://a.example/hello.mp3"
    task.sleep "2s"
    print(#speaker.active_devices(), speaker.device "Kitchen".is_playing, speaker.device "Bathroom".is_playing)
    """

  @Test(
    "a script plays in its own speakers alone, whoever has opened it before",
    arguments: ["the daemon", "a.lua", "z.lua"])
  func openedBefore(_ opener: String) throws {
    let scripts =
      [("hello.lua", Self.hello)] + (opener == "the daemon" ? [] : [(opener, "require 'speaker'.devices()")])
    let harness = try DaemonHarness(scripts)
    if opener == "the daemon" {
      let door = harness.daemon.engine.house
      harness.loop.start { try? await door.open(wait: .zero) }
      harness.pass(.seconds(1))
      #expect(door.open?.activeDevices.count == 0)
    }
    try harness.begin()
    harness.pass(.seconds(10))
    #expect(harness.printed == ["hello: 0", "hello: 1\ttrue\tfalse"])
  }

  @Test("what a script plays in all rooms goes on where no other one plays; each play asks anew")
  func playsOn() throws {
    let harness = try DaemonHarness([
      (
        "all.lua",
        """
        local speaker, trigger = require "speaker", require "trigger"
        local function play(event)
          speaker.play_stream("http://a.example/all.mp3", { rooms = speaker.devices() })
          print(#speaker.own.devices, speaker.device "Bathroom".is_playing)
        end
        play()
        trigger.on("again", play)
        """
      ),
      (
        "hello.lua",
        """
        local speaker, trigger = require "speaker", require "trigger"
        trigger.on("look", function() print(#speaker.active_devices(), speaker.is_playing()) end)
        trigger.on("empty", function() print(select(2, pcall(speaker.play_stream, "http://a.example/b.mp3")).code) end)
        trigger.on("kitchen", function()
          speaker.device "Kitchen":join()
          speaker.play_stream "http://a.example/b.mp3"
          print(#speaker.own.devices, speaker.device "Kitchen".session == speaker.own)
        end)
        trigger.on("review", function() print(#speaker.own.devices, speaker.state()) end)
        """
      ),
    ])
    try harness.begin()
    for name in ["look", "empty", "look", "kitchen", "again", "review"] {
      harness.pass(.seconds(10))
      _ = try harness.call("trigger", [("name", .string(name))])
    }
    harness.pass(.seconds(10))
    #expect(
      harness.printed == [
        "all: 6\ttrue", "hello: 6\tfalse", "hello: speaker.no_active_device", "hello: 6\tfalse",
        "hello: 1\ttrue", "all: 6\ttrue", "hello: 0\tstopped",
      ])
  }

  @Test("a station of the own session plays on over a reload, and stops when the script is gone")
  func station() throws {
    let text = """
      local speaker = require "speaker"
      local state = speaker.state()
      if state == "stopped" then speaker.play_stream("http://a.example/all.mp3", { rooms = "Kitchen" }) end
      speaker.on("ended", function(e) print("ended", e.reason) end)
      print(state)

      """
    let harness = try DaemonHarness([("radio.lua", text)])
    try harness.begin()
    harness.pass(.seconds(10))
    for version in 1...3 {
      try harness.write(text + "-- version \(version)", to: "radio.lua")
      _ = try harness.call("reload")
      harness.pass(.seconds(20))
    }
    #expect(harness.printed.first == "radio: stopped" && harness.printed.count >= 4)
    #expect(harness.printed.dropFirst().allSatisfy { $0 == "radio: playing" }, "\(harness.printed)")
    let house = try #require(harness.daemon.engine.house.open)
    #expect(house.sessions.map(\.state) == [.playing] && house.sessions[0].position > 60)
    try harness.remove("radio.lua")
    _ = try harness.call("reload")
    harness.pass(.seconds(10))
    #expect(house.sessions.isEmpty)
  }

  @Test("a script that is gone leaves no session behind, whatever its last routine does")
  func gone() throws {
    let harness = try DaemonHarness([
      (
        "last.lua",
        """
        local speaker, task = require "speaker", require "task"
        local t <close> = setmetatable({}, { __close = function()
          speaker.play_stream("http://a.example/all.mp3", { rooms = "Kitchen" })
          task.sleep(2)
        end })
        task.sleep "1h"
        """
      )
    ])
    try harness.begin()
    harness.pass(.seconds(1))
    try harness.remove("last.lua")
    _ = try harness.call("reload")
    harness.pass(.seconds(30))
    #expect(harness.daemon.engine.house.open?.sessions.isEmpty ?? true)
  }
}
