/// The times of the sound in the buffer.
extension PacketBuffer {
  /// The audio in the buffer.
  public var duration: StreamTime { endTime - startTime }

  /// The audio in the buffer if all blocks were used, at the bit rate of its frames: 0 while it is empty.
  public var capacity: StreamTime {
    guard count > 0, bytes > 0 else { return .zero }
    // Frames are not divided, so a block ends with a gap.
    let length = Double(bytes) / Double(count)
    let perBlock = Double(Self.blockSize) / length
    let frames = perBlock < 1 ? perBlock : min(Double(Self.framesPerBlock), perBlock.rounded(.down))
    return StreamTime(seconds: duration.seconds / Double(count) * frames * Double(size))
  }

  /// Returns the block of a cursor, counted from 0; nil when it is live, with nothing to play.
  public func block(at cursor: Cursor) -> Int? {
    entry(max(cursor.frame, firstFrame)).map { Int($0.block) }
  }

  /// Returns the offset of a cursor in the bytes of the received audio; nil when it is live, with nothing to
  /// play.
  public func byteOffset(at cursor: Cursor) -> Int? {
    entry(max(cursor.frame, firstFrame))?.frame.offset
  }

  /// Returns the audio in the stream before a cursor.
  public func time(at cursor: Cursor) -> StreamTime {
    entry(max(cursor.frame, firstFrame))?.start ?? endTime
  }

  /// Returns the audio between a cursor and the newest frame's end: its distance to live.
  public func timeShift(at cursor: Cursor) -> StreamTime { endTime - time(at: cursor) }

  /// Moves a cursor by `seconds` of audio, back when they are negative, to the frame at that time, but not
  /// beyond the buffer.
  /// - Returns: the exact distance that it moved, in seconds.
  public func seek(_ cursor: inout Cursor, by seconds: Double) -> Double {
    let from = time(at: cursor)
    let target = from + StreamTime(seconds: seconds)
    cursor = self.cursor(at: target)
    return (time(at: cursor) - from).seconds
  }

  /// Returns the position before the frame at `time` of the stream: the start of the oldest frame if that is
  /// later, the end of the newest if `time` has not been received yet.
  public func cursor(at time: StreamTime) -> Cursor {
    var (low, high) = (firstFrame, firstFrame + count)
    while low < high {
      let middle = low + (high - low) / 2
      let end = entry(middle + 1)?.start ?? endTime
      if end <= time { low = middle + 1 } else { high = middle }
    }
    return Cursor(frame: low)
  }

  /// Returns a cursor `frames` earlier, as far as the buffer reaches.
  public func cursor(_ cursor: Cursor, back frames: Int) -> Cursor {
    Cursor(frame: max(min(firstFrame, cursor.frame), cursor.frame - frames))
  }

  /// The audio in the stream before the oldest frame.
  private var startTime: StreamTime { entry(firstFrame)?.start ?? endTime }
}
