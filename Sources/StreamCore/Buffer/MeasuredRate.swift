/// The bit rate of frames: the average over the last 30 to 60 seconds; for frames with a constant rate, that
/// rate.
struct MeasuredRate: Sendable {
  /// The least sound for a measurement: less is no fair sample of frames whose sizes differ.
  private static let least = StreamTime(seconds: 3)
  private static let longest = StreamTime(seconds: 60)

  private var bytes = 0
  private var time = StreamTime.zero

  /// Adds a received frame.
  mutating func add(bytes count: Int, _ duration: StreamTime) {
    bytes += count
    time = time + duration
    if time >= Self.longest {
      bytes /= 2
      time = StreamTime(seconds: time.seconds / 2)
    }
  }

  /// The rate in kbit/s, rounded; nil during the first seconds.
  var kilobits: Int? {
    time >= Self.least ? Int((Double(bytes) * 8 / time.seconds / 1000).rounded()) : nil
  }
}
