extension RecordingWriter {
  /// A boundary at which the next file is to begin.
  struct Cut {
    let title: StreamTitle
    let place: StreamTime
    let begins: StreamTime
    /// The position at which the previous file ends.
    let ends: StreamTime
  }

  /// Consecutive frames of a batch that go into the same files.
  struct Run {
    /// The offset of the run in the bytes of the batch.
    var start = 0
    var bytes = 0
    var firstFrame = 0
    var frames = 0
    mutating func add(_ frame: StreamFrame) {
      bytes += frame.length
      frames += 1
    }
  }
}
