extension RecordingWriter {
  /// A file that is to begin.
  struct Cut {
    let title: StreamTitle
    let place: StreamTime
    let begins: StreamTime
    /// Where the file before it ends.
    let ends: StreamTime
  }

  /// Frames that follow on each other, and go into the same files.
  struct Run {
    /// Bytes of the batch in front of it.
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
