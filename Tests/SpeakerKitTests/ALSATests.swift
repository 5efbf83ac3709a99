import AudioCore
import CALSA
import EventLoop
import Glibc
import Synchronization
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

@Suite("Sound cards", .tags(.speaker, .cards, .outputs))
struct ALSATests {
  /// Output through ALSA's file plug-in, which writes the samples of a card to a file.
  private func file(_ path: String) -> Output { .alsa(device: "file:'\(path)',raw") }

  private func samples(of path: String) throws -> [Int16] { Self.numbers(try readBytes(path)) }

  /// Returns the little-endian numbers in `bytes`.
  private static func numbers<Number: FixedWidthInteger>(_ bytes: [UInt8]) -> [Number] {
    let width = Number.bitWidth / 8
    return (0..<bytes.count / width).map { index in
      (0..<width).reduce(0) { $0 | Number(truncatingIfNeeded: bytes[index * width + $1]) << (8 * $1) }
    }
  }

  /// Returns a stereo wave in which each sample identifies its position.
  private func wave(frames: Int) -> [Int16] {
    (0..<frames * 2).map { Int16(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 16) }
  }

  private func play(_ wave: [Int16], on sink: ALSASink, blockFrames: Int = 960) throws {
    let floats = wave.map { SampleConversion.float($0) }
    try floats.withUnsafeBufferPointer { all in
      for start in stride(from: 0, to: all.count, by: blockFrames * 2) {
        let block = all[start..<min(all.count, start + blockFrames * 2)]
        try sink.write(UnsafeBufferPointer(rebasing: block))
      }
    }
  }

  private func sink(_ card: PlugCard) throws -> ALSASink {
    try ALSASink(device: "plug", format: .session, open: card.open)
  }

  @Test("a house without a card is silent, reports it in one line, and plays all the same")
  func missing() throws {
    let harness = try HouseHarness.run(isVirtual: false, output: .alsa(device: "hw:77")) { harness in
      try await harness.house.session.play(try harness.source("a.wav", Signal.constant(0.5, frames: 4_800)))
      #expect(try await harness.house.session.finish() == .ended(.finished))
    }
    #expect(harness.logged.count == 1)
    #expect(harness.logged[0].hasPrefix("no sound: cannot write audio to the sound card \"hw:77\""))
  }

  @Test("a card that accepts everything at once is fed at the pace of the clock, speakers mixed")
  func bottomless() throws {
    let folder = try TemporaryFolder()
    let clock = ContinuousClock()
    var took = Duration.zero
    let harness = try HouseHarness.run(isVirtual: false, output: file(folder.file("card.raw"))) { harness in
      let path = try harness.source("a.wav", Signal.constant(0.125, frames: 48_000))
      let start = clock.now
      try await harness.house.session.play(path)
      #expect(try await harness.house.session.finish() == .ended(.finished))
      took = start.duration(to: clock.now)
    }
    try #require(harness.logged.isEmpty, "\(harness.logged)")
    // Two speakers of 0.125 on one card.
    #expect(try samples(of: folder.file("card.raw")).filter { $0 == 8192 }.count == 96_000)
    #expect(took > .milliseconds(700))
  }

  @Test("a 16-bit source on one speaker reaches a 16-bit card sample for sample")
  func exact() throws {
    let folder = try TemporaryFolder()
    let wave = wave(frames: 24_001)
    let one = [SpeakerSpec(name: "A", volume: 50)]
    let output = file(folder.file("card.raw"))
    let harness = try HouseHarness.run(isVirtual: false, speakers: one, output: output) { harness in
      let left = stride(from: 0, to: wave.count, by: 2).map { SampleConversion.float(wave[$0]) }
      let right = stride(from: 1, to: wave.count, by: 2).map { SampleConversion.float(wave[$0]) }
      try await harness.house.session.play(try harness.source("a.wav", left, right))
      #expect(try await harness.house.session.finish() == .ended(.finished))
    }
    #expect(harness.logged.isEmpty)
    #expect(try samples(of: folder.file("card.raw")) == wave)
  }

  @Test("speakers whose sum is above full scale are limited to −0.3 dBFS on the card")
  func limited() throws {
    let folder = try TemporaryFolder()
    try HouseHarness.run(isVirtual: false, output: file(folder.file("card.raw"))) { harness in
      try await harness.house.session.play(try harness.source("a.wav", Signal.constant(0.75, frames: 9_600)))
      #expect(try await harness.house.session.finish() == .ended(.finished))
    }
    let samples = try samples(of: folder.file("card.raw"))
    #expect(samples.count == 19_200)
    #expect(samples.allSatisfy { $0 <= SampleConversion.int16(Decibels.gain(-0.3)) })
    #expect(samples.max() ?? 0 > 31_000)
  }

  @Test("a card that has no 16 bits gets 32, with the same upper 16")
  func wide() throws {
    let card = PlugCard(formats: [SND_PCM_FORMAT_S32_LE])
    let wave = wave(frames: 4_801)
    let sink = try sink(card)
    try play(wave, on: sink)
    try sink.finish()
    #expect(Self.numbers(card.bytes) == wave.map { Int32($0) << 16 })
  }

