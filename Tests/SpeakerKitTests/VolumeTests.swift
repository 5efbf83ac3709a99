import EventLoop
import SpeakerKit
import TestSupport
import Testing

@Suite("Volume, mute and membership as they are told")
struct VolumeTests {
  @Test("a level takes effect some milliseconds after the call, and the event says when")
  func delayed() throws {
    try HouseBench.run(output: .null) { bench in
      let device = bench.house.devices[0]
      bench.record()
      try device.setVolume(20)
      #expect(device.volume == 50)
      try await bench.wait(0.004)
      #expect(device.volume == 50 && bench.told.isEmpty)
      try await bench.wait(0.002)
      #expect(device.volume == 20)
      #expect(bench.told == ["volume A 20, average 35"])
    }
  }

  @Test("the level of the house is set on all at one time, one event each, with the average of after")
  func all() throws {
    try HouseBench.run(output: .null) { bench in
      bench.record()
      try bench.house.setVolume(11)
      try await bench.wait(0.01)
      #expect(bench.told == ["volume A 11, average 11", "volume B 11, average 11"])
    }
  }

  @Test("mute keeps the level, unmute gives it back, a second one tells nothing")
  func mute() throws {
    try HouseBench.run(output: .null) { bench in
      let house = bench.house
      try house.devices[0].setVolume(21)
      try await bench.wait(0.01)
      bench.record()
      try house.mute()
      try await bench.wait(0.01)
      #expect(house.isMuted && house.session.isMuted)
      #expect(house.devices.map(\.volume) == [21, 50])
      try house.mute()
      try house.unmute()
      try await bench.wait(0.01)
      #expect(!house.isMuted)
      #expect(
        bench.told == [
          "volume A 21 muted, average 0", "volume B 50 muted, average 0", "volume A 21, average 36",
          "volume B 50, average 36",
        ])
    }
  }

  @Test("setting while muted unmutes to the new level; muting after setting keeps the new one")
  func setWhileMuted() throws {
    try HouseBench.run(output: .null) { bench in
      let device = bench.house.devices[0]
      try device.mute()
      try await bench.wait(0.01)
      #expect(device.isMuted)
      try device.setVolume(7)
      try await bench.wait(0.01)
      #expect(!device.isMuted && device.volume == 7)
      try device.setVolume(9)
      try device.mute()
      try await bench.wait(0.01)
      #expect(device.isMuted && device.volume == 9)
    }
  }

  @Test("the average rounds to the nearest, a muted one counts as 0")
  func average() throws {
    let specs = [10, 10, 11].enumerated().map { SpeakerSpec(name: "\($0.offset)", volume: $0.element) }
    try HouseBench.run(speakers: specs, output: .null) { bench in
      #expect(bench.house.volume == 10)
      try bench.house.devices[0].setVolume(11)
      try await bench.wait(0.01)
      #expect(bench.house.volume == 11)
      try bench.house.devices[0].mute()
      try await bench.wait(0.01)
      #expect(bench.house.volume == 7)
    }
  }

  @Test("levels outside 0...50 are refused", arguments: [-1, 51, .max, .min])
  func range(volume: Int) throws {
    try HouseBench.run(output: .null) { bench in
      bench.record()
      #expect(await bench.failure { try bench.house.setVolume(volume) }?.code == "speaker.range")
      #expect(await bench.failure { try bench.house.devices[0].setVolume(volume) }?.code == "speaker.range")
      #expect(await bench.failure { try bench.house.session.setVolume(volume) }?.code == "speaker.range")
      try await bench.wait(0.01)
      #expect(bench.told.isEmpty)
    }
  }

  @Test("a session's level is its members' only")
  func session() throws {
    try HouseBench.run(output: .null) { bench in
      try await bench.house.devices[1].leave()
      try bench.house.session.setVolume(12)
      try await bench.wait(0.01)
      #expect(bench.house.devices.map(\.volume) == [12, 50])
      #expect(bench.house.session.volume == 12)
    }
  }

  @Test("joining and leaving are told once")
  func membership() throws {
    try HouseBench.run(output: .null, addAll: false) { bench in
      let device = bench.house.devices[0]
      bench.record()
      #expect(bench.house.activeDevices.isEmpty && !device.isActive)
      try await device.join()
      try await device.join(bench.house.session)
      #expect(bench.house.session.devices.map(\.name) == ["A"])
      try await device.leave()
      try await device.leave()
      try await bench.wait(0.01)
      #expect(bench.told == ["device A joined", "device A left"])
    }
  }

  @Test("opening tells the speakers, and that they join")
  func opening() throws {
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 0)))
    let house = House(loop: loop, driver: HouseDriver(loop: loop, speakers: HouseBench.pair, output: .null))
    var told: [String] = []
    house.events.on(.device) { event in
      if case .device(let device, let reason) = event { told.append("\(device.name) \(reason.rawValue)") }
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
    #expect(told == ["A added", "B added", "A joined", "B joined"])
  }

  @Test("closing while the house opens ends the opening", arguments: [Output.null, .alsa(device: "null")])
  func closedWhileOpening(output: Output) throws {
    let loop = EventLoop()
    let house = House(loop: loop, driver: HouseDriver(loop: loop, speakers: HouseBench.pair, output: output))
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
