internal import Synchronization

/// The clock of a house with several sound cards: the progress of its first card, published by the thread that
/// writes to it, and by the audio thread while that card is lost. Other cards read it. Without locks.
///
/// If both publish at the same moment, a reading may be garbled: a single wrong measurement, which is
/// smoothed.
final class HouseClock: Sendable {
  /// The number of frames per second.
  let sampleRate: Int
  /// The age in ns above which a reading is ignored: the house is silent.
  private static let greatestAge: Int64 = 1_000_000_000

  private let version = Atomic<Int>(0)
  /// The time of the reading; 0 while nothing runs.
  private let time = Atomic<Int64>(0)
  /// Heard frame in 1/65536.
  private let frame = Atomic<Int64>(0)

  init(sampleRate: Int) { self.sampleRate = sampleRate }

  /// Publishes progress.
  func publish(_ reading: ClockReading) { store(max(1, reading.time), Int64(reading.frame * 65_536)) }

  /// Publishes that nothing runs.
  func stop() { store(0, 0) }

  private func store(_ newTime: Int64, _ newFrame: Int64) {
    // Odd while a reading is written, even if two threads write at once.
    let next = version.load(ordering: .relaxed) | 1
    version.store(next, ordering: .relaxed)
    atomicMemoryFence(ordering: .releasing)
    time.store(newTime, ordering: .relaxed)
    frame.store(newFrame, ordering: .relaxed)
    version.store(next &+ 1, ordering: .releasing)
  }

  /// Returns the latest progress; nil while nothing runs.
  func reading(at now: Int64) -> ClockReading? {
    // A thread that was interrupted while it published is not waited for.
    for _ in 0..<100 {
      let before = version.load(ordering: .acquiring)
      let (readTime, readFrame) = (time.load(ordering: .relaxed), frame.load(ordering: .relaxed))
      atomicMemoryFence(ordering: .acquiring)
      guard before & 1 == 0, version.load(ordering: .relaxed) == before else { continue }
      guard readTime > 0, now - readTime < Self.greatestAge else { return nil }
      return ClockReading(time: readTime, frame: Double(readFrame) / 65_536)
    }
    return nil
  }
}

/// The time by which cards are measured, and the wait of the thread that writes to one.
protocol CardTime: Sendable {
  /// The current time in ns.
  var now: Int64 { get }
  /// Waits for `nanoseconds`.
  func sleep(nanoseconds: Int64)
}

/// CLOCK_MONOTONIC.
struct MonotonicTime: CardTime {
  var now: Int64 { monotonicNanoseconds() }
  func sleep(nanoseconds: Int64) { sleepUntil(monotonicNanoseconds: monotonicNanoseconds() + nanoseconds) }
}
