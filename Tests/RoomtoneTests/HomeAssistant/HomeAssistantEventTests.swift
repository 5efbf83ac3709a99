import EventLoop
import Home
import JSONText
import MQTT
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

@Suite("Events for Home Assistant", .tags(.homeAssistant, .alarm)) struct HomeAssistantEventTests {
  /// Returns the events that were sent to a topic, which are never retained.
  private static func events(_ harness: HomeAssistantHarness, _ topic: String) -> [JSON] {
    harness.broker.sent.filter { $0.topic == topic && !$0.isRetained }.compactMap {
      JSON(parsing: $0.payload)
    }
  }

  private static func types(_ harness: HomeAssistantHarness, _ topic: String) -> [String] {
    events(harness, topic).compactMap { $0["event_type"]?.text }
  }

  @Test("an alarm is reported when it rings, snoozes and is dismissed, by the types of its entity")
  func alarm() throws {
    let harness = try HomeAssistantHarness([
      (
        "wake.lua",
        """
        local alarm, schedule, trigger = require "alarm", require "schedule", require "trigger"
        local wake = alarm.set { at = "00:01", rooms = "Bedroom", sources = { "http://a.example/a.mp3" }, name = "wake" }
        trigger.on("snooze", function() wake:snooze() end)
        trigger.on("dismiss", function() wake:dismiss() end)
        """
      )
    ])
    let triggers = harness.home.daemon.engine.triggers
    harness.home.pass(.seconds(90))
    triggers.fire(Trigger("snooze", origin: .ctl))
    harness.home.pass(.seconds(600))
    triggers.fire(Trigger("dismiss", origin: .ctl))
    harness.home.pass(.seconds(5))
    let topic = "roomtone/house/alarm"
    #expect(Self.types(harness, topic) == ["ringing", "snoozed", "ringing", "dismissed"])
    #expect(Self.events(harness, topic).allSatisfy { $0["alarm"]?.text == "wake" })
    let declared = harness.documents["Roomtone"]?["cmps"]?["alarm"]?["evt_typ"]?.elements?.compactMap(\.text)
    #expect(Set(Self.types(harness, topic)).isSubset(of: declared ?? []))
  }

  @Test("an alarm whose rooms can't be had is reported as missed")
  func missed() throws {
    let harness = try HomeAssistantHarness([
      (
        "wake.lua",
        """
        local speaker = require "speaker"
        require "alarm".set { at = "00:01", rooms = "Bedroom", name = "wake", duration = "1m",
          sources = { "http://a.example/a.mp3" } }
        require "task".spawn(function()
          speaker.interrupt { devices = { speaker.find "Bedroom Left", speaker.find "Bedroom Right" },
            priority = 900, play = function() require "task".sleep "10m" end }
        end)
        """
      )
    ])
    harness.home.pass(.seconds(300))
    #expect(Self.types(harness, "roomtone/house/alarm").last == "missed")
  }

  @Test("a trigger is reported with its value, and one with a large value without it")
  func trigger() throws {
    let harness = try HomeAssistantHarness()
    let triggers = harness.home.daemon.engine.triggers
    triggers.fire(Trigger("doorbell", value: #"{"button": "front"}"#, origin: .ctl))
    triggers.fire(Trigger("large", value: "\"" + String(repeating: "x", count: 60_000) + "\"", origin: .ctl))
    triggers.fire(Trigger("plain", origin: .ctl))
    harness.home.pass(.seconds(1))
    let events = Self.events(harness, "roomtone/house/trigger")
    #expect(
      events.map(\.line) == [
        #"{"event_type": "fired", "trigger": "doorbell", "value": {"button": "front"}}"#,
        #"{"event_type": "fired", "trigger": "large", "value": null}"#,
        #"{"event_type": "fired", "trigger": "plain", "value": null}"#,
      ])
  }

  @Test("the end of a source is reported in its rooms alone, with the reason")
  func ended() throws {
    let harness = try HomeAssistantHarness([
      (
        "play.lua",
        """
        local speaker = require "speaker"
        speaker.play_stream("http://a.example/a.mp3", { rooms = "Living Room", title = "Jazz" })
        require "trigger".on("stop", function() speaker.own:stop() end)
        """
      )
    ])
    harness.home.pass(.seconds(2))
    #expect(try harness.state("Living Room", "title") == "a - a simulated programme")
    harness.home.daemon.engine.triggers.fire(Trigger("stop", origin: .ctl))
    harness.home.pass(.seconds(2))
    let events = Self.events(harness, try harness.topic("Living Room", "ended"))
    #expect(events.map(\.line) == [#"{"event_type": "stopped", "title": "Jazz"}"#])
    #expect(Self.events(harness, try harness.topic("Kitchen", "ended")).isEmpty)
  }

  @Test("the end of an announcement or of a sound over others is no end of what plays")
  func between() throws {
    let harness = try HomeAssistantHarness(
      configuration: """
        house { output = "null" }
        stations { Morning = "http://a.example/morning.mp3" }
        """,
      [
        (
          "bell.lua",
          """
          local speaker, trigger = require "speaker", require "trigger"
          trigger.on("bell", function()
            for _, duck in ipairs { false, 12 } do
              speaker.interrupt { duck = duck or nil, play = "\(Fixtures.path("mp3-cbr128-44k.mp3"))" }
              print "rung"
            end
          end)
          """
        )
      ])
    try harness.command("Kitchen", "source", "Morning")
    try harness.command("Bedroom", "say", "Dinner")
    harness.home.pass(.seconds(20))
    harness.home.daemon.engine.triggers.fire(Trigger("bell", origin: .ctl))
    harness.home.pass(.seconds(60))
    #expect(harness.home.printed == ["bell: rung", "bell: rung"])
    #expect(harness.home.daemon.log.kept.filter { $0.level == .error }.map(\.message) == [])
    func ends(_ room: String) throws -> [String] { Self.types(harness, try harness.topic(room, "ended")) }
    #expect(try ends("Bedroom") == [])
    #expect(try ends("Kitchen") == [])
    try harness.command("Kitchen", "stop", "PRESS")
    #expect(try ends("Kitchen") == ["stopped"])
  }

  @Test("while the broker is away events are dropped, as late ones would start automations too late")
  func away() throws {
    let harness = try HomeAssistantHarness()
    harness.broker.disconnect()
    harness.home.daemon.engine.triggers.fire(Trigger("doorbell", origin: .ctl))
    harness.home.pass(.seconds(1))
    harness.broker.connect()
    harness.home.pass(.seconds(2))
    #expect(Self.events(harness, "roomtone/house/trigger").isEmpty)
  }

  @Test("a recording in progress shows, and its end")
  func recording() throws {
    let harness = try HomeAssistantHarness([
      (
        "record.lua",
        """
        local stream, trigger = require "stream", require "trigger"
        local recording = stream.new "http://a.example/a.mp3":record "show.mp3"
        trigger.on("stop", function() recording:stop() end)
        """
      )
    ])
    let topic = "roomtone/house/recording"
    harness.home.pass(.seconds(2))
    #expect(harness.home.daemon.log.kept.filter { $0.level == .error }.map(\.message) == [])
    #expect(harness.broker.retained[topic] == Array("ON".utf8))
    harness.home.daemon.engine.triggers.fire(Trigger("stop", origin: .ctl))
    harness.home.pass(.seconds(5))
    #expect(harness.broker.retained[topic] == Array("OFF".utf8))
  }
}
