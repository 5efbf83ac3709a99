/// Converts between frames and nanoseconds without overflow, for any number of frames: a house may sound, or
/// be paused, for weeks, and a file may claim to.
enum FrameTime {
  /// The duration of `frames` in nanoseconds, rounded towards 0 and clamped to the range of `Int64`.
  static func nanoseconds(of frames: Int64, at sampleRate: Int64) -> Int64 {
    // A single product would overflow after 53 hours at 48 kHz.
    let (seconds, rest) = frames.quotientAndRemainder(dividingBy: sampleRate)
    let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isPastEnd) = whole.addingReportingOverflow(rest * 1_000_000_000 / sampleRate)
    return isTooLong || isPastEnd ? (frames > 0 ? .max : .min) : sum
  }

  /// The number of frames that fit into `nanoseconds`, rounded towards 0.
  static func frames(in nanoseconds: Int64, at sampleRate: Int64) -> Int64 {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return seconds * sampleRate + rest * sampleRate / 1_000_000_000
  }
}
