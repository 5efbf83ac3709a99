internal import AudioCore
internal import EventLoop

/// The levels of a decoder's sound, by the time at which it is heard: readings of 50 ms, the last 8 s of
/// them.
final class LevelMap: Sendable {
  private struct Reading {
    /// The seconds of sound that the decoder had delivered, including the reading.
    let end: Double
    let reading: MeterReading
  }

  private struct State {
    var readings: [Reading] = []
    /// The index of the oldest reading, once the capacity is reached.
    var first = 0
  }

  private static let capacity = 160
  private let state = Lock(State())

  /// Creates an empty map, with memory for all readings.
  init() { state.withLock { $0.readings.reserveCapacity(Self.capacity) } }

  /// Adds the level of the sound up to `end` seconds.
  func add(_ reading: MeterReading, end: Double) {
    let new = Reading(end: end, reading: reading)
    state.withLock { state in
      if state.readings.count < Self.capacity { return state.readings.append(new) }
      state.readings[state.first] = new
      state.first = (state.first + 1) % Self.capacity
    }
  }

  /// Returns the reading for the moment at which `heard` seconds of the decoder's sound were heard; nil if
  /// there is no reading.
  func reading(heard: Double) -> MeterReading? {
    state.withLock { state in
      let following = state.readings.filter { $0.end > heard }.min { $0.end < $1.end }
      guard let following, following.end - heard < 0.5 else { return nil }
      return following.reading
    }
  }
}
