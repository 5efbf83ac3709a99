internal import EventLoop
internal import StreamCore

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

  /// Continues after a segment that was received whole.
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

  /// Handles a segment that was not received, or not whole.
  /// - Parameters:
  ///   - seconds: the sound received of it.
  ///   - ahead: the seconds of sound that a player has; nil if it may wait.
  mutating func segmentFailed(
    _ error: StreamError, _ failure: HLSFailure, received seconds: Double, hasSound: Bool,
    ahead: Double? = nil, at now: Instant
  ) -> [Action] {
    guard case .following(var list) = phase, case .fetching(let piece, _) = list.fetch else { return [] }
    position.interrupt(received: seconds)
    list.fetch = .none
    phase = .following(list)
    guard piece.version == list.version else { return proceed(at: now) }
    if let actions = leave(at: now) { return actions }
    let (count, since) = position.fail(at: now)
    let isFollowed = list.media.end > piece.segment.sequence + 1
    // At the start a later segment may replace a missing one, but not in a file: all its segments would be
    // tried.
    var mayBegin = false
    switch failure {
    case .content: break
    case .connection: if count < Self.attemptLimit { return fail(error) }
    case .answer(let wanted):
      let isListed = hasSound && !list.media.isEnded
      let end = since.advanced(by: Self.wait(list.media))
      mayBegin = isFollowed && !list.media.isEnded
      guard isListed ? now < end : count < Self.attemptLimit else { break }
      guard wanted <= Self.longestWait else { return fail(error, retryAfter: wanted) }
      let delay = max(.milliseconds(500) * min(count, 4), wanted)
      var next = now.advanced(by: delay)
      if isListed, isFollowed, let ahead {
        // The next segment must come before the player runs dry.
        let last = now.advanced(by: Duration(inSeconds: ahead - Self.lead(list.media)))
        guard last > now && now.advanced(by: wanted) <= last || count == 1 && wanted == .zero else { break }
        next = min(next, max(last, now.advanced(by: .milliseconds(500))))
      }
      list.fetch = .waiting(until: next, isAsked: wanted > .zero)
      phase = .following(list)
      return []
    }
    guard hasSound || mayBegin else { return fail(error) }
    position.skip(piece.segment.duration)
    defer { hasReported = true }
    return (hasReported ? [] : [.report(error)]) + proceed(at: now)
  }

  /// Returns the time for which a segment of a live list is awaited: a listener begins three target durations
  /// before the end.
  private static func wait(_ media: HLSMedia) -> Duration {
    min(longestWait, Duration(inSeconds: max(1, min(media.targetDuration, 60)) * 3))
  }

  /// Returns the seconds in which a segment surely comes.
  private static func lead(_ media: HLSMedia) -> Double { max(1, min(media.targetDuration, 60) / 2) }

  // MARK: Files

  /// Continues with another segment of a file.
  mutating func seek(to number: Int, at now: Instant) -> [Action] {
    position.seek(to: number)
    guard case .following(var list) = phase else { return [] }
    list.fetch = .none
    phase = .following(list)
    return [.cancelFetch] + proceed(at: now)
  }

  /// Notes that a segment was lost while no sound was needed, which does not count as a failure.
  /// - Parameter seconds: the sound received of it.
  mutating func segmentInterrupted(received seconds: Double, at now: Instant) -> [Action] {
    guard case .following(var list) = phase, case .fetching = list.fetch else { return [] }
    position.interrupt(received: seconds)
    list.fetch = .none
    phase = .following(list)
    return proceed(at: now)
  }
}
