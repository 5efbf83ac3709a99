import AudioCore
import EventLoop
import Glibc
import Synchronization
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

// Part of the real-time tests, which run one after the other: one of them counts threads.
extension RealTimeTests {
  @Suite("A house with several sound cards", .tags(.cards))
  struct CardHouseTests {
    /// Output through ALSA's file plug-in, which plays at once and writes the samples of a card to a file.
    private func file(_ path: String) -> Output { .alsa(device: "file:'\(path)',raw") }

    /// Returns the frames that a card of 16 bits has played, without the silence before the first sound.
    private func frames(of path: String, channels: Int) throws -> [[Int16]] {
      let bytes = try readBytes(path)
      let samples = (0..<bytes.count / 2).map {
        Int16(truncatingIfNeeded: Int(bytes[2 * $0]) | Int(bytes[2 * $0 + 1]) << 8)
      }
      let frames = stride(from: 0, to: samples.count - channels + 1, by: channels).map {
        Array(samples[$0..<$0 + channels])
      }
      return Array(frames.drop { $0.allSatisfy { $0 == 0 } })
    }

    private func wave(frames: Int) -> [Int16] {
      (0..<frames).map { Int16(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 16) | 1 }
    }

    @Test("each speaker sounds on the channels of its card, sample for sample on cards without a clock")
    func channels() throws {
      let folder = try TemporaryFolder()
      let (one, four) = (folder.file("one.raw"), folder.file("four.raw"))
      let specs = [
        SpeakerSpec(name: "Hall", volume: 50),
        SpeakerSpec(name: "Kitchen", volume: 50, output: file(four), channels: [3, 4]),
        SpeakerSpec(name: "Bath", role: .left, volume: 50, output: file(four), channels: [1]),
      ]
      let (left, right) = (wave(frames: 24_000), wave(frames: 48_000).suffix(24_000))
      let harness = try HouseHarness.run(isVirtual: false, speakers: specs, output: file(one)) { harness in
        #expect(harness.house.devices.map(\.output)[1]?.hasSuffix("four.raw',raw channels 3 and 4") == true)
        let path = try harness.source(
          "a.wav", left.map { SampleConversion.float($0) }, right.map { SampleConversion.float($0) })
        try await harness.house.session.play(path)
        #expect(try await harness.house.session.finish(timeout: .seconds(60)) == .ended(.finished))
      }
      #expect(harness.logged.isEmpty, "\(harness.logged)")
      #expect(try frames(of: one, channels: 2).prefix(24_000) == zip(left, right).map { [$0, $1] }[...])
      let expected = zip(left, right).map { [$0, 0, $0, $1] }
      #expect(try frames(of: four, channels: 4).prefix(24_000) == expected[...])
    }

    @Test(
      "a card that goes takes its speakers out, the others play on; it is back with its speakers",
      arguments: [false, true])
    func lost(isFirst: Bool) throws {
      let folder = try TemporaryFolder()
      let (one, card, works) = (folder.file("one.raw"), folder.file("card"), folder.file("works.raw"))
      // Writes to /dev/full fail; a second later the name leads to a card that works.
      try #require(symlink("/dev/full", card) == 0)
      var specs = [
        SpeakerSpec(name: "Hall", volume: 50), SpeakerSpec(name: "Kitchen", volume: 50, output: file(card)),
      ]
      if isFirst { specs.reverse() }
      let wave = wave(frames: 192_000)
      try HouseHarness.run(isVirtual: false, speakers: specs, output: file(one)) { harness in
        harness.record()
        let kitchen = harness.house.devices[isFirst ? 0 : 1]
        try await harness.house.session.play(
          try harness.source("a.wav", wave.map { SampleConversion.float($0) }))
        try await harness.wait { !kitchen.isAvailable }
        #expect(harness.reported.contains("error audio.no_output"))
        #expect(harness.house.devices[isFirst ? 1 : 0].isAvailable)
        #expect(symlink(works, card + ".new") == 0 && rename(card + ".new", card) == 0)
        try await harness.wait { kitchen.isAvailable }
        #expect(try await harness.house.session.finish(timeout: .seconds(60)) == .ended(.finished))
      }
      #expect(try frames(of: one, channels: 2).prefix(192_000) == wave.map { [$0, $0] }[...])
      let heard = try frames(of: works, channels: 2)
      #expect(heard.count > 4_800 && heard.last == wave.last.map { [$0, $0] })
    }

