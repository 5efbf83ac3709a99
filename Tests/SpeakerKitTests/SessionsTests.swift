import AudioCore
import EventLoop
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("Several sessions in one house", .tags(.speaker, .sessions))
struct SessionsTests {
  @Test("two sessions play at one time, each on its own speakers, exactly")
  func apart() throws {
    let (left, right) = (Signal.noise(seed: 1, frames: 48_000), Signal.noise(seed: 2, frames: 24_000))
    var sources: [Sound] = []
    let harness = try HouseHarness.run { harness in
      let paths = [try harness.source("a.wav", left), try harness.source("b.wav", right)]
      sources = try paths.map { try Sound(file: $0) }
      let other = try harness.house.makeSession(name: "other", devices: [harness.house.devices[1]])
      #expect(harness.house.sessions.map(\.name) == ["default", "other"])
      try await harness.house.session.play(paths[0])
      try await other.play(paths[1])
      #expect(try await other.finish() == .ended(.finished))
      #expect(harness.house.session.state == .playing)
      _ = try await harness.house.session.finish()
    }
    #expect(try harness.played("A") == sources[0])
    let second = try harness.played("B").channels[0]
    // A block of the first session was being heard when the second began.
    #expect(second.prefix(960).allSatisfy { $0 == 0 })
    #expect(Array(second[960..<24_960]) == sources[1].channels[0])
    #expect(second.dropFirst(24_960).allSatisfy { $0 == 0 })
  }

  @Test("joining moves a speaker from another session; the one that lost its last member stops")
  func joinMoves() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      let other = try house.makeSession(name: "other")
      try await house.session.play(path)
      harness.record()
      try await house.devices[0].join(other)
      #expect(house.session.devices.map(\.name) == ["B"] && other.devices.map(\.name) == ["A"])
      #expect(house.session.state == .playing)
      try await house.devices[1].join(other)
      try await harness.wait(0.1)
      #expect(
        harness.reported == [
          "device A left", "device A joined", "device A playing", "device B left", "device B joined",
          "state stopped", "ended a.wav no_devices", "device B playing",
        ])
    }
  }

  @Test("a session of lower priority gets no speaker, one of equal priority does")
  func outranked() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      let alarm = try house.makeSession(name: "alarm", devices: [house.devices[0]], priority: 200)
      harness.record()
      let error = await harness.failure { try await house.devices[0].join() }
      #expect(error?.code == "speaker.outranked")
      #expect(error?.facts.contains(.init("session", .string("alarm"))) == true)
      // All or none: the free one remains too.
      #expect(
        await harness.failure {
          _ = try house.makeSession(name: "low", devices: [house.devices[1], house.devices[0]])
        }?.code == "speaker.outranked")
      #expect(house.sessions.count == 2 && house.devices[1].session === house.session)
      let equal = try house.makeSession(name: "equal", priority: 200)
      try await house.devices[0].join(equal)
      #expect(alarm.devices.isEmpty)
      try await house.devices[0].leave()
      try await house.devices[0].join()
      try await harness.wait(0.01)
      #expect(
        harness.reported == ["device A left", "device A joined", "device A left", "device A joined"])
    }
  }

  @Test("a closed session has stopped, has no members, and refuses commands")
  func closes() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      let session = try house.makeSession(name: "mine", devices: [house.devices[0]])
      try await session.play(path)
      try await harness.wait(0.01)
      harness.record()
      var closings = 0
      session.whenClosed { closings += 1 }
      try session.close()
      try session.close()
      #expect(closings == 1 && !session.isOpen && house.sessions.count == 1)
      #expect(await harness.failure { try await session.play(path) }?.code == "speaker.closed")
      #expect(await harness.failure { try await house.devices[0].join(session) }?.code == "speaker.closed")
      #expect(await harness.failure { try session.setVolume(3) }?.code == "speaker.closed")
      #expect(await harness.failure { try house.session.close() }?.code == "speaker.unsupported")
      try await harness.wait(0.01)
      #expect(
        harness.reported == ["state stopped", "ended a.wav stopped", "device A playing", "device A left"])
    }
  }

  @Test("a session replaces a closed one within the same block, without a click")
  func reused() throws {
    let harness = try HouseHarness.run { harness in
      let path = try harness.source("a.wav", Signal.constant(0.9, frames: 480_000))
      for _ in 0..<3 {
        let session = try harness.house.makeSession(devices: harness.house.devices)
        try await session.play(path, start: 1)
        try await harness.wait(0.1)
        try session.close()
      }
    }
    #expect(try harness.played("A").largestStep < 0.9 / 960 * 2.1)
    #expect(try harness.played("A").peak > 0.89)
  }

  @Test("levels of the house leave alone what is in a session of its own")
  func levels() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      _ = try house.makeSession(name: "mine", devices: [house.devices[0]])
      try house.setVolume(10)
      try house.mute()
      try await harness.wait(0.01)
      #expect(house.devices.map(\.volume) == [50, 10])
      #expect(house.devices.map(\.isMuted) == [false, true])
      #expect(house.isMuted)
      try await house.devices[1].leave()
      try house.setVolume(20)
      try await harness.wait(0.01)
      #expect(house.devices.map(\.volume) == [50, 20])
    }
  }

  @Test("closing the house stops every session, and waiting callers continue")
  func closingHouse() throws {
    var result: FinishResult?
    try HouseHarness.run { harness in
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      let session = try harness.house.makeSession(devices: [harness.house.devices[0]])
      try await session.play(path)
      harness.loop.start { result = try? await session.finish() }
      try await harness.wait(0.1)
    }
    #expect(result == .ended(.stopped))
  }
}
