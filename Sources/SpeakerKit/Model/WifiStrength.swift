public import EventLoop

/// The class of a speaker's received signal strength.
///
/// -50 dBm and above is excellent, -60 good, -70 fair, above -90 weak; at -90 and below packets drown in the
/// noise floor of a receiver, and nothing can be streamed.
public enum WifiStrength: String, Sendable, CaseIterable {
  case excellent, good, fair, weak, none

  /// Classifies a signal strength in dBm.
  public init(dBm: Int) {
    switch dBm {
    case (-50)...: self = .excellent
    case (-60)...: self = .good
    case (-70)...: self = .fair
    case (-89)...: self = .weak
    default: self = .none
    }
  }
}

extension Device {
  /// The class of the signal at the last query; `none` while the speaker can't be reached; nil where the
  /// driver does not know the signal.
  public var wifiStrength: WifiStrength? {
    wifiSignal.map { isAvailable ? WifiStrength(dBm: $0) : .none }
  }

  /// Queries the speaker's signal strength; a change has been reported when the call returns.
  /// - Throws: `speaker.unavailable`, `speaker.unsupported`, `speaker.lost`, `speaker.closed`, `CancellationError`.
  public func refreshWifi() async throws {
    let house = try reachableHouse()
    try house.require("wifi", for: "the strength of Wi-Fi")
    try await house.driver.refresh(id)
  }
}

extension House {
  /// The interval between refreshes of a watched house.
  private static let watchInterval = Duration.seconds(2)

  /// `true` if the house is refreshed periodically.
  public var isWatched: Bool { watchTimer != nil }

  /// Queries the state of every speaker; changes have been reported when the call returns.
  /// - Throws: `speaker.lost`, `speaker.closed`, `CancellationError`.
  public func refresh() async throws {
    loop.assertOnLoop()
    guard isOpen else { throw Self.closedError }
    try await driver.refresh(nil)
  }

  /// Starts or stops refreshing the house every 2 s. A failing refresh emits an `error` event, once until one
  /// succeeds again.
  /// - Throws: `speaker.closed`.
  public func watch(_ isWatched: Bool) throws(SpeakerError) {
    loop.assertOnLoop()
    guard isOpen else { throw Self.closedError }
    if isWatched == self.isWatched { return }
    watchTimer?.cancel()
    watchTimer = nil
    if isWatched { scheduleRefresh(afterFailure: false) }
  }

  private func scheduleRefresh(afterFailure hasFailed: Bool) {
    let timer = loop.after(Self.watchInterval) { [weak self] in
      self?.loop.start { [weak self] in await self?.refreshWatched(hasFailed) }
    }
    watchTimer = timer
  }

  private func refreshWatched(_ hadFailed: Bool) async {
    let timer = watchTimer
    var failure: (any Error)?
    do { try await refresh() } catch { failure = error }
    // Another watch may have begun meanwhile, or this one have been stopped.
    guard isOpen, let timer, timer === watchTimer else { return }
    if let failure, !hadFailed {
      let error = (failure as? any CodedError) ?? SpeakerError(.lost, "refresh failed: \(failure)")
      failed(error, device: nil, stream: nil)
    }
    scheduleRefresh(afterFailure: failure != nil)
  }
}
