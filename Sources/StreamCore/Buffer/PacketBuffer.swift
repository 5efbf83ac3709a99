/// The last sound of a station, in blocks of 5 KiB that hold whole frames: the range of time-shift.
///
/// Readers have cursors of their own. A frame that does not fit in the rest of a block goes into the next
/// one; a frame longer than a block spans several. When all blocks are used, the oldest frames are evicted,
/// unless they are at a cursor that may not be overtaken: then new frames are refused.
///
/// Memory: blocks are allocated when first reached, 16 at once, at most `blocks` × 5 KiB, plus 48 bytes a
/// frame, at most 64 frames a block. Not locked: an owner that shares the buffer between threads has a lock.
public struct PacketBuffer: Sendable {
  /// The size of a block in bytes.
  public static let blockSize = 5120
  private static let blocksPerSlab = 16
  /// The limit of frames in a block, however short they are; bounds the memory of the index.
  public static let framesPerBlock = 64

  /// The reason why a frame does not continue the one before it.
  public enum Discontinuity: Sendable, Equatable {
    /// Two connections join without an overlap: about `seconds` are missing, and the format may differ.
    case gap(seconds: Double)
    /// Codec, rate or channels differ.
    case format
  }

  /// A position in the buffer, before a frame. Valid for ever; its frame may be evicted.
  public struct Cursor: Sendable, Hashable, Comparable {
    /// The number of the frame, counted from the first one ever appended.
    public internal(set) var frame: Int

    /// Returns `true` if the left cursor is earlier.
    public static func < (left: Cursor, right: Cursor) -> Bool { left.frame < right.frame }
  }

  /// A frame with its position in the buffer.
  public struct Packet: Sendable, Equatable {
    /// The position of the frame.
    public let cursor: Cursor
    /// The frame.
    public let frame: StreamFrame
    /// The audio in the stream before the frame, gaps not counted.
    public let start: StreamTime
    /// The duration of the frame.
    public let duration: StreamTime
    /// The discontinuity between the frame and the one before; nil if they are continuous.
    public let discontinuity: Discontinuity?
    /// The number of frames evicted before the cursor reached them: audio missing before this frame.
    public let missed: Int
  }

  struct Entry: Sendable {
    let frame: StreamFrame
    let start: StreamTime
    let block: UInt32
    let offset: UInt16
    let mark: Mark
  }
  enum Mark: UInt8 {
    case none
    case gap
    case format
  }

  /// The limit in blocks.
  public let size: Int

  /// The memory of the blocks, 16 in one piece: allocating them one by one costs more than all other work for
  /// a frame.
  private var slabs: [[UInt8]] = []
  /// The frames in order, a ring.
  private var entries: [Entry?] = []
  private var oldest = 0
  /// The number of frames in the buffer.
  private(set) var count = 0
  /// The number of the oldest frame.
  var firstFrame = 0
  /// The end of the newest frame: the block, bytes in it, and frames that begin in it.
  private var tail: (block: Int, used: Int, frames: Int)
  /// The number of blocks in use, from the oldest frame's to `tail.block`.
  public private(set) var used = 0
  /// The bytes of all frames in the buffer.
  var bytes = 0
  /// The time of the stream at which the newest frame ends.
  var endTime = StreamTime.zero
  /// The gaps before frames in the buffer, by the frames' numbers, in seconds.
  private var gaps: [(frame: Int, seconds: Double)] = []
  /// The Ogg headers for the frames in the buffer, by the frames' numbers: the headers may have been evicted
  /// themselves.
  private var headers: [(frame: Int, header: StreamFrame, bytes: [UInt8])] = []

  /// Creates an empty buffer.
  /// - Parameter blocks: the limit in blocks, at least 1.
  public init(blocks: Int = 1200) {
    precondition(blocks > 0, "a packet buffer has at least one block")
    size = blocks
    tail = (blocks - 1, Self.blockSize, 0)
  }

  // MARK: Writing

  /// Appends a frame.
  /// - Parameters:
  ///   - bytes: its bytes, which are copied.
  ///   - duration: its duration, where the frame itself has none.
  ///   - discontinuity: the discontinuity between it and the frame before.
  ///   - kept: a cursor whose frame may not be evicted, as it has not been heard.
  ///   - reserve: the number of blocks that the frames from `kept` on leave free.
  /// - Returns: `true` if it was accepted; it is refused when `kept` prevents it, and when it does not fit at
  ///   all.
  public mutating func append(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, duration: StreamTime? = nil,
    discontinuity: Discontinuity? = nil, keeping kept: Cursor? = nil, reserve: Int = 0
  ) -> Bool {
    precondition(bytes.count == frame.length, "a frame has the number of bytes that it states")
    let needed = blocksNeeded(for: bytes.count)
    guard needed <= size else { return false }
    if let kept, reserve > 0, needed > 0, blocks(behind: kept) + needed > size - reserve { return false }
    while used + needed > size {
      if let kept, kept.frame <= firstFrame { return false }
      removeOldest()
    }
    if needed > 0 {
      tail = ((tail.block + 1) % size, 0, 0)
      used += 1
    }
    let (block, offset) = (tail.block, tail.used)
    write(bytes)
    if frame.isHeaders { headers.append((firstFrame + count, frame, [UInt8](bytes))) }
    append(
      Entry(
        frame: frame, start: endTime, block: UInt32(block), offset: UInt16(offset),
        mark: mark(discontinuity)))
    self.bytes += bytes.count
    endTime = endTime + (duration ?? frame.duration)
    return true
  }

