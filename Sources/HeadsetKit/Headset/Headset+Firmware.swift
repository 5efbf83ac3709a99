public import EventLoop
public import HeadsetLink

extension Headset {
  /// The number of times that a board is asked to start its bootloader.
  private static let mostTries = 3
  /// The longest time until a board is back, in addition to the time that it reports.
  private static let returnTimeout = Duration.seconds(15)
  /// The time until the bootloader is ready when the board's answer was lost.
  private static let usualDelay = Duration.seconds(5)
  /// The longest time that a board may report.
  private static let longestDelay = Duration.seconds(60)

  /// Returns the image that runs on the board: "application" or "bootloader".
  public func imageType() async throws(HeadsetError) -> String {
    try await ask(GetImageType(), nil) == .application ? "application" : "bootloader"
  }

  /// Starts the board's bootloader, and returns when it is ready.
  /// - Throws: `updateFailed` with step "enter" if the board stays in its application after three requests;
  ///   `CancellationError`.
  public func enterBootloader() async throws {
    guard try await imageType() == "application" else { return }
    try await exclusively {
      for _ in 1...Self.mostTries {
        // The answer may be lost with the link although the board enters its bootloader.
        var delay = Self.usualDelay
        if let named = try await driver.requestRestart(EnterBootloader()) {
          delay = min(.milliseconds(Int64(named.milliseconds)), Self.longestDelay)
        }
        try await loop.sleep(for: delay)
        if let board = try await returned({ _ in true }), board.image == .bootloader { return }
      }
      throw HeadsetError(
        update: address, at: .enter, "the headset was asked \(Self.mostTries) times to enter its bootloader")
    }
  }

  /// Restarts the board's firmware, also from its bootloader, and returns when it runs.
  /// - Throws: `timeout` when the board does not come back; `CancellationError`.
  public func reboot() async throws {
    _ = try await ask(GetImageType(), nil)
    try await exclusively {
      let boots = board?.info.boots
      // The answer may be lost with the link: that the board was started tells.
      _ = try await driver.requestRestart(Reboot(.application))
      guard try await returned({ $0.boots != boots && $0.image == .application }) != nil else {
        throw HeadsetError(.timeout, "reboot: the headset at \(address) has not come back")
      }
    }
  }

  /// Updates the firmware: checks the file, transfers it, and returns when the new version runs and is
  /// confirmed.
  ///
  /// A later call resumes an interrupted update at its offset.
  /// - Parameters:
  ///   - onProgress: receives the progress, on the loop: 0 to 1, never less than before.
  ///   - onEstimate: receives progress and remaining time, on the loop: each second, and before `onProgress`.
  /// - Throws: `updateFailed` with the facts `step` and `reason`; `CancellationError`.
  public func updateFirmware(
    _ path: String, onProgress: @escaping (Double) -> Void = { _ in },
    onEstimate: ((UpdateEstimate) -> Void)? = nil
  ) async throws -> UpdateOutcome {
    let (file, key) = try await read(path)
    if key == .development {
      warn(
        "the headset at \(address) is given firmware that is signed with the development key, which everybody has; "
          + "firmware_key of headset { } in the configuration names the key of its maker")
    }
    _ = try await ask(GetImageType(), .firmwareUpdate)
    return try await exclusively {
      let update = FirmwareUpdate(
        file, over: driver, trusting: key, loop: loop, estimate: onEstimate
      ) { [weak self] fraction in
        onProgress(fraction)
        self?.emit(.progress(fraction))
      }
      let outcome = try await update.run()
      await begin(after: outcome)
      return outcome
    }
  }

  /// Reads firmware and the key that it must be signed for, outside of the loop: a mount may never answer.
  private func read(_ path: String) async throws -> (FirmwareFile, VerifyingKey) {
    let keyFile = firmwareKeyFile
    guard !loop.isVirtual else {
      return (try FirmwareFile(contentsOf: path), try HeadsetSettings.firmwareKey(inFile: keyFile))
    }
    guard let file = try await loop.callFiles({ try FirmwareFile(contentsOf: path) }) else {
      throw HeadsetError(unanswered: path)
    }
    guard let keyFile else { return (file, .development) }
    guard let key = try await loop.callFiles({ try HeadsetSettings.firmwareKey(inFile: keyFile) }) else {
      throw HeadsetError(unanswered: keyFile)
    }
    return (file, key)
  }

  /// Updates the known state of the board after an update.
  private func begin(after outcome: UpdateOutcome) async {
    if let board = try? await driver.request(GetInfo()) {
      begin(with: board)
    } else {
      board?.info.image = .application
      board?.info.firmwareVersion = outcome.version
    }
    if case .updated(let version) = outcome { emit(.updateCompleted(version: version)) }
  }

  /// Connects repeatedly until the board is in the expected state.
  /// - Returns: the board; nil when it is not back in time.
  private func returned(_ isExpected: (BoardInfo) -> Bool) async throws -> BoardInfo? {
    let end = loop.now.advanced(by: Self.returnTimeout)
    var delay = Backoff.connecting
    while true {
      var found: BoardInfo?
      do throws(HeadsetError) { found = try await driver.connect() } catch {
        if error.kind == .auth { throw error }
      }
      if let found {
        begin(with: found)
        if isExpected(found) { return found }
      }
      guard loop.now < end else { return nil }
      try await loop.sleep(for: delay.next())
    }
  }
}
