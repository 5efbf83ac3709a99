/// The bit rate of frames: the average over the last half minute to minute; for frames with a constant rate
/// it is that rate.
struct MeasuredRate: Sendable {
  /// The least sound for a measurement: less of it is no sample of frames whose sizes differ.
  private static let least = StreamTime(seconds: 3)
  private static let longest = StreamTime(seconds: 60)

  private var bytes = 0
  private var time = StreamTime.zero

  /// Adds a frame that has come.
  mutating func add(bytes count: Int, _ duration: StreamTime) {
    bytes += count
    time = time + duration
    if time >= Self.longest {
      bytes /= 2
      time = StreamTime(seconds: time.seconds / 2)
    }
  }

  /// The rate in kbit/s, rounded; nil before some seconds have come.
  var kilobits: Int? {
    time >= Self.least ? Int((Double(bytes) * 8 / time.seconds / 1000).rounded()) : nil
  }
}
