import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

extension RealTimeTests {
  @Suite("The hkwhub driver on a hub")
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
