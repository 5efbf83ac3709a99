/// Frames as time and time as frames, for any number of them: a house may sound, or stand still, for weeks, and a file
/// may claim to.
enum FrameTime {
  /// How long so many frames last, in nanoseconds, rounded towards 0; held at the ends of `Int64`.
  static func nanoseconds(of frames: Int64, at sampleRate: Int64) -> Int64 {
    // In one product 53 hours at 48 kHz would be too many.
    let (seconds, rest) = frames.quotientAndRemainder(dividingBy: sampleRate)
    let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isPastEnd) = whole.addingReportingOverflow(rest * 1_000_000_000 / sampleRate)
    return isTooLong || isPastEnd ? (frames > 0 ? .max : .min) : sum
  }

  /// How many frames fit into that time, rounded towards 0.
  static func frames(in nanoseconds: Int64, at sampleRate: Int64) -> Int64 {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return seconds * sampleRate + rest * sampleRate / 1_000_000_000
  }
}
