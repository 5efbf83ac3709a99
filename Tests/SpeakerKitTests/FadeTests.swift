import EventLoop
import SpeakerKit
import TestTraits
import Testing

@Suite("Fades of levels", .tags(.speaker, .fades))
struct FadeTests {
  private static let speakers = [SpeakerSpec(name: "A", volume: 10), SpeakerSpec(name: "B", volume: 40)]

  private func run(_ body: @escaping (HouseHarness) async throws -> Void) throws {
    try HouseHarness.run(speakers: Self.speakers, output: .null, body)
  }

  @Test("each speaker has equal times for its own steps, and all reach the level at the end")
  func times() throws {
    try run { harness in
      let start = harness.loop.now
      var times: [String: [Double]] = [:]
      harness.house.events.on(.volume) { event in
        guard case .volume(let device, _, _, _, _, _) = event else { return }
        let time = start.duration(to: harness.loop.now) / .seconds(1)
        times[device.name, default: []].append((time * 10).rounded() / 10)
      }
      try await harness.house.session.fade(volume: 30, over: .seconds(20))
      #expect(times["A"] == (1...20).map(Double.init))
      #expect(times["B"] == (1...10).map { Double(2 * $0) })
    }
  }

  @Test("a fade that takes no time is one change")
  func atOnce() throws {
    try run { harness in
      harness.record()
      try await harness.house.devices[0].fade(volume: 30, over: .zero)
      #expect(harness.reported == ["volume A 30, average 35"])
    }
  }

  @Test("with equal power the sum of the powers of two speakers stays the same, within a step")
  func equalPower() throws {
    try run { harness in
      let (a, b) = (harness.house.devices[0], harness.house.devices[1])
      try a.setVolume(0)
      try await harness.wait(0.1)
      func fade(_ device: Device, to level: Int) throws {
        let fade = try harness.house.beginFade(
          of: [device], to: level, over: .seconds(10), curve: .equalPower)
        harness.loop.start { _ = try? await fade.run() }
      }
      try fade(a, to: 40)
      try fade(b, to: 0)
      try await harness.wait(5.01)
      // Half the power each: 3 dB below 40, and a step is 0.9 dB.
      #expect([36, 37].contains(a.volume) && [36, 37].contains(b.volume))
      try await harness.wait(5)
      #expect((a.volume, b.volume) == (40, 0))
    }
  }

