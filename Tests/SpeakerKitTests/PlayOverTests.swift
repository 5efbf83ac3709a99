import AudioCore
import EventLoop
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("Sound over what speakers play", .tags(.speaker, .interruption))
struct PlayOverTests {
  private func whole(_ path: String) -> (Session) async throws -> Void {
    { session in
      try await session.play(path)
      _ = try await session.finish()
    }
  }

  /// Level of `part` against `whole`, in dB.
  private func level(_ part: ArraySlice<Float>, _ whole: ArraySlice<Float>) -> Double {
    func power(_ samples: ArraySlice<Float>) -> Double { samples.reduce(0) { $0 + Double($1) * Double($1) } }
    return Decibels.level(ofAmplitude: (power(part) / power(whole)).squareRoot())
  }

  @Test("music is so many dB lower on these speakers alone, then exact again: never paused, never moved")
  func ducked() throws {
    let music = Signal.noise(seed: 1, amplitude: 0.5, frames: 240_000)
    let harness = try HouseHarness.run { harness in
      let (house, session) = (harness.house, harness.house.session)
      let silence = try harness.source("silence.wav", Signal.constant(0, frames: 48_000))
      try await session.play(try harness.source("a.wav", music))
      try await harness.wait(0.5)
      harness.record()
      let position = session.position
      let before = harness.loop.now
      try await house.playOver(devices: [house.devices[0]], duck: 12, fade: .milliseconds(500)) { over in
        #expect(over.devices.map(\.name) == ["A"] && session.devices.count == 2 && !session.isSuspended)
        #expect(house.devices[0].session === session && house.isInterruption(over))
        try await whole(silence)(over)
      }
      let passed = before.duration(to: harness.loop.now)
      #expect(abs(session.position - position - Int(passed.nanoseconds * 48 / 1_000_000)) <= 1_920)
      #expect(house.sessions.count == 1 && house.devices[0].volume == 50)
      #expect(
        !harness.reported.contains { $0.hasPrefix("volume") || $0.contains("left") || $0.contains("suspend") }
      )
      _ = try await session.finish()
    }
    let exact = try Sound(file: harness.folder.file("a.wav")).channels[0]
    let (ducked, other) = (try harness.played("A"), try harness.played("B"))
    #expect(other.channels[0] == exact)
    let sound = ducked.channels[0]
    #expect(sound.count == exact.count && sound[..<23_000] == exact[..<23_000])
    // 0.5 s down from 0.5 s on, a second under the sound, 0.5 s up.
    let lower = level(sound[52_000..<90_000], exact[52_000..<90_000])
    #expect(abs(lower + 12) < 0.1, "\(lower)")
    let down = level(sound[35_000..<36_000], exact[35_000..<36_000])
    #expect((-8 ... -4).contains(down), "\(down)")
    #expect(sound[130_000...] == exact[130_000...])
  }

  @Test("the sound is added at its own level, on a muted speaker too, without a click")
  func added() throws {
    let harness = try HouseHarness.run { harness in
      let (house, session) = (harness.house, harness.house.session)
      let bell = try harness.source(
        "bell.wav", Signal.sine(440, amplitude: 0.5, frames: 96_000, sampleRate: 48_000))
      try await session.play(
        try harness.source("a.wav", Signal.sine(220, amplitude: 0.5, frames: 288_000, sampleRate: 48_000)))
      try house.devices[1].mute()
      try await harness.wait(1)
      try await house.playOver(devices: house.devices, volume: 40, duck: 20, fade: .milliseconds(200)) {
        over in
        #expect(house.devices[1].level(in: over) == 40 && house.devices[1].level(in: session) == nil)
        try await whole(bell)(over)
      }
      _ = try await session.finish()
    }
    let (a, b) = (try harness.played("A"), try harness.played("B"))
    let gain = VolumeLaw.gain(at: 40)
    // The muted speaker has the sound alone, the other one with the music.
    #expect(abs((b.channels[0][80_000..<120_000].max() ?? 0) - 0.5 * gain) < 0.001)
    let difference = zip(a.channels[0], b.channels[0]).map { $0 - $1 }
    #expect(abs((difference[80_000..<120_000].max() ?? 0) - 0.05) < 0.001)
    #expect(abs((difference[200_000..<280_000].max() ?? 0) - 0.5) < 0.001)
    // The largest steps of the two waves together.
    let steepest = Float(2 * Double.pi / 48_000 * (440 * 0.5 * Double(gain) + 220 * 0.5))
    #expect(a.largestStep < steepest * 1.1, "\(a.largestStep) \(steepest)")
    #expect(b.largestStep < steepest * 1.1, "\(b.largestStep)")
  }

  @Test("two loud sounds on one speaker stay below full scale; the music is exact again afterwards")
  func limited() throws {
    let music = Signal.noise(seed: 1, amplitude: 0.9, frames: 144_000)
    let harness = try HouseHarness.run { harness in
      let (house, session) = (harness.house, harness.house.session)
      let bell = try harness.source("bell.wav", Signal.noise(seed: 2, amplitude: 0.9, frames: 24_000))
      try await session.play(try harness.source("a.wav", music))
      try await harness.wait(0.5)
      try await house.playOver(devices: house.devices, duck: 0, play: whole(bell))
      _ = try await session.finish()
    }
    let sound = try harness.played("A")
    let exact = try Sound(file: harness.folder.file("a.wav")).channels[0]
    #expect(sound.channels[0][24_000..<48_000].map(\.magnitude).max() ?? 1 <= Decibels.gain(-0.3) + 0x1p-15)
    #expect(sound.channels[0][26_000..<40_000] != exact[26_000..<40_000])
    #expect(sound.channels[0].suffix(40_000) == exact.suffix(40_000))
  }

  @Test(
    "one waits for another on its speakers, and for none on others; waits can be cancelled"
  )
  func queued() throws {
    var order: [String] = []
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      let bell = try harness.source("bell.wav", Signal.constant(0.5, frames: 48_000))
      func say(_ name: String, _ devices: [Device]) async {
        try? await house.playOver(devices: devices, duck: 6, name: name) { session in
          order.append(name)
          try await whole(bell)(session)
          order.append("\(name) ends")
        }
      }
      let work: [(String, [Device])] = [
        ("first", house.devices), ("second", [house.devices[0]]), ("third", [house.devices[1]]),
        ("fourth", house.devices),
      ]
      var tasks: [Task<Void, Never>] = []
      for (name, devices) in work {
        tasks.append(harness.loop.start { await say(name, devices) })
        try await harness.wait(0.01)
      }
      tasks[3].cancel()
      for task in tasks { await task.value }
      #expect(house.sessions.count == 1 && house.devices.allSatisfy { $0.overlay == nil })
    }
    #expect(order.first == "first" && order.prefix(2).last == "first ends", "\(order)")
    #expect(Set(order[2..<4]) == ["second", "third"] && order.count == 6, "\(order)")
  }

  @Test("what plays may end, begin and be interrupted meanwhile; the sound goes on, and levels return")
  func changes() throws {
    let harness = try HouseHarness.run { harness in
      let (house, session) = (harness.house, harness.house.session)
      let bell = try harness.source("bell.wav", Signal.constant(0.25, frames: 192_000))
      let music = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      try await session.play(music)
      try await house.playOver(devices: house.devices, duck: 20) { over in
        try await over.play(bell)
        try await harness.wait(0.5)
        session.stop()
        try await harness.wait(0.5)
        #expect(house.devices.allSatisfy(\.isPlaying) && over.state == .playing)
        try await session.play(music)
        try await harness.wait(0.5)
        try await house.interrupt(devices: [house.devices[1]]) { alarm in
          #expect(over.devices.count == 2 && !over.isSuspended)
          try await alarm.play(music)
          try await harness.wait(0.5)
        }
        #expect(house.devices[1].session === session)
        _ = try await over.finish()
      }
      try await harness.wait(0.5)
      session.stop()
    }
    for name in ["A", "B"] {
      let sound = try harness.played(name).channels[0]
      for (second, value) in [(0.3, 0.3), (0.8, 0.25), (1.3, 0.3), (1.8, 0.3), (3, 0.3), (4.3, 0.5)] {
        let heard = Double(sound[Int(second * 48_000)])
        #expect(abs(heard - value) < 0.002, "\(name) at \(second) s: \(heard)")
      }
    }
  }

  @Test("a session that is closed, a task that is cancelled, and a speaker that goes leave nothing behind")
  func early() throws {
    let harness = try HouseHarness.run { harness in
      let (house, session) = (harness.house, harness.house.session)
      let bell = try harness.source("bell.wav", Signal.constant(0.25, frames: 96_000))
      try await session.play(try harness.source("a.wav", Signal.constant(0.5, frames: 480_000)))
      try await house.playOver(devices: house.devices, duck: 20) { over in
        try await over.play(bell)
        try await harness.wait(0.5)
        over.close()
      }
      #expect(house.sessions.count == 1)
      try await harness.wait(0.5)
      let task = harness.loop.start {
        try? await house.playOver(devices: house.devices, duck: 20, play: whole(bell))
      }
      try await harness.wait(0.5)
      task.cancel()
      await task.value
      try await harness.wait(0.5)
      try await house.playOver(devices: house.devices, duck: 20) { over in
        try await over.play(bell)
        try house.controls().unplug(house.devices[1])
        try await harness.wait(0.5)
        try house.controls().plug(house.devices[1])
        _ = try await over.finish()
      }
      try await harness.wait(0.5)
      #expect(house.devices.allSatisfy { $0.overlay == nil && $0.session === session })
      session.stop()
    }
    for name in ["A", "B"] {
      let sound = try harness.played(name).channels[0]
      // The whole, in halves of a second: over, alone, over, alone, over for two seconds, alone.
      for (second, value) in [(0.3, 0.3), (0.8, 0.5), (1.3, 0.3), (1.8, 0.5), (3, 0.3), (4.3, 0.5)] {
        let heard = Double(sound[Int(second * 48_000)])
        #expect(abs(heard - value) < 0.002, "\(name) at \(second) s: \(heard)")
      }
    }
  }

  @Test(
    "an attenuation out of range and a driver that can't are refused, and sessions of a higher rank are spared"
  )
  func refused() throws {
    try HouseHarness.run(output: .null) { harness in
      let house = harness.house
      for duck in [-1, 91, Double.nan] {
        let error = await harness.failure {
          try await house.playOver(devices: house.devices, duck: duck) { _ in }
        }
        #expect(error?.code == "speaker.range")
      }
      let alarm = try house.makeSession(name: "alarm", devices: [house.devices[1]], priority: 500)
      try await alarm.play(try harness.source("a.wav", Signal.constant(0.5, frames: 480_000)))
      let error = await harness.failure {
        try await house.playOver(devices: house.devices, duck: 10) { _ in Issue.record("it must not play") }
      }
      #expect(error?.code == "speaker.outranked" && house.devices[0].overlay == nil)
    }
  }
}
