/// Frames that wait for a decision, with their bytes in one piece of memory.
struct HeldFrames: Sendable {
  private var frames: [StreamFrame] = []
  private var bytes: [UInt8] = []
  /// Frames in front that were let go.
  private(set) var dropped = 0
  /// What those take.
  private(set) var droppedTime = StreamTime.zero

  /// Memory taken by what is held.
  var size: Int { bytes.count + frames.count * MemoryLayout<StreamFrame>.stride }

  /// Memory that a frame takes.
  static func size(of frame: StreamFrame) -> Int { frame.length + MemoryLayout<StreamFrame>.stride }

  /// Bytes that may be held.
  static let limit = 96 * 1024
  private static let step = 16 * 1024

  mutating func append(_ frame: StreamFrame, _ source: UnsafeRawBufferPointer) {
    // At once, because an array that grows takes thrice what it holds for a moment; untouched pages cost nothing.
    if bytes.isEmpty { bytes.reserveCapacity(Self.limit) }
    if frames.count == frames.capacity { frames.reserveCapacity(frames.count + 256) }
    bytes.append(contentsOf: source)
    frames.append(frame)
  }

  /// Lets go of the oldest frames until `space` bytes are free that were not, but only of those that begin before
  /// `time` in what was ever held.
  mutating func dropOldest(_ space: Int, until time: StreamTime) {
    var (count, length) = (0, 0)
    // More than is needed at once, as what stays is moved.
    while count < frames.count, droppedTime < time,
      length + count * MemoryLayout<StreamFrame>.stride < max(space, Self.step)
    {
      length += frames[count].length
      droppedTime = droppedTime + frames[count].duration
      count += 1
    }
    frames.removeFirst(count)
    bytes.removeFirst(length)
    dropped += count
  }

  /// Calls `body` with every frame but the first `count`, those that were let go counted.
  func forEach(from count: Int, _ body: (StreamFrame, UnsafeRawBufferPointer) -> Void) {
    bytes.withUnsafeBytes { bytes in
      var start = 0
      for (index, frame) in frames.enumerated() {
        let end = start + frame.length
        if index + dropped >= count { body(frame, UnsafeRawBufferPointer(rebasing: bytes[start..<end])) }
        start = end
      }
    }
  }
}
