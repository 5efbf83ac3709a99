import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

extension RealTimeTests {
  @Suite("A hub that forgets, answers wrongly or is lost", .tags(.hub))
  struct HubLossTests {
    @Test("a session that has expired is opened anew, and the command is repeated once")
    func expiry() throws {
      try HubHarness.run { harness in
        try await harness.wait { harness.hub.speakers.allSatisfy(\.isActive) }
        harness.hub.expireSessions()
        try harness.house.device("Kitchen").setVolume(7)
        try await harness.wait { harness.hub.speakers[0].volume == "\"7\"" }
        #expect(harness.hub.commands.count { $0.name == "init_session" } == 2)
        #expect(harness.reported == ["101 7"])
        // A hub that forgets at once is no reason to ask for ever.
        harness.hub.fault(
          "set_volume_device", .page("{\"Error\":\"SessionNotFound\"}", type: "application/json"))
        let before = harness.hub.commands.count { $0.name == "set_volume_device" }
        try harness.house.device("Kitchen").setVolume(8)
        try await harness.wait { harness.reported.contains("error speaker.unavailable") }
        #expect(harness.hub.commands.count { $0.name == "set_volume_device" } == before + 2)
      }
    }

    @Test("a hub that vanishes while it plays comes back with its members, its level and its sound")
    func vanishes() throws {
      try HubHarness.run { harness in
        let (session, kitchen) = (harness.house.session, try harness.house.device("Kitchen"))
        try await session.play(try harness.ramp(seconds: 30))
        try await harness.wait { session.position > 24_000 }
        harness.hub.station.refuse()
        harness.hub.restart()
        try kitchen.setVolume(33)
        try await harness.wait { !kitchen.isAvailable }
        #expect(harness.reported.filter { $0.hasPrefix("error") } == ["error speaker.lost"])
        let position = session.position
        try await harness.wait(0.5)
        #expect(session.position == position && session.state == .playing)
        harness.hub.station.accept()
        try await harness.wait { kitchen.isAvailable && harness.hub.mediaURL != nil }
        try await harness.wait { session.position > position + 9_600 }
        #expect(harness.hub.speakers.allSatisfy(\.isActive) && harness.hub.speakers[0].volume == "\"33\"")
        let first = try #require(try harness.fetched(1).channels.first?.first)
        #expect(first == Float(position / 48) / 32_768)
        #expect(
          harness.reported.filter { $0.hasPrefix("error") || $0.hasPrefix("ended") } == ["error speaker.lost"]
        )
      }
    }

    @Test("a hub that restarts between two requests plays on where it was heard last")
    func restarts() throws {
      try HubHarness.run { harness in
        let session = harness.house.session
        try await session.play(try harness.ramp(seconds: 30))
        try await harness.wait { session.position > 24_000 }
        harness.hub.restart()
        let position = session.position
        try await harness.wait { harness.hub.speakers.allSatisfy(\.isActive) && harness.hub.mediaURL != nil }
        try await harness.wait { session.position > position + 9_600 }
        #expect(session.state == .playing && harness.reported.allSatisfy { !$0.hasPrefix("ended") })
      }
    }

    @Test(
      "an answer that is wrong, endless, late or none is an error with words, and the hub is tried again",
      arguments: [
        "no JSON", "a list", "status 500", "no HTTP", "64 MB", "64 MB without a length", "a stall",
        "slowness",
        "a redirect",
      ])
    func hostile(kind: String) throws {
      // Kept out of the arguments, which are printed.
      let large = { Answer.page([UInt8](repeating: 32, count: 64 << 20), type: "application/json") }
      let answer: Answer =
        switch kind {
        case "no JSON": .page("no json")
        case "a list": .page("[1, 2]")
        case "status 500": .status("500 Internal Server Error")
        case "no HTTP": .raw("garbage")
        case "64 MB": large()
        case "64 MB without a length": large().chunked(65_536)
        case "a stall": .page("{}").stalling(at: 0)
        case "slowness": .page("{}").withSlowHead(.seconds(1))
        default: .redirect(to: "/elsewhere")
        }
      let hub = try Hub()
      try HubHarness.run(hub, set: { $0.responseTime = .milliseconds(500) }) { harness in
        hub.fault("*", answer)
        try await harness.wait { harness.house.devices.allSatisfy { !$0.isAvailable } }
        #expect(harness.reported.first == "error speaker.lost")
        #expect(harness.house.loss.map { harness.logged.contains($0) } == true)
        #expect(await harness.code { try await harness.house.refresh() } == "speaker.lost")
        hub.fault("*", nil)
        try await harness.wait { harness.house.devices.allSatisfy(\.isAvailable) }
        #expect(harness.house.loss == nil && harness.logged.contains("the hub is connected again"))
        #expect(harness.reported.count { $0.hasPrefix("error") } == 1)
      }
      hub.fault("*", answer)
      #expect(throws: SpeakerError.self) {
        try HubHarness.run(hub, set: { $0.responseTime = .milliseconds(500) }) { _ in }
      }
    }

    @Test("answers of another form are logged, not believed")
    func otherForms() throws {
      try HubHarness.run { harness in
        for (command, text) in [
          ("device_list", "{\"DeviceList\":7}"), ("playback_status", "{\"PlaybackState\":1}"),
        ] {
          harness.hub.fault(command, .page(text))
        }
        try await harness.house.session.play(try harness.ramp(seconds: 30))
        try await harness.wait { harness.logged.count == 2 }
        try await harness.wait(0.2)
        #expect(harness.logged.count == 2 && harness.house.devices.allSatisfy(\.isAvailable))
        #expect(harness.house.session.state == .playing)
      }
    }

    @Test("the house is closed while the hub hangs")
    func closesWhileItHangs() throws {
      let hub = try Hub()
      var closing: ContinuousClock.Instant?
      try HubHarness.run(hub) { harness in
        try await harness.house.session.play(try harness.ramp(seconds: 30))
        hub.fault("*", .page("{}").stalling(at: 0))
        try harness.house.setVolume(3)
        try await harness.wait(0.1)
        closing = .now
      }
      #expect(try #require(closing).duration(to: .now) < .seconds(20))
      #expect(!hub.commands.contains { $0.name == "close_session" })
    }

    @Test("what was stopped while the hub was away is stopped when it is back")
    func stopsLate() throws {
      try HubHarness.run { harness in
        let session = harness.house.session
        try await session.play(try harness.ramp(seconds: 30))
        try await harness.wait { session.position > 9_600 }
        harness.hub.station.refuse()
        try await harness.wait { harness.house.devices.allSatisfy { !$0.isAvailable } }
        session.stop()
        #expect(harness.hub.mediaURL != nil)
        harness.hub.station.accept()
        try await harness.wait { harness.hub.mediaURL == nil }
        #expect(harness.hub.orders.contains("stop_play"))
      }
    }
  }
}
