import AudioCore
import EventLoop
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("Interruptions restore what they changed, and only that", .tags(.speaker, .interruption))
struct InterruptTests {
  /// Returns the work of an interruption: plays a file to its end.
  private func whole(_ path: String) -> (Session) async throws -> Void {
    { session in
      try await session.play(path)
      _ = try await session.finish()
    }
  }

  @Test("a session interrupted whole resumes where it was: every sample once, the announcement between")
  func exact() throws {
    let music = Signal.noise(seed: 1, amplitude: 0.5, frames: 96_000)
    var reported: [String] = []
    let harness = try HouseHarness.run { harness in
      let (house, session) = (harness.house, harness.house.session)
      let (path, bell) = (
        try harness.source("a.wav", music),
        try harness.source("bell.wav", Signal.constant(0.9, frames: 24_000))
      )
      try await session.play(path)
      try await harness.wait(0.5)
      harness.record()
      house.events.on { event in
        guard case .suspension(let phase, let session, let by) = event else { return }
        reported.append("\(phase.rawValue) \(session.name) by \(by.name)")
      }
      try await house.interrupt(devices: house.devices, name: "bell") { by in
        #expect(session.isSuspended && session.state == .playing && session.devices.isEmpty)
        #expect(by.devices.count == 2 && house.sessions.count == 2)
        let position = session.position
        try await whole(bell)(by)
        // The session fades over one more block.
        #expect((0...1_920).contains(session.position - position))
      }
      #expect(house.sessions.count == 1 && !session.isSuspended && session.devices.count == 2)
      try await harness.wait(0.01)
      #expect(!harness.reported.contains("state paused"))
      _ = try await session.finish()
    }
    #expect(
      reported == ["suspending test by bell", "suspended test by bell", "resumed test by bell"])
    let sound = try harness.played("A").channels[0]
    #expect(try harness.played("B").channels[0] == sound)
    // A block fades out and a block fades in at the seams; apart from that both sources are complete.
    let bellStart = try #require(sound.firstIndex { $0 > 0.85 })
    let bellEnd = try #require(sound.lastIndex { $0 > 0.85 })
    #expect(bellEnd - bellStart > 22_000)
    let exact = try Sound(file: harness.folder.file("a.wav")).channels[0]
    #expect(sound.suffix(60_000) == exact.suffix(60_000))
    #expect(sound[..<23_000] == exact[..<23_000])
    #expect(sound.count >= 96_000 + 24_000 - 2 * 960 && sound.count <= 96_000 + 24_000 + 2 * 960)
  }

  @Test("a session that loses some speakers plays on; they rejoin in step")
  func partial() throws {
    let harness = try HouseHarness.run { harness in
      let (house, session) = (harness.house, harness.house.session)
      let noise = Signal.noise(seed: 1, amplitude: 0.5, frames: 144_000)
      try await session.play(try harness.source("a.wav", noise))
      try await harness.wait(0.5)
      let bell = try harness.source("bell.wav", Signal.constant(0.9, frames: 24_000))
      try await house.interrupt(devices: [house.devices[1]]) { by in
        #expect(!session.isSuspended && session.devices.count == 1)
        try await whole(bell)(by)
      }
      _ = try await session.finish()
    }
    let (first, second) = (try harness.played("A").channels[0], try harness.played("B").channels[0])
    #expect(first == (try Sound(file: harness.folder.file("a.wav")).channels[0]))
    #expect(second[30_000] > 0.85)
    #expect(second.suffix(90_000) == first.suffix(90_000))
  }

  @Test("with one outranked speaker, none is interrupted")
  func outranked() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      let alarm = try house.makeSession(name: "alarm", devices: [house.devices[1]], priority: 150)
      try await alarm.play(try harness.source("a.wav", Signal.constant(0.5, frames: 480_000)))
      harness.record()
      let error = await harness.failure {
        try await house.interrupt(devices: house.devices, priority: 149, volume: 3) { _ in
          Issue.record("it must not play")
        }
      }
      #expect(error?.code == "speaker.outranked")
      try await harness.wait(0.1)
      #expect(harness.reported.isEmpty && house.sessions.count == 2)
      try await house.interrupt(devices: house.devices, priority: 150) { #expect($0.devices.count == 2) }
    }
  }

  @Test("volume and mute come back, unless they were set since")
  func levels() throws {
    let specs = ["A", "B", "C"].map { SpeakerSpec(name: $0, volume: 20) }
    try HouseHarness.run(speakers: specs, output: .null) { harness in
      let house = harness.house
      // Pending when the interruption begins.
      try house.devices[0].setVolume(21)
      try house.devices[1].mute()
      try await house.interrupt(devices: house.devices, volume: 40) { _ in
        try await harness.wait(0.1)
        #expect(house.devices.map(\.volume) == [40, 40, 40] && !house.devices[1].isMuted)
        try house.devices[2].setVolume(40)
        try await harness.wait(0.1)
      }
      try await harness.wait(0.1)
      #expect(house.devices.map(\.volume) == [21, 20, 40])
      #expect(house.devices.map(\.isMuted) == [false, true, false])
    }
  }

  @Test("a level comes back also where role or balance have been changed since")
  func otherChanges() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      try await house.interrupt(devices: house.devices, volume: 30) { _ in
        try house.devices[0].setRole(.left)
        try house.devices[1].setBalance(3)
        try await harness.wait(0.1)
      }
      try await harness.wait(0.1)
      #expect(house.devices.map(\.volume) == [50, 50])
    }
  }

  @Test("a level that is restored muted is published once")
  func mutedOnce() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      try house.devices[0].mute()
      try await house.interrupt(devices: [house.devices[0]], volume: 30) { _ in
        try await harness.wait(0.1)
        harness.record()
      }
      try await harness.wait(0.1)
      #expect(harness.reported.filter { $0.hasPrefix("volume") } == ["volume A 50 muted, average 25"])
    }
  }

  @Test("a speaker that was moved meanwhile stays where it was put")
  func moved() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      let other = try house.makeSession(name: "other")
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      try await house.interrupt(devices: house.devices) { _ in
        try await house.devices[0].join(other)
        try await other.play(path)
      }
      #expect(house.devices[0].session === other && house.devices[1].session === house.session)
      try await house.interrupt(devices: house.devices) { _ in try await house.devices[1].leave() }
      #expect(house.devices[0].session === other && house.devices[1].session == nil)
    }
  }

  @Test(
    "play, pause, resume and stop on a suspended session change what will be restored",
    arguments: ["pause", "stop", "play", "paused", "resume"])
  func whileSuspended(command: String) throws {
    try HouseHarness.run(output: command == "pause" ? nil : .null) { harness in
      let (house, session) = (harness.house, harness.house.session)
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      try await session.play(path)
      try await harness.wait(1)
      if command == "paused" || command == "resume" { session.pause() }
      harness.record()
      try await house.interrupt(devices: house.devices) { _ in
        switch command {
        case "pause": session.pause()
        case "stop": session.stop()
        case "play": try await session.play(path, title: "new", start: 5)
        case "resume": try session.resume()
        default: break
        }
        let position = session.position
        try await harness.wait(10)
        #expect((0...1_920).contains(session.position - position))
        #expect(!harness.reported.contains { $0.hasPrefix("time") })
      }
      let position = session.position
      try await harness.wait(1)
      switch command {
      case "pause", "paused": #expect(session.state == .paused && session.position == position)
      case "stop": #expect(session.state == .stopped)
      case "play": #expect(session.source?.title == "new" && abs(session.position - 6 * 48_000) < 2_000)
      default: #expect(session.state == .playing && abs(session.position - 2 * 48_000) < 4_000)
      }
    }
  }

  @Test(
    "nested interruptions restore what they found, in whichever order they end", arguments: [true, false])
  func nested(innerFirst: Bool) throws {
    try HouseHarness.run(output: .null) { harness in
      let (house, session) = (harness.house, harness.house.session)
      try await session.play(try harness.source("a.wav", Signal.constant(0.5, frames: 4_800_000)))
      try await harness.wait(1)
      let levels = [10, 11]
      for (device, level) in zip(house.devices, levels) { try device.setVolume(level) }
      var order: [String] = []
      for (name, delay, length) in [("outer", 0.1, innerFirst ? 5 : 2), ("inner", 0.5, innerFirst ? 2.0 : 5)]
      {
        harness.loop.after(.seconds(delay)) {
          harness.loop.start {
            try? await house.interrupt(devices: house.devices, volume: name == "outer" ? 30 : 40, name: name)
            {
              _ in try await harness.wait(length)
            }
            order.append(name)
          }
        }
      }
      try await harness.wait(1)
      #expect(house.devices[0].session?.name == "inner" && house.devices[0].volume == 40)
      #expect(house.sessions.map(\.isSuspended) == [true, true, false])
      try await harness.wait(2)
      #expect(order == [innerFirst ? "inner" : "outer"])
      #expect(session.isSuspended)
      #expect(house.devices[0].session?.name == (innerFirst ? "outer" : "inner"))
      #expect(house.devices[0].volume == (innerFirst ? 30 : 40))
      try await harness.wait(4)
      #expect(order.count == 2 && house.sessions.count == 1)
      #expect(!session.isSuspended && session.state == .playing && session.devices.count == 2)
      #expect(house.devices.map(\.volume) == levels)
      #expect(abs(session.position - 48_000 * 3) < 96_000)
    }
  }

  @Test("it also restores when it fails, is cancelled, or closes its session", arguments: 0..<3)
  func fails(how: Int) throws {
    try HouseHarness.run(output: .null) { harness in
      let (house, session) = (harness.house, harness.house.session)
      try await session.play(try harness.source("a.wav", Signal.constant(0.5, frames: 480_000)))
      if how == 0 {
        #expect(
          await harness.failure {
            try await house.interrupt(devices: house.devices, volume: 3) { try await $0.play("/none.wav") }
          }?.code == "audio.not_found")
      } else {
        let task = harness.loop.start {
          try? await house.interrupt(devices: house.devices, volume: 3) {
            if how == 2 { $0.close() } else { try await harness.wait(100) }
          }
        }
        try await harness.wait(0.1)
        task.cancel()
      }
      try await harness.wait(0.1)
      #expect(house.sessions.count == 1 && session.devices.count == 2 && session.state == .playing)
      #expect(house.devices.map(\.volume) == [50, 50] && !session.isSuspended)
    }
  }

  @Test("without restoring, a session that lost its speakers has stopped, and they are free")
  func keeps() throws {
    try HouseHarness.run(output: .null) { harness in
      let (house, session) = (harness.house, harness.house.session)
      try await session.play(try harness.source("a.wav", Signal.constant(0.5, frames: 480_000)))
      harness.record()
      try await house.interrupt(devices: house.devices, volume: 3, restore: false) { _ in
        try await harness.wait(0.1)
      }
      try await harness.wait(0.1)
      #expect(harness.reported.contains("ended a.wav no_devices"))
      #expect(house.activeDevices.isEmpty && house.devices.map(\.volume) == [3, 3])
    }
  }

  @Test("with a fade it falls before, and rises after, without a click")
  func fades() throws {
    let harness = try HouseHarness.run { harness in
      let (house, session) = (harness.house, harness.house.session)
      try await session.play(
        try harness.source("a.wav", Signal.constant(0.5, frames: 480_000)), start: 1)
      try await harness.wait(1)
      let start = harness.loop.now
      try await house.interrupt(devices: house.devices, fade: .seconds(1)) { _ in
        #expect(start.duration(to: harness.loop.now) == .seconds(1))
        try await harness.wait(1)
      }
      try await harness.wait(2)
      session.stop()
    }
    let sound = try harness.played("A")
    #expect(sound.channels[0][47_000] == 0.5 && sound.channels[0][95_000] < 0.001)
    #expect(sound.channels[0].suffix(10_000).contains(0.5))
    #expect(sound.largestStep < 0.5 / 960 * 1.1)
  }

  @Test("a gain that is set while the sound falls is heard when it has risen again, and not before")
  func gainWhileItFades() throws {
    let harness = try HouseHarness.run { harness in
      let (house, session) = (harness.house, harness.house.session)
      try await session.play(
        try harness.source("a.wav", Signal.constant(0.5, frames: 480_000)), start: 1)
      try await harness.wait(1)
      harness.loop.after(.milliseconds(500)) { try? session.setGain(-6) }
      try await house.interrupt(devices: house.devices, fade: .seconds(1)) { _ in
        #expect(session.gain == -6)
        try await harness.wait(1)
      }
      try await harness.wait(2)
      session.stop()
    }
    let sound = try harness.played("A").channels[0]
    #expect(sound[60_000..<96_000].max() ?? 1 <= sound[60_000], "it falls on")
    #expect(sound[95_000] < 0.001)
    #expect(abs((sound.suffix(10_000).max() ?? 0) - 0.5 * 0.501_187) < 0.001)
  }

  @Test(
    "a session whose speakers two others have resumes with the first that is returned", arguments: [0, 1])
  func firstComesBack(first: Int) throws {
    try HouseHarness.run(output: .null) { harness in
      let (house, session) = (harness.house, harness.house.session)
      try await session.play(try harness.source("a.wav", Signal.constant(0.5, frames: 480_000)))
      for (delay, length, devices) in [
        (0.1, 1.0, house.devices), (0.2, 2.0, [house.devices[first]]), (0.3, 3.0, [house.devices[1 - first]]),
      ] {
        harness.loop.after(.seconds(delay)) {
          harness.loop.start {
            try? await house.interrupt(devices: devices) { _ in try await harness.wait(length) }
          }
        }
      }
      try await harness.wait(1.5)
      #expect(session.isSuspended && session.devices.isEmpty && house.sessions.count == 3)
      try await harness.wait(1)
      #expect(!session.isSuspended && session.state == .playing && session.devices.count == 1)
      harness.record()
      try await harness.wait(2)
      #expect(session.devices.count == 2 && house.sessions.count == 1 && !session.isSuspended)
      #expect(!harness.reported.contains("resumed default"))
    }
  }

  @Test("sound that faded out fades in, also when another interruption returns it")
  func fadesForAnother() throws {
    let harness = try HouseHarness.run { harness in
      let (house, session) = (harness.house, harness.house.session)
      try await session.play(try harness.source("a.wav", Signal.constant(0.5, frames: 480_000)))
      harness.loop.after(.seconds(1)) {
        harness.loop.start {
          try? await house.interrupt(devices: house.devices) { _ in try await harness.wait(2) }
        }
      }
      try await house.interrupt(devices: house.devices, fade: .milliseconds(500)) { _ in
        try await harness.wait(1)
      }
      #expect(session.isSuspended)
      try await harness.wait(2)
      #expect(!session.isSuspended)
      session.stop()
    }
    let sound = try harness.played("A").channels[0]
    #expect(sound.contains { $0 < 0.001 } && sound.suffix(10_000).contains(0.5))
  }

  @Test("an interruption that is closed while it fades lets what it faded out rise again")
  func closedWhileFading() throws {
    let harness = try HouseHarness.run { harness in
      let (house, session) = (harness.house, harness.house.session)
      try await session.play(try harness.source("a.wav", Signal.constant(0.5, frames: 480_000)))
      harness.loop.after(.milliseconds(500)) { house.sessions.last?.close() }
      let failure = await harness.failure {
        try await house.interrupt(devices: house.devices, fade: .seconds(1)) { _ in }
      }
      #expect(failure?.code == "speaker.closed" && house.sessions.count == 1)
      try await harness.wait(2)
      session.stop()
    }
    #expect(try harness.played("A").channels[0].suffix(10_000).contains(0.5))
  }

  @Test("a speaker that is named twice is interrupted once")
  func namedTwice() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      harness.record()
      try await house.interrupt(devices: [house.devices[0], house.devices[0]], volume: 3) { _ in
        try await harness.wait(0.1)
      }
      try await harness.wait(0.1)
      #expect(
        harness.reported.filter { $0.hasPrefix("volume") } == [
          "volume A 3, average 27", "volume A 50, average 50",
        ])
    }
  }
}
