public import EventLoop
public import StreamCore

/// The rules of the connection of one stream: connects, follows playlists, notices silence, connects again.
/// Knows no socket and no clock: its methods receive each event with its time, and return actions.
///
/// A stalled connection is kept, as most continue without a byte missing, and closing it loses the bytes that
/// the server has queued. A second one is opened beside it; the first that sends continues. Sound of the
/// second that does not join that of the first is held as long as the first may still resume.
///
/// The first connection must bring sound within the time limit, else the stream fails. Once sound has come,
/// it reconnects for ever, see `ReconnectDelay`. The entries of a list are tried in their order; reconnecting
/// uses the entry that gave sound, and after that fails starts again with the stream's own address.
public struct ConnectionMachine: Sendable {
  /// An action of the receiver; actions are performed in the given order.
  public enum Action: Sendable, Equatable {
    /// Open a transfer of this address.
    case connect(StreamAddress)
    /// End the transfer.
    case disconnect
    /// A connection failed; the next attempt follows by itself, unless `giveUp` follows.
    case report(StreamError)
    /// The first connection failed: the stream stops.
    case giveUp(StreamError)
    /// Sound comes again, from a connection after the first one.
    case resumed
    /// Open a second transfer, of this address, beside the stalled one.
    case connectStandby(StreamAddress)
    /// End the second transfer, and drop its bytes.
    case disconnectStandby
    /// End the first transfer; the second one becomes the connection, and all its bytes are received now.
    /// Always the last action.
    case adoptStandby
  }

  /// The state of the connection.
  public enum Phase: Sendable, Equatable {
    case idle
    /// A transfer is open, and has brought no sound yet.
    case connecting
    /// Sound comes.
    case receiving
    /// The open transfer has brought sound, but none for too long.
    case stalled(Standby)
    /// The next attempt is at `deadline`.
    case waiting
  }

  /// A second connection beside the stalled one.
  public enum Standby: Sendable, Equatable {
    /// There is no second connection, as the station has refused a second listener.
    case refused
    /// The next attempt is at that moment.
    case waiting(until: Instant)
    /// A transfer has been open since that moment, and has brought no sound yet.
    case connecting(since: Instant)
    /// Sound of a transfer opened at `connected` has been held since that moment.
    case holding(connected: Instant, since: Instant)
  }

  /// The state of the connection.
  public internal(set) var phase = Phase.idle
  /// The address of the open or the last transfer: that of an entry, if the stream's own address is a list.
  public private(set) var currentAddress: StreamAddress
  /// The moment at which `deadlinePassed` is due; nil without a deadline.
  public private(set) var deadline: Instant?
  /// `true` if sound has come since `start`.
  public private(set) var hasSounded = false
  /// The moment at which the sound was lost; nil while it comes, and before the first.
  public internal(set) var lostAt: Instant?

  /// The age at which a connection whose sound has no length counts as proven.
  private static let proof = Duration.seconds(5)

  private let own: ListedAddress
  var dataTimeout: Duration
  /// `true` if sound comes in real time, so that a stall shows.
  private(set) var isPaced: Bool
  var random: any RandomNumberGenerator & Sendable
  /// The entries that are tried after the current address, with the depth of the lists in which they were
  /// found.
  private(set) var candidates: [ListedAddress] = []
  var depth: Int
  var attemptEnds: Instant?
  private var startEnds: Instant?
  var delay = ReconnectDelay()
  var stall: StallTest?
  /// The moment at which the transfer was requested.
  var connected = Instant.start
  /// The last reported failure, while attempts fail alike.
  private var reported: StreamError?
  /// `true` if the station has answered a second listener with an error.
  var refusesSecond = false
  /// The failure of the last second connection beside the stalled one; nil while another one is open.
  var standbyFailure: StreamError?

  /// - Parameters:
  ///   - address: the stream's own address.
  ///   - depth: the number of lists that led to it.
  ///   - dataTimeout: the longest time without bytes.
  ///   - isPaced: `true` if sound comes in real time, so that a stall shows; `false` for a file.
  ///   - hasSounded: `true` if sound has come before, so that attempts never end.
  ///   - random: scatters the attempts.
  public init(
    _ address: StreamAddress, depth: Int = 0, dataTimeout: Duration = .seconds(20), isPaced: Bool = true,
    hasSounded: Bool = false, random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
  ) {
    own = ListedAddress(address: address, depth: depth)
    (currentAddress, self.depth) = (address, depth)
    self.dataTimeout = dataTimeout
    self.isPaced = isPaced
    self.hasSounded = hasSounded
    self.random = random
  }

