package import EventLoop
internal import Glibc

/// Ends connections whose requests do not arrive in time: a limit without a byte alone would let a client send one byte
/// now and then for ever.
///
/// Called by the server's thread; a timer of the loop, which runs only while a request is expected, shuts late
/// connections down.
package final class ConnectionDeadlines: Sendable {
  private struct State {
    var table: DeadlineTable
    var isArmed = false
  }

  private let loop: EventLoop
  private let state: Lock<State>

  /// Deadlines of connections whose requests arrive within `limit`.
  package init(loop: EventLoop, limit: Duration) {
    self.loop = loop
    state = Lock(State(table: DeadlineTable(limit: limit)))
  }

  /// The current moment, for any thread.
  package static var now: Instant {
    let (seconds, rest) = SuspendingClock.now.sinceStart.components
    return Instant(nanoseconds: seconds * 1_000_000_000 + rest / 1_000_000_000)
  }

  /// A connection is open, and its first request is expected.
  func opened(_ key: UInt, descriptor: Int32) {
    expect { $0.open(key, descriptor, at: Self.now) }
  }

  /// A request has arrived, and waits for its answer.
  func answering(_ key: UInt) { state.withLock { $0.table.pause(key) } }

  /// An answer is sent, and the next request is expected.
  func completed(_ key: UInt) { expect { $0.expect(key, at: Self.now) } }

  /// A connection is about to be closed.
  func closed(_ key: UInt) { state.withLock { $0.table.close(key) } }

  private func expect(_ change: (inout DeadlineTable) -> Void) {
    let mustArm = state.withLock { state in
      change(&state.table)
      defer { state.isArmed = true }
      return !state.isArmed
    }
    if mustArm { loop.post { [weak self] in self?.arm() } }
  }

  /// Sets the timer for the first deadline. The loop's thread.
  private func arm() {
    let now = Self.now
    let wait = state.withLock { state in
      let next = state.table.next
      state.isArmed = next != nil
      return next.map { now.duration(to: $0) }
    }
    guard let wait else { return }
    loop.after(wait, keepsAlive: false) { [weak self] in self?.sweep() }
  }

  private func sweep() {
    let now = Self.now
    state.withLock { state in
      // Under the lock, as the server's thread removes a connection here before it closes its descriptor.
      for descriptor in state.table.late(at: now) { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
    arm()
  }
}

extension SuspendingClock.Instant {
  /// The time since the first moment that was asked for: only differences count.
  fileprivate var sinceStart: Duration { Self.first.duration(to: self) }
  private static let first = SuspendingClock.now
}

/// The connections of a server and the moments until which their requests arrive.
struct DeadlineTable {
  private enum Phase {
    case expecting(by: Instant)
    case answering
  }

  private let limit: Duration
  private var connections: [UInt: (descriptor: Int32, phase: Phase)] = [:]

  init(limit: Duration) { self.limit = limit }

  /// The number of connections.
  var count: Int { connections.count }

  mutating func open(_ key: UInt, _ descriptor: Int32, at now: Instant) {
    connections[key] = (descriptor, .expecting(by: now.advanced(by: limit)))
  }

  mutating func pause(_ key: UInt) { connections[key]?.phase = .answering }

  mutating func expect(_ key: UInt, at now: Instant) {
    connections[key]?.phase = .expecting(by: now.advanced(by: limit))
  }

  mutating func close(_ key: UInt) { connections[key] = nil }

  /// The first deadline; nil without one.
  var next: Instant? {
    connections.values.lazy.compactMap {
      if case .expecting(let deadline) = $0.phase { deadline } else { nil }
    }.min()
  }

  /// Returns the descriptors of connections whose deadline has passed, each once.
  mutating func late(at now: Instant) -> [Int32] {
    var late: [Int32] = []
    for (key, connection) in connections {
      guard case .expecting(let deadline) = connection.phase, deadline <= now else { continue }
      late.append(connection.descriptor)
      connections[key]?.phase = .answering
    }
    return late
  }
}
