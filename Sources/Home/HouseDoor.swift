public import EventLoop
public import SpeakerKit

/// The one house of an engine, for all scripts and commands: opened at the first need, closed by the engine
/// or by a script. Confined to the loop.
public final class HouseDoor {
  private typealias Waiter = CheckedContinuation<Void, any Error>

  private enum Phase {
    /// No house.
    case closed
    /// The house is being opened, for the waiting callers.
    case opening(House, [Waiter])
    /// The house was closed while it was being opened, and the opening has not ended yet.
    case abandoned([Waiter])
    case open(House)
  }

  private let loop: EventLoop
  private let make: (_ wait: Duration, _ isWanted: Bool) throws -> House
  private var phase = Phase.closed
  private var closeListeners = Listeners<() -> Void>()
  private var openListeners: [(House) -> Void] = []
  /// Name of the driver of the house.
  public let driverName: String
  /// `true` if several scripts use the house, so that a single script does not close it for the others.
  public var isShared = false
  /// The own sessions of scripts.
  public let own = OwnSessions()
  /// `true` if the house was open and has been closed.
  public private(set) var wasClosed = false

  /// The default time that opening waits for another process that has the house.
  public static let defaultWait = Duration.seconds(30)

  /// Creates a closed door.
  /// - Parameters:
  ///   - driverName: the name of the driver of the house.
  ///   - make: builds the house, whose opening waits at most for `wait` for another process; `isWanted` is
  ///     `true` for a wait that the caller named.
  public init(
    loop: EventLoop, driverName: String = "house",
    _ make: @escaping (_ wait: Duration, _ isWanted: Bool) throws -> House
  ) {
    (self.loop, self.driverName, self.make) = (loop, driverName, make)
  }

  /// The house when it is open.
  public var open: House? {
    if case .open(let house) = phase, house.isOpen { house } else { nil }
  }

  /// `true` while the house is being opened, also when it was closed meanwhile.
  public var isOpening: Bool {
    switch phase {
    case .opening, .abandoned: true
    case .closed, .open: false
    }
  }

  /// Opens the house; returns at once when it is open. Further calls during an opening wait for its end.
  /// - Parameter wait: time to wait for another process that has the house; nil for `defaultWait`.
  /// - Throws: the error of building or opening the house; `speaker.closed` when it was closed meanwhile.
  public func open(wait: Duration? = nil) async throws {
    await abandonedOpeningEnds()
    if open != nil { return }
    try await withCheckedThrowingContinuation { waiter in
      if case .opening(let house, let waiters) = phase {
        phase = .opening(house, waiters + [waiter])
      } else {
        begin(wait: wait, for: waiter)
      }
    }
  }

  /// Opens in a separate task: the first caller may be cancelled, which must not affect the other ones.
  private func begin(wait: Duration?, for waiter: Waiter) {
    let house: House
    do { house = try make(wait ?? Self.defaultWait, wait != nil) } catch {
      return waiter.resume(throwing: error)
    }
    phase = .opening(house, [waiter])
    loop.start { [self] in
      do {
        try await house.open()
        ended(house, .success(()))
      } catch {
        ended(house, .failure(error))
      }
    }
  }

  private func ended(_ house: House, _ result: Result<Void, any Error>) {
    switch (phase, result) {
    case (.opening(_, let waiters), .success):
      phase = .open(house)
      wasClosed = false
      for listener in openListeners { listener(house) }
      for waiter in waiters { waiter.resume() }
    case (.opening(_, let waiters), .failure(let error)):
      phase = .closed
      for waiter in waiters { waiter.resume(throwing: error) }
    case (.abandoned(let waiters), _):
      phase = .closed
      for waiter in waiters { waiter.resume(throwing: Self.closedMeanwhile) }
    case (.closed, _), (.open, _): break
    }
  }

  private static var closedMeanwhile: SpeakerError {
    SpeakerError(
      .closed, "the house was closed while it was opening", hint: "open it again with speaker.open()")
  }

  /// Closes the house; does nothing when it is not open. An opening that is under way has ended on return.
  public func close() async {
    switch phase {
    case .opening(let house, let waiters):
      phase = .abandoned(waiters)
      await close(house)
    case .open(let house):
      phase = .closed
      await close(house)
    case .closed, .abandoned: break
    }
    await abandonedOpeningEnds()
  }

  private func close(_ house: House) async {
    wasClosed = true
    for listener in closeListeners.removeAll() { listener() }
    await house.close()
  }

  /// Returns when an abandoned opening has ended.
  private func abandonedOpeningEnds() async {
    while case .abandoned(let waiters) = phase {
      try? await withCheckedThrowingContinuation { phase = .abandoned(waiters + [$0]) }
    }
  }

  /// Calls `body` with each house that has been opened, before any script code runs with it, as long as the door exists.
  public func whenOpen(_ body: @escaping (House) -> Void) { openListeners.append(body) }

  /// Calls `body` when the house closes; the returned function cancels that.
  public func whenClosed(_ body: @escaping () -> Void) -> () -> Void {
    let number = closeListeners.add(body)
    return { [weak self] in self?.closeListeners.remove(number) }
  }
}
