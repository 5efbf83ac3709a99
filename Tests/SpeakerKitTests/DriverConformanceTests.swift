import AudioCore
import EventLoop
import HTTP
import SpeakerKit
import TestSupport
import TestTraits
import Testing

/// A driver under test, with the kind of clock that it needs.
struct DriverUnderTest: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let isVirtual: Bool
  /// Creates a driver of at least two speakers, with a folder for its files, and the fixture that it needs.
  let make: @Sendable (EventLoop, TemporaryFolder) throws -> (driver: any Driver, fixture: AnyObject?)

  /// All drivers; a new one is added here, and must pass.
  static let all: [DriverUnderTest] = [
    house("house, virtual time, no output", isVirtual: true) { _ in .null },
    house("house, virtual time, files", isVirtual: true) { .wav(folder: $0.file("out")) },
    house("house, real time, files", isVirtual: false) { .wav(folder: $0.file("out")) },
    DriverUnderTest(testDescription: "snapcast, a server with two clients", isVirtual: false) { loop, _ in
      let rig = try SnapcastRig()
      var settings = SnapcastSettings()
      settings.port = rig.controlPort
      return (SnapcastDriver(DriverContext(loop: loop), settings), rig)
    },
    DriverUnderTest(testDescription: "hkwhub, a hub with two speakers", isVirtual: false) { loop, _ in
      let hub = try Hub()
      let network = try NetworkThread()
      let driver = HubDriver(
        DriverContext(loop: loop, network: { network }), try HubSettings(url: hub.url))
      (driver.pollTime, driver.statusTime) = (.milliseconds(100), .milliseconds(100))
      return (driver, hub)
    },
  ]

  private static func house(
    _ name: String, isVirtual: Bool, _ output: @escaping @Sendable (TemporaryFolder) -> Output
  ) -> DriverUnderTest {
    DriverUnderTest(testDescription: name, isVirtual: isVirtual) { loop, folder in
      (HouseDriver(DriverContext(loop: loop), speakers: EditingTests.three, output: output(folder)), nil)
    }
  }
}

// Part of the real-time tests, which run one after the other: one of them counts threads.
extension RealTimeTests {
  @Suite("The behaviour of every driver, by its capabilities", .tags(.drivers))
  struct DriverConformanceTests {
    /// Fixture of a test.
    private struct Harness {
      let house: House
      let folder: TemporaryFolder

      func can(_ capability: String) -> Bool { house.capabilities.contains(capability) }
      func source(seconds: Double) throws -> String {
        let path = folder.file("\(seconds).wav")
        let samples = Signal.constant(0.25, frames: Int(seconds * 48_000))
        try Sound(sampleRate: 48_000, channels: [samples, samples]).write(to: path)
        return path
      }
      /// Runs the loop until `condition`; fails after a minute.
      func eventually(_ condition: () -> Bool) async throws {
        for _ in 0..<6_000 where !condition() { try await house.loop.sleep(for: .milliseconds(10)) }
        #expect(condition())
      }
      /// Returns the code of the error that `body` throws; nil for none.
      func code(_ body: () async throws -> Void) async -> String? {
        do {
          try await body()
          return nil
        } catch { return (error as? any CodedError)?.code ?? "\(error)" }
      }
    }

    @Test("each kind of driver is among those under test, with its name and its capabilities")
    func kinds() throws {
      var tested: Set<String> = []
      for driver in DriverUnderTest.all {
        let made = try driver.make(EventLoop(), TemporaryFolder()).driver
        let kind = try #require(DriverKinds.all.first { $0.name == made.name })
        #expect(kind.capabilities == made.capabilities)
        tested.insert(made.name)
      }
      #expect(tested == Set(DriverKinds.all.map { $0.name }))
    }

    private func run(
      _ driver: DriverUnderTest, limits: [String: SpeakerLimit] = [:],
      _ body: @escaping (Harness) async throws -> Void
    ) throws {
      let loop = EventLoop(clock: driver.isVirtual ? .virtual(start: WallTime(seconds: 0)) : .wall)
      let folder = try TemporaryFolder()
      let (made, fixture) = try driver.make(loop, folder)
      defer { withExtendedLifetime(fixture) {} }
      let house = House(loop: loop, driver: made, limits: SpeakerLimits(limits))
      try loop.finish(
        {
          try await house.open(addAll: true)
          try await body(Harness(house: house, folder: folder))
        }, last: { await house.close() })
    }

