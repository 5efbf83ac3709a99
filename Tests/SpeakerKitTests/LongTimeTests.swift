import EventLoop
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("A house that runs for days", .tags(.speaker, .rendering, .time)) struct LongTimeTests {
  @Test("days of a loop, and of a pause, are no trouble")
  func days() throws {
    for output in [Output.null, nil] {
      try HouseHarness.run(output: output) { harness in
        let session = harness.house.session
        try await session.play(
          try harness.source("a.wav", Signal.noise(seed: 1, frames: 48_000)), loops: true)
        if output == .null { try await harness.wait(60 * 3600 + 0.5) } else { try await harness.wait(0.5) }
        #expect(abs(session.position - 24_000) <= 960)
        session.pause()
        try await harness.wait(60 * 3600)
        #expect(abs(session.position - 24_000) <= 1_920)
        session.stop()
      }
    }
  }

  @Test("a file that claims to last for weeks is as long as what is there of it", arguments: [true, false])
  func claims(isVirtual: Bool) throws {
    try HouseHarness.run(isVirtual: isVirtual, output: .null) { harness in
      var bytes = try readBytes(Fixtures.path("music-44k.flac"))
      // The 36 bits of STREAMINFO that count the samples (RFC 9639 §8.2).
      bytes[21] |= 0x0f
      bytes.replaceSubrange(22..<26, with: [0xff, 0xff, 0xff, 0xff])
      let path = try harness.folder.write(bytes, to: "a.flac")
      let session = harness.house.session
      try await session.play(path)
      #expect(session.duration == 48_000)
      try session.seek(toSeconds: 0.5)
      // In real time the file may have ended by then: half a second of it remains.
      if isVirtual { try await harness.wait(0.1) }
      #expect(session.position >= 24_000 && session.state == .playing)
    }
  }
}
