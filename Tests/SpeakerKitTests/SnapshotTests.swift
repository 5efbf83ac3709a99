import AudioCore
import EventLoop
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("Snapshots", .tags(.speaker, .snapshot))
struct SnapshotTests {
  @Test("volume, mute, session, source and position come back, paused or playing", arguments: [false, true])
  func restores(isPaused: Bool) throws {
    try HouseHarness.run(output: isPaused ? .null : nil) { harness in
      let (house, session) = (harness.house, harness.house.session)
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      try house.setVolume(12)
      try house.devices[1].mute()
      try await session.play(path, title: "song", start: 2)
      try await harness.wait(1)
      if isPaused { session.pause() }
      try await harness.wait(0.1)
      let (snapshot, position) = (try house.snapshot(), session.position)

      let other = try house.makeSession(name: "other", devices: house.devices)
      try await other.play(path)
      try house.devices[0].setVolume(50)
      try other.unmute()
      try await harness.wait(1)
      #expect(session.state == .stopped)

      try await snapshot.restore()
      #expect(session.position == position && session.source?.title == "song")
      #expect(session.state == (isPaused ? .paused : .playing))
      try await harness.wait(1)
      #expect(house.devices.map(\.volume) == [12, 12])
      #expect(house.devices.map(\.isMuted) == [false, true])
      #expect(session.devices.count == 2 && other.state == .stopped)
      #expect(isPaused == (session.position == position))
      #expect(abs(session.position - position - (isPaused ? 0 : 48_000)) <= 1_920)
    }
  }

  @Test("a stopped session is stopped; a closed session and a removed speaker are left out")
  func stopped() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      let other = try house.makeSession(name: "other", devices: [house.devices[1]])
      let snapshot = try house.snapshot()
      other.close()
      try await house.session.play(path)
      try house.controls().remove(house.devices[1])
      try await snapshot.restore()
      #expect(house.session.state == .stopped && house.devices.count == 1)
    }
  }

  @Test("of a session that has other speakers too, its source is left alone")
  func partial() throws {
    try HouseHarness.run(output: .null) { harness in
      let (house, session) = (harness.house, harness.house.session)
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      try await session.play(path)
      let snapshot = try house.snapshot(devices: [house.devices[0]])
      try await harness.wait(3)
      try await house.devices[0].leave()
      try await snapshot.restore()
      #expect(session.devices.count == 2 && session.position == 144_000)
    }
  }

  @Test("a speaker in a session of higher priority stays there, and nothing is changed")
  func outranked() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      let snapshot = try house.snapshot()
      let alarm = try house.makeSession(name: "alarm", devices: [house.devices[1]], priority: 200)
      try await alarm.play(try harness.source("a.wav", Signal.constant(0.5, frames: 480_000)))
      try await house.devices[0].leave()
      try house.setVolume(7)
      try await harness.wait(0.01)
      #expect(await harness.failure { try await snapshot.restore() }?.code == "speaker.outranked")
      #expect(house.devices[0].session == nil && house.devices[0].volume == 7)
    }
  }

  @Test("a missing source is reported after all else is restored")
  func sourceGone() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      try await house.session.play(path)
      let snapshot = try house.snapshot()
      house.session.stop()
      try house.setVolume(7)
      try await harness.wait(0.01)
      #expect(try Command.run("rm", [path]).status == 0)
      #expect(await harness.failure { try await snapshot.restore() }?.code == "audio.not_found")
      try await harness.wait(0.01)
      #expect(house.volume == 50)
    }
  }

  @Test("a level that is restored muted is published once, also of a speaker that is in a snapshot twice")
  func reportedOnce() throws {
    try HouseHarness.run(output: .null) { harness in
      let (house, device) = (harness.house, harness.house.devices[0])
      try device.setVolume(12)
      try device.mute()
      try await harness.wait(0.01)
      let snapshot = try house.snapshot(devices: [device, device])
      try device.setVolume(40)
      try await harness.wait(0.01)
      harness.record()
      try await snapshot.restore()
      try await harness.wait(0.01)
      #expect(harness.reported == ["volume A 12 muted, average 25"])
    }
  }

  @Test("a level that was set just before is in the snapshot, and does not outlast a restoring")
  func levelsOnTheWay() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      try house.setVolume(12)
      let snapshot = try house.snapshot()
      try house.setVolume(40)
      try await snapshot.restore()
      try await harness.wait(0.1)
      #expect(house.devices.map(\.volume) == [12, 12])
    }
  }
}
