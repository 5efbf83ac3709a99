import AudioCore
import SpeakerKit
import TestSupport
import Testing

@testable import SpeakerKit

@Suite("Sound cards")
struct ALSATests {
  @Test("a house without a card is silent, says so in one line, and plays all the same")
  func missing() throws {
    let bench = try HouseBench.run(isVirtual: false, output: .alsa(device: "hw:77")) { bench in
      try await bench.house.session.play(try bench.source("a.wav", Signal.constant(0.5, frames: 4_800)))
      #expect(try await bench.house.session.finish() == .ended(.finished))
    }
    #expect(bench.logged.count == 1)
    #expect(bench.logged[0].hasPrefix("no sound: cannot write audio to the sound card \"hw:77\""))
  }

  @Test("a card that takes everything at once is fed at the pace of the clock, speakers mixed")
  func bottomless() throws {
    // ALSA's own plug-ins stand for a card: what they are sent lands in a file.
    let folder = try TemporaryFolder()
    let device = "file:'\(folder.file("card.raw"))',raw"
    let clock = ContinuousClock()
    var took = Duration.zero
    let bench = try HouseBench.run(isVirtual: false, output: .alsa(device: device)) { bench in
      let path = try bench.source("a.wav", Signal.constant(0.125, frames: 48_000))
      let start = clock.now
      try await bench.house.session.play(path)
      #expect(try await bench.house.session.finish() == .ended(.finished))
      took = start.duration(to: clock.now)
    }
    try #require(bench.logged.isEmpty, "\(bench.logged)")
    let bytes = try readBytes(folder.file("card.raw"))
    let samples = stride(from: 0, to: bytes.count - 1, by: 2).map { index in
      Int16(bitPattern: UInt16(bytes[index]) | UInt16(bytes[index + 1]) << 8)
    }
    // Two speakers of 0.125 on one card.
    #expect(samples.filter { $0 == 8192 }.count == 96_000)
    #expect(took > .milliseconds(700) && took < .milliseconds(2500))
  }

  @Test("retries come after 1 s, then twice as long each time, 30 s at most")
  func retries() {
    var delay = RetryDelay()
    #expect((0..<7).map { _ in delay.next() } == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  }
}
