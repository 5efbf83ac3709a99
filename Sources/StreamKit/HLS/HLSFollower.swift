internal import EventLoop

/// The rules by which a listener of HLS requests lists and segments. Knows no socket and no clock: each event comes with
/// its time, and returns actions.
///
/// Segments are requested one after the other by their numbers, also after an outage: those that the list has lost by
/// then are a gap. A version whose list or segment fails is left for the next one down for `leaveTime`. A list that
/// was complete from the first is a file; a live one that ends has ended as a connection does.
///
/// Source: RFC 8216 §6.3.
struct HLSFollower: Sendable {
  /// An action of the receiver; they are performed in the order given.
  enum Action: Sendable, Equatable {
    /// Request the list at an address.
    case load(StreamAddress)
    /// Request a segment.
    case fetch(HLSPiece)
    /// End the request of a segment.
    case cancelFetch
    /// Sound is missing in front of the next frame, in seconds.
    case lost(seconds: Double)
    /// The stream is a file of so many seconds.
    case file(seconds: Double)
    /// The list has new segments.
    case grown
    /// A segment is left out, the first one since a segment came.
    case report(StreamError)
    /// The connection can't continue.
    case fail(StreamError)
    /// The file is received.
    case complete
  }

  private enum Load: Sendable {
    /// The list is complete.
    case over
    case due(Instant)
    case loading(since: Instant)
  }

  private enum Fetch: Sendable {
    case none
    /// A segment is requested again then.
    case waiting(until: Instant)
    case fetching(since: Instant)
  }

  /// A list that is followed.
  private struct List: Sendable {
    var media: HLSMedia
    /// The address of its answer, to which its references are relative.
    var base: StreamAddress
    var load: Load
    var fetch = Fetch.none
  }

  private enum Phase: Sendable {
    case idle
    /// The list of a version is awaited, of which nothing is known.
    case opening(since: Instant)
    case following(List)
  }

  /// The time for which a version that has failed is left.
  static let leaveTime = Duration.seconds(60)
  /// The attempts for a segment.
  static let attemptLimit = 3

  /// The highest rate of a version in bit/s; from the next master list on.
  var rateLimit: Int
  private var phase = Phase.idle
  private var candidates: [StreamAddress] = []
  private var current = 0
  /// The versions that have failed, and until when they are left.
  private var left: [StreamAddress: Instant] = [:]

  /// The number of the next segment; nil before the first.
  private var next: Int?
  /// Seconds of that segment that were received before it failed.
  private var received = 0.0
  private var attempts = 0
  /// True if a segment was reported as left out, and none has come since.
  private var hasReported = false
  /// Seconds that are missing in front of the next segment.
  private var lost = 0.0
  /// The version of the last segment that was received whole; nil if the next one does not follow from it.
  private var joined: StreamAddress?
  /// The newest list, and when it came; of which version it is.
  private var known: (media: HLSMedia, at: Instant, of: StreamAddress)?
  /// Lists that ended in front of the next segment, one after the other.
  private var backwards = 0
  private var isFile = false

  init(rateLimit: Int) { self.rateLimit = rateLimit }

  /// Seconds of the longest segment, as the list states; zero while unknown.
  var targetDuration: Double { known?.media.targetDuration ?? 0 }

  /// The moment at which `deadlinePassed` is due; nil if none is.
  var deadline: Instant? {
    guard case .following(let list) = phase else { return nil }
    var moments: [Instant] = []
    if case .due(let moment) = list.load { moments.append(moment) }
    switch list.fetch {
    case .none: break
    case .waiting(let moment): moments.append(moment)
    case .fetching(let since): if let slow = slowMoment(since) { moments.append(slow) }
    }
    return moments.min()
  }

  /// The moment at which a segment that does not end is too slow; nil if no other version is left.
  private func slowMoment(_ since: Instant) -> Instant? {
    guard candidates.count > 1, current < candidates.count - 1, let next else { return nil }
    let seconds = known?.media.segment(next)?.duration ?? 0
    return since.advanced(by: max(.seconds(4), Duration(inSeconds: min(seconds, 3600) * 2)))
  }

  // MARK: Connections

  /// A connection has brought its list.
  /// - Parameter url: the address of the answer.
  mutating func open(_ playlist: HLSPlaylist, at url: StreamAddress, at now: Instant) -> [Action] {
    switch playlist {
    case .media(let media):
      (candidates, current) = ([url], 0)
      return accept(media, at: url, since: now, at: now)
    case .master(let master):
      candidates = master.candidates(limit: rateLimit).compactMap { variant in
        if case .address(let address)? = url.resolving(variant.reference) { address } else { nil }
      }
      guard !candidates.isEmpty else {
        return fail(
          StreamError(
            .notFound, "the playlist \(url) lists no address that works here",
            hint: "open it in a text editor to see what it holds",
            facts: [.init("url", .string(url.description))]))
      }
      if candidates.allSatisfy({ isLeft($0, at: now) }) { left = [:] }
      current = candidates.firstIndex { !isLeft($0, at: now) } ?? 0
      return begin(at: now)
    }
  }

