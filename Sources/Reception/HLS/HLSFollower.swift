internal import EventLoop
internal import StreamCore

/// The rules by which a listener of HLS requests lists and segments. Knows no socket and no clock: its
/// methods receive each event with its time, and return actions.
///
/// Segments are requested one after the other by their numbers, also after an outage: those that the list has
/// lost by then are a gap. A segment of a live list that the server does not have yet, or not at the moment,
/// is requested again while it is listed, for three target durations at most, and if a later one is listed
/// only as long as a player has sound. A version whose list or segment fails is avoided for a minute, and the
/// next one down is received; the list of a better version is requested beside the segments of the present
/// one. A list that was complete from the start is a file; a live one that ends is received to its end, like
/// a file.
///
/// Source: RFC 8216 §6.3.
struct HLSFollower: Sendable {
  /// An action of the receiver; actions are performed in the given order.
  enum Action: Sendable, Equatable {
    /// Request the list at an address, instead of the one that is requested now.
    case load(StreamAddress)
    /// Request a segment.
    case fetch(HLSPiece)
    /// End the request of a segment.
    case cancelFetch
    /// Sound is missing before the next frame, in seconds.
    case lost(seconds: Double)
    /// The stream is a file of these segments.
    case file(HLSMedia)
    /// The list has new segments.
    case grown
    /// A segment is left out, the first since a segment was received.
    case report(StreamError)
    /// The connection can't continue. The next attempt follows after the delay that the server asked for.
    case fail(StreamError, retryAfter: Duration)
    /// The last segment of a file, or of a live list that has ended, was received: none will follow.
    case complete
  }

  enum Phase: Sendable {
    case idle
    /// The list of a version is awaited, and no earlier list is known.
    case opening(since: Instant)
    case following(HLSList)
  }

  /// The limit of attempts for a segment of a file, and for the first ones of a stream.
  static let attemptLimit = 3
  /// The longest wait for a segment that a live list has, and the longest that a server may ask for.
  static let longestWait = Duration.seconds(30)
  /// The time for which the list of a version may be awaited without any sound, if there is another version.
  static let openTime = Duration.seconds(5)

  /// The highest rate of a version in bit/s; applies from the next master list on.
  var rateLimit: Int
  var phase = Phase.idle
  var versions: HLSVersions?
  var position = HLSPosition()
  /// The received copies of the list.
  var copies = HLSListCopies()
  /// `true` if a left out segment was reported, and no segment has been received since.
  var hasReported = false

  init(rateLimit: Int) { self.rateLimit = rateLimit }

  /// The length of the longest segment in seconds, as the list states it; zero while unknown.
  var targetDuration: Double {
    if case .following(let list) = phase { return list.media.targetDuration }
    return position.known?.media.targetDuration ?? 0
  }

  /// The list that is followed; nil without one.
  var list: HLSList? { if case .following(let list) = phase { list } else { nil } }
  /// The number of times that the numbers of segments have changed.
  var renumberings: Int { position.renumberings }

  /// `true` if the requested list is a newer copy of the one that is followed: the server may answer that it
  /// is unchanged.
  var isReloading: Bool {
    guard case .following(let list) = phase, case .loading = list.load else { return false }
    return true
  }

  /// The moment at which `deadlinePassed` is due; nil without a deadline.
  var deadline: Instant? {
    switch phase {
    case .idle: return nil
    case .opening(let since): return openEnd(since)
    case .following(let list):
      let slow = slowMoment(of: list)
      return [list.load.deadline, list.fetch.deadline, slow].compactMap(\.self).min()
    }
  }

  /// Returns the moment at which the list of another version is requested, as this one does not come; nil if
  /// there is no other version.
  private func openEnd(_ since: Instant) -> Instant? {
    versions?.canLeave(at: since) == true ? since.advanced(by: Self.openTime) : nil
  }

  /// Returns the moment at which an unfinished segment is too slow; nil if no lower version is left.
  private func slowMoment(of list: HLSList) -> Instant? {
    guard case .fetching(let piece, let since) = list.fetch, piece.version == list.version,
      versions?.hasLower(at: since) == true
    else { return nil }
    return since.advanced(by: max(.seconds(4), Duration(inSeconds: min(piece.segment.duration, 3600) * 2)))
  }

  // MARK: Connections

  /// Receives the list of a new connection.
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

  /// Handles the end of the connection.
  /// - Parameter seconds: the received sound of the current segment.
  mutating func close(received seconds: Double) {
    interrupt(received: seconds)
    phase = .idle
  }

  mutating func interrupt(received seconds: Double) {
    if case .following(let list) = phase, case .fetching = list.fetch {
      position.interrupt(received: seconds)
    }
  }

  /// Handles a connection that was silent for too long, and will be closed: another version is tried next,
  /// and a segment that was silent three times is left out.
  /// - Parameter seconds: the received sound of the current segment.
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

  /// Continues after the requests were held back.
  mutating func resumed(at now: Instant) {
    guard case .following(var list) = phase, case .fetching(let piece, _) = list.fetch else { return }
    list.fetch = .fetching(piece, since: now)
    phase = .following(list)
  }

  /// Handles a deadline that has passed.
  /// - Parameter seconds: the received sound of the current segment.
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
