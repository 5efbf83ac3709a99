import AudioCore
import EventLoop
import Scheduling
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("Limits of speakers", .tags(.speaker, .volume))
struct LimitTests {
  /// The limit of speaker A; B has none.
  private func limited(_ maximum: Int, quiet: (String, String, Int)? = nil) throws -> [String: SpeakerLimit] {
    let hours = try quiet.map { from, to, most in
      try #require(
        QuietHours(
          from: TimeOfDay(parsing: from), to: TimeOfDay(parsing: to), maximum: most))
    }
    return ["A": try #require(SpeakerLimit(maximum: maximum, quiet: hours))]
  }

  /// Expects that no block of A is louder than its limit lets the source be, and that it is that loud at some time.
  private func expect(_ harness: HouseHarness, keeps maximum: Int, amplitude: Float, slack: Float = 1.001)
    throws
  {
    let sound = try harness.played("A")
    let most = amplitude * VolumeLaw.gain(at: maximum)
    for channel in sound.channels {
      for start in stride(from: 0, to: channel.count, by: 960) {
        let peak = channel[start..<min(start + 960, channel.count)].reduce(0) { max($0, $1.magnitude) }
        #expect(peak <= most * slack + 0x1p-14, "block \(start / 960)")
      }
      #expect(channel.contains { $0.magnitude > most * 0.9 })
    }
  }

  @Test("steps go up from the volume that was asked for, and down from the one that is heard")
  func steps() throws {
    try HouseHarness.run(output: .null, limits: try limited(35, quiet: ("22:00", "06:30", 12))) { harness in
      let (a, b) = (harness.house.devices[0], harness.house.devices[1])
      try harness.house.setVolume(30)
      try await harness.wait(0.1)
      #expect(a.volume == 12 && [a.volume(steppedBy: 5), a.volume(steppedBy: -5)] == [30, 7])
      #expect([b.volume(steppedBy: 5), b.volume(steppedBy: -5)] == [35, 25])
      try a.setVolume(10)
      try await harness.wait(0.1)
      #expect([a.volume(steppedBy: 5), a.volume(steppedBy: -15)] == [12, 0])
    }
  }

  private static let waysUp: [String] = [
    "at the opening", "volume", "volume of the house", "fade", "unmute", "snapshot", "interruption",
    "overlay",
    "gain", "fade of the gain", "gain over a softer level", "overlay over a gain", "join with a gain",
    "session that had no stream",
  ]

  @Test("no block is louder than the limit allows, whatever raises it", arguments: waysUp)
  func blocks(way: String) throws {
    let harness = try HouseHarness.run(limits: try limited(35), addAll: way != "join with a gain") {
      harness in
      let (house, session) = (harness.house, harness.house.session)
      let a = try house.device("A")
      let path = try harness.source("a.wav", Signal.constant(0.25, frames: 192_000))
      let over = try harness.source("b.wav", Signal.constant(0.25, frames: 48_000))
      if way == "join with a gain" { try await house.device("B").join() }
      try await session.play(path)
      try await harness.wait(0.5)
      switch way {
      case "volume": try a.setVolume(50)
      case "volume of the house": try house.setVolume(48)
      case "fade":
        try a.setVolume(0)
        try await harness.wait(0.1)
        try await a.fade(volume: 50, over: .seconds(1))
      case "unmute":
        try a.mute()
        try a.setVolume(50)
        try await harness.wait(0.1)
        try a.mute()
        try await harness.wait(0.1)
        try a.unmute()
      case "snapshot":
        let snapshot = try house.snapshot()
        try a.setVolume(5)
        try await harness.wait(0.2)
        try await snapshot.restore()
      case "interruption":
        try await house.interrupt(devices: [a], volume: 50) { session in
          try await session.play(over)
          _ = try await session.finish()
        }
      case "overlay":
        try await house.playOver(devices: [a], volume: 50, duck: 3) { session in
          try await session.play(over)
          _ = try await session.finish()
        }
      case "gain": try session.setGain(12)
      case "fade of the gain": try await session.fade(gain: 12, over: .seconds(1))
      case "gain over a softer level":
        try a.setVolume(30)
        try await harness.wait(0.2)
        try session.setGain(6)
        try a.setVolume(34)
      case "overlay over a gain":
        try session.setGain(9)
        try await house.playOver(devices: [a], volume: 50, duck: 0) { session in
          try session.setGain(9)
          try await session.play(over)
          _ = try await session.finish()
        }
      case "session that had no stream":
        var late = session
        for _ in 0..<40 { late = try house.makeSession() }
        try late.setGain(9)
        try await a.join(late)
        try await late.play(over)
        _ = try await late.finish()
      case "join with a gain":
        try session.setGain(9)
        try await harness.wait(0.2)
        try await a.join()
      default: break
      }
      _ = try await session.finish()
      #expect(a.volume <= 35)
    }
    try expect(harness, keeps: 35, amplitude: 0.25)
    if way == "gain" {
      let other = try harness.played("B").channels[0]
      #expect(other.contains { $0 > 0.9 }, "a speaker without a limit is louder")
    }
    // Lowering makes no click; a constant that begins does.
    if way == "interruption" || way.hasPrefix("overlay") || way.hasPrefix("session") { return }
    #expect(try harness.played("A").largestStep < 0.25 * VolumeLaw.gain(at: 35) / 100)
  }