  @Test("a card that has neither 16 nor 32 bits is refused by name")
  func narrow() throws {
    let error = #expect(throws: AudioError.self) {
      try sink(PlugCard(formats: [SND_PCM_FORMAT_U8]))
    }
    #expect(error?.code == "audio.no_output")
    #expect(error?.message.contains("\"plug\"") == true)
  }

  @Test("after an underrun the card is made ready, and continues with the next sample")
  func underrun() throws {
    let card = PlugCard()
    card.underruns = [6_000, 6_500, 20_000]
    let wave = wave(frames: 30_000)
    let sink = try sink(card)
    try play(wave, on: sink)
    try sink.finish()
    #expect(card.underruns.isEmpty)
    #expect(card.timesPrepared == 4)
    #expect(Self.numbers(card.bytes) == wave)
  }

  @Test("a card that never gets over an underrun is given up")
  func dry() throws {
    let card = PlugCard()
    let sink = try sink(card)
    card.isAlwaysDry = true
    let error = #expect(throws: AudioError.self) { try play(wave(frames: 9_600), on: sink) }
    #expect(error?.code == "audio.no_output")
  }

  @Test("a card that was pulled out is an error in ALSA's words, and so is every write after it")
  func gone() throws {
    let card = PlugCard()
    let sink = try sink(card)
    try play(wave(frames: 9_600), on: sink)
    card.isGone = true
    for _ in 0..<2 {
      let error = #expect(throws: AudioError.self) { try play(wave(frames: 960), on: sink) }
      #expect(error?.code == "audio.no_output")
      #expect(error?.message.contains("no such device") == true)
    }
    try sink.finish()
    #expect(throws: AudioError.self) { try play(wave(frames: 960), on: sink) }
  }

  @Test(
    "a card that stops without an error is an error after 2 s, and is not taken for one that plays before it does"
  )
  func stuck() throws {
    let card = PlugCard()
    card.crystal = PlugCard.Crystal(time: MonotonicTime(), drift: 0)
    let first = try sink(card)
    try play(wave(frames: 9_600), on: first)
    card.isStuck.store(true, ordering: .relaxed)
    let error = #expect(throws: AudioError.self) { try play(wave(frames: 9_600), on: first) }
    #expect(error?.code == "audio.no_output")
    #expect(error?.message.contains("it has played nothing for 2 s") == true)
    let second = try sink(card)
    #expect(throws: AudioError.self) { try second.check() }
    card.isStuck.store(false, ordering: .relaxed)
    try second.check()
    try play(wave(frames: 9_600), on: second)
    try second.finish()
  }

  @Test("sound that the card has not played yet is counted as latency, until it stops")
  func latency() throws {
    let card = PlugCard()
    card.delay = 4_321
    let sink = try sink(card)
    try play(wave(frames: 960), on: sink)
    #expect(sink.delay == 4_321)
    try sink.rest()
    try play(wave(frames: 960), on: sink)
    #expect(card.timesPrepared == 2)
    #expect(Self.numbers(card.bytes) == wave(frames: 960) + wave(frames: 960))
  }

  @Test("a lost card is reported once and tried again; the sound resumes where it would be by then")
  func lostAndBack() throws {
    // Writes to /dev/full fail; a second later the name leads to a card that works.
    let folder = try TemporaryFolder()
    let (card, works) = (folder.file("card"), folder.file("card.raw"))
    let one = [SpeakerSpec(name: "A", volume: 50)]
    try #require(symlink("/dev/full", card) == 0)
    let wave = wave(frames: 192_000)
    var reported: [String] = []
    let harness = try HouseHarness.run(isVirtual: false, speakers: one, output: file(card)) { harness in
      harness.record()
      let left = stride(from: 0, to: wave.count, by: 2).map { SampleConversion.float(wave[$0]) }
      let right = stride(from: 1, to: wave.count, by: 2).map { SampleConversion.float(wave[$0]) }
      try await harness.house.session.play(try harness.source("a.wav", left, right))
      while !harness.reported.contains("error audio.no_output") { try await harness.wait(0.01) }
      // Atomic, so that no retry finds the name missing.
      #expect(symlink(works, card + ".new") == 0 && rename(card + ".new", card) == 0)
      #expect(try await harness.house.session.finish(timeout: .seconds(60)) == .ended(.finished))
      try await harness.wait(0.1)
      reported = harness.reportedBySession
    }
    #expect(harness.logged.isEmpty)
    // On a busy machine the first retry may precede the working card: that is a loss of its own.
    let errors = reported.filter { $0.hasPrefix("error") }
    #expect((1...2).contains(errors.count) && Set(errors) == ["error audio.no_output"], "\(errors)")
    #expect(reported.last == "ended a.wav finished")
    let heard = try samples(of: works)
    // Lost for a second at least, and then the whole rest of the tune without a gap, from the start of a
    // block.
    #expect(!heard.isEmpty && heard.count <= (192_000 - 48_000) * 2)
    #expect(heard.count % 1_920 == 0)
    #expect(heard == wave.suffix(heard.count))
  }

  @Test("retries come after 1 s, then twice as long each time, 30 s at most")
  func retries() {
    var delay = SinkWriter.retryDelay
    #expect((0..<7).map { _ in delay.next() } == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
  }
}
