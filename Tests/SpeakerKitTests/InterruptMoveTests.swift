import EventLoop
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("Interruptions whose speakers others move", .tags(.speaker, .interruption))
struct InterruptMoveTests {
  @Test("a speaker that was moved away and back meanwhile is not returned")
  func movedBack() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      let other = try house.makeSession(name: "other")
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      try await house.interrupt(devices: house.devices) { by in
        try await house.devices[0].join(other)
        try await other.play(path)
        #expect(house.devices[0].session === other)
        try await house.devices[0].join(by)
        #expect(house.devices[0].session === by)
      }
      #expect(house.devices[0].session == nil && house.devices[1].session === house.session)
    }
  }

  @Test("a speaker that a session of higher priority gets while the sound falls is left to it")
  func outrankedWhileFading() throws {
    let harness = try HouseHarness.run { harness in
      let (house, session) = (harness.house, harness.house.session)
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      try await session.play(path)
      var alarm: Session?
      harness.loop.start {
        try? await harness.wait(0.5)
        alarm = try? house.makeSession(name: "alarm", devices: [house.devices[1]], priority: 150)
        try? await alarm?.play(path)
      }
      let failure = await harness.failure {
        try await house.interrupt(devices: house.devices, fade: .seconds(1)) { _ in
          Issue.record("it has a speaker of the alarm")
        }
      }
      #expect(failure?.code == "speaker.outranked")
      #expect(alarm != nil && house.devices[1].session === alarm && house.devices[0].session === session)
      try await harness.wait(2)
      session.stop()
    }
    #expect(try harness.played("A").channels[0].suffix(10_000).contains(0.5))
  }

  @Test("a session that gets another speaker while its sound falls plays on, and rises again")
  func joinedWhileFading() throws {
    let specs = ["A", "B", "C"].map { SpeakerSpec(name: $0, volume: 50) }
    let harness = try HouseHarness.run(speakers: specs) { harness in
      let (house, session) = (harness.house, harness.house.session)
      try await house.devices[2].leave()
      try await session.play(try harness.source("a.wav", Signal.constant(0.5, frames: 480_000)))
      harness.loop.after(.milliseconds(500)) {
        harness.loop.start { try? await house.devices[2].join() }
      }
      try await house.interrupt(devices: Array(house.devices[..<2]), fade: .seconds(1)) { _ in
        #expect(!session.isSuspended && session.devices.map(\.name) == ["C"])
        try await harness.wait(3)
        session.stop()
      }
    }
    #expect(try harness.played("C").channels[0].suffix(10_000).contains(0.5))
  }
}