  @Test(
    "an equalizer boosts no tone above the limit, and boosts it where there is room", arguments: [35, 20])
  func equalizer(volume: Int) throws {
    let tone = Signal.sine(1000, amplitude: 0.2, frames: 144_000, sampleRate: 48_000)
    let harness = try HouseHarness.run(limits: try limited(35)) { harness in
      let session = harness.house.session
      try harness.house.device("A").setVolume(volume)
      try await session.play(try harness.source("a.wav", tone))
      try await harness.wait(1)
      try session.setEqualizer(EqualizerGains([0, 0, 0, 0, 6, 12, 6, 0, 0, 0]))
      _ = try await session.finish()
    }
    if volume == 35 { return try expect(harness, keeps: 35, amplitude: 0.2, slack: 1.02) }
    let sound = try harness.played("A").channels[0]
    let (before, after) = (sound[24_000..<48_000].max() ?? 0, sound[96_000..<140_000].max() ?? 0)
    #expect(after > before * 3.5, "15 steps below the limit are room for the boost")
  }

  @Test("without a gain a limited speaker plays bit for bit as one at that level")
  func exact() throws {
    let noise = Signal.noise(seed: 4, amplitude: 0.9, frames: 96_000)
    let harness = try HouseHarness.run(limits: try limited(35)) { harness in
      try harness.house.setVolume(35)
      try await harness.house.session.play(try harness.source("a.wav", noise))
      _ = try await harness.house.session.finish()
    }
    #expect(try harness.played("A").channels == harness.played("B").channels)
  }