  /// `true` if a list led to the current address.
  var isListed: Bool { depth > 0 }

  /// The longest time between two reads while no player waits; nil if bytes must be read as they come.
  @inline(__always) public var longestLook: Duration? { phase == .receiving ? stall?.longestLook : nil }

  /// Connects. To be called once.
  public mutating func start(at now: Instant) -> [Action] {
    if !hasSounded { startEnds = now.advanced(by: dataTimeout) }
    return connect(to: own.address, depth: own.depth, at: now)
  }

  /// Connects again after `stop`, as after a loss.
  public mutating func restart(at now: Instant) -> [Action] {
    guard phase == .idle else { return [] }
    delay.reset()
    return connect(to: currentAddress, depth: depth, at: now)
  }

  /// Sets the longest time without bytes, also for the current connection.
  public mutating func setDataTimeout(_ limit: Duration) {
    let difference = limit - dataTimeout
    dataTimeout = limit
    stall?.limit = limit
    startEnds = startEnds?.advanced(by: difference)
    attemptEnds = attemptEnds?.advanced(by: difference / (candidates.count + 1))
    updateDeadline()
  }

  /// Ends the machine for good, or until `restart`; the caller ends an open transfer.
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

  /// Changes whether sound comes in real time, also for the current connection.
  public mutating func setPaced(_ isPaced: Bool, at now: Instant) {
    guard isPaced != self.isPaced else { return }
    self.isPaced = isPaced
    guard isOpen else { return }
    stall = StallTest(at: now, limit: dataTimeout, isPaced: isPaced)
    updateDeadline()
  }

  /// The body is a list.
  public mutating func found(_ playlist: Playlist, at now: Instant) -> [Action] {
    guard phase == .connecting else { return [] }
    guard depth < Playlist.depthLimit else {
      let error = StreamError(
        .notFound, "\(currentAddress) leads to lists of lists, more than \(Playlist.depthLimit) deep",
        facts: [.init("url", .string(currentAddress.description))])
      return [.disconnect] + failed(error, at: now)
    }
    candidates = playlist.entries.map { ListedAddress(address: $0.address, depth: depth + 1) } + candidates
    return [.disconnect] + nextCandidate(at: now)
  }

  /// Bytes have come.
  /// - Parameters:
  ///   - audio: the sound in them; zero while that is not known.
  ///   - isNew: `true` if they hold sound that has not come before, also of unknown length: a server that
  ///     repeats the same bytes brings no sound. Without it any `audio` counts.
  ///   - look: the longest time that they may have waited to be read.
  public mutating func received(
    _ audio: Duration, isNew: Bool? = nil, at now: Instant, look: Duration = .zero
  ) -> [Action] {
    guard isOpen else { return [] }
    stall?.received(audio, at: now, look: look)
    var actions = unstall()
    if phase == .connecting, isNew ?? (audio > .zero) {
      phase = .receiving
      if hasSounded { actions.append(.resumed) }
      hasSounded = true
      lostAt = nil
      startEnds = nil
      reported = nil
      candidates = []
    }
    let age = connected.duration(to: now)
    // Sound without a length can't be compared with earlier sound: a server that ends each time is asked ever
    // more rarely.
    if phase == .receiving, audio > .zero || age >= Self.proof { delay.played(for: age) }
    updateDeadline()
    return actions
  }

  /// Sound continues as evenly as before: passes the part of `time` that makes no difference to later
  /// decisions.
  /// - Returns: the time passed; the rest is to be received.
  mutating func passSteadily(_ time: Duration) -> Duration {
    guard phase == .receiving, time > StallTest.memory * 2 else { return .zero }
    return stall?.passWindows(time - StallTest.memory) ?? .zero
  }

  /// The transfer has ended by itself, or its content can't be used.
  /// - Parameters:
  ///   - error: the reason; for a server that closed, `stream.network`.
  ///   - retryAfter: the delay that the server asked for.
  public mutating func ended(_ error: StreamError, retryAfter: Duration = .zero, at now: Instant) -> [Action]
  {
    guard isOpen else { return [] }
    if case .stalled(let standby) = phase, let connected = standby.connected {
      return report(error) + adopt(connected: connected, at: now)
    }
    return failed(error, retryAfter: retryAfter, at: now)
  }

