internal import EventLoop

/// What stays between runs.
extension HouseDriver {
  /// How long changes are gathered before they are written.
  private static let writingDelay = Duration.seconds(1)
  /// How often a waiting process asks for the lock.
  private static let lockInterval = Duration.milliseconds(100)

  /// Takes the lock of the state folder, waiting for it as long as was asked.
  /// - Throws: `speaker.busy`, `speaker.lost`, `speaker.closed` when it is closed meanwhile, `CancellationError`.
  func lockState() async throws {
    guard let state else { return }
    var left = lockWait
    var hasTold = false
    while let owner = try state.lock(as: processName) {
      guard left > .zero else {
        throw SpeakerError(
          .busy, "\(owner) has the house", hint: "end it, or wait longer",
          facts: [.init("process", .string(owner)), .init("path", .string(state.path))])
      }
      if !hasTold { log("\(owner) has the house: waiting for it") }
      hasTold = true
      let step = min(left, Self.lockInterval)
      try await loop.sleep(for: step)
      guard !isClosed else { throw House.closedError }
      left -= step
    }
  }

  /// Something that is kept has changed.
  func stateChanged() {
    guard state != nil, stateTimer == nil else { return }
    stateTimer = loop.after(Self.writingDelay) { [weak self] in self?.writeState() }
  }

  /// Writes what has changed; now.
  func writeState() {
    guard let timer = stateTimer else { return }
    timer.cancel()
    stateTimer = nil
    do { try state?.write(HouseState(present, besides: kept)) } catch { log(error.message) }
  }
}