    @Test(
      "it finds speakers with ids and names of their own, and values in range", arguments: DriverUnderTest.all
    )
    func discovery(driver: DriverUnderTest) throws {
      try run(driver) { harness in
        let devices = harness.house.devices
        #expect(devices.count >= 2)
        #expect(
          Set(devices.map(\.id)).count == devices.count && Set(devices.map(\.name)).count == devices.count)
        #expect(devices.allSatisfy { !$0.id.isEmpty && !$0.name.isEmpty && !$0.groupName.isEmpty })
        #expect(devices.allSatisfy { (0...50).contains($0.volume) })
        // A signal that the driver does not know is not invented.
        #expect(
          devices.allSatisfy {
            $0.wifiSignal.map { (-100...0).contains($0) } ?? false == harness.can("wifi")
              && ($0.wifiStrength != nil) == harness.can("wifi")
          })
        let code = await harness.code { try await devices[0].refreshWifi() }
        #expect(code == (harness.can("wifi") ? nil : "speaker.unsupported"))
      }
    }

    @Test(
      "a limited speaker is at its limit when the house opens, and exceeds it by no level, fade or interruption",
      arguments: DriverUnderTest.all)
    func limits(driver: DriverUnderTest) throws {
      var names: [String] = []
      try run(driver) { harness in
        names = harness.house.devices.map(\.name)
        try harness.house.devices[0].setVolume(30)
        try await harness.eventually { harness.house.devices[0].volume == 30 }
      }
      let limit = try #require(SpeakerLimit(maximum: 10))
      try run(driver, limits: [names[0]: limit]) { harness in
        // A server may list its speakers in another order the next time.
        let device = try harness.house.device(names[0])
        let other = try #require(harness.house.devices.first { $0 !== device })
        try await harness.eventually { device.volume <= 10 }
        var highest = 0
        harness.house.events.on(.volume) {
          if case .volume(let who, let volume, _, _, _, _) = $0, who === device {
            highest = max(highest, volume)
          }
        }
        try device.setVolume(0)
        try await harness.eventually { device.volume == 0 }
        try device.setVolume(40)
        try other.setVolume(40)
        try await harness.eventually { device.volume == 10 && other.volume == 40 }
        #expect(device.requestedVolume == 40 && device.appliedLimit?.maximum == 10)
        #expect(other.requestedVolume == 40 && other.appliedLimit == nil)
        try device.mute()
        try await harness.eventually { device.isMuted }
        try device.unmute()
        try await harness.eventually { !device.isMuted && device.volume == 10 }
        if harness.can("fade") {
          try await device.fade(volume: 2, over: .milliseconds(100))
          try await device.fade(volume: 35, over: .milliseconds(200))
          try await harness.eventually { device.volume == 10 && device.requestedVolume == 35 }
        }
        if harness.can("interrupt") {
          try await harness.house.interrupt(devices: [device], volume: 45) { _ in
            try await harness.eventually { device.requestedVolume == 45 && device.volume == 10 }
          }
          #expect(device.volume == 10 && device.requestedVolume == (harness.can("fade") ? 35 : 40))
        }
        #expect(highest == 10)
      }
    }

    @Test(
      "levels are read as they were set, published once each; mute keeps them", arguments: DriverUnderTest.all
    )
    func levels(driver: DriverUnderTest) throws {
      try run(driver) { harness in
        guard harness.can("volume") else { return }
        let device = harness.house.devices[0]
        var reported: [Int] = []
        harness.house.events.on(.volume) {
          if case .volume(_, let volume, _, _, _, _) = $0 { reported.append(volume) }
        }
        for volume in [0, 1, 25, 50] {
          try device.setVolume(volume)
          try await harness.eventually { device.volume == volume && reported.last == volume }
        }
        #expect(reported == [0, 1, 25, 50])
        guard harness.can("mute") else { return }
        try device.mute()
        try await harness.eventually { device.isMuted }
        #expect(device.volume == 50)
        try device.unmute()
        try await harness.eventually { !device.isMuted }
        #expect(device.volume == 50)
      }
    }

    @Test("a source plays to its end, with its states in order", arguments: DriverUnderTest.all)
    func plays(driver: DriverUnderTest) throws {
      try run(driver) { harness in
        guard harness.can("play") else { return }
        let session = harness.house.session
        var states: [PlayerState] = []
        harness.house.events.on(.state) { if case .state(let state, _, _) = $0 { states.append(state) } }
        #expect(await harness.code { try await session.play("/nowhere.wav") } == "audio.not_found")
        try await session.play(try harness.source(seconds: 0.5))
        #expect(session.state == .playing)
        #expect(try await session.finish(timeout: .seconds(20)) == .ended(.finished))
        try await harness.eventually { states.count == 2 }
        #expect(states == [.playing, .stopped])
      }
    }

    @Test("pause holds the position, resume continues, stop ends", arguments: DriverUnderTest.all)
    func pauses(driver: DriverUnderTest) throws {
      try run(driver) { harness in
        guard harness.can("play"), harness.can("pause") else { return }
        let session = harness.house.session
        try await session.play(try harness.source(seconds: 30))
        try await harness.eventually { session.position > 9_600 }
        session.pause()
        // A block rendered before the pause may still be heard.
        var position = -1
        for _ in 0..<300 where session.position != position {
          position = session.position
          try await harness.house.loop.sleep(for: .milliseconds(200))
        }
        #expect(session.position == position)
        try session.resume()
        try await harness.eventually { session.position > position + 4_800 }
        if harness.can("seek") {
          try session.seek(toSeconds: 20)
          try await harness.eventually { session.position > 20 * 48_000 }
        }
        session.stop()
        #expect(session.position == 0 && session.state == .stopped)
      }
    }

    @Test("speakers join and leave; the last that leaves stops what plays", arguments: DriverUnderTest.all)
    func members(driver: DriverUnderTest) throws {
      try run(driver) { harness in
        guard harness.can("play"), harness.can("join") else { return }
        let (house, session) = (harness.house, harness.house.session)
        try await session.play(try harness.source(seconds: 30))
        for device in house.devices.dropLast() { try await device.leave() }
        #expect(session.state == .playing)
        try await house.devices.last?.leave()
        #expect(session.state == .stopped)
        try await house.devices[0].join()
        #expect(session.devices.count == 1)
      }
    }

    @Test("several sessions, or the later one alone", arguments: DriverUnderTest.all)
    func sessions(driver: DriverUnderTest) throws {
      try run(driver) { harness in
        let house = harness.house
        let other = try house.makeSession(devices: [house.devices[0]])
        let path = try harness.source(seconds: 0.5)
        try await house.session.play(path, loops: true)
        try await other.play(path)
        guard harness.can("sessions") else {
          // One sounds at a time: the later one.
          return #expect(house.session.state == .stopped && other.state == .playing)
        }
        #expect(try await other.finish(timeout: .seconds(20)) == .ended(.finished))
        #expect(house.session.state == .playing)
        other.close()
      }
    }

    @Test(
      "a play asks for the rooms that it names, which a session of higher priority keeps",
      arguments: DriverUnderTest.all)
    func rooms(driver: DriverUnderTest) throws {
      try run(driver) { harness in
        guard harness.can("play"), harness.can("join") else { return }
        let house = harness.house
        for device in house.devices { try await device.leave() }
        let vip = try house.makeSession(name: "vip", devices: [house.devices[0]], priority: 150)
        let mine = try house.makeSession(name: "mine")
        let path = try harness.source(seconds: 30)
        #expect(await harness.code { try await mine.play(path) } == "speaker.no_active_device")
        try await vip.play(path)
        let first = [house.devices[0]]
        #expect(await harness.code { try await mine.play(path, rooms: first) } == "speaker.outranked")
        let all = house.devices
        let code = await harness.code { try await mine.play(path, rooms: all) }
        if harness.can("sessions") {
          #expect(code == nil && mine.devices.count == all.count - 1 && mine.wanted.count == all.count)
          #expect(mine.missed.map(\.holder) == ["vip"])
          try await mine.play(path, priority: 150)
          #expect(mine.devices.count == all.count && vip.state == .stopped && mine.missed.isEmpty)
        } else {
          // Its room is free, but the only stream is not.
          #expect(code == "speaker.no_stream" && vip.state == .playing && mine.state == .stopped)
          vip.stop()
          try await mine.play(path, rooms: all)
          #expect(mine.devices.count == all.count)
        }
      }
    }

    @Test("an interruption is heard in its room, and gives back the room", arguments: DriverUnderTest.all)
    func interruptions(driver: DriverUnderTest) throws {
      try run(driver) { harness in
        guard harness.can("play"), harness.can("join") else { return }
        let (house, session) = (harness.house, harness.house.session)
        try await session.play(try harness.source(seconds: 30))
        let room = house.devices[0]
        let bell = try harness.source(seconds: 0.5)
        try await house.interrupt(devices: [room], priority: 300, name: "bell") { bells in
          try await bells.play(bell)
          #expect(room.session === bells && bells.state == .playing)
          _ = try await bells.finish(timeout: .seconds(20))
        }
        #expect(room.session === session)
        // With one session at a time, the one that sounded has been replaced.
        #expect(session.state == (harness.can("sessions") ? .playing : .stopped))
      }
    }

    @Test("names and groups change, or are refused", arguments: DriverUnderTest.all)
    func edits(driver: DriverUnderTest) throws {
      try run(driver) { harness in
        let device = harness.house.devices[0]
        let name = await harness.code { try await device.setName("Another name") }
        #expect(name == (harness.can("rename") ? nil : "speaker.unsupported"))
        let group = await harness.code { try await device.setGroup("Another group") }
        #expect(group == (harness.can("group") ? nil : "speaker.unsupported"))
        if harness.can("rename") { #expect(device.name == "Another name") }
        if harness.can("group") { #expect(device.isMaster && device.group?.name == "Another group") }
      }
    }

    @Test("after close nothing is published, and everything is refused", arguments: DriverUnderTest.all)
    func closes(driver: DriverUnderTest) throws {
      try run(driver) { harness in
        let house = harness.house
        if harness.can("play") { try await house.session.play(try harness.source(seconds: 30)) }
        try house.devices[0].setVolume(3)
        try await house.loop.sleep(for: .milliseconds(1))
        await house.close()
        house.events.on { _ in Issue.record("told after close") }
        try await house.loop.sleep(for: .milliseconds(100))
        #expect(await harness.code { try house.setVolume(3) } == "speaker.closed")
        #expect(await harness.code { try await house.devices[0].join() } == "speaker.closed")
      }
    }
  }
}
