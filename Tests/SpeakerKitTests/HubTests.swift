import AudioCore
import EventLoop
import Glibc
import HTTP
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

/// The events of speakers that begin and cease to play; those that another controller has caused begin with `*`.
private final class PlayingChanges {
  private(set) var all: [String] = []

  init(_ house: House) {
    house.events.on(.device) { [unowned self, unowned house] event in
      guard case .device(let device, .playing) = event else { return }
      let mark = house.events.isByController ? "*" : ""
      all.append("\(mark)\(device.id) \(device.isPlaying ? "begins" : "ends")")
    }
  }
}

extension RealTimeTests {
  @Suite("The hkwhub driver on a hub", .tags(.hub))
  struct HubTests {
    @Test(
      "levels go to the hub, mute is level 0 and keeps the level; its app's changes are events with their cause"
    )
    func levels() throws {
      try HubHarness.run { harness in
        let kitchen = try harness.house.device("Kitchen")
        func volume() -> String { harness.hub.speakers[0].volume }
        try kitchen.setVolume(40)
        try await harness.wait { kitchen.volume == 40 }
        #expect(volume() == "\"40\"")
        try kitchen.mute()
        try await harness.wait { kitchen.isMuted }
        try await harness.wait(0.2)
        #expect(volume() == "\"0\"" && kitchen.volume == 40 && kitchen.isMuted)
        try kitchen.unmute()
        try await harness.wait { !kitchen.isMuted }
        #expect(volume() == "\"40\"")
        #expect(harness.reported == ["101 40", "101 40 muted", "101 40"])
        harness.forget()
        harness.hub.change { $0[0].volume = "11" }
        try await harness.wait { kitchen.volume == 11 }
        harness.hub.change { speakers in
          (speakers[0].name, speakers[1].group, speakers[1].wifiSignal) = ("\"Küche\"", "\"Upstairs\"", -80)
          speakers[1].isActive = false
        }
        try await harness.wait { harness.reported.contains("*102 left") }
        let bedroom = try harness.house.device("Bedroom")
        #expect(kitchen.name == "Küche" && bedroom.groupName == "Upstairs" && bedroom.wifiSignal == -80)
        #expect(
          harness.reported.sorted() == ["*101 11", "*101 renamed", "*102 left", "*102 regrouped", "102 wifi"])
        // Fifty steps at once are not fifty requests in a queue.
        func orders() -> Int { harness.hub.orders.count { $0 == "set_volume_device" } }
        let before = orders()
        for volume in 0...50 { try kitchen.setVolume(volume) }
        try await harness.wait { kitchen.volume == 50 }
        #expect(volume() == "\"50\"" && orders() - before < 10)
      }
    }

    /// Has the hub answer the next levels late, and keep its own.
    private func answersLate(_ hub: Hub, result: Bool) {
      hub.fault(
        "set_volume_device", .page("{\"Result\":\"\(result)\"}").stalling(at: 0, for: .seconds(1)))
    }

    @Test("a level that was requested a moment before is in a snapshot, holds, and is reported once")
    func pendingLevels() throws {
      try HubHarness.run { harness in
        let kitchen = try harness.house.device("Kitchen")
        answersLate(harness.hub, result: true)
        try kitchen.setVolume(30)
        try await harness.wait { harness.hub.orders.contains("set_volume_device") }
        try kitchen.setVolume(40)
        let snapshot = try harness.house.snapshot()
        #expect(kitchen.volume == 40)
        harness.hub.change { $0[0].volume = "40" }
        try await harness.wait { harness.driver.pendingChangeCount == 0 }
        try await harness.wait(0.2)
        #expect(kitchen.volume == 40 && harness.reported == ["101 40"])
        harness.hub.fault("set_volume_device", nil)
        try kitchen.setVolume(3)
        try await snapshot.restore()
        try await harness.wait(0.2)
        #expect(harness.reported == ["101 40", "101 3", "101 40"])
        #expect(harness.hub.speakers[0].volume == "\"40\"")
      }
    }

    @Test("a level that was shown and is refused gives way to that of the hub, with an error")
    func refusedLevel() throws {
      try HubHarness.run { harness in
        let kitchen = try harness.house.device("Kitchen")
        answersLate(harness.hub, result: false)
        try kitchen.setVolume(40)
        _ = try harness.house.snapshot()
        #expect(kitchen.volume == 40)
        try await harness.wait { harness.reported.contains("error speaker.unavailable") }
        #expect(kitchen.volume == 25)
        #expect(harness.reported == ["101 40", "101 25", "error speaker.unavailable"])
      }
    }

