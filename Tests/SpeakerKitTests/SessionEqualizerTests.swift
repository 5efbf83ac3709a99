import AudioCore
import EventLoop
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("A session's equalizer", .tags(.speaker, .equalizer))
struct SessionEqualizerTests {
  private static func gains(_ band: Int, _ decibels: Double) throws -> EqualizerGains {
    var all = EqualizerGains.flat.decibels
    all[band] = decibels
    return try EqualizerGains(all)
  }

  @Test("it raises its band in its own session, from the first block on, and leaves the other session alone")
  func perSession() throws {
    let tone = Signal.sine(1000, amplitude: 0.2, frames: 96_000, sampleRate: 48_000)
    var source: Sound?
    let harness = try HouseHarness.run { harness in
      let house = harness.house
      try await house.devices[1].leave()
      let other = try house.makeSession(devices: [house.devices[1]])
      try house.session.setEqualizer(try Self.gains(5, 6))
      let path = try harness.source("a.wav", tone)
      source = try Sound(file: path)
      try await house.session.play(path)
      try await other.play(path)
      _ = try await other.finish()
    }
    let (raised, exact) = (try harness.played("A").channels[0], try #require(source).channels[0])
    let start = try #require(raised.firstIndex { $0 != 0 }) - 1
    let peak = raised[(start + 4800)..<(start + 90_000)].map { abs($0) }.max() ?? 0
    #expect(abs(peak / 0.2 - Decibels.gain(6)) < 0.02)
    let untouched = try harness.played("B").channels[0]
    let first = try #require(untouched.firstIndex { $0 != 0 }) - 1
    #expect(Array(untouched[first...].prefix(90_000)) == Array(exact.prefix(90_000)))
  }

  @Test("a level above full scale is limited to −0.3 dBFS; flat, every bit passes again")
  func limited() throws {
    try HouseHarness.expectLimited(seed: 3) { session in
      try session.setEqualizer(EqualizerGains([Double](repeating: 12, count: 10)))
    } until: { session in
      try session.setEqualizer(.flat)
      #expect(session.equalizer == .flat)
    }
  }

  @Test("changes while it plays make no click, also paused and over a seek")
  func noClicks() throws {
    let tone = Signal.sine(250, amplitude: 0.25, frames: 480_000, sampleRate: 48_000)
    let harness = try HouseHarness.run { harness in
      let session = harness.house.session
      try await session.play(try harness.source("a.wav", tone))
      for (index, preset) in EqualizerGains.presets.enumerated() {
        try session.setEqualizer(preset.gains)
        try await harness.wait(0.13)
        if index == 4 { session.pause() }
        if index == 6 { try session.resume() }
        if index == 8 { try session.seek(toSeconds: 0.5) }
      }
      session.stop()
    }
    // The tone's own slope at the maximum by which a preset raises 250 Hz (3 dB and the contribution of the
    // neighbouring bands), and the ramp of one block from a peak.
    let slope = 2 * Float.pi * 250 / 48_000 * 0.25 * Decibels.gain(5)
    #expect(try harness.played("A").largestStep < slope + 0.4 / 960 + 2 * 0x1p-15)
  }

  @Test("a session that replaces a closed one begins flat")
  func freshSession() throws {
    let tone = Signal.sine(1000, amplitude: 0.2, frames: 24_000, sampleRate: 48_000)
    var source: Sound?
    let harness = try HouseHarness.run { harness in
      let first = try harness.house.makeSession()
      try first.setEqualizer(try Self.gains(5, 12))
      first.close()
      let second = try harness.house.makeSession(devices: [harness.house.devices[0]])
      #expect(second.id == first.id)
      let path = try harness.source("a.wav", tone)
      source = try Sound(file: path)
      try await second.play(path)
      _ = try await second.finish()
      let error = await harness.failure { try first.setEqualizer(.flat) }
      #expect(error?.code == "speaker.closed")
    }
    let played = try harness.played("A").channels[0]
    let first = try #require(played.firstIndex { $0 != 0 }) - 1
    #expect(Array(played[first...].prefix(20_000)) == Array(try #require(source).channels[0].prefix(20_000)))
  }
}
