internal import EventLoop

/// The state machine of a session: methods apply an event and return the actions to perform. Has no driver,
/// clock or listener.
struct SessionMachine {
  /// A `play` whose source is being opened.
  struct Ticket: Equatable { fileprivate let number: Int }

  /// The source that plays or is paused.
  struct Current {
    var source: SourceInfo
    var cue: Cue
    var request: SourceRequest
  }

  /// Action for the session to perform, in the order returned.
  enum Action {
    case start(Cue, paused: Bool)
    case pause, resume, stop
    case reportState(PlayerState)
    case reportEnded(SourceInfo, EndReason)
    case reportFailure(any CodedError)
  }

  private(set) var state = PlayerState.stopped
  private(set) var current: Current?
  private var ticketCount = 0
  /// The number of the last opening that a source or a command has ended.
  private var settled = 0

  /// Begins a `play`, whose source is opened next; abandons an older one that is still opening.
  mutating func beginOpening() -> Ticket {
    ticketCount += 1
    return Ticket(number: ticketCount)
  }

  /// `true` if a source may be opening: no command has ended the last opening.
  var isOpening: Bool { ticketCount != settled }

  /// Checks that no later command has replaced `ticket`.
  /// - Throws: `superseded`.
  func check(_ ticket: Ticket, _ source: SourceInfo) throws(SpeakerError) {
    guard ticket.number == ticketCount else {
      throw SpeakerError(
        .superseded, "\"\(source.title)\" will not play: another command came while it was opening")
    }
  }

  /// Installs the opened source of `ticket`.
  /// - Throws: `superseded`, or `noActiveDevice` when the last member has left meanwhile; the cue is then
  ///   unused.
  mutating func opened(
    _ ticket: Ticket, _ opened: Current, hasMembers: Bool, paused: Bool = false
  ) throws(SpeakerError) -> [Action] {
    try check(ticket, opened.source)
    guard hasMembers else { throw Self.noActiveDevice }
    var actions: [Action] = []
    if let current { actions.append(.reportEnded(current.source, .replaced)) }
    settled = ticketCount
    current = opened
    state = paused ? .paused : .playing
    return actions + [.start(opened.cue, paused: paused), .reportState(state)]
  }

  /// Replaces the cue `old` by that of `request`, for the same source at another position.
  /// - Returns: nil when that source no longer plays; the cue is then unused.
  mutating func repositioned(_ cue: Cue, for request: SourceRequest, from old: Int) -> [Action]? {
    guard current?.cue.id == old else { return nil }
    current?.cue = cue
    current?.request = request
    return [.start(cue, paused: state == .paused)]
  }

  /// Renames the current source.
  mutating func renamed(_ source: SourceInfo) { current?.source = source }

  mutating func pause() -> [Action] {
    guard state == .playing else { return [] }
    state = .paused
    return [.pause, .reportState(.paused)]
  }

  mutating func resume() throws(SpeakerError) -> [Action] {
    guard state == .paused else {
      throw SpeakerError(
        .notPaused, state == .playing ? "resume: it plays already" : "resume: nothing is paused",
        hint: state == .playing ? nil : "start something with play")
    }
    state = .playing
    return [.resume, .reportState(.playing)]
  }

  mutating func stop(_ reason: EndReason = .stopped) -> [Action] {
    ticketCount += 1
    settled = ticketCount
    return end(reason)
  }

  /// Ends the source of `cue`, whose last frame has been heard; with `failed` when there is a failure.
  mutating func ended(cue: Int, failure: (any CodedError)?) -> [Action] {
    guard let current, current.cue.id == cue else { return [] }
    guard let failure else { return end(.finished) }
    return [.reportFailure(failure)] + end(.failed)
  }

  /// Ends the source of `cue`, which will not be heard, for a reason that its caller receives.
  mutating func refused(cue: Int, _ reason: EndReason) -> [Action] {
    current?.cue.id == cue ? end(reason) : []
  }

  private mutating func end(_ reason: EndReason) -> [Action] {
    guard let source = current?.source else { return [] }
    current = nil
    state = .stopped
    return [.stop, .reportState(.stopped), .reportEnded(source, reason)]
  }

  static let noActiveDevice = SpeakerError(
    .noActiveDevice, "play: no speaker is in the session", hint: "join one first")
}
