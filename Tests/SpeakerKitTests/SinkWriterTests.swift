import AudioCore
import EventLoop
import Glibc
import Synchronization
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

/// A card that fails on request, and counts its calls.
private final class FaultyCard: CardSink, Sendable {
  let format = AudioFormat.session
  let delay = 0
  let fails = Atomic(false)
  let framesWritten = Atomic(0)
  let timesOpened = Atomic(0)
  let timesRested = Atomic(0)

  func opened() throws -> FaultyCard {
    timesOpened.add(1, ordering: .relaxed)
    if fails.load(ordering: .relaxed) { throw AudioError.noOutput("card", cause: "unplugged") }
    return self
  }
  func write(_ samples: UnsafeBufferPointer<Float>) throws {
    if fails.load(ordering: .relaxed) { throw AudioError.noOutput("card", cause: "unplugged") }
    framesWritten.add(samples.count / 2, ordering: .relaxed)
  }
  func rest() throws { timesRested.add(1, ordering: .relaxed) }
  func finish() throws {}
}

@Suite("Outputs that fail", .tags(.speaker, .outputs))
struct SinkWriterTests {
  /// Waits up to a minute for `condition`.
  /// - Returns: `true` if it holds.
  private func eventually(_ condition: () -> Bool) -> Bool {
    for _ in 0..<6_000 {
      if condition() { return true }
      usleep(10_000)
    }
    return false
  }

  @Test("a lost card is reported once, opened again, and plays what comes then")
  func reopens() throws {
    let card = FaultyCard()
    let (troubles, ended) = (Counter(), Counter())
    let block = PCMBlock(format: .session)
    let writer = try SinkWriter(format: .session, frames: 2_880, policy: .openAgain, renderer: Waiter()) {
      .card(try card.opened())
    }
    try writer.start(
      onOpened: { error in #expect(error == nil) }, onTrouble: { _ in troubles.add() },
      onEnd: { ended.add() })
    func play() {
      writer.port.write(block.view)
      writer.port.wake()
    }
    play()
    #expect(eventually { card.framesWritten.load(ordering: .relaxed) == 960 })
    #expect(eventually { card.timesRested.load(ordering: .relaxed) == 1 })
    card.fails.store(true, ordering: .relaxed)
    play()
    #expect(eventually { writer.port.isLost })
    #expect(eventually { card.timesOpened.load(ordering: .relaxed) >= 2 })
    #expect(writer.port.isLost)
    card.fails.store(false, ordering: .relaxed)
    #expect(eventually { !writer.port.isLost })
    play()
    #expect(eventually { card.framesWritten.load(ordering: .relaxed) == 1_920 })
    writer.finish()
    writer.join()
    #expect(troubles.value == 1)
    #expect(ended.value == 1)
  }

  private final class Counter: Sendable {
    private let count = Atomic(0)
    var value: Int { count.load(ordering: .sequentiallyConsistent) }
    func add() { count.add(1, ordering: .sequentiallyConsistent) }
  }

  @Test(
    "a speaker whose file can't be written is reported; the others' files are whole",
    arguments: [true, false])
  func fullDisk(isVirtual: Bool) throws {
    let folder = try TemporaryFolder()
    #expect(symlink("/dev/full", folder.file("A.wav")) == 0)
    var reported: [String] = []
    var devices: [String?] = []
    var messages: [String] = []
    try HouseHarness.run(isVirtual: isVirtual, output: .wav(folder: folder.path)) { harness in
      harness.record()
      harness.house.events.on(.error) { event in
        devices.append(event.device?.name)
        if case .error(_, let message, _, _) = event { messages.append(message) }
      }
      try await harness.house.session.play(
        try harness.source("a.wav", Signal.noise(seed: 1, frames: 24_000)))
      #expect(try await harness.house.session.finish(timeout: .seconds(60)) == .ended(.finished))
      try await harness.wait(0.1)
      // The disk belongs to another thread: its failure may be reported after the end.
      try await harness.wait { !devices.isEmpty }
      reported = harness.reportedBySession
    }
    #expect(reported.filter { $0.hasPrefix("error") } == ["error audio.no_output"])
    #expect(devices == ["A"], "\(messages)")
    #expect(reported.contains("ended a.wav finished"))
    #expect(try Sound(file: folder.file("B.wav")).frameCount == 24_000)
  }
}