  @Test("a speaker that is away for a while has the level of the moment when it is back")
  func away() throws {
    try run { harness in
      let (device, controls) = (harness.house.devices[0], try harness.house.controls())
      harness.loop.after(.seconds(4.5)) { try? controls.unplug(device) }
      harness.loop.after(.seconds(10.5)) { try? controls.plug(device) }
      harness.loop.after(.seconds(10.6)) { #expect(device.volume == 20) }
      try await device.fade(volume: 30, over: .seconds(20))
      #expect(device.volume == 30)
    }
  }

  @Test("a speaker that is back after the end has the level of the end, unless somebody awaited the fade")
  func backLater() throws {
    for isAwaited in [false, true] {
      try run { harness in
        let (house, device) = (harness.house, harness.house.devices[0])
        let controls = try house.controls()
        let fade = isAwaited ? nil : try house.beginFade(of: house.devices, to: 30, over: .seconds(2))
        harness.loop.after(.seconds(1)) { try? controls.unplug(device) }
        if let fade {
          #expect(try await fade.run())
          #expect(!fade.isActive && fade.devices.count == 2)
        } else {
          try await house.session.fade(volume: 30, over: .seconds(2))
        }
        try controls.plug(device)
        try await harness.wait(0.1)
        #expect((device.volume == 30) == !isAwaited)
        try device.setVolume(5)
        try controls.unplug(device)
        try controls.plug(device)
        try await harness.wait(0.1)
        #expect(device.volume == 5)
      }
    }
  }

  @Test("an interruption at a level of its own keeps a fade waiting, which then continues where it would be")
  func interrupted() throws {
    try run { harness in
      let (house, device) = (harness.house, harness.house.devices[0])
      harness.loop.after(.seconds(4.5)) {
        harness.loop.start {
          try? await house.interrupt(devices: [device], volume: 45) { _ in
            try await harness.wait(5)
            #expect(device.volume == 45)
          }
        }
      }
      harness.loop.after(.seconds(9.6)) { #expect(device.volume == 19) }
      try await device.fade(volume: 30, over: .seconds(20))
      #expect(device.volume == 30)
    }
  }

  @Test("a fade on the speakers of an interruption is part of that: the level of before returns at its end")
  func ofInterruption() throws {
    try run { harness in
      let (house, device) = (harness.house, harness.house.devices[0])
      try await house.interrupt(devices: [device], volume: 5) { session in
        try await session.fade(volume: 20, over: .seconds(3))
        #expect(device.volume == 20)
        harness.loop.start { try? await device.fade(volume: 50, over: .seconds(30)) }
        try await harness.wait(3.1)
        #expect(device.volume == 23)
      }
      #expect(device.volume == 10)
      try await harness.wait(30)
      #expect(device.volume == 10)
    }
  }

  @Test("a fade by somebody else during an interruption is a command: its level stays")
  func duringInterruption() throws {
    try run { harness in
      let (house, device) = (harness.house, harness.house.devices[0])
      try await house.interrupt(devices: [device], volume: 5) { _ in
        let fade = try house.beginFade(of: [device], to: 20, over: .seconds(3))
        #expect(try await fade.run())
        #expect(device.volume == 20)
      }
      #expect(device.volume == 20)
    }
  }

  @Test("an interruption restores the level that it owes a speaker which was away during a fade")
  func owed() throws {
    for isStillActive in [false, true] {
      try run { harness in
        let (house, device) = (harness.house, harness.house.devices[0])
        let controls = try house.controls()
        try await house.interrupt(devices: [device], volume: 45) { _ in
          try await harness.wait(0.1)
          try controls.unplug(device)
        }
        let duration = Duration.seconds(isStillActive ? 60 : 5)
        let fade = harness.loop.start { try? await house.session.fade(volume: 15, over: duration) }
        try await harness.wait(5.1)
        #expect(device.volume == 45)
        try controls.plug(device)
        try await harness.wait(0.1)
        // A step is due after each two seconds.
        #expect(device.volume == (isStillActive ? 43 : 10))
        await fade.value
        #expect(device.volume == (isStillActive ? 15 : 10))
      }
    }
  }

  @Test("a fade by somebody else of a speaker that comes back during an interruption is a command too")
  func backDuringInterruption() throws {
    try run { harness in
      let (house, device) = (harness.house, harness.house.devices[0])
      let controls = try house.controls()
      try await house.interrupt(devices: [device], volume: 45) { _ in
        try await harness.wait(0.1)
        try controls.unplug(device)
        let fade = try house.beginFade(of: [device], to: 15, over: .seconds(30))
        harness.loop.after(.seconds(4.5)) { try? controls.plug(device) }
        #expect(try await fade.run())
        #expect(device.volume == 15)
      }
      #expect(device.volume == 15)
    }
  }

  @Test("a fade of the session of a sound over others sets the levels of its speakers, which stay")
  func ofSoundOver() throws {
    try run { harness in
      let (house, device) = (harness.house, harness.house.devices[0])
      var causes: Set<LevelCause?> = []
      house.events.on(.volume) { if case .volume(_, _, _, _, let cause, _) = $0 { causes.insert(cause) } }
      try await house.playOver(devices: [device], duck: 12) { session in
        let fade = try house.beginFade(of: session.devices, to: 20, over: .seconds(3), in: session)
        #expect(try await fade.run())
        #expect(device.volume == 20 && fade.devices.count == 1)
        let second = try house.beginFade(of: session.devices, to: 30, over: .seconds(10), in: session)
        harness.loop.start { _ = try? await second.run() }
        try await harness.wait(4.5)
      }
      try await harness.wait(10)
      #expect(device.volume == 24 && causes == [nil])
    }
  }

  @Test("a fade of a session follows its speakers: through an interruption, not out of the session")
  func ofSession() throws {
    try run { harness in
      let (house, session) = (harness.house, harness.house.session)
      harness.loop.after(.seconds(4.5)) {
        harness.loop.start {
          try? await house.interrupt(devices: house.devices) { _ in try await harness.wait(5) }
        }
      }
      harness.loop.after(.seconds(12.5)) { harness.loop.start { try? await house.devices[1].leave() } }
      try await session.fade(volume: 30, over: .seconds(20))
      #expect(house.devices.map(\.volume) == [30, 34])
    }
  }

  @Test("a fade ends at once when somebody else has its last speaker, by whatever command")
  func lost() throws {
    let commands: [(Device, House) throws -> Void] = [
      { device, _ in try device.setVolume(device.volume) }, { device, _ in try device.mute() },
      { device, house in _ = try house.beginFade(of: [device], to: 3, over: .seconds(60)) },
      { device, house in try house.controls().remove(device) },
    ]
    for command in commands {
      try run { harness in
        let (house, device) = (harness.house, harness.house.devices[0])
        let fade = try house.beginFade(of: [device], to: 30, over: .seconds(20))
        harness.loop.after(.seconds(4.2)) { try? command(device, house) }
        let start = harness.loop.now
        #expect(try await fade.run())
        #expect(start.duration(to: harness.loop.now) < .seconds(4.3))
        #expect(fade.devices.isEmpty && !fade.isActive)
      }
    }
  }

  @Test("a cancelled fade, and one whose house is closed, are not done: levels stay")
  func cancelled() throws {
    try run { harness in
      let (house, device) = (harness.house, harness.house.devices[0])
      let fade = try house.beginFade(of: [device], to: 30, over: .seconds(20))
      harness.loop.after(.seconds(4.5)) { fade.cancel() }
      #expect(try await !fade.run())
      #expect(abs(fade.progress - 0.225) < 0.001 && fade.devices.count == 1)
      try await harness.wait(20)
      #expect(device.volume == 14)
      let second = try house.beginFade(of: [device], to: 30, over: .seconds(20))
      harness.loop.after(.seconds(4.5)) { harness.loop.start { await house.close() } }
      #expect(try await !second.run())
      #expect(!second.isActive)
      let failure = await harness.failure { _ = try house.beginFade(of: [device], to: 3, over: .zero) }
      #expect(failure?.code == "speaker.closed")
    }
  }

  /// Returns the commands for levels from now on, as text.
  private func commands(of harness: HouseHarness) -> () -> [String] {
    final class Commands { var all: [String] = [] }
    let commands = Commands()
    harness.house.onCommand { command in
      guard case .level(let levels, _) = command else { return }
      commands.all += levels.map { device, command in
        switch command {
        case .set(let volume, _): "\(device.name) \(volume)"
        case .step: "\(device.name) step"
        case .fade(let fade):
          "\(device.name) to \(fade.to) over \(Int((fade.over / .seconds(1)).rounded())) s"
        case .fadeEnd: "\(device.name) end"
        case .mute, .unmute: "\(device.name) mute"
        }
      }
    }
    return { commands.all }
  }

  @Test("a fade that moves nothing returns at once, and is no command; one beside the script is one command")
  func movesNothing() throws {
    try run { harness in
      let (house, device) = (harness.house, harness.house.devices[0])
      let commands = commands(of: harness)
      let start = harness.loop.now
      try await device.fade(volume: 10, over: .seconds(5))
      #expect(harness.loop.now == start && commands().isEmpty, "\(commands())")
      try await house.interrupt(devices: [device], volume: 5) { _ in
        try await harness.wait(0.1)
        let fade = try house.beginFade(of: [device], to: 5, over: .seconds(5))
        #expect(try await fade.run())
      }
      #expect(commands() == ["A 5", "A to 5 over 5 s", "A 10"] && device.volume == 10)
    }
  }

  @Test("a fade that moves nothing ends the one before it")
  func endsAnother() throws {
    try run { harness in
      let device = harness.house.devices[0]
      let commands = commands(of: harness)
      let fade = try harness.house.beginFade(of: [device], to: 30, over: .seconds(20))
      harness.loop.start { _ = try? await fade.run() }
      try await harness.wait(2.5)
      try await device.fade(volume: 12, over: .seconds(5))
      try await harness.wait(5)
      #expect(commands() == ["A to 30 over 20 s", "A step", "A step", "A end"], "\(commands())")
      #expect(device.volume == 12 && !fade.isActive)
    }
  }

  @Test("a fade is reported again once another command or an absence has come between its steps, not before")
  func reportedAgain() throws {
    func reported(
      _ disturb: @escaping (HouseHarness, Device) async throws -> Void
    ) throws -> [String] {
      var all: [String] = []
      try run { harness in
        let device = harness.house.devices[0]
        let commands = commands(of: harness)
        harness.loop.start { try? await disturb(harness, device) }
        try await harness.wait(0.1)
        let fade = try harness.house.beginFade(of: [device], to: 12, over: .seconds(20))
        #expect(try await fade.run())
        #expect(device.volume == 12)
        all = commands()
      }
      return all
    }
    func unplug(after start: Double, for time: Double) -> (HouseHarness, Device) async throws -> Void {
      { harness, device in
        try await harness.wait(start)
        try harness.house.controls().unplug(device)
        try await harness.wait(time)
        try harness.house.controls().plug(device)
      }
    }
    let begin = "A to 12 over 20 s"
    #expect(try reported(unplug(after: 2, for: 2)) == [begin, "A step", "A step"])
    #expect(
      try reported(unplug(after: 12, for: 2.1))
        == [begin, "A step", "A to 12 over 6 s", "A step", "A step"])
    // Away when it begins, and back before its first step.
    let away = try reported(unplug(after: 0, for: 4.1))
    #expect(away == ["A to 12 over 16 s", "A step", "A step"], "\(away)")
    let interrupted = try reported { harness, device in
      try await harness.wait(2)
      try await harness.house.interrupt(devices: [device], volume: 45) { _ in try await harness.wait(2) }
    }
    #expect(
      interrupted.count == 6 && interrupted.starts(with: [begin, "A 45", "A 10", interrupted[3]])
        && interrupted[3].hasPrefix("A to 12 over") && interrupted.suffix(2) == ["A step", "A step"],
      "\(interrupted)")
  }
}