  /// The connection has been closed.
  /// - Parameter seconds: the sound that was received of the segment under way.
  mutating func close(received seconds: Double) {
    received = seconds
    phase = .idle
  }

  /// The connection has brought nothing for too long: another version is tried next.
  mutating func silent(at now: Instant) {
    if candidates.indices.contains(current) { left[candidates[current]] = now.advanced(by: Self.leaveTime) }
  }

  private mutating func begin(at now: Instant) -> [Action] {
    phase = .opening(since: now)
    return [.load(candidates[current])]
  }

  private mutating func fail(_ error: StreamError) -> [Action] {
    phase = .idle
    return [.fail(error)]
  }

  // MARK: Versions

  private func isLeft(_ address: StreamAddress, at now: Instant) -> Bool {
    left[address].map { now < $0 } ?? false
  }

  /// Leaves the version, if there is another one.
  private mutating func leave(at now: Instant) -> [Action]? {
    guard candidates.count > 1 else { return nil }
    left[candidates[current]] = now.advanced(by: Self.leaveTime)
    let below = candidates.indices.first { $0 > current && !isLeft(candidates[$0], at: now) }
    guard let other = below ?? candidates.indices.first(where: { !isLeft(candidates[$0], at: now) }) else {
      return nil
    }
    current = other
    return begin(at: now)
  }

  /// Returns to a better version whose time is over.
  private mutating func rise(at now: Instant) -> [Action]? {
    guard let better = candidates.indices.first(where: { !isLeft(candidates[$0], at: now) }), better < current
    else { return nil }
    current = better
    return begin(at: now)
  }

  // MARK: Lists

  /// The list that was requested has come.
  mutating func loaded(_ playlist: HLSPlaylist, at url: StreamAddress, at now: Instant) -> [Action] {
    guard case .media(let media) = playlist else {
      return loadFailed(
        StreamError(
          .content, "\(url) leads to lists of lists", hint: "report it to the station",
          facts: [.init("url", .string(url.description))]), at: now)
    }
    switch phase {
    case .opening(let since): return accept(media, at: url, since: since, at: now)
    case .following(let list):
      guard case .loading(let since) = list.load else { return [] }
      return accept(media, at: url, since: since, at: now)
    case .idle: return []
    }
  }

  /// The list that was requested is still the same.
  mutating func unchanged(at now: Instant) -> [Action] {
    guard case .following(var list) = phase, case .loading(let since) = list.load else { return [] }
    list.load = .due(max(now, since.advanced(by: Self.wait(list.media, isNew: false))))
    phase = .following(list)
    return []
  }

  /// The list that was requested has not come, or is damaged.
  /// - Parameter seconds: the sound that was received of the segment under way.
  mutating func loadFailed(
    _ error: StreamError, received seconds: Double = 0, at now: Instant
  ) -> [Action] {
    switch phase {
    case .idle: return []
    case .opening: return leave(at: now) ?? fail(error)
    case .following:
      received = seconds
      guard let actions = leave(at: now) else { return fail(error) }
      return [.cancelFetch] + actions
    }
  }

  private static func wait(_ media: HLSMedia, isNew: Bool) -> Duration {
    let target = min(media.targetDuration, 3600)
    return Duration(inSeconds: isNew ? max(1, target) : max(0.5, target / 2))
  }

  private mutating func accept(
    _ media: HLSMedia, at base: StreamAddress, since: Instant, at now: Instant
  ) -> [Action] {
    var fetch = Fetch.none
    if case .following(let list) = phase { fetch = list.fetch }
    let version = candidates[current]
    let old = known?.of == version ? known : nil
    let isNew = old.map { $0.media.end != media.end || $0.media.isEnded != media.isEnded } ?? true
    let load = media.isEnded ? Load.over : .due(max(now, since.advanced(by: Self.wait(media, isNew: isNew))))
    if let number = next, media.end < number, old != nil, !isRestart(media) {
      // An older copy of the list.
      backwards += 1
      guard backwards >= Self.attemptLimit else {
        let held = old?.media ?? media
        phase = .following(List(media: held, base: base, load: load, fetch: fetch))
        return []
      }
    }
    var actions: [Action] = isNew ? [.grown] : []
    adjust(to: media, isSame: old != nil, at: now)
    backwards = 0
    if next == nil {
      isFile = media.isEnded
      if isFile { actions.append(.file(seconds: media.duration)) }
    }
    known = (media, now, version)
    phase = .following(List(media: media, base: base, load: load, fetch: fetch))
    return actions + proceed(at: now)
  }

  /// Returns true if the numbers of a list began anew: it ends in front of all that the last one had.
  private func isRestart(_ media: HLSMedia) -> Bool {
    guard let known else { return false }
    return media.end <= known.media.sequence || known.media.isEnded
  }

