internal import EventLoop
internal import StreamCore

/// The list of a version: which copy of it counts, and which version replaces a failed one.
extension HLSFollower {
  /// Receives the requested list.
  mutating func loaded(_ playlist: HLSPlaylist, at url: StreamAddress, at now: Instant) -> [Action] {
    guard case .media(let media) = playlist else {
      return loadFailed(
        StreamError(
          .content, "\(url) leads to lists of lists", hint: "report it to the station",
          facts: [.init("url", .string(url.description))]), .content, at: now)
    }
    switch phase {
    case .idle: return []
    case .opening(let since):
      guard let versions else { return [] }
      return accept(media, of: versions.current, at: url, since: since, at: now)
    case .following(let list):
      switch list.load {
      case .over, .due: return []
      case .loading(let since): return accept(media, of: list.version, at: url, since: since, at: now)
      case .rising(let version, let since):
        versions?.move(to: version)
        return accept(media, of: version, at: url, since: since, at: now)
      }
    }
  }

  /// Receives the answer that the requested list is unchanged.
  mutating func unchanged(at now: Instant) -> [Action] {
    guard case .following(var list) = phase, case .loading(let since) = list.load else { return [] }
    list.load = .next(of: list.media, isNew: false, since: since, at: now)
    phase = .following(list)
    return []
  }

  /// Handles a requested list that has not come, or is damaged.
  /// - Parameter seconds: the received sound of the current segment.
  mutating func loadFailed(
    _ error: StreamError, _ failure: HLSFailure, received seconds: Double = 0, at now: Instant
  ) -> [Action] {
    switch phase {
    case .idle: return []
    case .opening: return leave(at: now) ?? fail(error, retryAfter: failure.retryAfter)
    case .following(let list):
      switch list.load {
      case .over, .due: return []
      case .rising(let version, _): return fallBack(from: version, at: now)
      case .loading:
        interrupt(received: seconds)
        guard let actions = leave(at: now) else { return fail(error, retryAfter: failure.retryAfter) }
        return [.cancelFetch] + actions
      }
    }
  }

  /// Continues with the list of the present version, as that of a better one has not come.
  mutating func fallBack(from version: StreamAddress, at now: Instant) -> [Action] {
    guard case .following(var list) = phase else { return [] }
    versions?.avoid(version, at: now)
    list.load = .loading(since: now)
    phase = .following(list)
    return [.load(list.version)]
  }

  mutating func accept(
    _ media: HLSMedia, of version: StreamAddress, at base: StreamAddress, since: Instant, at now: Instant
  ) -> [Action] {
    versions?.succeeded()
    var (fetch, held) = (HLSList.Fetch.none, HLSMedia?.none)
    if case .following(let list) = phase { (fetch, held) = (list.fetch, list.media) }
    let isBehind = position.isOlder(media, of: version, came: now)
    let isNew: Bool
    switch copies.receive(media, of: version, isBehind: isBehind) {
    case .older:
      let load = HLSList.Load.next(of: media, isNew: false, since: since, at: now)
      let media = held ?? position.known?.media ?? media
      phase = .following(
        HLSList(version: version, media: media, base: base, came: now, load: load, fetch: fetch))
      return []
    case .same: isNew = false
    case .newer: isNew = true
    }
    let load = media.isEnded ? HLSList.Load.over : .next(of: media, isNew: isNew, since: since, at: now)
    var actions: [Action] = isNew ? [.grown] : []
    if position.number == nil {
      if media.isEnded { actions.append(.file(media)) }
    }
    // The current segment is received to its end, whatever the list has by then.
    if case .waiting(_, let isAsked) = fetch {
      if position.adjust(to: media, of: version, came: now) {
        fetch = .none
      } else if isNew, !isAsked {
        fetch = .waiting(until: now, isAsked: false)
      }
    }
    phase = .following(
      HLSList(version: version, media: media, base: base, came: now, load: load, fetch: fetch))
    return actions + proceed(at: now)
  }
}
