import EventLoop
import Home
import JSONText
import MQTT
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@testable import Roomtone

@Suite("The house in Home Assistant", .tags(.homeAssistant)) struct HomeAssistantBridgeTests {
  private static let stations = """
    house { output = "null" }
    stations { Morning = "http://a.example/morning.mp3", ["Jazz \\"24\\""] = "http://a.example/jazz.mp3" }
    """

  @Test("each room is a device below that of the house, which comes first; every document fits the schema")
  func documents() throws {
    let harness = try HomeAssistantHarness(
      configuration: Self.stations,
      [
        (
          "jobs.lua",
          """
          require 'schedule'.every('1h', { name = 'tidy' }, function() end)
          require 'scene'.save 'Movie'
          """
        )
      ])
    let documents = harness.documents
    #expect(
      documents.keys.sorted() == ["Bathroom", "Bedroom", "Kitchen", "Living Room", "Roomtone"])
    #expect(documents.values.flatMap { DiscoverySchema.faults(of: $0) } == [])
    let sent = harness.broker.sent.map(\.topic).filter { $0.hasPrefix("homeassistant/device/") }
    #expect(sent.first == "homeassistant/device/roomtone-roomtone-house/config")
    let kitchen = try #require(documents["Kitchen"])
    #expect(kitchen["dev"]?["via_device"]?.text == "roomtone-roomtone-house")
    #expect(kitchen["dev"]?["sa"]?.text == "Kitchen")
    #expect(kitchen["avty_t"]?.text == "roomtone/house/status")
    let kinds = documents.values.flatMap { document in
      (document["cmps"]?.keys ?? []).compactMap { document["cmps"]?[$0]?["p"]?.text }
    }
    #expect(Set(kinds) == Set(DiscoverySchema.platforms.keys) && DiscoverySchema.platforms.count == 9)
    #expect(documents["Roomtone"]?["cmps"]?["run-jobs-tidy"]?["pl_prs"]?.text == "tidy")
    #expect(documents["Roomtone"]?["cmps"]?["scene-jobs-Movie"]?["pl_on"]?.text == "Movie")
    #expect(
      kitchen["cmps"]?["station"]?["ops"]?.elements?.compactMap(\.text) == ["Jazz \"24\"", "Morning"])
  }

  @Test("the states of a room are retained, and only what has changed is sent again")
  func states() throws {
    let harness = try HomeAssistantHarness()
    #expect(try harness.state("Kitchen", "volume") == "22")
    #expect(try harness.state("Kitchen", "mute") == "OFF")
    #expect(try harness.state("Kitchen", "state") == "idle")
    #expect(try harness.state("Kitchen", "title") == "None")
    #expect(try harness.state("Kitchen", "source") == "None")
    harness.broker.forgetSent()
    try harness.house.device("Kitchen").setVolume(30)
    harness.home.pass(.seconds(5))
    #expect(
      harness.broker.sent == [
        MQTTMessage(try harness.topic("Kitchen", "volume"), Array("30".utf8), isRetained: true)
      ])
  }

  @Test("what plays in a room shows in it: the station by its name, its title, and their end")
  func playing() throws {
    let harness = try HomeAssistantHarness(
      configuration: Self.stations,
      stations: """
        station("http://a.example/morning.mp3", { file = "\(Fixtures.path("mp3-cbr128-44k.mp3"))",
          titles = { { at = 0, title = "Miles - Blue" }, { at = 20, title = "Bill - Green" } } })
        """)
    try harness.command("Kitchen", "source", "Morning")
    #expect(try harness.state("Kitchen", "state") == "playing")
    #expect(try harness.state("Kitchen", "source") == "Morning")
    harness.home.pass(.seconds(3))
    #expect(try harness.state("Kitchen", "title") == "Miles - Blue")
    harness.home.pass(.seconds(40))
    #expect(try harness.state("Kitchen", "title") == "Bill - Green")
    #expect(harness.home.daemon.homeAssistant?.calls.others == 0)
    #expect(try harness.state("Bathroom", "state") == "idle")
    #expect(harness.refusals == [])
    try harness.command("Kitchen", "stop", "PRESS")
    #expect(try harness.state("Kitchen", "state") == "idle")
    #expect(try harness.state("Kitchen", "title") == "None")
    #expect(harness.refusals == [])
  }

  @Test("another station replaces the one before it, which does not come back")
  func replaced() throws {
    let harness = try HomeAssistantHarness(configuration: Self.stations)
    try harness.command("Kitchen", "source", "Morning")
    try harness.command("Kitchen", "source", "Jazz \"24\"")
    #expect(try harness.state("Kitchen", "source") == "Jazz \"24\"")
    #expect(try harness.house.sessions.filter { $0.state != .stopped }.count == 1)
    try harness.command("Kitchen", "stop", "PRESS")
    #expect(try harness.state("Kitchen", "state") == "idle")
    #expect(harness.refusals == [])
  }

  @Test("a station that loses its speaker ends with a line; one that is stopped or replaced without one")
  func loss() throws {
    let harness = try HomeAssistantHarness(configuration: Self.stations)
    let kitchen = try harness.house.device("Kitchen")
    try harness.command("Kitchen", "source", "Morning")
    harness.home.loop.start { try? await kitchen.leave() }
    harness.home.pass(.seconds(5))
    #expect(try harness.state("Kitchen", "state") == "idle")
    #expect(harness.refusals.count == 1)
    let line = harness.refusals.first ?? ""
    #expect(line.contains("ended early: no speaker is left"), "\(line)")
    try harness.command("Kitchen", "source", "Morning")
    _ = try harness.home.call("stop", [("room", "Kitchen")])
    try harness.command("Kitchen", "source", "Morning")
    try harness.command("Kitchen", "source", "Jazz \"24\"")
    #expect(harness.refusals.count == 1, "\(harness.refusals)")
  }

  @Test("a volume for a group moves all of its speakers, and why names Home Assistant")
  func group() throws {
    let harness = try HomeAssistantHarness()
    try harness.command("Living Room", "volume", "12")
    #expect(try harness.house.speakers(in: "Living Room").map(\.volume) == [12, 12])
    #expect(try harness.state("Living Room", "volume") == "12")
    let why = try harness.why("Living Room Left")
    #expect(why.contains("another client (Home Assistant: volume 12)"), "\(why)")
    let entry = try #require(harness.home.daemon.engine.journal.recent.last { $0.kind == .volume })
    #expect(entry.cause?.kind == .controller && entry.cause?.name == "Home Assistant")
  }

  @Test("a mute and its end act and come back as states")
  func mute() throws {
    let harness = try HomeAssistantHarness()
    try harness.command("Bedroom", "mute", "ON")
    #expect(try harness.house.speakers(in: "Bedroom").allSatisfy { $0.isMuted })
    #expect(try harness.state("Bedroom", "mute") == "ON")
    #expect(try harness.state("Bedroom", "volume") == "18")
    try harness.command("Bedroom", "mute", "OFF")
    #expect(try harness.state("Bedroom", "mute") == "OFF")
  }

  @Test("limits hold: the number ends at the limit, and a volume above it comes back as the true one")
  func limits() throws {
    let harness = try HomeAssistantHarness(
      configuration: """
        house { output = "null", speakers = { { name = "Den", max_volume = 30 }, { name = "Hall" } } }
        """)
    #expect(harness.documents["Den"]?["cmps"]?["volume"]?["max"]?.int == 30)
    #expect(harness.documents["Hall"]?["cmps"]?["volume"]?["max"]?.int == 50)
    try harness.command("Den", "volume", "45")
    #expect(try harness.state("Den", "volume") == "30")
    harness.broker.forgetSent()
    try harness.command("Den", "volume", "45")
    #expect(harness.broker.sent.contains { $0.topic.hasSuffix("/volume") && $0.payload == Array("30".utf8) })
  }

  @Test(
    "a command that is not one is refused with a line, and the true state is sent again",
    arguments: [
      ("volume", Array("99".utf8), "\"99\" is not a volume"), ("volume", Array("loud".utf8), "not a volume"),
      ("volume", [], "not a volume"), ("volume", [0xff, 0xfe], "not UTF-8"),
      ("volume", [UInt8](repeating: 0x31, count: 65_536), "at most 255 bytes expected, got 65536"),
      ("mute", Array("maybe".utf8), "\"maybe\" is not ON or OFF"),
      ("source", Array("Mornin".utf8), "did you mean 'Morning'?"),
      ("stop", Array("now".utf8), "PRESS expected"),
      ("say", [UInt8](repeating: 0x61, count: 65_536), "at most 4096 bytes expected, got 65536"),
      ("loudness", Array("1".utf8), "no command of a room is called \"loudness\""),
      ("next", Array("PRESS".utf8), "nothing plays"),
    ])
  func refusals(_ property: String, _ payload: [UInt8], _ reason: String) throws {
    let harness = try HomeAssistantHarness(configuration: Self.stations)
    harness.broker.forgetSent()
    harness.broker.deliver(try harness.topic("Kitchen", property) + "/set", payload)
    harness.home.pass(.seconds(1))
    #expect(harness.refusals.count == 1)
    #expect(harness.refusals.first?.contains(reason) == true, "\(harness.refusals)")
    let again = harness.broker.sent.map(\.topic)
    if ["volume", "mute", "source"].contains(property) {
      #expect(again.contains(try harness.topic("Kitchen", property)))
    }
    #expect(try harness.house.device("Kitchen").volume == 22)
  }

  @Test("a retained command, one to an unknown room and one to nothing do nothing")
  func ignored() throws {
    let harness = try HomeAssistantHarness()
    let topic = try harness.topic("Kitchen", "volume") + "/set"
    harness.broker.deliver(topic, "5", isRetained: true)
    harness.broker.deliver("roomtone/room/nobody/volume/set", "5")
    harness.broker.deliver("roomtone/house/explode/set", "PRESS")
    harness.home.pass(.seconds(1))
    #expect(try harness.house.device("Kitchen").volume == 22)
    #expect(harness.refusals.count == 3, "\(harness.refusals)")
  }

  @Test("of a flood of volumes the last one counts, and the log is bounded")
  func flood() throws {
    let harness = try HomeAssistantHarness()
    let topic = try harness.topic("Kitchen", "volume") + "/set"
    for number in 0..<5_000 { harness.broker.deliver(topic, "\(number % 50)") }
    harness.home.pass(.seconds(2))
    #expect(try harness.house.device("Kitchen").volume == 49)
    #expect(try harness.state("Kitchen", "volume") == "49")
    #expect(harness.home.daemon.engine.journal.recent.filter { $0.kind == .volume }.count <= 3)
    for _ in 0..<5_000 { harness.broker.deliver(topic, "x") }
    harness.home.pass(.seconds(10))
    #expect(harness.refusals.count <= 410, "\(harness.refusals.count)")
    #expect(harness.refusals.contains { $0.contains("left out") })
  }

  @Test(
    "steps that come faster than they act add up, and a level replaces what came before it",
    arguments: [
      (Array(repeating: "+1", count: 10), 32), (["+3", "-5", "-1"], 19),
      (["-9", "+3", "40", "-1", "+3"], 42), (["+3", "loud", "+2"], 27), (["1", "+50", "+50"], 50),
    ])
  func steps(_ commands: [String], _ volume: Int) throws {
    let harness = try HomeAssistantHarness()
    let topic = try harness.topic("Kitchen", "volume") + "/set"
    for command in commands { harness.broker.deliver(topic, command) }
    harness.home.pass(.seconds(1))
    #expect(try harness.house.device("Kitchen").volume == volume)
    #expect(try harness.state("Kitchen", "volume") == "\(volume)")
    #expect(harness.refusals.count == commands.count { $0 == "loud" })
  }

  @Test("a fade sends at most twenty states a second, and its end is the last one")
  func fade() throws {
    let harness = try HomeAssistantHarness()
    harness.broker.forgetSent()
    let kitchen = try harness.house.device("Kitchen")
    harness.home.loop.start { try? await kitchen.fade(volume: 0, over: .seconds(1)) }
    harness.home.pass(.seconds(3))
    #expect((2...22).contains(harness.broker.sent.count), "\(harness.broker.sent.count)")
    #expect(try harness.state("Kitchen", "volume") == "0")
  }

  @Test("a job runs and a scene is applied by their names, with Home Assistant as the cause")
  func actions() throws {
    let harness = try HomeAssistantHarness([
      (
        "evening.lua",
        """
        local scene, schedule, speaker = require "scene", require "schedule", require "speaker"
        speaker.device "Kitchen":set_volume(7)
        require "task".sleep "100ms"
        scene.save "Movie"
        speaker.device "Kitchen":set_volume(40)
        schedule.every("1h", { name = "tidy" }, function() print "tidy" end)
        """
      )
    ])
    harness.broker.deliver("roomtone/house/run/set", "tidy")
    harness.broker.deliver("roomtone/house/scene/set", "Movie")
    harness.home.pass(.seconds(1))
    #expect(harness.home.printed == ["evening: tidy"])
    #expect(try harness.house.device("Kitchen").volume == 7)
    #expect(harness.refusals == [])
    let (tidy, kitchen) = (try harness.why("tidy"), try harness.why("Kitchen"))
    #expect(tidy.contains("another client (Home Assistant: run \"tidy\")"), "\(tidy)")
    #expect(kitchen.contains("Home Assistant: scene \"Movie\""), "\(kitchen)")
    harness.broker.deliver("roomtone/house/run/set", "tidy up")
    harness.broker.deliver("roomtone/house/scene/set", "Film")
    harness.home.pass(.seconds(1))
    #expect(harness.refusals.count == 2)
  }

  @Test("a text is announced in its room alone, whatever letters it has")
  func announcement() throws {
    let harness = try HomeAssistantHarness()
    let marks = Marks(harness)
    try harness.command("Kitchen", "say", "It's \"tea\" time\\n]] 🫖")
    harness.home.pass(.seconds(20))
    #expect(harness.refusals == [])
    #expect(marks.announcements == ["Kitchen: It's \"tea\" time\\n]] 🫖"])
    harness.broker.deliver("roomtone/house/say/set", "Dinner")
    harness.home.pass(.seconds(20))
    #expect(marks.announcements.last == "Living Room, Kitchen, Bedroom, Bathroom: Dinner")
  }

  @Test("texts that wait to be spoken are bounded")
  func manyTexts() throws {
    let harness = try HomeAssistantHarness()
    for number in 0..<40 { harness.broker.deliver("roomtone/house/say/set", "Number \(number)") }
    harness.home.pass(.seconds(1))
    #expect(harness.refusals.count == 40 - PendingCommands.most)
    #expect(harness.refusals.allSatisfy { $0.contains("32 commands are performed already") })
    harness.home.pass(.seconds(300))
    #expect(harness.home.daemon.homeAssistant?.calls.others == 0)
  }

  /// The announcements of a house.
  private final class Marks {
    var announcements: [String] = []
    init(_ harness: HomeAssistantHarness) {
      harness.home.daemon.engine.journal.listen { [unowned self] entry in
        guard entry.kind == .announcement, let text = entry.detail else { return }
        announcements.append("\(entry.name): \(text)")
      }
    }
  }
}
