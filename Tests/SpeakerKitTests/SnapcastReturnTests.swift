import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

extension RealTimeTests {
  @Suite("The level of a snapclient that its server has forgotten, or whose group is muted")
  struct SnapcastReturnTests {
    /// A level as a server reports it.
    struct Level: Sendable {
      let percent: Int
      let isMuted: Bool
      init(_ percent: Int, muted: Bool = false) { (self.percent, isMuted) = (percent, muted) }
      var json: String { "{\"percent\":\(percent),\"muted\":\(isMuted)}" }
    }

    /// Returns the answer to a request for the state, with one client.
    private static func state(_ level: Level, isConnected: Bool = true) -> HostileSnapserver.Action {
      .line(
        """
        {"jsonrpc":"2.0","id":%,"result":{"server":{"groups":[{"id":"g","name":"","muted":false,\
        "stream_id":"p-idle","clients":[{"id":"a","connected":\(isConnected),"host":{"name":"host"},\
        "config":{"name":"A","volume":\(level.json)}}]}],\
        "streams":[{"id":"p-1","uri":{"scheme":"pipe","path":"/nowhere"}},\
        {"id":"p-idle","uri":{"scheme":"pipe","path":"/nowhere"}}]}}}
        """)
    }

    /// Opens a house of the server, runs `body` on its loop and closes the house.
    private static func run(
      _ server: HostileSnapserver,
      _ body: @escaping (House, SnapcastDriver, EventLoop) async throws -> Void
    ) throws {
      let loop = EventLoop()
      var settings = SnapcastSettings()
      (settings.port, settings.streams) = (server.port, "p-")
      let driver = SnapcastDriver(DriverContext(loop: loop), settings)
      let house = House(loop: loop, driver: driver)
      try loop.finish(
        {
          try await house.open(addAll: false)
          try await body(house, driver, loop)
        }, last: { await house.close() })
    }

    /// Returns the requests for levels that the server has received, without spaces.
    private static func levels(sentTo server: HostileSnapserver) -> [String] {
      server.requests.filter { $0.contains("Client.SetVolume") }.map { $0.split(separator: " ").joined() }
    }

