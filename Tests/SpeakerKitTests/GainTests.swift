import AudioCore
import EventLoop
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("Gain and fades of a session", .tags(.speaker, .fades, .volume))
struct GainTests {
  @Test("a fade of 20 dB over a second is a straight line of decibels that ends with its fiftieth block")
  func exact() throws {
    var took = Duration.zero
    let harness = try HouseHarness.run { harness in
      let session = harness.house.session
      try await session.play(try harness.source("a.wav", Signal.constant(0.5, frames: 144_000)))
      try await harness.wait(0.5)
      let start = harness.loop.now
      try await session.fade(gain: -20, over: .seconds(1))
      took = start.duration(to: harness.loop.now)
      #expect(session.gain == -20)
      _ = try await session.finish()
    }
    #expect(took == .seconds(1))
    let sound = try harness.played("A").channels[0]
    let start = try #require(sound.firstIndex { $0 != 0.5 }) / 960 * 960
    #expect((24_000...24_960).contains(start))
    for block in 1...50 {
      let expected = 0.5 * Decibels.gain(-20 * Double(block) / 50)
      #expect(abs(sound[start + block * 960 - 1] - expected) < 0x1p-15, "\(block)")
    }
    #expect(sound[start + 49 * 960] > 0.0505)
    #expect(sound[(start + 50 * 960)...].allSatisfy { abs($0 - 0.05) < 0x1p-15 })
    #expect(try harness.played("A").largestStep < 0.5 / 960 * 0.06)
  }

  @Test("gain above full scale is limited to −0.3 dBFS, back at 0 dB samples are exact again")
  func limited() throws {
    try HouseHarness.expectLimited(seed: 1) { session in
      try session.setGain(12)
    } until: { session in
      try session.setGain(0)
    }
  }

  @Test("a fade stops while paused, and continues")
  func paused() throws {
    let harness = try HouseHarness.run { harness in
      let session = harness.house.session
      try await session.play(try harness.source("a.wav", Signal.constant(0.5, frames: 240_000)))
      var isThere = false
      harness.loop.start {
        try? await session.fade(gain: -40, over: .seconds(2))
        isThere = true
      }
      try await harness.wait(1)
      session.pause()
      try await harness.wait(10)
      #expect(!isThere)
      try session.resume()
      try await harness.wait(0.9)
      #expect(!isThere)
      try await harness.wait(0.2)
      #expect(isThere)
      _ = try await session.finish()
    }
    let sound = try harness.played("A").channels[0]
    #expect(abs(sound[47_999] - 0.5 * Decibels.gain(-20)) < 0.005)
    #expect(abs(try #require(sound.last) - 0.005) < 0x1p-15)
  }

  @Test(
    "a caller of fade continues at once when the source ends, and when another gain is set",
    arguments: [true, false])
  func fadeCancelled(stops: Bool) throws {
    try HouseHarness.run(output: .null) { harness in
      let session = harness.house.session
      try await session.play(try harness.source("a.wav", Signal.constant(0.5, frames: 480_000)))
      harness.loop.after(.seconds(1)) { if stops { session.stop() } else { try? session.setGain(-3) } }
      let start = harness.loop.now
      try await session.fade(gain: -60, over: .seconds(3600))
      #expect(start.duration(to: harness.loop.now) == .seconds(1))
    }
  }

  @Test("a newer gain replaces a fade, whose caller continues; nothing jumps")
  func superseded() throws {
    let harness = try HouseHarness.run { harness in
      let session = harness.house.session
      try await session.play(try harness.source("a.wav", Signal.constant(0.5, frames: 240_000)), start: 0.5)
      var isThere = false
      harness.loop.start {
        try? await session.fade(gain: -60, over: .seconds(100))
        isThere = true
      }
      try await harness.wait(1)
      try await session.fade(gain: 0, over: .seconds(1))
      session.pause()
      session.stop()
      try await harness.wait(100)
      #expect(isThere)
    }
    #expect(try harness.played("A").largestStep < 0.5 / 960 * 1.1)
  }

  @Test("when nothing plays the gain is there at once, and a made session begins at 0 dB")
  func idle() throws {
    let harness = try HouseHarness.run { harness in
      let house = harness.house
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 9_600))
      let first = try house.makeSession(devices: house.devices)
      let start = harness.loop.now
      try await first.fade(gain: -20, over: .seconds(100))
      #expect(start == harness.loop.now)
      try await first.play(path)
      _ = try await first.finish()
      first.close()
      let second = try house.makeSession(devices: house.devices)
      try await second.play(path)
      _ = try await second.finish()
      for gain in [12.1, -90.1, .nan] {
        #expect(await harness.failure { try second.setGain(gain) }?.code == "speaker.range")
      }
      #expect(
        await harness.failure { try await second.fade(gain: 0, over: .seconds(-1)) }?.code == "speaker.range")
    }
    let sound = try harness.played("A").channels[0]
    #expect(sound[..<9_600].allSatisfy { abs($0 - 0.05) < 0x1p-15 })
    #expect(sound[9_600...].allSatisfy { $0 == 0.5 })
  }

  @Test("a gain set while paused is there when something else plays, from its first frame", arguments: 0..<3)
  func setWhilePaused(how: Int) throws {
    let harness = try HouseHarness.run { harness in
      let session = harness.house.session
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 9_600))
      try await session.play(path)
      try await harness.wait(0.05)
      session.pause()
      try await harness.wait(0.05)
      if how == 0 {
        harness.loop.start { try? await session.fade(gain: -20, over: .seconds(1)) }
      } else {
        try session.setGain(-20)
      }
      try await harness.wait(0.05)
      if how < 2 { session.stop() }
      try await session.play(path)
      _ = try await session.finish()
    }
    #expect(try harness.played("A").channels[0].suffix(9_600).allSatisfy { abs($0 - 0.05) < 0x1p-15 })
  }

  @Test(
    "a volume fade ends with all members at one level, in published steps, and leaves a speaker alone whose level was set meanwhile"
  )
  func volume() throws {
    let specs = [("A", 10), ("B", 20), ("C", 40)].map { SpeakerSpec(name: $0.0, volume: $0.1) }
    try HouseHarness.run(speakers: specs, output: .null) { harness in
      let (house, start) = (harness.house, harness.loop.now)
      harness.record()
      harness.loop.after(.seconds(5)) { try? house.devices[2].setVolume(50) }
      try await house.session.fade(volume: 30, over: .seconds(10))
      // The last step takes effect a moment after its request.
      #expect(start.duration(to: harness.loop.now) < .seconds(10.1))
      #expect(house.devices.map(\.volume) == [30, 30, 50])
      let first = harness.reported.filter { $0.hasPrefix("volume A") }.map { $0.split(separator: ",")[0] }
      #expect(first == (11...30).map { "volume A \($0)" })
      #expect(harness.reported.filter { $0.hasPrefix("volume B") }.count == 10)
      #expect(harness.reported.filter { $0.hasPrefix("volume C") }.count < 7)
    }
  }
}
