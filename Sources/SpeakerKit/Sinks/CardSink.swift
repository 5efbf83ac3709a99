internal import AudioCore

/// A sink with a clock of its own, such as a sound card. For one thread, as `PCMSink`.
protocol CardSink: PCMSink {
  /// Number of frames written and not heard yet.
  var delay: Int { get }
  /// Drains the sink before a pause: returns when all frames have been heard.
  func rest() throws
}
