internal import AudioCore
internal import EventLoop

/// How loud a decoder's sound is, for who asks when it is heard: readings of 50 ms, the last 8 s of them.
final class LevelMap: Sendable {
  private struct Reading {
    /// Seconds of sound that the decoder had given, this included.
    let end: Double
    let reading: MeterReading
  }

  private struct State {
    var readings: [Reading] = []
    /// The oldest, once all are there.
    var first = 0
  }

  private static let capacity = 160
  private let state = Lock(State())

  /// No readings; room for all.
  init() { state.withLock { $0.readings.reserveCapacity(Self.capacity) } }

  /// The sound up to `end` seconds has this level.
  func add(_ reading: MeterReading, end: Double) {
    let new = Reading(end: end, reading: reading)
    state.withLock { state in
      if state.readings.count < Self.capacity { return state.readings.append(new) }
      state.readings[state.first] = new
      state.first = (state.first + 1) % Self.capacity
    }
  }

  /// The reading that is heard when so many seconds of the decoder's sound have been; nil when there is none.
  func reading(heard: Double) -> MeterReading? {
    state.withLock { state in
      let following = state.readings.filter { $0.end > heard }.min { $0.end < $1.end }
      guard let following, following.end - heard < 0.5 else { return nil }
      return following.reading
    }
  }
}
