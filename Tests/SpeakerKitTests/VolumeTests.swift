import EventLoop
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("Events of volume, mute and membership", .tags(.speaker, .volume, .groups, .events))
struct VolumeTests {
  @Test("a level takes effect some milliseconds after the call, and the event has the time")
  func delayed() throws {
    try HouseHarness.run(output: .null) { harness in
      let device = harness.house.devices[0]
      harness.record()
      try device.setVolume(20)
      #expect(device.volume == 50)
      try await harness.wait(0.004)
      #expect(device.volume == 50 && harness.reported.isEmpty)
      try await harness.wait(0.002)
      #expect(device.volume == 20)
      #expect(harness.reported == ["volume A 20, average 35"])
    }
  }

  @Test("the level of the house is set on all at one time, one event each, with the average of after")
  func all() throws {
    try HouseHarness.run(output: .null) { harness in
      harness.record()
      try harness.house.setVolume(11)
      try await harness.wait(0.01)
      #expect(harness.reported == ["volume A 11, average 11", "volume B 11, average 11"])
    }
  }

  @Test("mute keeps the level, unmute restores it, a second one publishes nothing")
  func mute() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      try house.devices[0].setVolume(21)
      try await harness.wait(0.01)
      harness.record()
      try house.mute()
      try await harness.wait(0.01)
      #expect(house.isMuted && house.session.isMuted)
      #expect(house.devices.map(\.volume) == [21, 50])
      try house.mute()
      try house.unmute()
      try await harness.wait(0.01)
      #expect(!house.isMuted)
      #expect(
        harness.reported == [
          "volume A 21 muted, average 0", "volume B 50 muted, average 0", "volume A 21, average 36",
          "volume B 50, average 36",
        ])
    }
  }

  @Test("setting while muted unmutes to the new level; muting after setting keeps the new one")
  func setWhileMuted() throws {
    try HouseHarness.run(output: .null) { harness in
      let device = harness.house.devices[0]
      try device.mute()
      try await harness.wait(0.01)
      #expect(device.isMuted)
      try device.setVolume(7)
      try await harness.wait(0.01)
      #expect(!device.isMuted && device.volume == 7)
      try device.setVolume(9)
      try device.mute()
      try await harness.wait(0.01)
      #expect(device.isMuted && device.volume == 9)
    }
  }

  @Test("the average rounds to the nearest, a muted one counts as 0")
  func average() throws {
    let specs = [10, 10, 11].enumerated().map { SpeakerSpec(name: "\($0.offset)", volume: $0.element) }
    try HouseHarness.run(speakers: specs, output: .null) { harness in
      #expect(harness.house.volume == 10)
      try harness.house.devices[0].setVolume(11)
      try await harness.wait(0.01)
      #expect(harness.house.volume == 11)
      try harness.house.devices[0].mute()
      try await harness.wait(0.01)
      #expect(harness.house.volume == 7)
    }
  }

  @Test("levels outside 0...50 are refused", arguments: [-1, 51, .max, .min])
  func range(volume: Int) throws {
    try HouseHarness.run(output: .null) { harness in
      harness.record()
      #expect(await harness.failure { try harness.house.setVolume(volume) }?.code == "speaker.range")
      #expect(
        await harness.failure { try harness.house.devices[0].setVolume(volume) }?.code == "speaker.range")
      #expect(await harness.failure { try harness.house.session.setVolume(volume) }?.code == "speaker.range")
      try await harness.wait(0.01)
      #expect(harness.reported.isEmpty)
    }
  }

  @Test("a session's level is its members' only")
  func session() throws {
    try HouseHarness.run(output: .null) { harness in
      try await harness.house.devices[1].leave()
      try harness.house.session.setVolume(12)
      try await harness.wait(0.01)
      #expect(harness.house.devices.map(\.volume) == [12, 50])
      #expect(harness.house.session.volume == 12)
    }
  }

  @Test("joining and leaving are published once")
  func membership() throws {
    try HouseHarness.run(output: .null, addAll: false) { harness in
      let device = harness.house.devices[0]
      harness.record()
      #expect(harness.house.activeDevices.isEmpty && !device.isActive)
      try await device.join()
      try await device.join(harness.house.session)
      #expect(harness.house.session.devices.map(\.name) == ["A"])
      try await device.leave()
      try await device.leave()
      try await harness.wait(0.01)
      #expect(harness.reported == ["device A joined", "device A left"])
    }
  }

  @Test("opening publishes the speakers, which are in no session")
  func opening() throws {
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 0)))
    let house = House(
      loop: loop,
      driver: HouseDriver(DriverContext(loop: loop), speakers: HouseHarness.pair, output: .null))
    var reported: [String] = []
    house.events.on(.device) { event in
      if case .device(let device, let reason) = event { reported.append("\(device.name) \(reason.rawValue)") }
    }
    var isDone = false
    loop.start {
      try? await house.open()
      #expect(house.isOpen && !house.isOpening)
      #expect(loop.now == .start.advanced(by: .milliseconds(100)))
      loop.after(.milliseconds(1)) { isDone = true }
    }
    #expect(!house.isOpen)
    #expect(loop.run(until: { isDone }) == .done)
    loop.close()
    #expect(reported == ["A added", "B added"])
  }

  @Test("closing while the house opens ends the opening", arguments: [Output.null, .alsa(device: "null")])
  func closedWhileOpening(output: Output) throws {
    let loop = EventLoop()
    let house = House(
      loop: loop,
      driver: HouseDriver(DriverContext(loop: loop), speakers: HouseHarness.pair, output: output))
    var code: String?
    var isDone = false
    loop.start {
      do { try await house.open() } catch { code = (error as? any CodedError)?.code }
      loop.after(.milliseconds(1)) { isDone = true }
    }
    loop.after(.milliseconds(20)) { loop.start { await house.close() } }
    #expect(loop.run(until: { isDone }) == .done)
    loop.close()
    #expect(code == "speaker.closed")
    #expect(house.devices.isEmpty && !house.isOpen)
  }
}
