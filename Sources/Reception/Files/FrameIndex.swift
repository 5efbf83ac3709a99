internal import StreamCore

/// The offsets and times of a file's frames, counted from its first frame on: a mark every half a second, and
/// ever more rarely in longer files. Memory: 16 bytes a mark, 8,192 marks at most.
struct FrameIndex: Sendable {
  struct Mark: Sendable, Equatable {
    let byte: Int
    /// The time between the first frame and this one.
    let time: StreamTime
  }

  private static let most = 8192
  private var marks: [Mark] = []
  /// The least time between two marks.
  private(set) var step = StreamTime(seconds: 0.5)

  /// The last mark in the file; nil before the first frame.
  var last: Mark? { marks.last }

  /// Adds a frame that begins at `byte`, with all sound before it counted.
  mutating func note(byte: Int, time: StreamTime) {
    if let last, byte <= last.byte || time < last.time + step { return }
    marks.append(Mark(byte: byte, time: time))
    guard marks.count > Self.most else { return }
    marks = stride(from: 0, to: marks.count, by: 2).map { marks[$0] }
    step = step + step
  }

  /// Returns the last mark not after `time`; nil before the first mark.
  func mark(before time: StreamTime) -> Mark? {
    var (low, high) = (0, marks.count)
    while low < high {
      let middle = (low + high) / 2
      if marks[middle].time <= time { low = middle + 1 } else { high = middle }
    }
    return low > 0 ? marks[low - 1] : nil
  }
}