  /// Passes over the first frames of a run, which its last ones evict together with all frames in the buffer.
  /// The resulting blocks and times are those of appending each frame; the bytes of one frame only are
  /// copied.
  /// - Returns: the number of frames passed; zero for a run that evicts nothing of itself.
  mutating func pass(_ run: FrameRun) -> Int {
    // Two blocks of margin: the first and the last may not be full.
    let first = run.last(bytes: (size + 2) * Self.blockSize).lowerBound
    guard used > 0, run.numbers.lowerBound < first else { return 0 }
    var packing = BlockPacking(block: tail.block, used: tail.used, frames: tail.frames)
    packing.pass(run.numbers.lowerBound..<first, of: run.sound, blocks: size)
    removeAll()
    firstFrame += first - run.numbers.lowerBound
    endTime = endTime + FrameRun(sound: run.sound, numbers: run.numbers.lowerBound..<first).duration
    tail = (packing.block, packing.used, packing.frames)
    // The next frame may continue the last block: the first frames of that block count as evicted.
    used = 1
    _ = run.sound.withFrame(first) { append($0, $1) }
    guard let entry = entry(firstFrame) else { return first - run.numbers.lowerBound }
    used = (tail.block - Int(entry.block) + size) % size + 1
    return first + 1 - run.numbers.lowerBound
  }

  /// Inserts frames before the oldest one; those that do not fit are left out, the oldest first. Cursors and
  /// times of the frames in the buffer stay the same.
  mutating func prepend(_ frames: some Collection<(frame: StreamFrame, bytes: [UInt8])>) {
    let length = frames.reduce(StreamTime.zero) { $0 + $1.frame.duration }
    var whole = PacketBuffer(blocks: size)
    whole.firstFrame = firstFrame - frames.count
    whole.endTime = time(at: start) - length
    var last: StreamFormat?
    for (frame, bytes) in frames {
      let isNew = last.map { $0 != frame.format } ?? false
      _ = bytes.withUnsafeBytes { whole.append(frame, $0, discontinuity: isNew ? .format : nil) }
      last = frame.format
    }
    var cursor = start
    while let packet = next(&cursor) {
      let isNew = last.map { $0 != packet.frame.format } ?? false
      _ = withBytes(of: packet) {
        whole.append(
          packet.frame, $0, duration: packet.duration,
          discontinuity: packet.discontinuity ?? (isNew ? .format : nil))
      }
      last = nil
    }
    self = whole
  }

  /// Returns `true` if a frame of `length` bytes is refused while `kept` may not be overtaken.
  public func isFull(keeping kept: Cursor, length: Int = PacketBuffer.blockSize) -> Bool {
    kept.frame <= firstFrame && count > 0 && used + blocksNeeded(for: length) > size
  }

  /// Returns the number of blocks that hold the frames from a cursor on.
  private func blocks(behind cursor: Cursor) -> Int {
    guard let entry = entry(max(cursor.frame, firstFrame)) else { return 0 }
    return (tail.block - Int(entry.block) + size) % size + 1
  }

  /// Removes all frames; cursors to them continue with the next frame appended.
  public mutating func removeAll() {
    while count > 0 { removeOldest() }
  }

  /// Removes all frames; the next frame appended begins at `time`.
  public mutating func removeAll(thenAt time: StreamTime) {
    removeAll()
    endTime = time
  }

  /// Returns the number of further blocks that a frame of `length` bytes needs.
  private func blocksNeeded(for length: Int) -> Int {
    guard used > 0 else { return Self.blocks(of: length) }
    return BlockPacking(block: tail.block, used: tail.used, frames: tail.frames).blocksNeeded(for: length)
  }

  /// The least number of blocks that a frame of `length` bytes spans.
  static func blocks(of length: Int) -> Int { max(1, (length + blockSize - 1) / blockSize) }

