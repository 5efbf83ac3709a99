public import EventLoop
public import StreamCore

/// An event of a stream.
public enum StreamEvent: Sendable {
  case connecting, buffering, started, paused, stopped
  /// A title is heard, or has just come if `isRealtime`.
  case metadata(StreamTitle, isRealtime: Bool)
  /// A connection failed.
  case failed(StreamError)
  /// The buffer ran dry.
  case queueExhausted
  /// A file has been heard to its end; it stops.
  case fileComplete
  /// Sound has come again after a connection was lost.
  case reconnected(gap: Double, stitched: Bool, overlap: Int)
}

/// A change of a stream's sound that its owner made.
public enum StreamChange: Sendable {
  /// The gain in dB.
  case gain(Double)
  /// The position has moved by seconds of sound, backwards if negative.
  case position(by: Double)
}
