import AudioCore
import Synchronization

@testable import SpeakerKit

/// Time that passes only while someone waits.
final class VirtualTime: CardTime {
  private let time = Atomic<Int64>(1_000_000_000)
  var now: Int64 { time.load(ordering: .relaxed) }
  func sleep(nanoseconds: Int64) { advance(to: now + nanoseconds) }
  /// Waits until `moment`, unless that has passed.
  func advance(to moment: Int64) { time.store(max(now, moment), ordering: .relaxed) }
}

/// A simulated card with a crystal of its own. A write waits until there is room.
///
/// Unchecked: one thread writes; what it leaves is read when that thread has ended.
final class SimulatedCard: CardSink, @unchecked Sendable {
  let format: AudioFormat
  /// Receives the samples that were written, and the index of the first frame.
  var onWrite: ((_ samples: UnsafeBufferPointer<Float>, _ frame: Int) -> Void)?
  /// Frames between the card's buffer and the ear.
  var latency = 0
  /// Number of times that the card had nothing to play.
  private(set) var underruns = 0
  /// Frames written so far.
  private(set) var written = 0

  private let time: any CardTime
  /// Frames per ns.
  private let rate: Double
  private let capacity: Int
  /// Frames written before the last pause.
  private var base = 0
  /// Time of the first frame since the start; nil while the card waits for more.
  private var started: (time: Int64, frame: Int)?

  /// Creates a card.
  /// - Parameters:
  ///   - drift: by how much its clock is fast, as a part of 1.
  ///   - capacity: frames in its buffer, which starts it when it is full.
  init(format: AudioFormat, drift: Double, capacity: Int, time: any CardTime) {
    (self.format, self.capacity, self.time) = (format, capacity, time)
    rate = Double(format.sampleRate) * (1 + drift) / 1e9
  }

  /// Returns the time at which a frame is heard, in ns.
  func moment(of frame: Int) -> Double {
    guard let started else { return .infinity }
    return Double(started.time) + Double(frame - started.frame + latency) / rate
  }

  var delay: Int {
    let held = held
    return started == nil ? held : held + latency
  }

  var held: Int {
    guard let started else { return written - base }
    let played = started.frame + Int(Double(time.now - started.time) * rate)
    if played > written {
      underruns += 1
      (self.started, base) = (nil, written)
      return 0
    }
    return written - played
  }

  func start() throws { if started == nil { started = (time.now, written - held) } }

  func write(_ samples: UnsafeBufferPointer<Float>) throws {
    let frames = samples.count / format.channels
    let excess = held + frames - capacity
    if excess > 0 {
      try start()
      time.sleep(nanoseconds: Int64(Double(excess) / rate) + 1)
    }
    onWrite?(samples, written)
    written += frames
  }

  func rest() throws {
    time.sleep(nanoseconds: Int64(Double(delay) / rate))
    (started, base) = (nil, written)
  }
  func finish() throws {}
}
