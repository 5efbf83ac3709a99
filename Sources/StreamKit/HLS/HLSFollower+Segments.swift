internal import EventLoop

/// The segments of the list, one after the other by their numbers; those of a file also in another order.
extension HLSFollower {
  mutating func proceed(at now: Instant) -> [Action] {
    guard case .following(var list) = phase, case .none = list.fetch else { return [] }
    _ = position.adjust(to: list.media, of: list.version, came: list.came)
    while true {
      let number = position.begin(at: list.media.start)
      guard let segment = list.media.segment(number) else {
        return list.media.isEnded ? [.complete] : []
      }
      if segment.isAbsent {
        position.skip(segment.duration)
        continue
      }
      let lost = position.drainLost()
      let piece = HLSPiece(
        segment: segment, base: list.base, version: list.version,
        isContinuous: position.joined == list.version && !segment.isDiscontinuous,
        received: position.received, mayRepeat: position.mayRepeat)
      list.fetch = .fetching(piece, since: now)
      phase = .following(list)
      return (lost > 0 ? [.lost(seconds: lost)] : []) + [.fetch(piece)]
    }
  }

  /// A segment has come whole.
  mutating func segmentReceived(at now: Instant) -> [Action] {
    guard case .following(var list) = phase, case .fetching(let piece, _) = list.fetch else { return [] }
    position.finish(of: piece.version)
    hasReported = false
    list.fetch = .none
    var actions: [Action] = []
    if let better = versions?.better(at: now) {
      switch list.load {
      case .loading, .rising: break
      case .due, .over:
        list.load = .rising(to: better, since: now)
        actions.append(.load(better))
      }
    }
    phase = .following(list)
    return actions + proceed(at: now)
  }

  /// A segment has not come, or not whole.
  /// - Parameter seconds: the sound that was received of it.
  mutating func segmentFailed(
    _ error: StreamError, _ failure: HLSFailure, received seconds: Double, hasSound: Bool, at now: Instant
  ) -> [Action] {
    guard case .following(var list) = phase, case .fetching(let piece, _) = list.fetch else { return [] }
    position.interrupt(received: seconds)
    list.fetch = .none
    phase = .following(list)
    guard piece.version == list.version else { return proceed(at: now) }
    if let actions = leave(at: now) { return actions }
    let (count, since) = position.fail(at: now)
    switch failure {
    case .content: break
    case .connection: if count < Self.attemptLimit { return fail(error) }
    case .answer(let wanted):
      let isListed = hasSound && !list.media.isEnded
      let mayCome = isListed ? now < since.advanced(by: Self.wait(list.media)) : count < Self.attemptLimit
      guard mayCome else { break }
      guard wanted <= Self.longestWait else { return fail(error, retryAfter: wanted) }
      list.fetch = .waiting(until: now.advanced(by: max(.milliseconds(500) * min(count, 4), wanted)))
      phase = .following(list)
      return []
    }
    guard hasSound else { return fail(error) }
    position.skip(piece.segment.duration)
    defer { hasReported = true }
    return (hasReported ? [] : [.report(error)]) + proceed(at: now)
  }

  /// The time for which a segment of a live list is waited for: a listener begins three target durations behind.
  private static func wait(_ media: HLSMedia) -> Duration {
    min(longestWait, Duration(inSeconds: max(1, min(media.targetDuration, 60)) * 3))
  }

  // MARK: Files

  /// Continues with another segment of a file.
  mutating func seek(to number: Int, at now: Instant) -> [Action] {
    position.seek(to: number)
    guard case .following(var list) = phase else { return [] }
    list.fetch = .none
    phase = .following(list)
    return [.cancelFetch] + proceed(at: now)
  }

  /// A segment of which nothing was wanted for a while was lost meanwhile, which is no failure of it.
  /// - Parameter seconds: the sound that was received of it.
  mutating func segmentInterrupted(received seconds: Double, at now: Instant) -> [Action] {
    guard case .following(var list) = phase, case .fetching = list.fetch else { return [] }
    position.interrupt(received: seconds)
    list.fetch = .none
    phase = .following(list)
    return proceed(at: now)
  }
}
