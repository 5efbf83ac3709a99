public import EventLoop

/// What the connection of one stream does next: connects, follows playlists, notices silence, connects again. Knows no
/// socket and no clock: it is told what happens and when, and says what to do.
///
/// The first connection must give sound within the time limit, else the stream fails. Once sound has come, it connects
/// again for ever, see `ReconnectDelay`. A list's entries are tried in their order; the one that gave sound is the one to
/// which it connects again, and when that fails it begins anew with the stream's own URL.
public struct ConnectionMachine: Sendable {
  /// What is to be done, in the order given.
  public enum Action: Sendable, Equatable {
    /// Open a transfer of this URL.
    case connect(String)
    /// End the transfer.
    case disconnect
    /// A connection failed; the next one follows by itself, unless `giveUp` does.
    case tell(StreamError)
    /// The first connection failed: the stream stops.
    case giveUp(StreamError)
    /// The sound goes on: a connection after the first one gives sound.
    case resumed
  }

  /// Where it is.
  public enum Phase: Sendable, Equatable {
    case idle
    /// A transfer is open, and no sound has come of it.
    case connecting
    /// Sound comes.
    case receiving
    /// The next attempt is at `deadline`.
    case waiting
  }

  /// Where it is.
  public private(set) var phase = Phase.idle
  /// The URL of the transfer that is open, or was last: that of an entry, when the stream's own is a list.
  public private(set) var currentURL: String
  /// When `deadlinePassed` is due; nil when nothing is.
  public private(set) var deadline: Instant?
  /// Whether sound has come since `start`.
  public private(set) var hasSounded = false
  /// When the sound was lost; nil while it comes, and before the first.
  public private(set) var lostAt: Instant?

  /// The current URL without user and password.
  private var shownURL: String { StreamURL.shown(currentURL) }

  /// How long a connection must have held whose sound has no length, to be as good as any.
  private static let proof = Duration.seconds(5)

  private let url: String
  private var dataTimeout: Duration
  private let isPaced: Bool
  private var random: any RandomNumberGenerator & Sendable
  /// What is to be tried after the current URL, and how deep in lists it was found.
  private var candidates: [(url: String, depth: Int)] = []
  private var depth = 0
  private var attemptEnds: Instant?
  private var startEnds: Instant?
  private var delay = ReconnectDelay()
  private var stall: StallTest?
  /// When the transfer was asked for.
  private var connected = Instant.start
  /// The status that was told last, while the server goes on with it.
  private var toldStatus: Int?

  /// - Parameters:
  ///   - url: checked by the caller.
  ///   - dataTimeout: the longest that nothing may come.
  ///   - isPaced: whether sound comes as fast as it is heard, so that a silence is told from a pause; not in a file.
  ///   - hasSounded: whether sound has come before, so that it connects for ever.
  ///   - random: scatters attempts.
  public init(
    url: String, dataTimeout: Duration = .seconds(20), isPaced: Bool = true, hasSounded: Bool = false,
    random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
  ) {
    self.url = url
    currentURL = url
    self.dataTimeout = dataTimeout
    self.isPaced = isPaced
    self.hasSounded = hasSounded
    self.random = random
  }

  /// Sound of the burst with which the current connection began.
  public var burst: Duration { stall?.burstLength ?? .zero }

  /// How seldom what comes may be looked at when nobody waits for it; nil while it has to be looked at as it comes.
  @inline(__always) public var longestLook: Duration? { phase == .receiving ? stall?.longestLook : nil }

  /// Connects. To be called once.
  public mutating func start(at now: Instant) -> [Action] {
    if !hasSounded { startEnds = now.advanced(by: dataTimeout) }
    return connect(to: url, depth: 0, at: now)
  }

  /// Connects again after `stop`, as after a loss.
  public mutating func restart(at now: Instant) -> [Action] {
    guard phase == .idle else { return [] }
    delay.reset()
    return connect(to: currentURL, depth: depth, at: now)
  }

  /// The longest that nothing may come, also of what is under way.
  public mutating func setDataTimeout(_ limit: Duration) {
    let difference = limit - dataTimeout
    dataTimeout = limit
    stall?.limit = limit
    startEnds = startEnds?.advanced(by: difference)
    attemptEnds = attemptEnds?.advanced(by: difference / (candidates.count + 1))
    if phase == .connecting || phase == .receiving { updateDeadline() }
  }

  /// Nothing more is to be done; a transfer that is open is ended by the caller.
  public mutating func stop() {
    phase = .idle
    deadline = nil
    candidates = []
  }

  /// The server has answered with a status below 400, and a body of sound or of a list may follow.
  public mutating func answered(at now: Instant) {
    stall?.received(.zero, at: now)
    updateDeadline()
  }

  /// The body is a list.
  public mutating func found(_ playlist: Playlist, at now: Instant) -> [Action] {
    guard phase == .connecting else { return [] }
    guard depth < Playlist.depthLimit else {
      let error = StreamError(
        .notFound, "\(shownURL) leads to lists of lists, more than \(Playlist.depthLimit) deep",
        facts: [.init("url", .string(shownURL))])
      return [.disconnect] + failed(error, at: now)
    }
    candidates = playlist.entries.map { ($0.url, depth + 1) } + candidates
    return [.disconnect] + nextCandidate(at: now)
  }

