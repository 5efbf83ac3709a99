import AudioCore
import Glibc
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("The sound of the speakers, sample by sample", .tags(.speaker, .rendering))
struct RenderTests {
  /// Returns samples as 16-bit numbers, for comparison bit for bit.
  private func int16(_ samples: some Sequence<Float>) -> [Int16] {
    samples.map { SampleConversion.int16($0) }
  }

  @Test("a 16-bit source at volume 50 comes out bit for bit, to its last frame, which is no block's end")
  func bitExact() throws {
    var source: Sound?
    let harness = try HouseHarness.run { harness in
      let path = try harness.source(
        "a.wav", Signal.noise(seed: 1, frames: 50_001), Signal.noise(seed: 2, frames: 50_001))
      source = try Sound(file: path)
      try await harness.house.session.play(path)
      _ = try await harness.house.session.finish()
    }
    #expect(try harness.played("A") == source)
    #expect(try harness.played("B") == source)
  }

  @Test("lengths from one frame to a block and one frame are exact", arguments: [1, 959, 960, 961])
  func lengths(frames: Int) throws {
    let harness = try HouseHarness.run { harness in
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: frames))
      try await harness.house.session.play(path)
      #expect(try await harness.house.session.finish() == .ended(.finished))
    }
    #expect(try harness.played("A").frameCount == frames)
    #expect(try harness.played("B").frameCount == frames)
  }

  @Test("the volume law is heard: 0.9 dB a step, 0 is silence", arguments: [0, 1, 25, 49])
  func volumeLaw(volume: Int) throws {
    let specs = [SpeakerSpec(name: "A", volume: volume), SpeakerSpec(name: "B", volume: 50)]
    let harness = try HouseHarness.run(speakers: specs) { harness in
      try await harness.house.session.play(
        try harness.source("a.wav", Signal.sine(440, amplitude: 0.9, frames: 48_000, sampleRate: 48_000)))
      _ = try await harness.house.session.finish()
    }
    let (own, full) = (try harness.played("A"), try harness.played("B"))
    if volume == 0 { return #expect(own.peak == 0) }
    // 16 bits leave a quiet tone some error of rounding.
    #expect(abs(own.level - full.level + 0.9 * Double(50 - volume)) < (volume > 10 ? 0.01 : 0.1))
  }

  @Test("a fade made of volume steps never moves more than 1 dB within a block")
  func fade() throws {
    let harness = try HouseHarness.run { harness in
      try await harness.house.session.play(
        try harness.source("a.wav", Signal.sine(1000, amplitude: 0.9, frames: 5 * 48_000, sampleRate: 48_000))
      )
      for volume in stride(from: 49, through: 20, by: -1) {
        try harness.house.devices[0].setVolume(volume)
        try await harness.wait(0.1)
      }
      _ = try await harness.house.session.finish()
    }
    let sound = try harness.played("A")
    let levels = sound.levels(blockSeconds: 0.02)
    for (before, after) in zip(levels, levels.dropFirst()) { #expect(abs(after - before) < 1) }
    #expect(abs((levels.last ?? 0) - (levels.first ?? 0) + 27) < 0.05)
    #expect(sound.clicks().isEmpty)
  }

  @Test("roles are heard of a stereo source: one side, the mean of both, or both")
  func roles() throws {
    let specs = ChannelRole.allCases.map { SpeakerSpec(name: $0.rawValue, role: $0, volume: 50) }
    let harness = try HouseHarness.run(speakers: specs) { harness in
      try await harness.house.session.play(
        try harness.source(
          "a.wav", Signal.constant(0.5, frames: 4_800), Signal.constant(-0.25, frames: 4_800)))
      _ = try await harness.house.session.finish()
    }
    for (role, left, right) in [
      ("stereo", 0.5, -0.25), ("left", 0.5, 0.5), ("right", -0.25, -0.25), ("mono", 0.125, 0.125),
      ("front_left", 0.5, 0.5), ("front_right", -0.25, -0.25), ("center", 0.125, 0.125),
      ("lfe", 0.125, 0.125),
      ("surround_left", 0.5, 0.5), ("surround_right", -0.25, -0.25),
    ] as [(String, Float, Float)] {
      let sound = try harness.played(role)
      #expect(sound.channels[0].allSatisfy { $0 == left }, "\(role)")
      #expect(sound.channels[1].allSatisfy { $0 == right }, "\(role)")
    }
  }

  @Test("channels of a 5.1 file are heard from their roles, bit for bit, and in stereo from the others")
  func surround() throws {
    let specs = ChannelRole.allCases.map { SpeakerSpec(name: $0.rawValue, role: $0, volume: 50) }
    let levels: [Float] = [0.5, -0.25, 0.125, 0.75, -0.5, 0.375]
    let harness = try HouseHarness.run(speakers: specs) { harness in
      let path = harness.folder.file("a.wav")
      try Sound(sampleRate: 48_000, channels: levels.map { Signal.constant($0, frames: 4_800) }).write(
        to: path)
      try await harness.house.session.play(path)
      _ = try await harness.house.session.finish()
    }
    let names = ["front_left", "front_right", "center", "lfe", "surround_left", "surround_right"]
    for (name, level) in zip(names, levels) {
      let sound = try harness.played(name)
      #expect(sound.channels[0].count == 4_800)
      #expect(sound.channels.allSatisfy { $0.allSatisfy { $0 == level } }, "\(name)")
    }
    // 1 : 0.7071 : 0.7071 for L, C and Ls, of which the sum is full scale.
    let half = Float(0.5).squareRoot()
    let left = (levels[0] + half * levels[2] + half * levels[4]) / (1 + 2 * half)
    let right = (levels[1] + half * levels[2] + half * levels[5]) / (1 + 2 * half)
    let stereo = try harness.played("stereo")
    #expect(abs(stereo.channels[0][2_000] - left) < 1e-4 && abs(stereo.channels[1][2_000] - right) < 1e-4)
    #expect(abs(try harness.played("mono").channels[0][2_000] - (left + right) / 2) < 1e-4)
  }

  @Test("a role that changes while a 5.1 file plays makes no click, and is heard at once")
  func surroundRoleChanges() throws {
    let harness = try HouseHarness.run(speakers: [SpeakerSpec(name: "A", role: .frontLeft, volume: 50)]) {
      harness in
      let path = harness.folder.file("a.wav")
      let levels: [Float] = [0.5, -0.5, 0.25, 0, 0.75, -0.75]
      try Sound(sampleRate: 48_000, channels: levels.map { Signal.constant($0, frames: 96_000) }).write(
        to: path)
      try await harness.house.session.play(path)
      for role in [ChannelRole.surroundRight, .stereo, .center, .surroundLeft] {
        try await harness.wait(0.3)
        try harness.house.devices[0].setRole(role)
      }
      // Changed and restored within a block.
      try harness.house.devices[0].setRole(.lfe)
      try harness.house.devices[0].setRole(.surroundLeft)
      _ = try await harness.house.session.finish()
    }
    let sound = try harness.played("A")
    #expect(sound.channels[0][9_600] == 0.5 && sound.channels[0][24_000] == -0.75)
    #expect(sound.channels[0][52_800] == 0.25 && sound.channels[0].last == 0.75)
    for channel in sound.channels {
      // Down from 0.75 in a block of 960 frames, while the mix moves too.
      let largest = zip(channel, channel.dropFirst()).map { abs($1 - $0) }.max() ?? 1
      #expect(largest < 2 * 0.75 / 960 + 1e-4)
    }
  }

  @Test("balance lowers the far side", arguments: [-6, -3, 0, 3, 6])
  func balance(balance: Int) throws {
    let specs = [SpeakerSpec(name: "A", volume: 50, balance: balance)]
    let harness = try HouseHarness.run(speakers: specs) { harness in
      try await harness.house.session.play(
        try harness.source("a.wav", Signal.constant(0.5, frames: 960)))
      _ = try await harness.house.session.finish()
    }
    let sound = try harness.played("A")
    #expect(sound.channels[0].allSatisfy { $0 == 0.5 * Float(6 - max(balance, 0)) / 6 })
    #expect(sound.channels[1].allSatisfy { $0 == 0.5 * Float(6 + min(balance, 0)) / 6 })
  }

  @Test("joining, leaving, pausing, resuming, muting and stopping do not click")
  func clicks() throws {
    let harness = try HouseHarness.run { harness in
      let (house, session) = (harness.house, harness.house.session)
      // A constant shows a step in the gain most clearly.
      let path = try harness.source("a.wav", Signal.constant(0.9, frames: 480_000))
      // The first and the last frame of a file are not faded: this begins in its middle.
      try await session.play(path, start: 1)
      try await harness.wait(0.31)
      try await house.devices[1].leave()
      try await harness.wait(0.31)
      try await house.devices[1].join()
      try await harness.wait(0.31)
      try house.mute()
      try await harness.wait(0.31)
      try house.unmute()
      try await harness.wait(0.31)
      try house.setVolume(10)
      try await harness.wait(0.31)
      try house.setVolume(50)
      try await harness.wait(0.31)
      session.pause()
      try await harness.wait(0.31)
      try session.resume()
      try await harness.wait(0.31)
      try session.seek(toSeconds: 8)
      try await harness.wait(0.31)
      try await session.play(path, start: 2)
      try await harness.wait(0.31)
      try await house.devices[1].leave()
      try await house.devices[1].join()
      try await harness.wait(0.31)
      session.stop()
    }
    for name in ["A", "B"] {
      let sound = try harness.played(name)
      // A ramp over 960 frames from 0.9: no step may exceed that of two of them together.
      #expect(sound.largestStep < 0.9 / 960 * 2.1, "\(name)")
      #expect(sound.peak > 0.89)
      #expect(sound.channels[0].first ?? 1 < 0.01)
      #expect(sound.channels[0].last == 0)
    }
  }

  @Test("a speaker that leaves is silent one block later, while the others play on")
  func leaves() throws {
    let harness = try HouseHarness.run { harness in
      try await harness.house.session.play(
        try harness.source("a.wav", Signal.constant(0.5, frames: 48_000)))
      try await harness.wait(0.5)
      try await harness.house.devices[1].leave()
      _ = try await harness.house.session.finish()
    }
    let (stays, leaves) = (try harness.played("A"), try harness.played("B"))
    #expect(stays.channels[0].allSatisfy { $0 == 0.5 })
    #expect(leaves.frameCount == 48_000)
    let silence = try #require(leaves.channels[0].firstIndex(of: 0))
    #expect((24_000...25_920).contains(silence))
    #expect(leaves.channels[0][silence...].allSatisfy { $0 == 0 })
  }

  @Test("a speaker that joins has the others' samples from its first block on, which rises")
  func joins() throws {
    let harness = try HouseHarness.run(addAll: false) { harness in
      try await harness.house.devices[0].join()
      try await harness.house.session.play(
        try harness.source("a.wav", Signal.noise(seed: 3, amplitude: 0.9, frames: 96_000)))
      try await harness.wait(0.777)
      try await harness.house.devices[1].join()
      _ = try await harness.house.session.finish()
    }
    let (first, second) = (try harness.played("A").channels[0], try harness.played("B").channels[0])
    let joined = try #require(second.firstIndex { $0 != 0 }) / 960 * 960
    #expect((37_296...38_400).contains(joined))
    for frame in 0..<960 {
      let expected = first[joined + frame] * Float(frame + 1) / 960
      #expect(abs(second[joined + frame] - expected) < 0x1p-14)
    }
    #expect(second[(joined + 960)...] == first[(joined + 960)...])
  }

  @Test("a speaker that joins while paused is silent until resume, then in step")
  func joinsPaused() throws {
    let harness = try HouseHarness.run(addAll: false) { harness in
      try await harness.house.devices[0].join()
      try await harness.house.session.play(
        try harness.source("a.wav", Signal.noise(seed: 3, amplitude: 0.9, frames: 96_000)))
      try await harness.wait(0.5)
      harness.house.session.pause()
      try await harness.wait(1)
      try await harness.house.devices[1].join()
      try await harness.wait(1)
      try harness.house.session.resume()
      _ = try await harness.house.session.finish()
    }
    let (first, second) = (try harness.played("A").channels[0], try harness.played("B").channels[0])
    let joined = try #require(second.firstIndex { $0 != 0 }) / 960 * 960
    #expect(joined == 24_000 + 2 * 960)
    // Both rise with the session's gate.
    #expect(second[joined...] == first[joined...])
    #expect(first.count == 96_000)
  }

  @Test("a speaker keeps its own volume and mute when it joins")
  func keepsLevel() throws {
    let specs = [SpeakerSpec(name: "A", volume: 50), SpeakerSpec(name: "B", volume: 30)]
    let harness = try HouseHarness.run(speakers: specs, addAll: false) { harness in
      try await harness.house.devices[0].join()
      try await harness.house.session.play(try harness.source("a.wav", Signal.constant(0.5, frames: 48_000)))
      try await harness.wait(0.1)
      try await harness.house.devices[1].join()
      _ = try await harness.house.session.finish()
    }
    let last = try #require(try harness.played("B").channels[0].last)
    #expect(abs(last - 0.5 * VolumeLaw.gain(at: 30)) < 0x1p-15)
  }

  @Test("after changes in silence a fresh source is exact from its first frame")
  func exactAfterChanges() throws {
    var source: Sound?
    let harness = try HouseHarness.run { harness in
      let path = try harness.source("a.wav", Signal.noise(seed: 5, frames: 9_600))
      source = try Sound(file: path)
      try harness.house.setVolume(3)
      try harness.house.mute()
      try await harness.wait(0.1)
      try harness.house.setVolume(50)
      try await harness.house.devices[1].leave()
      try await harness.house.devices[1].join()
      try await harness.wait(0.1)
      try await harness.house.session.play(path)
      _ = try await harness.house.session.finish()
      try await harness.wait(1)
      try await harness.house.session.play(path)
      _ = try await harness.house.session.finish()
    }
    let once = try #require(source)
    let twice = once.channels[0] + once.channels[0]
    #expect(try harness.played("A").channels[0] == twice)
    #expect(try harness.played("B").channels[0] == twice)
  }

  @Test("the time line does not advance while nothing plays; all files have one length")
  func timeLine() throws {
    let harness = try HouseHarness.run(speakers: nil) { harness in
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 1_500))
      for _ in 0..<3 {
        try await harness.house.session.play(path)
        try await harness.wait(10)
      }
    }
    let names = harness.house.devices.map(\.name)
    #expect(try names.map { try harness.played($0).frameCount } == names.map { _ in 4_500 })
  }

  @Test("a looped source has no seam")
  func loop() throws {
    let noise = Signal.noise(seed: 9, frames: 10_007)
    let harness = try HouseHarness.run { harness in
      try await harness.house.session.play(try harness.source("a.wav", noise), loops: true)
      try await harness.wait(1)
      harness.house.session.stop()
    }
    let sound = try harness.played("A").channels[0]
    let source = int16(noise)
    #expect(sound.count > 47_000)
    for frame in 0..<(sound.count - 1_920) {
      guard SampleConversion.int16(sound[frame]) == source[frame % 10_007] else {
        Issue.record("frame \(frame) is not the source's")
        return
      }
    }
  }

  @Test("seek goes to the very frame")
  func seek() throws {
    let noise = Signal.noise(seed: 4, frames: 96_000)
    let harness = try HouseHarness.run { harness in
      try await harness.house.session.play(try harness.source("a.wav", noise))
      try await harness.wait(0.1)
      try harness.house.session.seek(toSeconds: 1.5)
      _ = try await harness.house.session.finish()
    }
    let sound = try harness.played("A").channels[0]
    // Six blocks and one that fades out; then 1.5 s to the end, its first block fading in.
    #expect(sound.count == 7 * 960 + 24_000)
    #expect(int16(sound.suffix(24_000 - 960)) == int16(noise.suffix(24_000 - 960)))
  }

  @Test("the same virtual run makes the same bytes")
  func deterministic() throws {
    let runs = try (0..<2).map { _ in
      let harness = try HouseHarness.run(speakers: nil) { harness in
        try await harness.house.session.play(Fixtures.path("mp3-cbr128-44k.mp3"), start: 0.25)
        try await harness.wait(0.333)
        try harness.house.setVolume(31)
        try await harness.house.devices[2].leave()
        try await harness.wait(0.333)
        harness.house.session.pause()
        try await harness.house.devices[2].join()
        try await harness.wait(0.333)
        try harness.house.session.resume()
        try await harness.wait(1)
      }
      return try harness.house.devices.map { try readBytes(harness.folder.file("out/\($0.name).wav")) }
    }
    #expect(runs[0] == runs[1])
    #expect(runs[0].allSatisfy { $0.count > 100_000 })
  }

  @Test("a file that turns bad in the middle is heard up to there, then fails")
  func failed() throws {
    var reported: [String] = []
    let harness = try HouseHarness.run { harness in
      var bytes = try readBytes(Fixtures.path("music-44k.flac"))
      for index in (bytes.count / 2)..<(bytes.count / 2 + 2_000) { bytes[index] = UInt8(index & 0x7f) }
      let path = try harness.folder.write(bytes, to: "bad.flac")
      harness.record()
      try await harness.house.session.play(path)
      #expect(try await harness.house.session.finish() == .ended(.failed))
      try await harness.wait(0.1)
      reported = harness.reportedBySession.filter { !$0.hasPrefix("time") }
    }
    #expect(
      reported == ["state playing", "error audio.unreadable", "state stopped", "ended bad.flac failed"])
    #expect(try harness.played("A").frameCount > 10_000)
  }
}