  @Test(
    "quiet hours lower a playing speaker before they begin, and give back what was asked for at their end")
  func quietHours() throws {
    var levels: [Int] = []
    let harness = try HouseHarness.run(limits: try limited(40, quiet: ("22:14", "22:15", 12))) { harness in
      let (house, a) = (harness.house, try harness.house.device("A"))
      try a.setVolume(30)
      try await house.session.play(try harness.source("a.wav", Signal.constant(0.25, frames: 48_000 * 110)))
      harness.record()
      try await harness.wait(39.4)
      levels.append(a.volume)
      try await harness.wait(5)
      levels += [a.volume, a.requestedVolume]
      #expect(
        a.appliedLimit?.text == "limited to 12 by quiet hours from 22:14 to 22:15; 30 was asked for")
      try a.setVolume(45)
      try await harness.wait(1)
      levels += [a.volume, a.requestedVolume]
      try await harness.wait(60)
      levels += [a.volume, a.requestedVolume]
      #expect(a.appliedLimit?.text == "limited to 40 by its max_volume; 45 was asked for")
      _ = try await house.session.finish()
    }
    #expect(levels == [30, 12, 30, 12, 45, 40, 45])
    #expect(
      harness.reported.filter { $0.hasPrefix("volume A") }.map { $0.prefix(11) }
        == ["volume A 12", "volume A 40"])
    let sound = try harness.played("A").channels[0]
    // The clock begins at 22:13:20 and the source a moment later.
    let quiet = sound[(48_000 * 40)..<(48_000 * 99)]
    #expect(quiet.allSatisfy { $0 <= 0.25 * VolumeLaw.gain(at: 12) + 0x1p-15 })
    #expect(try harness.played("A").largestStep < 0.25 / 500)
  }

  @Test("what an interruption finds in quiet hours comes back as it was asked for")
  func interruptionInQuietHours() throws {
    try HouseHarness.run(limits: try limited(50, quiet: ("22:00", "22:15", 12))) { harness in
      let (house, a) = (harness.house, try harness.house.device("A"))
      try a.setVolume(30)
      try await harness.wait(0.1)
      #expect(a.volume == 12 && a.requestedVolume == 30)
      try await house.interrupt(devices: [a], volume: 20) { _ in
        try await harness.wait(1)
        #expect(a.volume == 12 && a.requestedVolume == 20)
      }
      #expect(a.volume == 12 && a.requestedVolume == 30)
      let snapshot = try house.snapshot()
      try a.setVolume(5)
      try await harness.wait(0.1)
      #expect(a.volume == 5 && a.requestedVolume == 5)
      try await snapshot.restore()
      #expect(a.volume == 12 && a.requestedVolume == 30)
      try await a.fade(volume: 12, over: .seconds(1))
      #expect(a.requestedVolume == 12)
      try a.setVolume(30)
      try await harness.wait(200)
      #expect(a.volume == 30 && a.appliedLimit == nil)
    }
  }

  @Test("hours over midnight and a clock that is set are followed")
  func clock() throws {
    try HouseHarness.run(limits: try limited(40, quiet: ("22:00", "06:30", 12))) { harness in
      let a = try harness.house.device("A")
      #expect(a.volume == 12 && a.requestedVolume == 50)
      harness.loop.setVirtualClock(by: .seconds(9 * 3600))
      try await harness.wait(1)
      #expect(a.volume == 40)
      harness.loop.setVirtualClock(by: .seconds(-3600))
      try await harness.wait(1)
      #expect(a.volume == 12)
      try await harness.wait(3600)
      #expect(a.volume == 40)
      try await harness.wait(86_400 - 3600)
      #expect(a.volume == 12)
    }
  }

  @Test("a speaker that is away while quiet hours begin is low when it is back")
  func away() throws {
    let harness = try HouseHarness.run(limits: try limited(40, quiet: ("22:14", "22:20", 12))) { harness in
      let (house, a) = (harness.house, try harness.house.device("A"))
      try await house.session.play(try harness.source("a.wav", Signal.constant(0.25, frames: 48_000 * 60)))
      try await harness.wait(10)
      try house.controls().unplug(a)
      try await harness.wait(40)
      try house.controls().plug(a)
      _ = try await house.session.finish()
    }
    let sound = try harness.played("A").channels[0]
    #expect(sound[(48_000 * 45)...].allSatisfy { $0 <= 0.25 * VolumeLaw.gain(at: 12) + 0x1p-15 })
    #expect(sound[(48_000 * 55)...].contains { $0 > 0.25 * VolumeLaw.gain(at: 12) * 0.99 })
  }

  @Test("an interruption that may exceed the limit does, and the limit holds again at its end")
  func overLimit() throws {
    let harness = try HouseHarness.run(limits: try limited(20)) { harness in
      let (house, a) = (harness.house, try harness.house.device("A"))
      let over = try harness.source("b.wav", Signal.constant(0.25, frames: 48_000))
      try await house.session.play(try harness.source("a.wav", Signal.constant(0.25, frames: 144_000)))
      try await harness.wait(0.5)
      try await house.interrupt(devices: [a], volume: 45) { session in
        #expect(a.requestedVolume == 45)
        try house.exceedLimits(in: session, to: 45)
        try await session.play(over)
        #expect(a.volume == 45)
        _ = try await session.finish()
      }
      #expect(a.volume == 20 && a.requestedVolume == 50)
      #expect(throws: SpeakerError.self) { try house.exceedLimits(in: house.session, to: 45) }
      try house.session.setGain(6)
      _ = try await house.session.finish()
    }
    let sound = try harness.played("A").channels[0]
    #expect(sound.contains { $0 > 0.25 * VolumeLaw.gain(at: 45) * 0.99 })
    #expect(sound[(48_000 * 2)...].allSatisfy { $0 <= 0.25 * VolumeLaw.gain(at: 20) + 0x1p-15 })
  }

  private static let othersWays = [
    "volume", "fade", "session", "fade of the session", "snapshot", "unmute",
  ]

  @Test(
    "while an alarm is above the limit, other commands keep to it, and those of the alarm to its volume",
    arguments: othersWays)
  func othersDuringAlarm(way: String) throws {
    try HouseHarness.run(limits: try limited(20)) { harness in
      let (house, a) = (harness.house, try harness.house.device("A"))
      try a.setVolume(10)
      try await harness.wait(0.1)
      try await house.interrupt(devices: [a], priority: 200, volume: 30) { session in
        try house.exceedLimits(in: session, to: 45)
        let snapshot = try house.snapshot()
        try await session.fade(volume: 45, over: .seconds(1))
        #expect(a.volume == 45 && a.isAboveLimit && a.volume(steppedBy: -5) == 40)
        switch way {
        case "volume": try a.setVolume(50)
        case "fade": try await a.fade(volume: 50, over: .seconds(1))
        case "session": try session.setVolume(50)
        case "fade of the session": try await session.fade(volume: 50, over: .seconds(1))
        case "snapshot": try await snapshot.restore()
        default:
          try a.mute()
          try await harness.wait(0.1)
          try a.unmute()
        }
        try await harness.wait(0.1)
        let isAlarms = way.contains("session") || way == "unmute"
        #expect(a.volume == (isAlarms ? 45 : 20))
        #expect(a.requestedVolume == (way == "snapshot" ? 30 : way == "unmute" ? 45 : 50))
        #expect(a.isAboveLimit == isAlarms)
      }
      #expect(a.volume <= 20 && !a.isAboveLimit)
    }
  }

  @Test(
    "an interruption of an alarm keeps to the limit, and the alarm then has its volume again",
    arguments: [nil, 30])
  func interruptedAlarm(volume: Int?) throws {
    try HouseHarness.run(limits: try limited(20)) { harness in
      let (house, a) = (harness.house, try harness.house.device("A"))
      try await house.interrupt(devices: [a], priority: 200, volume: 45) { session in
        try house.exceedLimits(in: session, to: 45)
        try await harness.wait(0.1)
        try await house.interrupt(devices: [a], priority: 300, volume: volume) { _ in
          try await harness.wait(0.1)
          #expect(a.volume == 20)
        }
        try await harness.wait(0.1)
        #expect(a.volume == 45)
      }
      #expect(a.volume == 20 && a.requestedVolume == 50)
    }
  }

  @Test(
    "a sound over an alarm keeps to the limit, and no gain is louder than the alarm", arguments: [nil, 50])
  func soundOverAlarm(volume: Int?) throws {
    var level: Int?
    let harness = try HouseHarness.run(limits: try limited(20)) { harness in
      let (house, a) = (harness.house, try harness.house.device("A"))
      let alarm = try harness.source("a.wav", Signal.constant(0.25, frames: 144_000))
      let over = try harness.source("b.wav", Signal.constant(0.25, frames: 24_000))
      try await house.interrupt(devices: [a], priority: 200, volume: 30) { session in
        try house.exceedLimits(in: session, to: 40)
        try await session.play(alarm)
        try await house.playOver(devices: [a], priority: 300, volume: volume, duck: 90) { other in
          try await other.play(over)
          try await session.fade(volume: 40, over: .milliseconds(200))
          level = a.level(in: other)
          _ = try await other.finish()
        }
        try session.setGain(12)
        _ = try await session.finish()
      }
    }
    #expect(level == 20)
    let sound = try harness.played("A").channels[0]
    let (low, high) = (0.25 * VolumeLaw.gain(at: 20), 0.25 * VolumeLaw.gain(at: 40))
    #expect(sound.allSatisfy { $0 <= high * 1.001 + 0x1p-14 } && sound.contains { $0 > high * 0.99 })
    #expect(sound.count { $0 > low * 0.99 && $0 <= low + 0x1p-14 } > 10_000, "the sound over it")
  }

  @Test("a mute that is under way stays when the limit lowers the speaker, or an alarm exceeds it")
  func mutedMeanwhile() throws {
    try HouseHarness.run(limits: try limited(20)) { harness in
      let (house, a) = (harness.house, try harness.house.device("A"))
      try a.mute()
      // Another controller raises it before the mute takes effect.
      house.byController { house.levelsChanged([(a.id, 45, false)]) }
      try await harness.wait(0.1)
      #expect(a.volume == 20 && a.isMuted && a.requestedVolume == 45)
      try await house.interrupt(devices: [a], volume: 45) { session in
        try await harness.wait(0.1)
        #expect(a.volume == 20 && !a.isMuted)
        try a.mute()
        try house.exceedLimits(in: session, to: 45)
        try await harness.wait(0.1)
        #expect(a.volume == 45 && a.isMuted)
      }
      #expect(a.volume == 20 && a.isMuted)
    }
  }

  @Test("a speaker that is removed leaves no volume to restore, and is limited again when it is back")
  func removed() throws {
    try HouseHarness.run(limits: try limited(20)) { harness in
      let (house, a) = (harness.house, try harness.house.device("A"))
      #expect(house.borrowedLevels.map(\.volume) == [50])
      try house.controls().remove(a)
      #expect(house.borrowedLevels.isEmpty)
      try house.controls().add(SpeakerSpec(name: "A", volume: 30))
      try await harness.wait(0.1)
      #expect(try house.device("A").volume == 20)
      #expect(house.borrowedLevels.map(\.volume) == [30])
    }
  }

  @Test("a fade above the limit reports what it asks for twice, and any other volume once")
  func reports() throws {
    try HouseHarness.run(limits: try limited(20)) { harness in
      let (house, a) = (harness.house, try harness.house.device("A"))
      try a.setVolume(0)
      try await harness.wait(0.1)
      var reports: [[Int]] = []
      house.onBorrowed { reports.append($0.map(\.volume)) }
      try await a.fade(volume: 50, over: .seconds(3))
      #expect(reports == [[21], [50]] && a.requestedVolume == 50)
      try a.setVolume(40)
      #expect(reports == [[21], [50], [40]])
      try await a.fade(volume: 0, over: .seconds(1))
      #expect(reports == [[21], [50], [40], []])
      try a.setVolume(10)
      #expect(reports.count == 4)
    }
  }

  @Test("where another process keeps speakers to their limits, only commands are limited, at no other time")
  func notEnforced() throws {
    let limits = try limited(40, quiet: ("22:14", "22:15", 12))
    try HouseHarness.run(limits: limits, enforcesLimits: false) { harness in
      let a = try harness.house.device("A")
      #expect(a.volume == 50 && a.volumeLimit == 40)
      try await harness.wait(60)
      #expect(a.volume == 50 && a.volumeLimit == 12)
      try a.setVolume(30)
      try await harness.wait(0.1)
      #expect(a.volume == 12 && a.requestedVolume == 30)
      try await harness.wait(60)
      #expect(a.volume == 12)
    }
  }

  @Test("what another process was asked for is taken up without a change, until a command is newer")
  func shared() throws {
    let pair = [SpeakerSpec(name: "A", volume: 12), SpeakerSpec(name: "B", volume: 20)]
    let limits = try limited(35, quiet: ("22:00", "06:30", 12))
    try HouseHarness.run(speakers: pair, limits: limits, enforcesLimits: false) { harness in
      let (house, a, b) = (harness.house, harness.house.devices[0], harness.house.devices[1])
      let asked = try #require(
        BorrowedLevel(device: a.id, volume: 30, isMuted: false, meanwhile: 12, 12))
      let lent = try #require(BorrowedLevel(device: b.id, volume: 5, isMuted: false, meanwhile: 20, 20))
      var kept: [[BorrowedLevel]] = []
      house.share(borrowed: [lent, asked]) { kept.append($0) }
      #expect(a.volume == 12 && a.requestedVolume == 30 && b.requestedVolume == 20)
      #expect(a.appliedLimit?.asked == 30 && kept.isEmpty)
      try a.setVolume(a.volume(steppedBy: 5))
      try await harness.wait(0.1)
      #expect(a.volume == 12 && a.requestedVolume == 30, "no further than the limit")
      try a.setVolume(40)
      try await harness.wait(0.1)
      #expect(a.volume == 12 && a.requestedVolume == 40)
      #expect(kept.last?.map(\.volume) == [5, 40])
      try a.setVolume(10)
      #expect(kept.last?.map(\.volume) == [5])
    }
  }

  @Test("limits that contradict each other are none")
  func contradictions() throws {
    let (night, day) = (try TimeOfDay(parsing: "22:00"), try TimeOfDay(parsing: "06:30"))
    #expect(QuietHours(from: night, to: night, maximum: 12) == nil)
    #expect(QuietHours(from: night, to: day, maximum: 51) == nil)
    #expect(SpeakerLimit(maximum: 51) == nil && SpeakerLimit(maximum: -1) == nil)
    let quiet = try #require(QuietHours(from: night, to: day, maximum: 12))
    #expect(SpeakerLimit(maximum: 11, quiet: quiet) == nil)
    #expect(SpeakerLimit(maximum: 12, quiet: quiet) != nil)
  }
}
