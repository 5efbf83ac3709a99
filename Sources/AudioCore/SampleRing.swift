internal import Synchronization

/// A queue of frames between exactly two threads, without locks: from a decoder to the audio thread, and from
/// there to a sink's writer.
///
/// One thread writes through `writer`, one other reads through `reader`; neither ever waits. The ends are
/// trivial values that are valid as long as the ring lives, which its owner ends away from the audio thread.
/// Views must have the ring's number of channels; only whole frames go through.
public final class SampleRing: Sendable {
  /// The end that writes; for one thread at a time.
  public let writer: SampleRingWriter
  /// The end that reads; for one thread at a time.
  public let reader: SampleRingReader
  /// The number of frames that fit.
  public let capacity: Int

  private let storage: RingStorage<Float>

  /// Creates an empty ring for exactly `frames` frames of `channels` samples.
  public init(frames: Int, channels: Int) {
    capacity = max(1, frames)
    storage = RingStorage(minimumCapacity: max(1, frames) * max(1, channels))
    writer = SampleRingWriter(storage: storage, frames: max(1, frames), channels: max(1, channels))
    reader = SampleRingReader(storage: storage, channels: max(1, channels))
  }

  deinit { storage.deallocate() }
}

/// The writing end of a `SampleRing`.
public struct SampleRingWriter: BitwiseCopyable, Sendable {
  let storage: RingStorage<Float>
  let frames: Int
  let channels: Int

  /// The number of frames that `write` would accept now.
  public var room: Int {
    @_noLocks get {
      let tail = storage.tail.pointee.load(ordering: .relaxed)
      let head = storage.head.pointee.load(ordering: .acquiring)
      return frames &- (tail &- head) / channels
    }
  }

  /// Appends frames of `view`, from its start.
  /// - Returns: the number of accepted frames: all, or those for which there was room.
  @_noLocks public func write(_ view: PCMView) -> Int {
    let room = room
    let written = view.frames < room ? view.frames : room
    let count = written &* channels
    let tail = storage.tail.pointee.load(ordering: .relaxed)
    let start = tail & storage.mask
    let untilWrap = storage.mask &+ 1 &- start
    let first = count < untilWrap ? count : untilWrap
    let elements = storage.elements
    copy(view.samples, to: elements + start, first)
    copy(view.samples + first, to: elements, count &- first)
    storage.tail.pointee.store(tail &+ count, ordering: .releasing)
    return written
  }
}

/// The reading end of a `SampleRing`.
public struct SampleRingReader: BitwiseCopyable, Sendable {
  let storage: RingStorage<Float>
  /// The number of samples per frame.
  public let channels: Int

  /// The number of frames that `read` would return now.
  public var available: Int {
    @_noLocks get {
      let head = storage.head.pointee.load(ordering: .relaxed)
      let tail = storage.tail.pointee.load(ordering: .acquiring)
      return (tail &- head) / channels
    }
  }

  /// Moves frames into `view`, from its start; the rest of `view` does not change.
  /// - Returns: the number of frames read: those that fit and were available.
  @_noLocks public func read(into view: PCMView) -> Int {
    let available = available
    let read = view.frames < available ? view.frames : available
    let count = read &* channels
    let head = storage.head.pointee.load(ordering: .relaxed)
    let start = head & storage.mask
    let untilWrap = storage.mask &+ 1 &- start
    let first = count < untilWrap ? count : untilWrap
    let elements = storage.elements
    copy(elements + start, to: view.samples, first)
    copy(elements, to: view.samples + first, count &- first)
    storage.head.pointee.store(head &+ count, ordering: .releasing)
    return read
  }

  /// Drops up to `frames` frames unread.
  /// - Returns: the number of dropped frames.
  @_noLocks public func discard(_ frames: Int) -> Int {
    let available = available
    let dropped = frames < available ? frames : available
    let head = storage.head.pointee.load(ordering: .relaxed)
    storage.head.pointee.store(head &+ dropped &* channels, ordering: .releasing)
    return dropped
  }
}

@_noLocks private func copy(
  _ source: UnsafeMutablePointer<Float>, to destination: UnsafeMutablePointer<Float>, _ count: Int
) {
  UnsafeMutableRawPointer(destination)
    .copyMemory(from: source, byteCount: count &* MemoryLayout<Float>.stride)
}