    /// Returns the answer to a request for a level.
    private static func answer(_ level: Level) -> HostileSnapserver.Action {
      .line(#"{"jsonrpc":"2.0","id":%,"result":{"volume":\#(level.json)}}"#)
    }

    @Test(
      "what differs is restored: the mute, the volume, or both; a volume out of range is never written back",
      arguments: [
        (Level(80, muted: true), Level(80), #""volume":{"percent":80,"muted":true}"#),
        (Level(80), Level(80, muted: true), #""volume":{"percent":80,"muted":false}"#),
        (Level(80), Level(100), #""volume":{"percent":80,"muted":false}"#),
        (Level(65531), Level(100), #""volume":{"muted":false}"#),
      ])
    func restores(before: Level, forgotten: Level, request: String) throws {
      let server = try HostileSnapserver(
        .script([
          ("Server.GetStatus", [Self.state(before)]), ("Server.GetStatus", [.hangUp]),
          ("Server.GetStatus", [Self.state(forgotten)]),
          ("Client.SetVolume", [.pause(50), Self.answer(before)]),
        ]))
      try Self.run(server) { house, driver, loop in
        let device = house.devices[0]
        let volume = device.volume
        var levels: [String] = []
        house.events.on(.volume) {
          if case .volume(_, let volume, let muted, _, _, _) = $0 { levels.append("\(volume) \(muted)") }
        }
        try? await driver.refresh(nil)
        for _ in 0..<1000 where Self.levels(sentTo: server).isEmpty {
          try await loop.sleep(for: .milliseconds(10))
        }
        for _ in 0..<1000 where driver.pendingChangeCount > 0 {
          try await loop.sleep(for: .milliseconds(10))
        }
        let sent = Self.levels(sentTo: server)
        #expect(sent.count == 1 && sent.allSatisfy { $0.contains(request) }, "\(sent)")
        #expect(device.isAvailable && device.volume == volume && device.isMuted == before.isMuted)
        #expect(levels.isEmpty, "\(levels)")
      }
    }

    @Test("a mute that was under way when its server died is restored with the volume")
    func restoresMute() throws {
      let server = try HostileSnapserver(
        .script([
          ("Server.GetStatus", [Self.state(Level(80))]), ("Client.SetVolume", [.hangUp]),
          ("Server.GetStatus", [Self.state(Level(100))]),
          ("Client.SetVolume", [Self.answer(Level(80, muted: true))]),
        ]))
      try Self.run(server) { house, driver, loop in
        let device = house.devices[0]
        try device.mute()
        for _ in 0..<1000 where Self.levels(sentTo: server).count < 2 || driver.pendingChangeCount > 0 {
          try await loop.sleep(for: .milliseconds(10))
        }
        let sent = Self.levels(sentTo: server)
        #expect(sent.count == 2 && sent[0].contains(#""volume":{"muted":true}"#), "\(sent)")
        #expect(sent.last?.contains(#""volume":{"percent":80,"muted":true}"#) == true, "\(sent)")
        #expect(device.volume == 40 && device.isMuted)
      }
    }

    @Test("a level that waits for the answer to another one is sent before the house has closed")
    func closes() throws {
      let server = try HostileSnapserver(
        .script([
          ("Server.GetStatus", [Self.state(Level(80))]),
          ("Client.SetVolume", [.pause(100), Self.answer(Level(30))]),
          ("Client.SetVolume", [Self.answer(Level(30, muted: true))]),
        ]))
      try Self.run(server) { house, _, _ in
        try house.devices[0].setVolume(15)
        try house.devices[0].mute()
        await house.close()
        let sent = Self.levels(sentTo: server)
        #expect(sent.count == 2 && sent.last?.contains(#""muted":true"#) == true, "\(sent)")
      }
    }

    @Test("a house closes although its server answers no request for a level")
    func closesWithoutAnswer() throws {
      let server = try HostileSnapserver(
        .script([
          ("Server.GetStatus", [Self.state(Level(80))]), ("Client.SetVolume", []),
        ]))
      try Self.run(server) { house, _, loop in
        try house.devices[0].setVolume(15)
        let start = loop.now
        await house.close()
        #expect(start.duration(to: loop.now) >= .seconds(2))
      }
    }

    @Test(
      "a level that was shown and is refused gives way to that of the server, also after another zone",
      arguments: [false, true])
    func refused(isChangedMeanwhile: Bool) throws {
      let refusal = #"{"jsonrpc":"2.0","id":%,"error":{"code":-32603,"message":"no"}}"#
      let change = #"{"id":"a","volume":\#(Level(60).json)}"#
      let notification = #"{"jsonrpc":"2.0","method":"Client.OnVolumeChanged","params":\#(change)}"#
      let meanwhile: [HostileSnapserver.Action] = isChangedMeanwhile ? [.line(notification), .pause(50)] : []
      let server = try HostileSnapserver(
        .script([
          ("Server.GetStatus", [Self.state(Level(50))]),
          ("Client.SetVolume", [.pause(300)] + meanwhile + [.line(refusal)]),
        ]))
      try Self.run(server) { house, driver, loop in
        let device = house.devices[0]
        var errors: [String] = []
        house.events.on(.error) { if case .error(let code, _, _, _) = $0 { errors.append(code) } }
        try device.setVolume(40)
        _ = try house.snapshot()
        #expect(device.volume == 40)
        try await device.setGroup("Downstairs")
        for _ in 0..<1000 where errors.isEmpty { try await loop.sleep(for: .milliseconds(10)) }
        #expect(device.volume == (isChangedMeanwhile ? 30 : 25) && errors == ["speaker.lost"])
        #expect(device.groupName == "Downstairs")
      }
    }

    @Test("a speaker that is unmuted in a group that another controller has muted leaves the others muted")
    func mutedGroup() throws {
      try SnapcastHarness.run { harness in
        let (kitchen, bedroom) = (try harness.device("kitchen"), try harness.device("bedroom"))
        try await kitchen.setGroup("Downstairs")
        try await bedroom.setGroup("Downstairs")
        let controller = try harness.controller()
        let group = try controller.group(of: "kitchen")
        #expect(try controller.group(of: "bedroom") == group)
        try controller.request("Group.SetMute", "{\"id\":\"\(group)\",\"mute\":true}")
        try await harness.wait { kitchen.isMuted && bedroom.isMuted }
        try kitchen.unmute()
        try await harness.wait { !kitchen.isMuted && harness.driver.pendingChangeCount == 0 }
        try await harness.wait(0.2)
        #expect(bedroom.isMuted && !kitchen.isMuted)
        try bedroom.unmute()
        try await harness.wait { !bedroom.isMuted }
      }
    }
  }
}