  /// Bytes have come.
  /// - Parameters:
  ///   - audio: the sound in them; zero while that can't be told yet.
  ///   - isNew: whether there is sound in them that had not come before, whose length may not be known: a server that
  ///     sends the same again and again gives no sound. Without it any `audio` counts.
  ///   - look: how long they may have waited to be read.
  public mutating func received(
    _ audio: Duration, isNew: Bool? = nil, at now: Instant, look: Duration = .zero
  ) -> [Action] {
    guard phase == .connecting || phase == .receiving else { return [] }
    stall?.received(audio, at: now, look: look)
    var actions: [Action] = []
    if phase == .connecting, isNew ?? (audio > .zero) {
      phase = .receiving
      if hasSounded { actions.append(.resumed) }
      hasSounded = true
      lostAt = nil
      startEnds = nil
      toldStatus = nil
      candidates = []
    }
    // Nobody knows whether sound without a length is the same as before: a server that ends each time is to be asked
    // ever more rarely.
    if phase == .receiving, audio > .zero || connected.duration(to: now) >= Self.proof { delay.reset() }
    updateDeadline()
    return actions
  }

  /// The transfer has ended by itself, or what came of it can't be used.
  /// - Parameters:
  ///   - error: why; for a server that closed, `stream.network`.
  ///   - retryAfter: what the server asked for.
  public mutating func ended(_ error: StreamError, retryAfter: Duration = .zero, at now: Instant) -> [Action]
  {
    guard phase == .connecting || phase == .receiving else { return [] }
    return failed(error, retryAfter: retryAfter, at: now)
  }

  /// The deadline has passed.
  public mutating func deadlinePassed(at now: Instant) -> [Action] {
    guard let deadline, now >= deadline else { return [] }
    switch phase {
    case .idle: return []
    case .waiting: return connect(to: currentURL, depth: depth, at: now)
    case .connecting, .receiving:
      let what = phase == .receiving ? "sent nothing for" : "gave no sound for"
      let time = phase == .receiving ? stall?.patience ?? dataTimeout : dataTimeout
      let error = StreamError(
        .timeout, "\(shownURL) \(what) \(Self.seconds(time)) s", facts: [.init("url", .string(shownURL))])
      return [.disconnect] + failed(error, at: now)
    }
  }

  private mutating func connect(to url: String, depth: Int, at now: Instant) -> [Action] {
    phase = .connecting
    connected = now
    currentURL = url
    self.depth = depth
    stall = StallTest(at: now, limit: dataTimeout, isPaced: isPaced)
    // The first connection shares its time among what is left to be tried.
    attemptEnds = startEnds.map { end in
      let share = now.duration(to: end) / (candidates.count + 1)
      return min(end, now.advanced(by: max(.seconds(3), share)))
    }
    updateDeadline()
    return [.connect(url)]
  }

  private mutating func updateDeadline() {
    guard let stall else { return }
    deadline = stall.deadline
    if phase == .connecting, let attemptEnds { deadline = min(stall.deadline, attemptEnds) }
  }

  private mutating func nextCandidate(at now: Instant) -> [Action] {
    let next = candidates.removeFirst()
    return connect(to: next.url, depth: next.depth, at: now)
  }

  private mutating func failed(
    _ error: StreamError, retryAfter: Duration = .zero, at now: Instant
  ) -> [Action] {
    if phase == .receiving { lostAt = now }
    let mayGoOn = startEnds.map { now < $0 } ?? true
    if phase == .connecting, !candidates.isEmpty, mayGoOn { return tell(error) + nextCandidate(at: now) }
    guard hasSounded else {
      stop()
      return tell(error) + [.giveUp(error)]
    }
    let isRefused = error.kind == .auth || error.kind == .notFound
    // Where sound came from last may be gone while the stream has moved: the next attempt asks its own URL again.
    if phase == .connecting, currentURL != url { (currentURL, depth) = (url, 0) }
    let wait = delay.wait(at: now, atLeast: retryAfter, isRefused: isRefused, using: &random)
    phase = .waiting
    deadline = now.advanced(by: wait)
    return tell(error)
  }

  /// Tells of a failure; of a status that the server goes on with, once.
  private mutating func tell(_ error: StreamError) -> [Action] {
    let status = error.status
    defer { toldStatus = status }
    return status != nil && status == toldStatus ? [] : [.tell(error)]
  }

  private static func seconds(_ time: Duration) -> String {
    let milliseconds = time.nanoseconds / 1_000_000
    return milliseconds % 1000 == 0 ? "\(milliseconds / 1000)" : "\(Double(milliseconds) / 1000)"
  }
}

extension StreamError {
  /// The HTTP status that it is about.
  public var status: Int? {
    for fact in facts where fact.name == "status" {
      if case .int(let status) = fact.value { return status }
    }
    return nil
  }

  /// The address that it is about.
  public var url: String? {
    for fact in facts where fact.name == "url" {
      if case .string(let url) = fact.value { return url }
    }
    return nil
  }

  /// How long the server asks to be left alone.
  public var retryAfter: Duration? {
    for fact in facts where fact.name == "retry_after" {
      if case .int(let seconds) = fact.value { return .seconds(seconds) }
    }
    return nil
  }

  /// A server's answer of 400 or more.
  /// - Parameter retryAfter: how long it asks to be left alone.
  public static func answer(_ status: Int, url: String, retryAfter: Duration? = nil) -> StreamError {
    var facts: [ErrorFact] = [.init("url", .string(url)), .init("status", .int(status))]
    if let retryAfter { facts.append(.init("retry_after", .int(Int(retryAfter.components.seconds)))) }
    switch status {
    case 401, 403:
      return StreamError(
        .auth, "\(url) lets nobody in without the right user and password (HTTP \(status))",
        hint: "set them with auth = {user, password}", facts: facts)
    case 404, 410:
      return StreamError(
        .notFound, "there is nothing at \(url) (HTTP \(status))", hint: "check the address", facts: facts)
    default: return StreamError(.http, "\(url) answered with HTTP \(status)", facts: facts)
    }
  }
}
