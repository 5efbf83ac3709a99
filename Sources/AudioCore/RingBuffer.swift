public import Synchronization

/// A queue of fixed size between exactly two threads, without locks: for commands to the audio thread, and
/// for its reports.
///
/// One thread pushes through `producer`, one other pops through `consumer`; neither ever waits. The ends are
/// trivial values, so `@_noLocks` code may hold and use them (for a concrete `Element`); they are valid as
/// long as the ring lives, which its owner ends away from the audio thread.
///
/// Source: L. Lamport, "Proving the Correctness of Multiprocess Programs", 1977; indices count without end
/// and are published with release and read with acquire.
public final class RingBuffer<Element: BitwiseCopyable>: Sendable {
  /// The end that pushes; for one thread at a time.
  public let producer: RingProducer<Element>
  /// The end that pops; for one thread at a time.
  public let consumer: RingConsumer<Element>
  /// The number of elements that fit.
  public let capacity: Int

  private let storage: RingStorage<Element>

  /// Creates an empty ring.
  /// - Parameter minimumCapacity: the number of elements that must fit; the next power of two is allocated.
  public init(minimumCapacity: Int) {
    storage = RingStorage(minimumCapacity: minimumCapacity)
    producer = RingProducer(storage: storage)
    consumer = RingConsumer(storage: storage)
    capacity = storage.mask + 1
  }

  deinit { storage.deallocate() }
}

/// The memory shared by both ends. Unchecked: `elements` is written only between the producer's index and the
/// consumer's index plus the capacity, and read only between the consumer's index and the producer's; the two
/// atomics order these accesses.
@usableFromInline struct RingStorage<Element: BitwiseCopyable>: @unchecked Sendable, BitwiseCopyable {
  /// The number of elements popped so far; written by the consumer.
  @usableFromInline let head: UnsafeMutablePointer<Atomic<Int>>
  /// The number of elements pushed so far; written by the producer. On another cache line than `head`.
  @usableFromInline let tail: UnsafeMutablePointer<Atomic<Int>>
  @usableFromInline let elements: UnsafeMutablePointer<Element>
  @usableFromInline let mask: Int

  init(minimumCapacity: Int) {
    var capacity = 1
    while capacity < minimumCapacity { capacity *= 2 }
    mask = capacity - 1
    let indices = UnsafeMutableRawPointer.allocate(byteCount: 256, alignment: 128)
    head = indices.bindMemory(to: Atomic<Int>.self, capacity: 1)
    tail = (indices + 128).bindMemory(to: Atomic<Int>.self, capacity: 1)
    head.initialize(to: Atomic(0))
    tail.initialize(to: Atomic(0))
    elements = .allocate(capacity: capacity)  // all three are freed in deallocate()
  }

  func deallocate() {
    elements.deallocate()
    UnsafeMutableRawPointer(head).deallocate()
  }
}

/// The pushing end of a `RingBuffer`.
public struct RingProducer<Element: BitwiseCopyable>: BitwiseCopyable, Sendable {
  @usableFromInline let storage: RingStorage<Element>

  /// Appends `element`.
  /// - Returns: `true` if `element` was appended; `false` if the ring is full.
  @inlinable public func push(_ element: Element) -> Bool {
    let tail = storage.tail.pointee.load(ordering: .relaxed)
    let head = storage.head.pointee.load(ordering: .acquiring)
    if tail &- head > storage.mask { return false }
    storage.elements[tail & storage.mask] = element
    storage.tail.pointee.store(tail &+ 1, ordering: .releasing)
    return true
  }
}

/// The popping end of a `RingBuffer`.
public struct RingConsumer<Element: BitwiseCopyable>: BitwiseCopyable, Sendable {
  @usableFromInline let storage: RingStorage<Element>

  /// Removes and returns the oldest element, nil if the ring is empty.
  @inlinable public func pop() -> Element? {
    let head = storage.head.pointee.load(ordering: .relaxed)
    let tail = storage.tail.pointee.load(ordering: .acquiring)
    if head == tail { return nil }
    let element = storage.elements[head & storage.mask]
    storage.head.pointee.store(head &+ 1, ordering: .releasing)
    return element
  }
}
