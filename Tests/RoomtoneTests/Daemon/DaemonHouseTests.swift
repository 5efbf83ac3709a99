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
}