  /// Moves the next segment to where a list has it, and measures what is lost.
  private mutating func adjust(to media: HLSMedia, isSame: Bool, at now: Instant) {
    guard let number = next, let known else { return }
    let elapsed = known.at.duration(to: now).inSeconds
    if number < media.sequence {
      var seconds = -received
      let last = min(media.sequence, max(number, known.media.end))
      for lost in number..<last { seconds += known.media.segment(lost)?.duration ?? 0 }
      if media.sequence > last {
        let average = media.segments.isEmpty ? 0 : media.duration / Double(media.segments.count)
        // Numbers that jump are no sound.
        seconds += min(Double(media.sequence - last) * average, elapsed + media.targetDuration)
      }
      move(to: media.sequence, lost: max(0, seconds))
    } else if number > media.end || isSame && isReplaced(media) {
      // All that came since then is new.
      var (held, start) = (0.0, media.end)
      while start > media.sequence, held < elapsed + 3 * media.targetDuration {
        start -= 1
        held += media.segment(start)?.duration ?? 0
      }
      move(to: start, lost: max(0, elapsed - held))
    }
  }

  /// Returns true if a list has another segment under a number.
  private func isReplaced(_ media: HLSMedia) -> Bool {
    guard let known else { return false }
    let number = min(known.media.end, media.end) - 1
    guard let one = known.media.segment(number), let other = media.segment(number), one.range == nil else {
      return false
    }
    return one.fileName != other.fileName
  }

  private mutating func move(to number: Int, lost seconds: Double) {
    (next, received, attempts, joined) = (number, 0, 0, nil)
    lost += seconds
  }

  // MARK: Segments

  private mutating func proceed(at now: Instant) -> [Action] {
    guard case .following(var list) = phase, case .none = list.fetch else { return [] }
    while true {
      let number = next ?? list.media.start
      next = number
      guard let segment = list.media.segment(number) else {
        guard list.media.isEnded else { return [] }
        if isFile { return [.complete] }
        return fail(.ended(list.base.description))
      }
      if segment.isAbsent {
        move(to: number + 1, lost: max(0, segment.duration - received))
        continue
      }
      var actions: [Action] = []
      if lost > 0 { actions.append(.lost(seconds: lost)) }
      lost = 0
      let version = candidates[current]
      let piece = HLSPiece(
        segment: segment, base: list.base, version: version,
        isContinuous: joined == version && !segment.isDiscontinuous, received: received)
      list.fetch = .fetching(since: now)
      phase = .following(list)
      return actions + [.fetch(piece)]
    }
  }

  /// A segment has come whole.
  mutating func segmentReceived(at now: Instant) -> [Action] {
    guard case .following(var list) = phase, let number = next else { return [] }
    list.fetch = .none
    phase = .following(list)
    (next, received, attempts, joined) = (number + 1, 0, 0, candidates[current])
    hasReported = false
    return rise(at: now) ?? proceed(at: now)
  }

  /// A segment has not come, or not whole.
  /// - Parameters:
  ///   - seconds: the sound that was received of it.
  ///   - isAnswered: true if the server has answered with an error: other requests may succeed.
  ///   - isFinal: true if the same comes of any attempt.
  mutating func segmentFailed(
    _ error: StreamError, received seconds: Double, isAnswered: Bool, isFinal: Bool = false, hasSound: Bool,
    at now: Instant
  ) -> [Action] {
    guard case .following(var list) = phase, let number = next else { return [] }
    (received, attempts) = (seconds, isFinal ? Self.attemptLimit : attempts + 1)
    list.fetch = .none
    phase = .following(list)
    if let actions = leave(at: now) { return actions }
    guard attempts >= Self.attemptLimit else {
      guard isAnswered else { return fail(error) }
      list.fetch = .waiting(until: now.advanced(by: .milliseconds(500) * attempts))
      phase = .following(list)
      return []
    }
    guard hasSound else { return fail(error) }
    let length = list.media.segment(number)?.duration ?? 0
    move(to: number + 1, lost: max(0, length - seconds))
    defer { hasReported = true }
    return (hasReported ? [] : [.report(error)]) + proceed(at: now)
  }

  // MARK: Time

  /// A deadline has passed.
  /// - Parameter seconds: the sound that was received of the segment under way.
  mutating func deadlinePassed(received seconds: Double, at now: Instant) -> [Action] {
    guard case .following(var list) = phase else { return [] }
    if case .fetching(let since) = list.fetch, let slow = slowMoment(since), now >= slow {
      received = seconds
      if let actions = leave(at: now) { return [.cancelFetch] + actions }
    }
    var actions: [Action] = []
    if case .due(let moment) = list.load, now >= moment {
      list.load = .loading(since: now)
      actions.append(.load(candidates[current]))
    }
    var isDue = false
    if case .waiting(let moment) = list.fetch, now >= moment { (list.fetch, isDue) = (.none, true) }
    phase = .following(list)
    return isDue ? actions + proceed(at: now) : actions
  }
}

/// A segment that is to be received.
struct HLSPiece: Sendable, Equatable {
  let segment: HLSSegment
  /// The address to which its references are relative.
  let base: StreamAddress
  /// The list of the version.
  let version: StreamAddress
  /// True if its sound follows from that of the segment that was received last.
  let isContinuous: Bool
  /// Seconds of it that were received before.
  let received: Double
}
