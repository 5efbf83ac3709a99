internal import EventLoop

/// The rules by which a listener of HLS requests lists and segments. Knows no socket and no clock: each event comes with
/// its time, and returns actions.
///
/// Segments are requested one after the other by their numbers, also after an outage: those that the list has lost by
/// then are a gap. A segment of a live list that the server does not have yet, or not at the moment, is requested again
/// while the list has it, for three target durations at most, and where a later one is there for as long as a player has
/// sound. A version whose list or segment fails is left for the next
/// one down for a minute; the list of a better one is requested beside the segments of the present one. A list that was
/// complete from the first is a file; a live one that ends is received to its end, like a file.
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
    /// The last segment is received, and none will follow: of a file, or of a live list that has ended.
    case complete
  }

  enum Phase: Sendable {
    case idle
    /// The list of a version is awaited, of which nothing is known.
    case opening(since: Instant)
    case following(HLSList)
  }

  /// The attempts for a segment of a file, and for the first ones of a stream.
  static let attemptLimit = 3
  /// The longest wait for a segment that a live list has, and the longest that a server may ask for.
  static let longestWait = Duration.seconds(30)
  /// The time for which the list of a version may be awaited while nothing comes, if there is another version.
  static let openTime = Duration.seconds(5)

  /// The highest rate of a version in bit/s; from the next master list on.
  var rateLimit: Int
  var phase = Phase.idle
  var versions: HLSVersions?
  var position = HLSPosition()
  /// The copies of the list that have come.
  var copies = HLSListCopies()
  /// True if a segment was reported as left out, and none has come since.
  var hasReported = false

  init(rateLimit: Int) { self.rateLimit = rateLimit }

  /// Seconds of the longest segment, as the list states; zero while unknown.
  var targetDuration: Double {
    if case .following(let list) = phase { return list.media.targetDuration }
    return position.known?.media.targetDuration ?? 0
  }

  /// The list that is followed; nil while there is none.
  var list: HLSList? { if case .following(let list) = phase { list } else { nil } }
  /// The number of times that the numbers of segments have changed.
  var renumberings: Int { position.renumberings }

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

  mutating func interrupt(received seconds: Double) {
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

  mutating func begin(at now: Instant) -> [Action] {
    guard let versions else { return [] }
    phase = .opening(since: now)
    return [.load(versions.current)]
  }

  mutating func fail(_ error: StreamError, retryAfter: Duration = .zero) -> [Action] {
    phase = .idle
    return [.fail(error, retryAfter: retryAfter)]
  }

  /// Leaves the version, if there is another one.
  mutating func leave(at now: Instant) -> [Action]? {
    guard versions?.leave(at: now) == true else { return nil }
    return begin(at: now)
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
    guard case .following(var list) = phase, case .waiting(let moment, _) = list.fetch, now >= moment else {
      return []
    }
    list.fetch = .none
    phase = .following(list)
    return proceed(at: now)
  }
}
