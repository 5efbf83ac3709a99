internal import EventLoop

/// The rules by which a listener of HLS requests lists and segments. Knows no socket and no clock: each event comes with
/// its time, and returns actions.
///
/// Segments are requested one after the other by their numbers, also after an outage: those that the list has lost by
/// then are a gap. A segment of a live list that the server does not have yet, or not at the moment, is requested again
/// while the list has it, for three target durations at most. A version whose list or segment fails is left for the next
/// one down for a minute; the list of a better one is requested beside the segments of the present one. A list that was
/// complete from the first is a file; a live one that ends has ended as a connection does.
///
/// Source: RFC 8216 §6.3.
struct HLSFollower: Sendable {
  /// An action of the receiver; they are performed in the order given.
  enum Action: Sendable, Equatable {
    /// Request the list at an address, in place of one that is requested.
    case load(StreamAddress)
    /// Request a segment.
    case fetch(HLSPiece)
    /// End the request of a segment.
    case cancelFetch
    /// Sound is missing in front of the next frame, in seconds.
    case lost(seconds: Double)
    /// The stream is a file of these segments.
    case file(HLSMedia)
    /// The list has new segments.
    case grown
    /// A segment is left out, the first one since a segment came.
    case report(StreamError)
    /// The connection can't continue. The next one is wanted after the time that the server asked for.
    case fail(StreamError, retryAfter: Duration)
    /// The file is received.
    case complete
  }

  enum Phase: Sendable {
    case idle
    /// The list of a version is awaited, of which nothing is known.
    case opening(since: Instant)
    case following(HLSList)
  }

  /// The attempts for a segment of a file, and for the first of a stream.
  static let attemptLimit = 3
  /// The longest wait for a segment that a live list has, and the longest that a server may ask for.
  static let longestWait = Duration.seconds(30)
  /// The time for which the list of a version may be awaited while nothing comes, if there is another version.
  static let openTime = Duration.seconds(5)

  /// The highest rate of a version in bit/s; from the next master list on.
  var rateLimit: Int
  var phase = Phase.idle
  private var versions: HLSVersions?
  var position = HLSPosition()
  /// The end of the newest list, and its version.
  private var newest: (end: Int, isEnded: Bool, of: StreamAddress)?
  /// Lists that ended in front of the next segment, one after the other.
  private var backwards = 0
  private var isFile = false
  /// True if a segment was reported as left out, and none has come since.
  private var hasReported = false

  init(rateLimit: Int) { self.rateLimit = rateLimit }

  /// Seconds of the longest segment, as the list states; zero while unknown.
  var targetDuration: Double {
    if case .following(let list) = phase { return list.media.targetDuration }
    return position.known?.media.targetDuration ?? 0
  }

  /// The list that is followed; nil while there is none.
  var list: HLSList? { if case .following(let list) = phase { list } else { nil } }
  /// The number of times that the numbers of segments have begun anew.
  var numbering: Int { position.numbering }

  /// True if the list that is requested is a newer copy of the one that is followed: it may be answered as the same.
  var isReloading: Bool {
    guard case .following(let list) = phase, case .loading = list.load else { return false }
    return true
  }

  /// The moment at which `deadlinePassed` is due; nil if none is.
  var deadline: Instant? {
    switch phase {
    case .idle: return nil
    case .opening(let since): return openEnd(since)
    case .following(let list):
      let slow = slowMoment(of: list)
      return [list.load.deadline, list.fetch.deadline, slow].compactMap(\.self).min()
    }
  }

  /// The moment at which the list of another version is requested in place of one that does not come; nil if there is
  /// no other one.
  private func openEnd(_ since: Instant) -> Instant? {
    versions?.canLeave(at: since) == true ? since.advanced(by: Self.openTime) : nil
  }

  /// The moment at which a segment that does not end is too slow; nil if no lower version is left.
  private func slowMoment(of list: HLSList) -> Instant? {
    guard case .fetching(let piece, let since) = list.fetch, piece.version == list.version,
      versions?.hasLower(at: since) == true
    else { return nil }
    return since.advanced(by: max(.seconds(4), Duration(inSeconds: min(piece.segment.duration, 3600) * 2)))
  }

  // MARK: Connections

  /// A connection has brought its list.
  /// - Parameter url: the address of the answer.
  mutating func open(_ playlist: HLSPlaylist, at url: StreamAddress, at now: Instant) -> [Action] {
    var addresses = [url]
    if case .master(let master) = playlist {
      addresses = master.candidates(limit: rateLimit).compactMap { variant in
        if case .address(let address)? = url.resolving(variant.reference) { address } else { nil }
      }
      guard !addresses.isEmpty else {
        return fail(
          StreamError(
            .notFound, "the playlist \(url) lists no address that works here",
            hint: "open it in a text editor to see what it holds",
            facts: [.init("url", .string(url.description))]))
      }
    }
    var versions = versions ?? HLSVersions(url)
    versions.replace(by: addresses, at: now)
    self.versions = versions
    guard case .media(let media) = playlist else { return begin(at: now) }
    return accept(media, of: url, at: url, since: now, at: now)
  }

  /// The connection has been closed.
  /// - Parameter seconds: the sound that was received of the segment under way.
  mutating func close(received seconds: Double) {
    interrupt(received: seconds)
    phase = .idle
  }

  private mutating func interrupt(received seconds: Double) {
    if case .following(let list) = phase, case .fetching = list.fetch {
      position.interrupt(received: seconds)
    }
  }

