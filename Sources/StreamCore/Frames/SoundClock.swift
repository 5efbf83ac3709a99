internal import Codecs

/// Reckons the time at which the last byte of a connection was due, from the sound in it.
///
/// A station sends sound as it is made: the sound read the soonest after its making shows the least lag.
/// Sound that was read later has waited in a network or for the reader, and was due with the same lag: the
/// sound made meanwhile is missing when the connection is lost. Clocks drift, and stations pause: only the
/// last ten to twenty seconds count. Times are seconds of any steady clock.
package struct SoundClock: Sendable {
  private static let window = 10.0
  private var received = StreamTime.zero
  /// The length of a byte in the last frame.
  private var secondsPerByte = 0.0
  /// The least delay of reading after the sound, in this window and in the one before.
  private var (least, leastBefore) = (Double.infinity, Double.infinity)
  private var windowStart = -Double.infinity

  package init() {}

  /// Adds sound that is missing before the next frame.
  package mutating func skip(_ missing: StreamTime) { received = received + missing }

  /// Adds a frame that was read; pieces of streams without frames are ignored.
  package mutating func add(_ frame: StreamFrame, at time: Double) {
    guard frame.codec.hasFrames, frame.length > 0 else { return }
    received = received + frame.duration
    secondsPerByte = frame.duration.seconds / Double(frame.length)
    if time - windowStart >= Self.window { (leastBefore, least, windowStart) = (least, .infinity, time) }
    least = min(least, time - received.seconds)
  }

  /// Returns the time at which the last byte was due; nil before the first frame.
  /// - Parameter pending: the number of bytes after the last frame.
  package func due(pending: Int = 0) -> Double? {
    let least = min(least, leastBefore)
    return least.isFinite ? received.seconds + Double(pending) * secondsPerByte + least : nil
  }
}
