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
      try await harness.house.devices[1].leave()
      let other = try harness.house.makeSession(name: "other", devices: [harness.house.devices[1]])
      #expect(harness.house.sessions.map(\.name) == ["test", "other"])
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

  @Test("a speaker goes to a session that begins to sound; the one that lost its last member stops")
  func joinMoves() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      let other = try house.makeSession(name: "other")
      try await house.session.play(path)
      harness.record()
      try await house.devices[0].join(other)
      #expect(other.devices.isEmpty && other.wanted.map(\.name) == ["A"])
      try await other.play(path)
      #expect(house.session.devices.map(\.name) == ["B"] && other.devices.map(\.name) == ["A"])
      #expect(house.session.state == .playing)
      // The other one sounds now: what it wants is its own at once.
      try await house.devices[1].join(other)
      try await harness.wait(0.1)
      #expect(
        harness.reported == [
          "device A left", "device A joined", "device A playing", "state playing", "device A playing",
          "device B left", "device B joined", "state stopped", "ended a.wav no_devices",
        ])
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
      session.close()
      session.close()
      #expect(closings == 1 && !session.isOpen && house.sessions.count == 1)
      #expect(await harness.failure { try await session.play(path) }?.code == "speaker.closed")
      #expect(await harness.failure { try await house.devices[0].join(session) }?.code == "speaker.closed")
      #expect(await harness.failure { try session.setVolume(3) }?.code == "speaker.closed")
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
        session.close()
      }
    }
    #expect(try harness.played("A").largestStep < 0.9 / 960 * 2.1)
    #expect(try harness.played("A").peak > 0.89)
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
