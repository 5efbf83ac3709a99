internal import AudioCore

/// A sink with a clock of its own, such as a sound card. For one thread, as `PCMSink`.
protocol CardSink: PCMSink {
  /// Frames written that have not been heard yet.
  var delay: Int { get }
  /// Nothing follows for a while: returns when all has been heard.
  func rest() throws
}
