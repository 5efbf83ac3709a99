/// The bit rate of frames: their average over what came last, half a minute or a whole one; of frames with a constant
/// rate it is that rate.
struct MeasuredRate: Sendable {
  /// Less says nothing of frames whose sizes differ.
  private static let least = StreamTime(seconds: 3)
  private static let longest = StreamTime(seconds: 60)

  private var bytes = 0
  private var time = StreamTime.zero

  /// A frame has come.
  mutating func add(bytes count: Int, _ duration: StreamTime) {
    bytes += count
    time = time + duration
    if time >= Self.longest {
      bytes /= 2
      time = StreamTime(seconds: time.seconds / 2)
    }
  }

  /// kbit/s, rounded; nil before some seconds have come.
  var kilobits: Int? {
    time >= Self.least ? Int((Double(bytes) * 8 / time.seconds / 1000).rounded()) : nil
  }
}
