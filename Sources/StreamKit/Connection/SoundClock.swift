internal import HTTP

/// Reckons the time at which the last byte of a connection came, which may have waited to be read, from the sound in
/// it.
///
/// A station sends sound as it is made: the sound that was read the soonest after its making shows the lag, and all
/// other sound came with the same lag. Clocks drift, and stations pause: only the last ten to twenty seconds count.
/// Times are seconds of any clock that is steady.
struct SoundClock: Sendable {
  private static let window = 10.0
  private var received = StreamTime.zero
  /// The length of a byte of the frame that came last.
  private var secondsPerByte = 0.0
  /// The least time by which reading was behind the sound, in this window and in the one before.
  private var (least, leastBefore) = (Double.infinity, Double.infinity)
  private var windowStart = -Double.infinity

  /// Adds a frame that was read; pieces of streams without frames are ignored.
  mutating func add(_ frame: StreamFrame, at time: Double) {
    guard frame.codec.hasFrames, frame.length > 0 else { return }
    received = received + frame.duration
    secondsPerByte = frame.duration.seconds / Double(frame.length)
    if time - windowStart >= Self.window { (leastBefore, least, windowStart) = (least, .infinity, time) }
    least = min(least, time - received.seconds)
  }

  /// The time at which the last byte came. Where the sound lags more than before, as after a pause, it shows only as
  /// far as bytes wait.
  /// - Parameters:
  ///   - time: the time at which it was read.
  ///   - pending: the number of bytes behind the last frame.
  ///   - pace: seconds between two reads; nil when a socket is read as soon as it has some thousand bytes.
  func lastArrival(readAt time: Double, pending: Int, after pace: Double?) -> Double {
    let made = received.seconds + Double(pending) * secondsPerByte + min(least, leastBefore)
    let longestWait = pace ?? Double(HTTPRequest.highestWakeSize) * secondsPerByte
    return min(time, max(made, time - longestWait))
  }
}