  /// The connection has brought nothing for too long, and will be closed: another version is tried next, and a segment
  /// that has brought nothing three times is left out.
  /// - Parameter seconds: the sound that was received of the segment under way.
  mutating func silent(received seconds: Double, at now: Instant) {
    if let versions { self.versions?.avoid(versions.current, at: now) }
    if case .following(let list) = phase, case .fetching(let piece, _) = list.fetch {
      position.interrupt(received: seconds)
      if position.fail(at: now).count >= Self.attemptLimit { position.skip(piece.segment.duration) }
    }
    phase = .idle
  }

  private mutating func begin(at now: Instant) -> [Action] {
    guard let versions else { return [] }
    phase = .opening(since: now)
    return [.load(versions.current)]
  }

  private mutating func fail(_ error: StreamError, retryAfter: Duration = .zero) -> [Action] {
    phase = .idle
    return [.fail(error, retryAfter: retryAfter)]
  }

  /// Leaves the version, if there is another one.
  private mutating func leave(at now: Instant) -> [Action]? {
    guard versions?.leave(at: now) == true else { return nil }
    return begin(at: now)
  }

  // MARK: Lists

  /// The list that was requested has come.
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

  /// The list that was requested is still the same.
  mutating func unchanged(at now: Instant) -> [Action] {
    guard case .following(var list) = phase, case .loading(let since) = list.load else { return [] }
    list.load = .next(of: list.media, isNew: false, since: since, at: now)
    phase = .following(list)
    return []
  }

  /// The list that was requested has not come, or is damaged.
  /// - Parameter seconds: the sound that was received of the segment under way.
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
  private mutating func fallBack(from version: StreamAddress, at now: Instant) -> [Action] {
    guard case .following(var list) = phase else { return [] }
    versions?.avoid(version, at: now)
    list.load = .loading(since: now)
    phase = .following(list)
    return [.load(list.version)]
  }

  private mutating func accept(
    _ media: HLSMedia, of version: StreamAddress, at base: StreamAddress, since: Instant, at now: Instant
  ) -> [Action] {
    var (fetch, held) = (HLSList.Fetch.none, HLSMedia?.none)
    if case .following(let list) = phase { (fetch, held) = (list.fetch, list.media) }
    let old = newest.flatMap { $0.of == version ? $0 : nil }
    if let number = position.number, media.end < number, old != nil, !position.isRestart(media) {
      // An older copy of the list.
      backwards += 1
      guard backwards >= Self.attemptLimit else {
        let load = HLSList.Load.next(of: media, isNew: false, since: since, at: now)
        let media = held ?? position.known?.media ?? media
        phase = .following(
          HLSList(version: version, media: media, base: base, came: now, load: load, fetch: fetch))
        return []
      }
    }
    backwards = 0
    let isNew = old.map { $0.end != media.end || $0.isEnded != media.isEnded } ?? true
    newest = (media.end, media.isEnded, version)
    let load = media.isEnded ? HLSList.Load.over : .next(of: media, isNew: isNew, since: since, at: now)
    var actions: [Action] = isNew ? [.grown] : []
    if position.number == nil {
      isFile = media.isEnded
      if isFile { actions.append(.file(media)) }
    }
    // A segment that is under way is received to its end, whatever the list has by then.
    if case .waiting = fetch, position.adjust(to: media, of: version, came: now) { fetch = .none }
    phase = .following(
      HLSList(version: version, media: media, base: base, came: now, load: load, fetch: fetch))
    return actions + proceed(at: now)
  }

  // MARK: Segments

  mutating func proceed(at now: Instant) -> [Action] {
    guard case .following(var list) = phase, case .none = list.fetch else { return [] }
    _ = position.adjust(to: list.media, of: list.version, came: list.came)
    while true {
      let number = position.begin(at: list.media.start)
      guard let segment = list.media.segment(number) else {
        guard list.media.isEnded else { return [] }
        if isFile { return [.complete] }
        return fail(.ended(list.base.description))
      }
      if segment.isAbsent {
        position.skip(segment.duration)
        continue
      }
      let lost = position.drainLost()
      let piece = HLSPiece(
        segment: segment, base: list.base, version: list.version,
        isContinuous: position.joined == list.version && !segment.isDiscontinuous, received: position.received
      )
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

  // MARK: Time

  /// The requests were held back, and continue now.
  mutating func resumed(at now: Instant) {
    guard case .following(var list) = phase, case .fetching(let piece, _) = list.fetch else { return }
    list.fetch = .fetching(piece, since: now)
    phase = .following(list)
  }

  /// A deadline has passed.
  /// - Parameter seconds: the sound that was received of the segment under way.
  mutating func deadlinePassed(received seconds: Double, at now: Instant) -> [Action] {
    switch phase {
    case .idle: return []
    case .opening(let since):
      guard let end = openEnd(since), now >= end else { return [] }
      return leave(at: now) ?? []
    case .following(let list):
      if let slow = slowMoment(of: list), now >= slow {
        interrupt(received: seconds)
        if let actions = leave(at: now) { return [.cancelFetch] + actions }
      }
      return loadDeadlinePassed(at: now) + fetchDeadlinePassed(at: now)
    }
  }

  private mutating func loadDeadlinePassed(at now: Instant) -> [Action] {
    guard case .following(var list) = phase else { return [] }
    switch list.load {
    case .due(let moment) where now >= moment:
      list.load = .loading(since: now)
      phase = .following(list)
      return [.load(list.version)]
    case .rising(let version, let since) where now >= since.advanced(by: HLSList.riseTime):
      return fallBack(from: version, at: now)
    case .over, .due, .loading, .rising: return []
    }
  }

  private mutating func fetchDeadlinePassed(at now: Instant) -> [Action] {
    guard case .following(var list) = phase, case .waiting(let moment) = list.fetch, now >= moment else {
      return []
    }
    list.fetch = .none
    phase = .following(list)
    return proceed(at: now)
  }
}
