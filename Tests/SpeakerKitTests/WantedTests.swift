import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

@Suite("Speakers that sessions want", .tags(.speaker, .sessions))
struct WantedTests {
  @Test("an idle speaker is had at once; another by a session that sounds and ranks as high")
  func rule() {
    for priority in [99, 100, 101] {
      for sounds in [false, true] {
        let rule = RoomRule(priority: priority, sounds: sounds)
        #expect(rule.mayHave(from: nil) == true)
        #expect(rule.mayHave(from: .init(priority: 1000, sounds: false)) == true)
        #expect(rule.mayHave(from: .init(priority: 100, sounds: true)) == (sounds && priority >= 100))
      }
    }
  }

  @Test("of two that want a speaker the later to play has it; each play asks again")
  func turns() throws {
    try HouseHarness.run(output: .null, addAll: false) { harness in
      let house = harness.house
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      let first = try house.makeSession(name: "first", devices: house.devices)
      let second = try house.makeSession(name: "second")
      try await first.play(path)
      try second.want([house.devices[1]])
      #expect(house.devices[1].session === first && second.devices.isEmpty)
      try await second.play(path)
      #expect(first.devices.map(\.name) == ["A"] && second.devices.map(\.name) == ["B"])
      #expect(first.state == .playing && second.state == .playing)
      try await first.play(path)
      #expect(first.devices.map(\.name) == ["A", "B"] && second.state == .stopped)
      second.wanted.forEach { #expect($0.name == "B") }
    }
  }

  @Test("a session without rooms, and one whose rooms others keep, are refused; what is missed is named")
  func refused() throws {
    try HouseHarness.run(output: .null, addAll: false) { harness in
      let house = harness.house
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      let low = try house.makeSession(name: "low")
      let none = await harness.failure { try await low.play(path) }
      #expect(none?.code == "speaker.no_active_device")
      #expect(none?.hint?.contains("rooms =") == true && none?.hint?.contains("join") == true)
      let alarm = try house.makeSession(name: "alarm", devices: [house.devices[0]], priority: 200)
      try await alarm.play(path)
      try low.want([house.devices[0]])
      let kept = await harness.failure { try await low.play(path) }
      #expect(kept?.code == "speaker.outranked")
      #expect(kept?.message == "play: \"A\" is kept by \"alarm\" of priority 200")
      #expect(kept?.facts.contains(.init("session", .string("alarm"))) == true)
      try low.want([house.devices[1]])
      try await low.play(path)
      #expect(low.devices.map(\.name) == ["B"] && low.missed.map(\.device.name) == ["A"])
      alarm.stop()
      // A room that falls idle is had by the next play.
      #expect(low.devices.map(\.name) == ["B"])
      try await low.play(path)
      #expect(low.devices.map(\.name) == ["A", "B"] && low.missed.isEmpty)
    }
  }

  @Test("a file that does not open takes no room, nor does a session that finds no stream")
  func failing() throws {
    try HouseHarness.run(output: .null, addAll: false) { harness in
      let house = harness.house
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      let first = try house.makeSession(name: "first", devices: house.devices)
      try await first.play(path)
      let second = try house.makeSession(name: "second", devices: house.devices)
      #expect(await harness.failure { try await second.play("nowhere.wav") }?.code == "audio.not_found")
      #expect(first.state == .playing && first.devices.count == 2)
    }
  }

  @Test("the rooms of a play are those of the session once its source is open, and only then")
  func roomsOfPlay() throws {
    try HouseHarness.run(output: .null, addAll: false) { harness in
      let house = harness.house
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      let session = try house.makeSession(name: "own", devices: [house.devices[0]])
      try await session.play(path)
      harness.record()
      let error = await harness.failure { try await session.play("nowhere.wav", rooms: [house.devices[1]]) }
      #expect(error?.code == "audio.not_found" && session.state == .playing)
      #expect(session.wanted.map(\.name) == ["A"] && session.devices.map(\.name) == ["A"])
      let nowhere = await harness.failure { try await session.play(path, rooms: []) }
      #expect(nowhere?.code == "speaker.no_active_device")
      try await session.play(path, rooms: [house.devices[1], house.devices[1]])
      #expect(session.wanted.map(\.name) == ["B"] && session.devices.map(\.name) == ["B"])
      #expect(house.devices[0].session == nil)
      try await harness.wait(0.01)
      #expect(harness.reported.filter { $0.hasPrefix("ended") } == ["ended a.wav replaced"])
    }
  }

  @Test("the rooms of a play that another session keeps are wanted; without another one nothing changes")
  func keptRoomsOfPlay() throws {
    try HouseHarness.run(output: .null, addAll: false) { harness in
      let house = harness.house
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      let alarm = try house.makeSession(name: "alarm", devices: [house.devices[0]], priority: 200)
      try await alarm.play(path)
      let session = try house.makeSession(name: "own", devices: [house.devices[1]])
      let error = await harness.failure { try await session.play(path, rooms: [house.devices[0]]) }
      #expect(error?.code == "speaker.outranked")
      #expect(session.wanted.map(\.name) == ["B"] && session.devices.map(\.name) == ["B"])
      try await session.play(path, rooms: house.devices)
      #expect(session.wanted.map(\.name) == ["A", "B"] && session.devices.map(\.name) == ["B"])
      #expect(session.missed.map(\.device.name) == ["A"] && alarm.devices.map(\.name) == ["A"])
    }
  }

  @Test("commands for the level of a session act on the rooms that it wants; without one they are refused")
  func levels() throws {
    try HouseHarness.run(output: .null, addAll: false) { harness in
      let house = harness.house
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      let first = try house.makeSession(name: "first", devices: house.devices)
      try await first.play(path)
      let second = try house.makeSession(name: "second", devices: [house.devices[1]])
      try second.setVolume(7)
      try await harness.wait(0.1)
      #expect(second.devices.isEmpty && second.rooms.map(\.name) == ["B"])
      #expect(house.devices[1].volume == 7 && second.volume == 7 && house.devices[0].volume != 7)
      try second.mute()
      try await harness.wait(0.1)
      #expect(house.devices[1].isMuted && second.isMuted && !house.devices[0].isMuted)
      try second.unmute()
      try await harness.wait(0.1)
      #expect(!house.devices[1].isMuted)
      let none = try house.makeSession(name: "none")
      #expect(await harness.failure { try none.setVolume(7) }?.code == "speaker.no_active_device")
      #expect(await harness.failure { try none.mute() }?.code == "speaker.no_active_device")
      #expect(await harness.failure { try none.unmute() }?.code == "speaker.no_active_device")
    }
  }

  @Test("a snapshot takes no room that its session wants beside those of the snapshot")
  func snapshots() throws {
    try HouseHarness.run(output: .null, addAll: false) { harness in
      let house = harness.house
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      let session = try house.makeSession(name: "own", devices: house.devices)
      try await session.play(path)
      let other = try house.makeSession(name: "other", devices: [house.devices[1]])
      try await other.play(path)
      let snapshot = try house.snapshot(devices: [house.devices[0]])
      session.stop()
      try await snapshot.restore()
      #expect(session.state == .playing && session.devices.map(\.name) == ["A"])
      #expect(other.state == .playing && other.devices.map(\.name) == ["B"])
    }
  }

  @Test("a session that plays while an interruption has its rooms leaves them there")
  func interrupted() throws {
    try HouseHarness.run(output: .null, addAll: false) { harness in
      let house = harness.house
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      let session = try house.makeSession(name: "own", devices: house.devices)
      try await session.play(path)
      try await house.interrupt(devices: house.devices) { other in
        try await session.play(path)
        #expect(other.devices.count == 2 && session.isSuspended)
      }
      #expect(session.devices.count == 2 && session.state == .playing)
    }
  }

  @Test("a session that waits goes on in a room that comes back, or that it is given")
  func resumes() throws {
    try HouseHarness.run(output: .null, addAll: false) { harness in
      let (house, devices) = (harness.house, harness.house.devices)
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 4_800_000))
      let session = try house.makeSession(name: "music", devices: devices)
      try await session.play(path)
      var (returns, ends) = (false, false)
      harness.loop.start {
        try? await house.interrupt(devices: [devices[0]], priority: 300, name: "bell") { _ in
          while !returns { try await harness.wait(0.1) }
        }
      }
      harness.loop.start {
        try? await house.interrupt(devices: [devices[1]], name: "person") { _ in
          while !ends { try await harness.wait(0.1) }
        }
      }
      try await harness.wait(0.1)
      #expect(session.isSuspended)
      returns = true
      try await harness.wait(0.3)
      #expect(!session.isSuspended && session.devices.map(\.name) == ["A"] && devices[0].isPlaying)
      ends = true
      try await harness.wait(0.3)
      #expect(session.devices.count == 2)
      try await house.interrupt(devices: [devices[0]], name: "bell") { _ in
        try await devices[1].leave(session)
      }
      // It is given another room while an interruption has all of its own.
      try await session.play(path, rooms: [devices[0]])
      try await house.interrupt(devices: [devices[0]], name: "bell") { _ in
        #expect(session.isSuspended)
        try await session.play(path, rooms: [devices[1]])
        #expect(!session.isSuspended && devices[1].isPlaying)
      }
    }
  }

  @Test("a session that loses its last other room waits for the one that an interruption gives back")
  func waits() throws {
    try HouseHarness.run(output: .null, addAll: false) { harness in
      let (house, devices) = (harness.house, harness.house.devices)
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 4_800_000))
      let session = try house.makeSession(name: "music", devices: devices)
      try await session.play(path)
      try await house.interrupt(devices: [devices[0]], priority: 300, name: "bell") { _ in
        let other = try house.makeSession(name: "other")
        try await other.play(path, rooms: [devices[1]])
        #expect(session.isSuspended && session.state == .playing)
      }
      #expect(!session.isSuspended && session.devices.map(\.name) == ["A"] && devices[0].isPlaying)
    }
  }

  @Test("a session that loses its last other room stops when what has the first one keeps it")
  func waitsInVain() throws {
    try HouseHarness.run(output: .null, addAll: false) { harness in
      let (house, devices) = (harness.house, harness.house.devices)
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 4_800_000))
      let session = try house.makeSession(name: "music", devices: devices)
      try await session.play(path)
      try await house.interrupt(devices: [devices[0]], priority: 300, name: "bell") { _ in
        try await house.interrupt(devices: [devices[0]], priority: 300, restore: false, name: "play") { _ in
          let other = try house.makeSession(name: "other")
          try await other.play(path, rooms: [devices[1]])
          #expect(!session.isSuspended && session.state == .stopped)
        }
      }
    }
  }

  @Test("a session whose only room a later interruption keeps stops at the end of the first one")
  func keptByLater() throws {
    try HouseHarness.run(output: .null, addAll: false) { harness in
      let (house, room) = (harness.house, harness.house.devices[0])
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 4_800_000))
      let session = try house.makeSession(name: "music", devices: [room])
      try await session.play(path)
      var keeper: (() -> Void)?
      try await house.interrupt(devices: [room], priority: 300, name: "bell") { _ in
        harness.loop.start {
          try? await house.interrupt(devices: [room], priority: 300, restore: false, name: "play") { kept in
            keeper = { kept.close() }
            try await kept.play(path)
            _ = try await kept.finish()
          }
        }
        try await harness.wait { keeper != nil }
        #expect(session.isSuspended)
      }
      #expect(!session.isSuspended && session.state == .stopped)
      keeper?()
      try await harness.wait(0.1)
    }
  }

  @Test("a room that an interruption keeps is free for the session from which it was taken")
  func kept() throws {
    try HouseHarness.run(output: .null, addAll: false) { harness in
      let (house, devices) = (harness.house, harness.house.devices)
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      let session = try house.makeSession(name: "music", devices: [devices[0]])
      try await session.play(path)
      try await house.interrupt(devices: [devices[0]], restore: false) { _ in
        #expect(session.state == .stopped)
        try await session.play(path)
        #expect(devices[0].session === session)
      }
      #expect(session.state == .playing)
      let other = try house.makeSession(name: "other", devices: [devices[1]])
      try await other.play(path)
      try await other.play(path, rooms: devices)
      try await house.interrupt(devices: [devices[0]], priority: 300) { _ in
        let error = await harness.failure { try await other.play(path, rooms: [devices[0]]) }
        #expect(error?.code == "speaker.outranked")
      }
    }
  }

  @Test("a speaker that leaves is wanted no more, and one that is removed by none")
  func leaves() throws {
    try HouseHarness.run(output: .null, addAll: false) { harness in
      let house = harness.house
      let session = try house.makeSession(name: "own", devices: house.devices)
      try await house.devices[0].leave()
      #expect(session.wanted.map(\.name) == ["B"])
      try house.controls().remove(house.devices[1])
      #expect(session.wanted.isEmpty && session.devices.isEmpty)
      try session.want([house.devices[0]])
      #expect(session.wanted.map(\.name) == ["A"])
    }
  }
}
