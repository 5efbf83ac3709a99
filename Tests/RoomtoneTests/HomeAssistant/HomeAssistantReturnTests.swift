import EventLoop
import Home
import JSONText
import MQTT
import Scheduling
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

@Suite("Home Assistant and the broker come and go", .tags(.homeAssistant)) struct HomeAssistantReturnTests {
  /// The topics of all documents and states.
  private static func everything(_ harness: HomeAssistantHarness) -> Set<String> {
    Set(harness.broker.retained.keys)
  }

  @Test("a broker that comes later, and one that has lost its memory, gets everything")
  func broker() throws {
    let harness = try HomeAssistantHarness(isConnected: false)
    #expect(harness.broker.sent.isEmpty)
    harness.broker.connect()
    harness.home.pass(.seconds(2))
    let first = harness.broker.retained
    #expect(first.count == 5 + 4 * 5 + 1)
    harness.broker.disconnect(forgets: true)
    try harness.house.device("Kitchen").setVolume(3)
    harness.home.pass(.seconds(2))
    #expect(harness.broker.retained.isEmpty)
    harness.broker.connect()
    harness.home.pass(.seconds(2))
    #expect(Set(harness.broker.retained.keys) == Set(first.keys))
    #expect(try harness.state("Kitchen", "volume") == "3")
  }

  @Test("when Home Assistant starts, everything is sent again; its end and an old start change nothing")
  func birth() throws {
    let harness = try HomeAssistantHarness()
    let all = Self.everything(harness)
    harness.broker.forgetSent()
    harness.broker.deliver("homeassistant/status", "offline")
    harness.broker.deliver("homeassistant/status", "online", isRetained: true)
    harness.home.pass(.seconds(2))
    #expect(harness.broker.sent.isEmpty)
    harness.broker.deliver("homeassistant/status", "online")
    harness.home.pass(.seconds(2))
    #expect(Set(harness.broker.sent.map(\.topic)) == all)
    #expect(harness.broker.sent.allSatisfy { $0.isRetained })
  }

  @Test("a kept start shows that Home Assistant is there, a start and a command when it was seen")
  func presence() throws {
    let online = Array("online".utf8)
    let harness = try HomeAssistantHarness(broker: MemoryBroker(retained: ["homeassistant/status": online]))
    func status() throws -> JSON? { try harness.home.call("status")["home_assistant"] }
    #expect(try status()?["present"]?.bool == true && status()?["seen"]?.line == "null")
    harness.broker.deliver("homeassistant/status", "offline")
    #expect(try status()?["present"]?.bool == false)
    try harness.command("Kitchen", "volume", "5")
    let command = try status()?["seen"]?.line
    #expect(command != nil && command != "null")
    harness.home.pass(.seconds(60))
    #expect(try status()?["seen"]?.line == command)
    let begun = harness.home.loop.wallNow
    harness.broker.deliver("homeassistant/status", online)
    #expect(try status()?["seen"]?.line != command)
    harness.home.pass(.seconds(60))
    harness.broker.deliver("homeassistant/status", online, isRetained: true)
    #expect(harness.home.daemon.homeAssistant?.presence == .seen(begun))
  }

  @Test("a rename keeps the id of the room, and its document has the new name")
  func rename() throws {
    let harness = try HomeAssistantHarness()
    let (id, count) = (try harness.id("Kitchen"), harness.broker.retained.count)
    let kitchen = try harness.house.device("Kitchen")
    harness.home.loop.start { try? await kitchen.setGroup("Cuisine") }
    harness.home.pass(.seconds(3))
    #expect(try harness.id("Cuisine") == id)
    #expect(harness.broker.retained.count == count)
    #expect(harness.documents["Cuisine"] != nil && harness.documents["Kitchen"] == nil)
  }

  @Test("a room that joins another group is gone from the broker, with its states")
  func regrouped() throws {
    let harness = try HomeAssistantHarness()
    let id = try harness.id("Bathroom")
    #expect(harness.broker.retained.keys.contains { $0.contains(id) })
    let bathroom = try harness.house.device("Bathroom")
    harness.home.loop.start { try? await bathroom.setGroup("Kitchen") }
    harness.home.pass(.seconds(3))
    #expect(harness.documents["Bathroom"] == nil)
    #expect(harness.broker.retained.keys.filter { $0.contains(id) } == [])
    // Home Assistant removes the device for an empty message.
    let last = harness.broker.sent.last {
      $0.topic.hasPrefix("homeassistant/device/") && $0.topic.contains(id)
    }
    #expect(last?.payload == [] && last?.isRetained == true)
  }

  @Test("a room that was removed from the configuration while nobody looked is gone after the next start")
  func removedMeanwhile() throws {
    let broker = MemoryBroker()
    func house(_ names: String) -> String { "house { output = 'null', speakers = { \(names) } }" }
    do {
      let before = try HomeAssistantHarness(
        broker: broker, configuration: house("{ name = 'Attic' }, { name = 'Den' }"),
        [("jobs.lua", "require 'schedule'.every('1h', { name = 'tidy' }, function() end)")])
      #expect(before.documents.keys.sorted() == ["Attic", "Den", "Roomtone"])
      #expect(before.documents["Roomtone"]?["cmps"]?["run-jobs-tidy"] != nil)
    }
    let retained = broker.retained
    let next = MemoryBroker(retained: retained)
    let after = try HomeAssistantHarness(broker: next, configuration: house("{ name = 'Den' }"))
    #expect(after.documents["Roomtone"]?["cmps"]?["run-jobs-tidy"]?["pl_prs"]?.text == "tidy")
    after.home.pass(.seconds(12))
    #expect(after.documents.keys.sorted() == ["Den", "Roomtone"])
    #expect(next.retained.keys.filter { $0.hasPrefix("roomtone/room/") }.count == 5)
    // Home Assistant removes an entity whose kind alone is left.
    #expect(after.documents["Roomtone"]?["cmps"]?["run-jobs-tidy"]?.line == #"{"p": "button"}"#)
    #expect(after.documents["Roomtone"]?["cmps"]?["stop"]?["cmd_t"] != nil)
  }

  @Test("a speaker that is off while the house opens stays, away, for a week where speakers are found")
  func offAtStart() throws {
    let broker = MemoryBroker()
    func house(_ names: String) -> String { "house { output = 'null', speakers = { \(names) } }" }
    let both = "{ name = 'Attic' }, { name = 'Den' }"
    let before = try HomeAssistantHarness(broker: broker, configuration: house(both))
    let (attic, id) = (try before.topic("Attic", "state"), try before.id("Attic"))
    let retained = broker.retained
    let next = MemoryBroker(retained: retained)
    let after = try HomeAssistantHarness(
      broker: next, configuration: house("{ name = 'Den' }"), findsSpeakers: true)
    #expect(after.documents.keys.sorted() == ["Attic", "Den", "Roomtone"])
    #expect(next.retained[attic] == Array("away".utf8))
    next.disconnect()
    next.connect()
    after.home.pass(.seconds(6 * 86_400))
    #expect(after.documents["Attic"] != nil && next.retained[attic] == Array("away".utf8))
    let back = try HomeAssistantHarness(
      broker: MemoryBroker(retained: next.retained), configuration: house(both), findsSpeakers: true)
    #expect(try back.state("Attic", "state") == "idle" && back.documents.count == 3)
    after.home.pass(.seconds(2 * 86_400))
    #expect(after.documents.keys.sorted() == ["Den", "Roomtone"])
    #expect(next.retained.keys.filter { $0.contains(id) } == [])
  }

  @Test("a room whose speaker is found in another one is gone at once")
  func elsewhere() throws {
    let broker = MemoryBroker()
    func house(_ group: String) -> String {
      "house { output = 'null', speakers = { { name = 'Den'\(group) }, { name = 'Attic'\(group) } } }"
    }
    _ = try HomeAssistantHarness(broker: broker, configuration: house(""))
    let next = MemoryBroker(retained: broker.retained)
    let after = try HomeAssistantHarness(
      broker: next, configuration: house(", group = 'Upstairs'"), findsSpeakers: true)
    #expect(after.documents.keys.sorted() == ["Roomtone", "Upstairs"])
    #expect(next.retained.keys.filter { $0.hasPrefix("roomtone/room/") }.count == 5)
  }

  @Test("a job that ends takes its button with it, and a new one brings its own")
  func jobs() throws {
    let harness = try HomeAssistantHarness([
      (
        "jobs.lua",
        """
        local schedule, trigger = require "schedule", require "trigger"
        local job = schedule.every("1h", { name = "tidy" }, function() end)
        trigger.on("swap", function()
          job:cancel()
          schedule.every("2h", { name = "water" }, function() end)
          schedule.at("2026-01-06 10:00", { name = "once" }, function() end)
        end)
        """
      )
    ])
    harness.home.daemon.engine.triggers.fire(Trigger("swap", origin: .ctl))
    harness.home.pass(.seconds(12))
    let entities = try #require(harness.documents["Roomtone"]?["cmps"])
    #expect(entities["run-jobs-tidy"]?.line == #"{"p": "button"}"#)
    #expect(entities["run-jobs-water"]?["pl_prs"]?.text == "water")
    #expect(harness.home.daemon.engine.scheduledJobs.contains { $0.name == "once" })
    #expect(entities["run-jobs-once"] == nil)
  }

  @Test("a script that ends and begins slowly keeps its buttons and scenes, also at the end of the daemon")
  func slowScript() throws {
    let harness = try HomeAssistantHarness([
      (
        "jobs.lua",
        """
        local task, schedule = require "task", require "schedule"
        local slow <close> = setmetatable({}, { __close = function() task.sleep "4s" end })
        task.sleep "8s"
        require "scene".save "Movie"
        schedule.every("1h", { name = "tidy" }, function() end)
        task.sleep "9h"
        """
      )
    ])
    let topic = "homeassistant/device/roomtone-roomtone-house/config"
    harness.home.pass(.seconds(20))
    let document = try #require(harness.broker.retained[topic])
    let entities = try #require(harness.documents["Roomtone"]?["cmps"])
    #expect(entities["run-jobs-tidy"]?["cmd_t"] != nil && entities["scene-jobs-Movie"]?["cmd_t"] != nil)
    harness.broker.forgetSent()
    harness.home.daemon.reload()
    harness.home.pass(.seconds(3))
    #expect(harness.home.states == ["jobs reloading"])
    harness.home.pass(.seconds(30))
    #expect(harness.home.states == ["jobs running"])
    func sent() -> [JSON] {
      harness.broker.sent.filter { $0.topic == topic }.compactMap { JSON(parsing: $0.payload) }
    }
    #expect(sent().allSatisfy { $0["cmps"]?["run-jobs-tidy"]?["cmd_t"] != nil })
    #expect(sent().allSatisfy { $0["cmps"]?["scene-jobs-Movie"]?["cmd_t"] != nil })
    #expect(harness.broker.retained[topic] == document)
    harness.broker.forgetSent()
    harness.home.daemon.stop()
    harness.home.pass(.seconds(20))
    #expect(sent().isEmpty)
  }

  @Test("a script that fails after it was saved keeps its buttons until a good version lacks them")
  func failedScript() throws {
    let good = """
      require "schedule".every("1h", { name = "tidy" }, function() end)
      require "task".sleep "9h"
      """
    let harness = try HomeAssistantHarness([("jobs.lua", good)])
    let topic = "homeassistant/device/roomtone-roomtone-house/config"
    func isListed() -> Bool {
      harness.broker.retained[topic].flatMap { JSON(parsing: $0) }?["cmps"]?["run-jobs-tidy"]?["cmd_t"] != nil
    }
    harness.home.pass(.seconds(20))
    #expect(isListed())
    try harness.home.write("error 'no'", to: "jobs.lua")
    harness.home.daemon.reload()
    harness.home.pass(.seconds(60))
    #expect(harness.home.states == ["jobs failed"] && isListed())
    try harness.home.write("require 'task'.sleep '9h'", to: "jobs.lua")
    harness.home.daemon.reload()
    harness.home.pass(.seconds(60))
    #expect(harness.home.states == ["jobs running"] && !isListed())
  }

  @Test("two houses on one broker with different bases leave each other alone")
  func twoHouses() throws {
    let first = try HomeAssistantHarness(broker: MemoryBroker(base: "upstairs"))
    let shared = MemoryBroker(base: "downstairs", retained: first.broker.retained)
    let second = try HomeAssistantHarness(
      broker: shared, configuration: "house { output = 'null', speakers = { { name = 'Den' } } }")
    for (topic, payload) in first.broker.retained { #expect(shared.retained[topic] == payload) }
    #expect(second.documents.count == 5 + 2)
    let (upper, lower) = (Set(first.broker.retained.keys), Set(second.broker.sent.map(\.topic)))
    #expect(upper.isDisjoint(with: lower))
    second.broker.deliver("upstairs/room/\(try second.id("Den"))/volume/set", "3")
    second.home.pass(.seconds(1))
    #expect(try second.house.device("Den").volume != 3)
  }

  @Test("a document of a stranger under an id of the house is not removed, nor are states elsewhere")
  func strangers() throws {
    let id = "roomtone-roomtone-room-9"
    let topic = "homeassistant/device/\(id)/config"
    let foreign = Array(#"{"o":{"name":"other"},"dev":{"ids":["\#(id)"]},"cmps":{}}"#.utf8)
    let harness = try HomeAssistantHarness(broker: MemoryBroker(retained: [topic: foreign]))
    #expect(harness.broker.retained[topic] == foreign)
    let own = """
      {"o":{"name":"Roomtone"},"dev":{"ids":["\(id)"]},"cmps":{"a":{"p":"sensor","stat_t":"alarm/state"},
       "b":{"p":"sensor","stat_t":"roomtone/room/9/title"}}}
      """
    let state = Array("armed".utf8)
    let other = try HomeAssistantHarness(
      broker: MemoryBroker(retained: [
        topic: Array(own.utf8), "alarm/state": state, "roomtone/room/9/title": state,
      ]))
    #expect(other.broker.retained[topic] == nil)
    #expect(other.broker.retained["alarm/state"] == state)
    #expect(other.broker.retained["roomtone/room/9/title"] == nil)
  }
}