    @Test("a fade begins at the level that was requested a moment before")
    func fadesFromRequested() throws {
      try HubHarness.run { harness in
        let kitchen = try harness.house.device("Kitchen")
        try kitchen.setVolume(40)
        try await kitchen.fade(volume: 43, over: .milliseconds(300))
        // A busy hub is sent the newest step alone.
        let steps = ["101 40", "101 41", "101 42", "101 43"]
        #expect(harness.reported == steps.filter(harness.reported.contains))
        #expect(harness.reported.first == steps.first && harness.reported.last == steps.last)
        #expect(harness.hub.speakers[0].volume == "\"43\"")
      }
    }

    @Test("speakers with names that are empty, equal or endless, and a volume of 65531")
    func oddSpeakers() throws {
      var speakers = [
        Hub.Speaker("1", name: ""), Hub.Speaker("2", name: "Twin"), Hub.Speaker("3", name: "Twin"),
        Hub.Speaker("4", name: String(repeating: "ü", count: 300)), Hub.Speaker("4", name: "Double"),
        Hub.Speaker("", name: "No id"), Hub.Speaker("5,6", name: "List"),
      ]
      (speakers[0].volume, speakers[1].volume, speakers[2].volume) = ("65531", "-5", "null")
      (speakers[1].group, speakers[2].name) = ("17", "\"Twin\\u001b[31m\"")
      try HubHarness.run(Hub(speakers)) { harness in
        let devices = harness.house.devices
        #expect(devices.map(\.id) == ["1", "2", "3", "4"])
        #expect(devices.map(\.volume) == [50, 0, 0, 25])
        #expect(devices[0].name == "Omni Adapt" && devices[3].name == String(repeating: "ü", count: 100))
        #expect(
          Set(devices.map(\.name)).count == 4 && devices.allSatisfy { NameRule.problem(with: $0.name) == nil }
        )
        try await harness.wait(0.3)
        #expect(harness.logged.count == 2 && harness.reported.isEmpty, "\(harness.logged)")
        // It keeps its name when its twin has another one.
        let twin = devices[2].name
        harness.hub.change { $0[1].name = "\"Only\"" }
        try await harness.wait { devices[1].name == "Only" }
        #expect(devices[2].name == twin)
      }
    }

    @Test("speakers that the hub does not list any more are unavailable; new ones are added")
    func comesAndGoes() throws {
      try HubHarness.run { harness in
        try await harness.wait { harness.hub.speakers.allSatisfy(\.isActive) }
        let bedroom = harness.hub.speakers[1]
        harness.hub.change { $0 = [$0[0], Hub.Speaker("103", name: "Bath")] }
        try await harness.wait { harness.house.devices.count == 3 }
        #expect(harness.reported == ["102 unavailable", "103 added"])
        harness.hub.change { speakers in
          speakers.append(bedroom)
          speakers[2].isActive = false
        }
        // It is a member again when the hub has it again.
        try await harness.wait { harness.hub.speakers.last?.isActive == true }
        let again = try harness.house.device("Bedroom")
        #expect(again.isActive && again.isAvailable)
      }
    }

    @Test("at rest the hub is asked for its speakers alone, once an interval")
    func polling() throws {
      try HubHarness.run(set: { $0.pollTime = .milliseconds(200) }) { harness in
        try await harness.wait(1.1)
        let names = harness.hub.commands.map(\.name)
        #expect((1...6).contains(names.count { $0 == "device_list" }), "\(names)")
        #expect(!names.contains("playback_status"))
        try await harness.house.session.play(try harness.ramp(seconds: 5))
        try await harness.wait { harness.hub.commands.contains { $0.name == "playback_status" } }
      }
    }

    @Test("what plays is asked for each second, only while something plays")
    func status() throws {
      let usual = HubDriver(DriverContext(loop: EventLoop()), try HubSettings(url: "http://127.0.0.1:9"))
      #expect(usual.statusTime == .seconds(1) && usual.pollTime == .seconds(2))
      try HubHarness.run(set: { ($0.pollTime, $0.statusTime) = (.seconds(3600), .milliseconds(200)) }) {
        harness in
        func count(_ name: String) -> Int { harness.hub.commands.count { $0.name == name } }
        let session = harness.house.session
        try await harness.wait(0.5)
        #expect(count("playback_status") == 0)
        try await session.play(try harness.ramp(seconds: 30))
        try await harness.wait { count("playback_status") >= 3 }
        #expect(count("device_list") == 1)
        session.stop()
        try await harness.wait { harness.hub.mediaURL == nil }
        try await harness.wait(0.3)
        let asked = count("playback_status")
        try await harness.wait(0.7)
        #expect(count("playback_status") == asked)
      }
    }

    @Test(
      "roles and ids of groups are the hub's: role 21 is mono, a number that is not documented is logged")
    func descriptions() throws {
      var speakers = [("101", "Kitchen"), ("102", "Bedroom"), ("103", "Bath")].map {
        Hub.Speaker($0, name: $1)
      }
      speakers[2].role = 7
      for index in 0...1 { (speakers[index].group, speakers[index].groupID) = ("\"Upstairs\"", "102") }
      try HubHarness.run(Hub(speakers)) { harness in
        let devices = harness.house.devices
        #expect(devices.map(\.role) == [.mono, .mono, .stereo])
        let line = "the hub says role 7 of \"Bath\", which is not documented: shown as stereo"
        #expect(harness.logged == [line])
        let group = try harness.house.group("102")
        #expect(group.name == "Upstairs" && group.devices.map(\.id) == ["102", "101"])
        #expect(devices.map(\.groupID) == ["102", "102", "103"])
        #expect(devices.map(\.isMaster) == [false, true, true])
        // The group of a founder that is away keeps its id.
        harness.hub.change { speakers in
          (speakers[0].groupID, speakers[1].groupID, speakers[2].role) = ("999", "999", 21)
        }
        try await harness.wait {
          devices.map(\.groupID) == ["999", "999", "103"] && devices[2].role == .mono
        }
        #expect(devices.map(\.isMaster) == [false, false, true])
        #expect(Set(harness.reported) == ["*101 regrouped", "*102 regrouped", "*103 role"])
        #expect(harness.logged.count == 1)
      }
    }

    @Test("a speaker on which the hub's app plays is playing, as a change by another controller")
    func othersPlay() throws {
      var speakers = [Hub.Speaker("101", name: "Kitchen"), Hub.Speaker("102", name: "Bedroom")]
      speakers[1].isPlaying = true
      try HubHarness.run(Hub(speakers)) { harness in
        let (kitchen, bedroom) = (harness.house.devices[0], harness.house.devices[1])
        #expect(!kitchen.isPlaying && bedroom.isPlaying && harness.house.session.state == .stopped)
        let changes = PlayingChanges(harness.house)
        harness.hub.change { ($0[0].isPlaying, $0[1].isPlaying) = (true, false) }
        try await harness.wait { changes.all.count == 2 }
        #expect(
          kitchen.isPlaying && !bedroom.isPlaying && changes.all.sorted() == ["*101 begins", "*102 ends"])
      }
    }

    @Test("what this host plays is not another controller's, nor what the hub lists a moment after its end")
    func ownPlaying() throws {
      let noPolls: (HubDriver) -> Void = {
        ($0.pollTime, $0.statusTime) = (.seconds(3600), .seconds(3600))
      }
      try HubHarness.run(set: noPolls) { harness in
        let (kitchen, session) = (try harness.house.device("Kitchen"), harness.house.session)
        let changes = PlayingChanges(harness.house)
        harness.hub.change { $0[0].isPlaying = true }
        try await session.play(try harness.ramp(seconds: 30))
        try await harness.house.refresh()
        session.stop()
        try await harness.house.refresh()
        #expect(!kitchen.isPlaying)
        try await harness.house.refresh()
        try await harness.wait { changes.all.count == 5 }
        #expect(changes.all.filter { $0.contains("101") } == ["101 begins", "101 ends", "*101 begins"])
      }
    }

    @Test("a token is sent with each request; a file that others can read is refused")
    func tokens() throws {
      let folder = try TemporaryFolder()
      let file = try folder.write(Array("secret\n".utf8), to: "hub.token")
      chmod(file, 0o600)
      let hub = try Hub([Hub.Speaker("1", name: "A")], token: "secret")
      try HubHarness.run(hub, tokenFile: file) { #expect($0.house.devices.count == 1) }
      #expect(hub.commands.allSatisfy { $0.authorization == "Bearer secret" })
      #expect(hub.orders.last == "close_session")
      chmod(file, 0o644)
      #expect(throws: SpeakerError.self) { try HubHarness.run(hub, tokenFile: file) { _ in } }
      #expect(throws: SpeakerError.self) { try HubHarness.run(hub) { _ in } }
    }

    @Test("addresses that are none are refused by their option")
    func addresses() throws {
      #expect(try HubSettings(url: "http://127.0.0.1:8080/").serve == "127.0.0.1")
      let settings = try HubSettings(url: "http://hub.example:8080", serve: "192.0.2.2:8090")
      #expect(settings.serve == "192.0.2.2" && settings.servePort == 8090)
      for (url, serve, option) in [
        ("hub", nil, "url"), ("ftp://192.0.2.7", nil, "url"), ("http://a:b@192.0.2.7", nil, "url"),
        ("http://hub.example", nil, "serve"), ("http://192.0.2.7", "everywhere", "serve"),
        ("http://192.0.2.7", "0.0.0.0", "serve"), ("http://192.0.2.7", "192.0.2.2:0", "serve"),
        ("http://192.0.2.7", "192.0.2.2:x", "serve"),
      ] as [(String, String?, String)] {
        let error = #expect(throws: SpeakerError.self) { try HubSettings(url: url, serve: serve) }
        #expect(error?.facts == [.init("option", .string(option))], "\(url) \(serve ?? "")")
      }
    }
  }
}
