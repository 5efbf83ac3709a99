/// Frames that are held for a decision, with their bytes in one piece of memory.
struct HeldFrames: Sendable {
  private var frames: [StreamFrame] = []
  private var bytes: [UInt8] = []
  /// The number of frames dropped from the front.
  private(set) var dropped = 0
  /// The duration of the dropped frames.
  private(set) var droppedTime = StreamTime.zero

  /// The memory use in bytes.
  var size: Int { bytes.count + frames.count * MemoryLayout<StreamFrame>.stride }

  /// Returns the memory that a frame needs, in bytes.
  static func size(of frame: StreamFrame) -> Int { frame.length + MemoryLayout<StreamFrame>.stride }

  /// The limit of the memory use in bytes.
  static let limit = 96 * 1024
  private static let step = 16 * 1024

  mutating func append(_ frame: StreamFrame, _ source: UnsafeRawBufferPointer) {
    // Reserved at once, because a growing array needs three times its size for a moment; untouched pages cost
    // nothing.
    if bytes.isEmpty { bytes.reserveCapacity(Self.limit) }
    if frames.count == frames.capacity { frames.reserveCapacity(frames.count + 256) }
    bytes.append(contentsOf: source)
    frames.append(frame)
  }

  /// Drops the oldest frames until `space` more bytes are free, but only those that begin before `time`,
  /// counted from the first frame ever held.
  mutating func dropOldest(_ space: Int, until time: StreamTime) {
    var (count, length) = (0, 0)
    // A larger step than needed, as the remaining frames are moved.
    while count < frames.count, droppedTime < time,
      length + count * MemoryLayout<StreamFrame>.stride < max(space, Self.step)
    {
      length += frames[count].length
      droppedTime = droppedTime + frames[count].duration
      count += 1
    }
    guard count > 0 else { return }
    // The remaining frames are useless without their headers.
    var headers: (frame: StreamFrame, bytes: [UInt8])?
    var start = 0
    for frame in frames[..<count] {
      if frame.isHeaders { headers = (frame, Array(bytes[start..<(start + frame.length)])) }
      start += frame.length
    }
    frames.replaceSubrange(..<count, with: headers.map { [$0.frame] } ?? [])
    bytes.replaceSubrange(..<length, with: headers?.bytes ?? [])
    dropped += count - (headers == nil ? 0 : 1)
  }

  /// Calls `body` with every frame but the first `count`, dropped frames included in the count.
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
