public import EventLoop
public import StreamCore

/// The second connection of a stream, beside one that has stalled.
extension ConnectionMachine {
  /// The grace of a stalled connection beyond the time for which its network was away: retransmission
  /// intervals double, so the next retransmission is due by then.
  private static let retransmission = Duration.seconds(2)

  /// The second connection brings sound; whether it joins that of the stalled one is not known yet.
  /// - Parameter isUrgent: `true` if the player cannot wait for the stalled one.
  public mutating func standbyReceived(isUrgent: Bool = false, at now: Instant) -> [Action] {
    guard case .stalled(.connecting(let connected)) = phase else { return [] }
    phase = .stalled(.holding(connected: connected, since: now))
    updateDeadline()
    return isUrgent ? playerIsDry(at: now) : []
  }

  /// The second connection's sound continues where that of the stalled one ended.
  public mutating func standbyJoins(at now: Instant) -> [Action] {
    guard case .stalled(let standby) = phase, let connected = standby.connected else { return [] }
    return adopt(connected: connected, at: now)
  }

  /// The second connection has ended, or its content can't be used. A station that answers with an error
  /// other than `notFound` has refused a second listener, and is not asked for one again. The failure is
  /// reported if the stalled connection is lost too.
  public mutating func standbyEnded(
    _ error: StreamError, retryAfter: Duration = .zero, at now: Instant
  ) {
    guard case .stalled(let standby) = phase, standby.connected != nil else { return }
    standbyFailure = error
    if error.status != nil, error.kind != .notFound {
      refusesSecond = true
      phase = .stalled(.refused)
      updateDeadline()
    } else {
      waitForStandby(atLeast: retryAfter, at: now)
    }
  }

  mutating func waitForStandby(atLeast wanted: Duration, at now: Instant) {
    phase = .stalled(.waiting(until: nextAttempt(atLeast: wanted, isLocked: false, at: now)))
    updateDeadline()
  }

  mutating func nextAttempt(atLeast wanted: Duration, isLocked: Bool, at now: Instant) -> Instant {
    let wait = delay.wait(at: now, atLeast: wanted, isLocked: isLocked, using: &random)
    return now.advanced(by: wait)
  }

  mutating func connectStandby(at now: Instant) -> [Action] {
    phase = .stalled(refusesSecond ? .refused : .connecting(since: now))
    standbyFailure = nil
    updateDeadline()
    return refusesSecond ? [] : [.connectStandby(currentAddress)]
  }

  /// The second connection is the only one now; the sound that it brought is received anew.
  mutating func adopt(connected: Instant, at now: Instant) -> [Action] {
    (lostAt, attemptEnds) = (now, nil)
    phase = .connecting
    self.connected = connected
    stall = StallTest(at: connected, limit: dataTimeout, isPaced: isPaced)
    updateDeadline()
    return [.adoptStandby]
  }

  /// The stalled connection has sent again.
  mutating func unstall() -> [Action] {
    guard case .stalled(let standby) = phase else { return [] }
    (phase, standbyFailure) = (.receiving, nil)
    return standby.connected == nil ? [] : [.disconnectStandby]
  }

  /// The moment until which a stalled connection may resume.
  func end(of stall: StallTest, beside standby: Standby) -> Instant {
    guard case .holding(_, let since) = standby else { return stall.timeout }
    let away = stall.lastReceived.duration(to: since)
    return max(stall.timeout, since.advanced(by: away + Self.retransmission))
  }

  /// The deadlines of a stalled connection and of the second one.
  mutating func stalledDeadlinePassed(_ standby: Standby, _ stall: StallTest, at now: Instant)
    -> [Action]
  {
    if now >= end(of: stall, beside: standby) {
      switch standby {
      case .holding(let connected, _): return adopt(connected: connected, at: now)
      case .connecting(let since): return report(silence(of: stall)) + adopt(connected: since, at: now)
      case .refused, .waiting: return [.disconnect] + failed(silence(of: stall), at: now)
      }
    }
    switch standby {
    case .refused, .holding: return []
    case .waiting: return connectStandby(at: now)
    case .connecting:
      waitForStandby(atLeast: .zero, at: now)
      return [.disconnectStandby]
    }
  }
}

extension ConnectionMachine.Standby {
  /// The moment at which its transfer was opened; nil while no transfer is open.
  var connected: Instant? {
    switch self {
    case .refused, .waiting: nil
    case .connecting(let since): since
    case .holding(let connected, _): connected
    }
  }
}