    @Test("a house is open although a card is missing: its speakers are away until it is there")
    func missing() throws {
      let folder = try TemporaryFolder()
      let specs = [
        SpeakerSpec(name: "Kitchen", output: .alsa(device: "hw:77")),
        SpeakerSpec(name: "Hall", output: file(folder.file("one.raw"))),
      ]
      let harness = try HouseHarness.run(isVirtual: false, speakers: specs, output: .null) { harness in
        #expect(harness.house.devices.map(\.isAvailable) == [false, true])
        let controls = try harness.house.controls()
        let refusal = #expect(throws: SpeakerError.self) { try controls.plug(harness.house.devices[0]) }
        #expect(
          refusal?.kind == .unavailable
            && refusal?.message.contains("\"Kitchen\" can't be plugged in") == true)
        #expect(refusal?.message.contains("the sound card \"hw:77\"") == true, "\(refusal?.message ?? "")")
        try controls.unplug(harness.house.devices[1])
        try controls.plug(harness.house.devices[1])
        let path = try harness.source("a.wav", Signal.constant(0.5, frames: 24_000))
        try await harness.house.session.play(path)
        #expect(try await harness.house.session.finish(timeout: .seconds(60)) == .ended(.finished))
      }
      #expect(harness.logged.count == 1)
      #expect(
        harness.logged[0].hasPrefix("no sound on Kitchen: cannot write audio to the sound card \"hw:77\""))
      #expect(harness.logged[0].hasSuffix("; the card is tried again"))
      #expect(try frames(of: folder.file("one.raw"), channels: 2).count >= 24_000)
    }

    /// Returns a renderer of a session for two speakers, each on a stereo card of its own.
    private static func render(
      to writers: [SinkWriter], _ clock: HouseClock, _ waiter: Waiter, on loop: EventLoop,
      _ format: AudioFormat
    ) throws -> (ThreadedStage, PCMRenderer) {
      let layout = CardLayout(
        channels: [2, 2], isShared: [false, false],
        routes: [CardRoute(card: 0, left: 0, right: 1), CardRoute(card: 1, left: 0, right: 1)],
        fallback: .none, clock: clock)
      let memory = RenderMemory(devices: 2, sessions: 1, format: format)
      let stage = try ThreadedStage(
        loop: loop, memory: memory, outputs: Outputs(.cards(writers, layout), waiter), format: format)
      return (stage, PCMRenderer(loop: loop, format: format, memory: memory, stage: stage))
    }

    @Test(
      "a first card that stops without an error takes its speakers out alone, and is back when it plays again"
    )
    func stuck() throws {
      let (folder, loop, format) = (try TemporaryFolder(), EventLoop(), AudioFormat.session)
      let clock = HouseClock(sampleRate: format.sampleRate)
      let cards = (0..<2).map { _ in PlugCard() }
      let heard = cards.map { card in
        card.crystal = PlugCard.Crystal(time: MonotonicTime(), drift: 0)
        let heard = Lock(0)
        card.onTransfer = { bytes, _ in
          let count = bytes.count { $0 != 0 } / 4
          heard.withLock { $0 += count }
        }
        return heard
      }
      let waiter = try Waiter()
      let writers = try cards.enumerated().map { index, card in
        try SinkWriter(
          format: format, frames: index == 0 ? 2_880 : 24_000, policy: .insist, renderer: waiter
        ) {
          .card(
            try SteppedCard(
              ALSASink(device: "plug \(index)", format: format, open: card.open),
              role: index == 0 ? .leads : .follows, clock: clock, delays: [0, 0]))
        }
      }
      let (stage, renderer) = try Self.render(to: writers, clock, waiter, on: loop, format)
      let path = folder.file("a.wav")
      try Sound(sampleRate: 48_000, channels: [Signal.constant(0.5, frames: 60 * 48_000)]).write(to: path)
      let events = RenderEvents()
      renderer.observer = events
      try loop.finish(
        {
          for index in writers.indices { try await stage.openCard(at: index) }
          for device in 0..<2 {
            renderer.setMix(.unity, channel: nil, ofDevice: device)
            renderer.setSession(0, ofDevice: device)
          }
          renderer.start(try await renderer.load(SourceRequest(path: path)), in: 0, paused: false)
          func wait(_ card: Int, for frames: Int) async throws {
            let goal = heard[card].withLock { $0 } + frames
            while heard[card].withLock({ $0 }) < goal { try await loop.sleep(for: .milliseconds(10)) }
          }
          for card in 0..<2 { try await wait(card, for: 9_600) }
          cards[0].isStuck.store(true, ordering: .relaxed)
          while !events.cards.contains("0 false") { try await loop.sleep(for: .milliseconds(10)) }
          try await wait(1, for: 24_000)
          cards[0].isStuck.store(false, ordering: .relaxed)
          while !events.cards.contains("0 true") { try await loop.sleep(for: .milliseconds(10)) }
          for card in 0..<2 { try await wait(card, for: 24_000) }
        }, last: { await renderer.close() })
      #expect(events.cards == ["0 false", "0 true"])
      let troubles = events.troubles
      #expect(troubles.count == 1 && troubles.first?.contains("it has played nothing for 2 s") == true)
    }

    @Test("two cards with clocks of their own play in step, on threads of their own")
    func inStep() throws {
      let (folder, loop, format) = (try TemporaryFolder(), EventLoop(), AudioFormat.session)
      let clock = HouseClock(sampleRate: format.sampleRate)
      // Buffers of half a second: a busy machine must not let them run dry.
      let cards = [100e-6, -100e-6].map {
        SimulatedCard(format: format, drift: $0, capacity: 24_000, time: MonotonicTime())
      }
      let clicks = cards.map { card in
        let clicks = Lock<[Double]>([])
        card.onWrite = { [unowned card] samples, frame in
          for index in stride(from: 0, to: samples.count, by: 2) where samples[index] > 0.5 {
            clicks.withLock { $0.append(card.moment(of: frame + index / 2)) }
          }
        }
        return clicks
      }
      let waiter = try Waiter()
      let writers = try cards.enumerated().map { index, card in
        try SinkWriter(
          format: format, frames: index == 0 ? 2_880 : 48_000, policy: .insist, renderer: waiter
        ) {
          .card(try SteppedCard(card, role: index == 0 ? .leads : .follows, clock: clock, delays: [0, 0]))
        }
      }
      let (stage, renderer) = try Self.render(to: writers, clock, waiter, on: loop, format)
      var isDone = false
      var sound = Signal.constant(0, frames: 96_000)
      for click in stride(from: 480, to: 96_000, by: 4_800) { sound[click] = 0.95 }
      let path = folder.file("a.wav")
      try Sound(sampleRate: 48_000, channels: [sound]).write(to: path)
      loop.start {
        do {
          for index in writers.indices { try await stage.openCard(at: index) }
          let events = RenderEvents()
          renderer.observer = events
          for device in 0..<2 {
            renderer.setMix(.unity, channel: nil, ofDevice: device)
            renderer.setSession(0, ofDevice: device)
          }
          renderer.start(try await renderer.load(SourceRequest(path: path)), in: 0, paused: false)
          while events.ended == 0 { try await loop.sleep(for: .milliseconds(10)) }
        } catch { Issue.record("\(error)") }
        await renderer.close()
        loop.after(.milliseconds(1)) { isDone = true }
      }
      #expect(loop.run(until: { isDone }) == .done)
      loop.close()
      let (leader, follower) = (clicks[0].withLock { $0 }, clicks[1].withLock { $0 })
      #expect(leader.count == 20)
      // A busy machine may let a card run dry; what was heard was in step all the same.
      let errors = follower.map { moment in leader.map { abs($0 - moment) }.min() ?? .infinity }.sorted()
      try #require(errors.count >= 10)
      #expect(errors[errors.count / 2] < 2e6, "\(errors.map { $0 / 1e6 }) ms")
    }
  }
}
