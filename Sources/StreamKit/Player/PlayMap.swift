internal import EventLoop

/// Maps the sound of a decoder to times of the stream, between the thread that decodes and the loop.
///
/// Sound and stream run alike but where sound is missing, so that a few marks are enough.
final class PlayMap: Sendable {
  private struct Mark {
    /// Seconds of sound that the decoder had delivered.
    let given: Double
    let time: StreamTime
  }

  private let marks = Lock<[Mark]>([])

  /// The sound behind `given` seconds is from `time` on.
  func mark(given: Double, time: StreamTime) {
    marks.withLock { marks in
      marks.append(Mark(given: given, time: time))
      // What is heard is at most some seconds old.
      if marks.count > 64 { marks.removeFirst() }
    }
  }

  /// The time of the stream that is heard when so many seconds of the decoder's sound have been; nil before any is.
  func time(heard: Double) -> StreamTime? {
    marks.withLock { marks in
      guard let mark = marks.last(where: { $0.given <= heard }) ?? marks.first else { return nil }
      return mark.time + StreamTime(seconds: max(0, heard - mark.given))
    }
  }
}
