/// A level as a server keeps it.
protocol ServerLevel: Equatable {
  /// Creates the level of an unmuted speaker at a volume of the house.
  init(volume: Int)
  var isMuted: Bool { get set }
  /// The level for a request that changes the mute alone.
  var unchanged: Self { get }
  /// Returns `true` if a speaker that has another level shows this one.
  func isMet(by shown: Self) -> Bool
  /// Returns the level that a speaker which shows another one has after a request for this one.
  func completed(by shown: Self) -> Self
}

extension ServerLevel {
  var unchanged: Self { self }
  func isMet(by shown: Self) -> Bool { self == shown }
  func completed(by shown: Self) -> Self { self }
}

/// The state machine of the level that is requested of a speaker, until its server has confirmed it: methods
/// apply an event and return the actions to perform. Has no connection and no clock.
///
/// One request is under way at a time; those that come meanwhile are one more, with the newest level.
struct RequestedLevel<Level: ServerLevel> {
  /// Action for the driver to perform, in the order returned.
  enum Action: Equatable {
    /// Queues a request, whose level `send` returns when it is sent.
    case request
    /// Has the speaker show a level, and reports it.
    case report(Level)
  }

  private enum Phase {
    /// The server has the level that was requested last.
    case confirmed
    /// The server, or its speaker, is lost: to be requested when it is back.
    case due(Level)
    case queued(Level)
    /// The request is under way; `newer` was requested since. `isOvertaken` if the speaker showed a newer level when it
    /// last showed a requested one.
    case sent(Level, newer: Level?, isOvertaken: Bool)
  }

  private var phase = Phase.confirmed
  /// The level of the server, while the speaker shows a requested one; nil while it shows the server's.
  private var held: Level?

  /// The newest level that is not confirmed; nil for none.
  var requested: Level? {
    switch phase {
    case .confirmed: nil
    case .due(let level), .queued(let level): level
    case .sent(let level, let newer, _): newer ?? level
    }
  }
  /// `true` if the server has not answered, and can.
  var isUnderWay: Bool {
    switch phase {
    case .confirmed, .due: false
    case .queued, .sent: true
    }
  }
  /// `true` if the speaker shows another level than its server has.
  var isAhead: Bool { if case .due = phase { true } else { held != nil } }

  // MARK: Requests

  /// Requests a level.
  mutating func want(_ level: Level) -> [Action] {
    switch phase {
    case .confirmed:
      phase = .queued(level)
      return [.request]
    case .due: phase = .due(level)
    case .queued: phase = .queued(level)
    case .sent(let sent, _, let isOvertaken):
      phase = .sent(sent, newer: level == sent ? nil : level, isOvertaken: isOvertaken)
    }
    return []
  }

  /// Sends the queued request.
  /// - Returns: its level; nil when none is queued any more.
  mutating func send() -> Level? {
    guard case .queued(let level) = phase else { return nil }
    phase = .sent(level, newer: nil, isOvertaken: false)
    return level
  }

  /// Has the speaker show the requested level ahead of the answer.
  /// - Parameter shown: the level that it shows.
  mutating func settle(shown: Level) -> [Action] {
    guard let level = requested, !level.isMet(by: shown) else { return [] }
    held = held ?? shown
    if case .sent(let sent, let newer, _) = phase {
      phase = .sent(sent, newer: newer, isOvertaken: newer != nil)
    }
    return [.report(level)]
  }

  // MARK: Answers

  /// Applies the answer of the server, with the level that it has now.
  /// - Parameter shown: the level that the speaker shows.
  mutating func confirmed(_ level: Level, shown: Level) -> [Action] {
    guard case .sent(_, let newer, let isOvertaken) = phase else { return [] }
    phase = newer.map { .queued($0) } ?? .confirmed
    let next = newer == nil ? [] : [Action.request]
    if newer != nil, isOvertaken {
      held = level
      return next
    }
    // A level that the speaker shows already was reported then.
    let isReported = held != nil && level == shown
    held = nil
    return (isReported ? [] : [.report(level)]) + next
  }

  /// Applies the refusal of the server, which keeps its level; a newer one is requested.
  mutating func refused(shown: Level) -> [Action] {
    guard case .sent(_, let newer, _) = phase else { return [] }
    if let newer {
      phase = .queued(newer)
      return [.request]
    }
    defer { (phase, held) = (.confirmed, nil) }
    return held.flatMap { $0 == shown ? nil : [.report($0)] } ?? []
  }

  // MARK: Loss

  /// Keeps the requested level for the return of the server, or of its speaker.
  /// - Parameter shown: the level that the speaker shows, which completes a requested one, and is restored where none
  ///   is requested; nil if the server keeps its own.
  mutating func lost(restoring shown: Level? = nil) {
    guard let level = requested ?? shown else { return }
    phase = .due(shown.map(level.completed) ?? level)
  }

  /// Requests the level that was kept.
  mutating func back() -> [Action] {
    guard case .due(let level) = phase else { return [] }
    phase = .queued(level)
    return [.request]
  }

  /// Requests the level that was kept, unless the server has it.
  /// - Parameter level: the level of the server.
  mutating func back(with level: Level) -> [Action] {
    guard case .due(let kept) = phase else { return [] }
    if kept.isMet(by: level) {
      (phase, held) = (.confirmed, nil)
      return []
    }
    held = level
    return back()
  }

  /// Applies a level that the server reports while the speaker shows a requested one.
  mutating func observed(_ level: Level) { if held != nil { held = level } }
}