  private mutating func write(_ bytes: UnsafeRawBufferPointer) {
    tail.frames += 1
    var rest = bytes[...]
    while true {
      let part = rest.prefix(Self.blockSize - tail.used)
      let offset = Self.offset(of: tail.block, at: tail.used)
      while slabs.count <= offset.slab {
        let rest = size - slabs.count * Self.blocksPerSlab
        slabs.append([UInt8](repeating: 0, count: min(rest, Self.blocksPerSlab) * Self.blockSize))
      }
      slabs[offset.slab].withUnsafeMutableBytes { slab in
        UnsafeMutableRawBufferPointer(rebasing: slab[offset.byte...].prefix(part.count))
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: part))
      }
      tail.used += part.count
      rest = rest.dropFirst(part.count)
      if rest.isEmpty { return }
      tail = ((tail.block + 1) % size, 0, tail.frames)
      used += 1
    }
  }

  private mutating func mark(_ discontinuity: Discontinuity?) -> Mark {
    switch discontinuity {
    case nil: return .none
    case .format: return .format
    case .gap(let seconds):
      gaps.append((firstFrame + count, seconds))
      return .gap
    }
  }

  private mutating func append(_ entry: Entry) {
    if count == entries.count {
      entries = Array(entries[oldest...] + entries[..<oldest])
      oldest = 0
      let most = size * Self.framesPerBlock
      let added = min(most, max(64, entries.count + entries.count / 2)) - entries.count
      entries.reserveCapacity(entries.count + added)
      for _ in 0..<added { entries.append(nil) }
    }
    entries[(oldest + count) % entries.count] = entry
    count += 1
  }

  private mutating func removeOldest() {
    guard count > 0, let entry = entries[oldest] else {
      used = 0
      return
    }
    entries[oldest] = nil
    oldest = (oldest + 1) % entries.count
    count -= 1
    if entry.mark == .gap, gaps.first?.frame == firstFrame { gaps.removeFirst() }
    firstFrame += 1
    while headers.count > 1, headers[1].frame <= firstFrame { headers.removeFirst() }
    bytes -= entry.frame.length
    guard count > 0, let next = entries[oldest] else {
      used = 0
      return
    }
    used -= (Int(next.block) - Int(entry.block) + size) % size
  }

  // MARK: Reading

  /// The position before the oldest frame.
  public var start: Cursor { Cursor(frame: firstFrame) }
  /// The position after the newest frame: live.
  public var end: Cursor { Cursor(frame: firstFrame + count) }

  /// Returns the frame at a cursor, or the oldest if that one was evicted, and moves the cursor past it.
  /// - Returns: nil if no frame has come yet.
  public func next(_ cursor: inout Cursor) -> Packet? {
    guard let packet = packet(at: cursor) else { return nil }
    cursor.frame = packet.cursor.frame + 1
    return packet
  }

  /// Returns the frame at a cursor, or the oldest if that one was evicted; nil if no frame has come yet.
  public func packet(at cursor: Cursor) -> Packet? {
    let number = max(cursor.frame, firstFrame)
    guard let entry = entry(number) else { return nil }
    let following = self.entry(number + 1)?.start ?? endTime
    let discontinuity: Discontinuity? =
      switch entry.mark {
      case .none: nil
      case .format: .format
      case .gap: .gap(seconds: gaps.first { $0.frame == number }?.seconds ?? 0)
      }
    return Packet(
      cursor: Cursor(frame: number), frame: entry.frame, start: entry.start,
      duration: following - entry.start, discontinuity: discontinuity, missed: number - cursor.frame)
  }

  /// Returns the Ogg headers that decoders need for the frame at a cursor; nil for frames without headers.
  func headers(at cursor: Cursor) -> (cursor: Cursor, frame: StreamFrame, bytes: [UInt8])? {
    headers.last { $0.frame <= cursor.frame }.map { (Cursor(frame: $0.frame), $0.header, $0.bytes) }
  }

  /// Calls `body` with the bytes of a frame, without copying unless it spans blocks; returns nil if it was
  /// evicted.
  public func withBytes<Result>(
    of packet: Packet, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result? {
    guard let entry = entry(packet.cursor.frame) else { return nil }
    var (block, offset) = (Int(entry.block), Int(entry.offset))
    let length = entry.frame.length
    if offset + length <= Self.blockSize {
      let (slab, first) = Self.offset(of: block, at: offset)
      return try slabs[slab].withUnsafeBytes {
        try body(UnsafeRawBufferPointer(rebasing: $0[first..<(first + length)]))
      }
    }
    var joined: [UInt8] = []
    joined.reserveCapacity(length)
    while joined.count < length {
      let (slab, first) = Self.offset(of: block, at: offset)
      joined += slabs[slab][first...].prefix(min(length - joined.count, Self.blockSize - offset))
      (block, offset) = ((block + 1) % size, 0)
    }
    return try joined.withUnsafeBytes(body)
  }

  private static func offset(of block: Int, at byte: Int) -> (slab: Int, byte: Int) {
    let (slab, rest) = block.quotientAndRemainder(dividingBy: blocksPerSlab)
    return (slab, rest * blockSize + byte)
  }

  func entry(_ number: Int) -> Entry? {
    let index = number - firstFrame
    guard index >= 0, index < count else { return nil }
    return entries[(oldest + index) % entries.count]
  }
}