  /// The player has run out of sound: held sound is played now.
  public mutating func playerIsDry(at now: Instant) -> [Action] {
    guard case .stalled(.holding(let connected, _)) = phase else { return [] }
    return adopt(connected: connected, at: now)
  }

  /// The deadline has passed.
  public mutating func deadlinePassed(at now: Instant) -> [Action] {
    guard let deadline, now >= deadline else { return [] }
    switch phase {
    case .idle: return []
    case .waiting: return connect(to: currentAddress, depth: depth, at: now)
    case .connecting: return [.disconnect] + failed(silence(isSounding: false, dataTimeout), at: now)
    case .receiving:
      guard let stall, now < stall.timeout else {
        return [.disconnect] + failed(silence(isSounding: true, dataTimeout), at: now)
      }
      return connectStandby(at: now)
    case .stalled(let standby):
      guard let stall else { return [] }
      return stalledDeadlinePassed(standby, stall, at: now)
    }
  }

  mutating func connect(to address: StreamAddress, depth: Int, at now: Instant) -> [Action] {
    phase = .connecting
    connected = now
    currentAddress = address
    self.depth = depth
    stall = StallTest(at: now, limit: dataTimeout, isPaced: isPaced)
    // The first connection shares its time with the entries still to be tried.
    attemptEnds = startEnds.map { end in
      let share = now.duration(to: end) / (candidates.count + 1)
      return min(end, now.advanced(by: max(.seconds(3), share)))
    }
    updateDeadline()
    return [.connect(address)]
  }

  /// `true` if a transfer is open.
  private var isOpen: Bool {
    switch phase {
    case .idle, .waiting: false
    case .connecting, .receiving, .stalled: true
    }
  }

  mutating func updateDeadline() {
    guard let stall else { return }
    switch phase {
    case .idle, .waiting: break
    case .connecting: deadline = attemptEnds.map { min(stall.timeout, $0) } ?? stall.timeout
    case .receiving: deadline = stall.deadline
    case .stalled(let standby):
      let end = end(of: stall, beside: standby)
      switch standby {
      case .refused, .holding: deadline = end
      case .waiting(let until): deadline = min(end, until)
      case .connecting(let since): deadline = min(end, since.advanced(by: dataTimeout))
      }
    }
  }

  mutating func nextCandidate(at now: Instant) -> [Action] {
    let next = candidates.removeFirst()
    return connect(to: next.address, depth: next.depth, at: now)
  }

  mutating func failed(
    _ error: StreamError, retryAfter: Duration = .zero, at now: Instant
  ) -> [Action] {
    if phase != .connecting { lostAt = now }
    let reports = report(error) + (standbyFailure.map { report($0) } ?? [])
    standbyFailure = nil
    let mayGoOn = startEnds.map { now < $0 } ?? true
    if phase == .connecting, !candidates.isEmpty, mayGoOn { return reports + nextCandidate(at: now) }
    guard hasSounded else {
      stop()
      return reports + [.giveUp(error)]
    }
    // The last source of sound may be gone because the stream has moved: the next attempt asks the stream's
    // own address.
    if phase == .connecting, currentAddress != own.address {
      (currentAddress, depth) = (own.address, own.depth)
    }
    phase = .waiting
    deadline = nextAttempt(atLeast: retryAfter, isLocked: error.kind == .auth, at: now)
    return reports
  }

  /// Reports a failure; once while attempts repeat a status or, after sound has come, a kind of failure
  /// without a status.
  mutating func report(_ error: StreamError) -> [Action] {
    defer { reported = error }
    guard let reported, reported.status == error.status else { return [.report(error)] }
    let isRepeated = error.status != nil || hasSounded && reported.kind == error.kind
    return isRepeated ? [] : [.report(error)]
  }

  func silence(of stall: StallTest) -> StreamError { silence(isSounding: true, stall.limit) }

  func silence(isSounding: Bool, _ time: Duration) -> StreamError {
    let what = isSounding ? "sent nothing for" : "gave no sound for"
    return StreamError(
      .timeout, "\(currentAddress) \(what) \(Self.seconds(time)) s",
      facts: [.init("url", .string(currentAddress.description))])
  }

  private static func seconds(_ time: Duration) -> String {
    let milliseconds = time.nanoseconds / 1_000_000
    return milliseconds % 1000 == 0 ? "\(milliseconds / 1000)" : "\(Double(milliseconds) / 1000)"
  }
}
