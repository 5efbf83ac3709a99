internal import Glibc

/// A file descriptor that a loop watches. The loop retains the watch, so the handle need not be kept.
///
/// Confined to the thread of its loop. Cancel it before the descriptor is closed.
public final class FDWatch {
  /// The descriptor; not owned.
  public let fd: Int32
  let events: FDEvents
  let keepsAlive: Bool
  /// The events that have happened and are queued for delivery.
  fileprivate var pending: FDEvents = []
  private var body: ((FDEvents) -> Void)?
  private weak var loop: EventLoop?

  fileprivate init(
    fd: Int32, events: FDEvents, keepsAlive: Bool, loop: EventLoop, body: @escaping (FDEvents) -> Void
  ) {
    (self.fd, self.events, self.keepsAlive, self.loop, self.body) = (fd, events, keepsAlive, loop, body)
  }

  /// `true` until the watch is cancelled.
  public var isActive: Bool { body != nil }

  /// Ends the watch and releases its closure; drops a queued event. A second call does nothing.
  public func cancel() {
    guard let body else { return }
    // The closure must not be released inside the access that clears it: its deinitializers may use this
    // watch.
    withExtendedLifetime(body) {
      self.body = nil
      if let loop { loop.watches.remove(self, loop.poller) }
    }
  }

  /// Ends a watch that was removed from its table.
  func detach() {
    loop = nil
    cancel()
  }

  func deliver() {
    let events = pending
    pending = []
    body?(events)
  }

  /// Records events. Returns `true` if the watch was not queued already.
  fileprivate func note(_ happened: FDEvents) -> Bool {
    let trouble = happened.intersection([.hangup, .failed])
    // After a hangup or an error, a read or write does not block either: it returns the end or the error.
    let reported = trouble.isEmpty ? happened.intersection(events) : events.union(trouble)
    guard !reported.isEmpty else { return false }
    defer { pending.formUnion(reported) }
    return pending.isEmpty
  }
}

extension EventLoop {
  /// Calls `body` whenever `events` happen to `fd`, repeatedly while they last. The loop's thread.
  ///
  /// Several watches on one descriptor are called in the order of their creation. A regular file, which the
  /// kernel does not watch, counts as always ready, and alternates with other work.
  /// - Parameter keepsAlive: `true` if `run` waits for an event when nothing else is left.
  /// - Throws: `loop.descriptor` if the system refuses the descriptor.
  public func watch(
    _ fd: Int32, for events: FDEvents, keepsAlive: Bool = true, _ body: @escaping (FDEvents) -> Void
  ) throws(LoopError) -> FDWatch {
    assertOnLoop()
    let watch = FDWatch(fd: fd, events: events, keepsAlive: keepsAlive, loop: self, body: body)
    try watches.add(watch, poller)
    return watch
  }
}

/// The watches of a loop, by descriptor. Confined to the loop's thread.
struct WatchTable {
  private struct Entry {
    /// Distinguishes this entry from an earlier one for the same number, whose events may still arrive.
    let generation: UInt32
    var watches: [FDWatch]

    var events: FDEvents { watches.reduce(into: []) { $0.formUnion($1.events) } }
    func token(_ fd: Int32) -> UInt64 { UInt64(generation) << 32 | UInt64(UInt32(bitPattern: fd)) }
  }

  private var entries: [Int32: Entry] = [:]
  private var alwaysReady: [FDWatch] = []
  private var generation: UInt32 = 0
  private(set) var keepAliveCount = 0

  var isEmpty: Bool { entries.isEmpty && alwaysReady.isEmpty }

  mutating func add(_ watch: FDWatch, _ poller: Poller) throws(LoopError) {
    var status: Int32
    if var entry = entries[watch.fd] {
      entry.watches.append(watch)
      status = poller.change(watch.fd, entry.events, token: entry.token(watch.fd))
      if status == 0 { entries[watch.fd] = entry }
    } else {
      // The highest generation is never used: its tokens are the poller's own.
      generation = generation == .max - 1 ? 0 : generation + 1
      let entry = Entry(generation: generation, watches: [watch])
      status = poller.add(watch.fd, watch.events, token: entry.token(watch.fd))
      if status == 0 { entries[watch.fd] = entry }
    }
    if status == EPERM {
      alwaysReady.append(watch)
    } else if status != 0 {
      throw LoopError(.descriptor, "cannot watch descriptor \(watch.fd)", errno: status)
    }
    if watch.keepsAlive { keepAliveCount += 1 }
  }

  mutating func remove(_ watch: FDWatch, _ poller: Poller) {
    if watch.keepsAlive { keepAliveCount -= 1 }
    if let index = alwaysReady.firstIndex(where: { $0 === watch }) {
      alwaysReady.remove(at: index)
      return
    }
    guard var entry = entries[watch.fd] else { return }
    entry.watches.removeAll { $0 === watch }
    if entry.watches.isEmpty {
      entries[watch.fd] = nil
      poller.remove(watch.fd)
    } else {
      entries[watch.fd] = entry
      _ = poller.change(watch.fd, entry.events, token: entry.token(watch.fd))
    }
  }

  /// Removes and returns all watches; the caller ends them.
  mutating func takeAll(_ poller: Poller) -> [FDWatch] {
    let all = entries.values.flatMap(\.watches) + alwaysReady
    for fd in entries.keys { poller.remove(fd) }
    (entries, alwaysReady, keepAliveCount) = ([:], [], 0)
    return all
  }

  /// Queues the watches for an event of the kernel.
  func collect(token: UInt64, _ events: FDEvents, into ready: inout ReadyQueue) {
    let fd = Int32(bitPattern: UInt32(truncatingIfNeeded: token))
    guard let entry = entries[fd], entry.token(fd) == token else { return }
    for watch in entry.watches where watch.note(events) { ready.append(.event(watch)) }
  }

  /// Queues the files that are always ready; returns `true` if there are any.
  func collectAlwaysReady(into ready: inout ReadyQueue) -> Bool {
    for watch in alwaysReady where watch.note([.readable, .writable]) { ready.append(.event(watch)) }
    return !alwaysReady.isEmpty
  }
}
