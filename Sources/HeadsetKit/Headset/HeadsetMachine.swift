internal import EventLoop
internal import HeadsetLink

/// State machine of a headset's connection: methods apply an event and return the actions to perform. Has no driver,
/// clock or listener.
struct HeadsetMachine {
  /// A state of the connection, and whether it is kept, that is, made again when it is lost.
  enum Phase: Equatable {
    /// Unused, or disconnected for good.
    case idle
    /// Waiting for the next attempt at a connection that is kept.
    case waiting
    /// An attempt is under way.
    case connecting(onFailure: Fallback)
    /// The attempt under way is to be ended; another one follows if the connection is kept.
    case abandoning(isKept: Bool)
    case connected(isKept: Bool)
    /// An update or a restart has reserved the headset, and connects it itself.
    case reserved(isKept: Bool)
  }

  /// The state after a failed attempt.
  enum Fallback: Equatable {
    /// Idle: the headset was never connected.
    case stop
    /// Waiting for the next attempt.
    case retry
    /// Waiting for the next attempt, unless the failure is lasting.
    case retryUnlessRefused
  }

  /// An action for the headset to perform, in the order returned.
  enum Action: Equatable {
    /// Make the connection; the outcome goes to `connected` or `failed`.
    case connect
    /// Call `retry` after this time.
    case wait(Duration)
    /// Cancel the last `wait`.
    case stopWaiting
    case emit(HeadsetEvent)
  }

  private(set) var phase = Phase.idle
  private var delay = Backoff.connecting

  // MARK: State

  /// `true` while an attempt is under way, also one that is to be ended.
  var isConnecting: Bool {
    switch phase {
    case .connecting, .abandoning: true
    default: false
    }
  }

  /// `true` while an attempt is under way whose outcome counts.
  var awaitsBoard: Bool { if case .connecting = phase { true } else { false } }

  /// `true` if `connect` may be called.
  var mayConnect: Bool { phase == .idle || phase == .waiting }

  /// `true` while an update or a restart has reserved the headset.
  var isReserved: Bool { if case .reserved = phase { true } else { false } }

  /// `true` while a lost connection is made again.
  var isKept: Bool {
    switch phase {
    case .idle, .connecting(onFailure: .stop): false
    case .waiting, .connecting: true
    case .abandoning(let isKept), .connected(let isKept), .reserved(let isKept): isKept
    }
  }

  /// `true` while the headset is connected or about to be.
  var isInUse: Bool { phase != .idle && phase != .abandoning(isKept: false) }

  // MARK: Connecting

  /// Begins an attempt that the caller makes. Valid while `mayConnect`.
  mutating func connect() -> [Action] {
    precondition(mayConnect, "a connection is there or under way")
    let isLookedFor = phase == .waiting
    phase = .connecting(onFailure: isLookedFor ? .retry : .stop)
    return isLookedFor ? [.stopWaiting] : []
  }

  /// Keeps the connection from now on, and makes it if it does not exist yet.
  mutating func keep() -> [Action] {
    switch phase {
    case .idle:
      phase = .waiting
      return [.wait(.zero)]
    case .connecting(onFailure: .stop): phase = .connecting(onFailure: .retry)
    case .waiting, .connecting: break
    case .abandoning: phase = .abandoning(isKept: true)
    case .connected: phase = .connected(isKept: true)
    case .reserved: phase = .reserved(isKept: true)
    }
    return []
  }

  /// Begins the next attempt, after the delay.
  mutating func retry() -> [Action] {
    guard phase == .waiting else { return [] }
    phase = .connecting(onFailure: .retryUnlessRefused)
    return [.connect]
  }

  /// Applies the success of the attempt. Valid while `awaitsBoard`.
  mutating func connected() -> [Action] {
    precondition(awaitsBoard, "no attempt is under way")
    phase = .connected(isKept: true)
    delay.reset()
    return [.emit(.connected)]
  }

  /// Applies the failure of the attempt.
  mutating func failed(_ error: HeadsetError) -> [Action] {
    switch phase {
    case .connecting(.retryUnlessRefused) where error.isLasting:
      phase = .idle
      return [.emit(.error(error))]
    case .connecting(.stop), .abandoning(isKept: false):
      phase = .idle
      return []
    case .connecting, .abandoning: return wait()
    // An update or a restart that began meanwhile connects by itself.
    case .idle, .waiting, .connected, .reserved: return []
    }
  }

  // MARK: Losing and ending

  /// Applies the loss of the connection. Attempts, updates and restarts handle a loss themselves.
  mutating func lost(_ reason: String) -> [Action] {
    guard case .connected(let isKept) = phase else { return [] }
    phase = .idle
    return [.emit(.disconnected(reason))] + (isKept ? wait() : [])
  }

  /// Ends the connection, and does not keep it any more. An update or a restart under way continues, and may
  /// connect again.
  /// - Parameter isConnected: `true` if the driver is connected.
  /// - Returns: the actions to perform before the driver disconnects, and the event to emit afterwards.
  mutating func disconnect(isConnected: Bool) -> (before: [Action], after: HeadsetEvent) {
    let released = HeadsetEvent.released
    let disconnected = HeadsetEvent.disconnected("disconnected")
    switch phase {
    case .idle: return ([], released)
    case .waiting:
      phase = .idle
      return ([.stopWaiting], released)
    case .connecting, .abandoning:
      phase = .abandoning(isKept: false)
      return ([], released)
    case .connected:
      phase = .idle
      return ([], isConnected ? disconnected : released)
    case .reserved:
      phase = .reserved(isKept: false)
      return ([], isConnected ? disconnected : released)
    }
  }

  // MARK: Updates and restarts

  /// Reserves the headset. Valid while it is not reserved.
  mutating func reserve() -> [Action] {
    precondition(!isReserved, "reserved already")
    let isWaiting = phase == .waiting
    phase = .reserved(isKept: isKept)
    return isWaiting ? [.stopWaiting] : []
  }

  /// Ends the reservation, and makes a connection that was lost meanwhile again if it is kept.
  /// - Parameter isConnected: `true` if the driver is connected.
  mutating func release(isConnected: Bool) -> [Action] {
    guard case .reserved(let isKept) = phase else { return [] }
    phase = isConnected || isKept ? .connected(isKept: isKept) : .idle
    return isConnected ? [] : lost("it has not come back")
  }

  private mutating func wait() -> [Action] {
    phase = .waiting
    return [.wait(delay.next())]
  }
}

extension HeadsetError {
  /// `true` for a lasting failure to connect, which further attempts do not change.
  fileprivate var isLasting: Bool { [.auth, .challengeLength, .noData].contains(kind) }
}

extension Backoff {
  /// The delay between attempts to connect a headset: half a second at first, 10 s at most.
  static let connecting = Backoff(from: .milliseconds(500), upTo: .seconds(10))
}
