internal import EventLoop

extension Stream {
  /// Whether something of it is recorded.
  public var isRecorded: Bool { !recordings.isEmpty }

  /// Records what comes from now on, whatever is heard; a stream that is stopped is received for that only.
  /// - Parameter made: called with the recording before anything happens to it.
  /// - Returns: the recording, when its first frame is on disk.
  /// - Throws: what the first connection fails with, `RecordError`, `CancellationError`.
  public func record(
    _ options: RecordingOptions, by recorder: Recorder, made: (Recording) -> Void = { _ in }
  ) async throws -> Recording {
    loop.assertOnLoop()
    guard !isLocal, file == nil else { throw StreamError.notRecorded(url) }
    guard !isCopied || receiver == nil else { throw StreamError.recordedAsIs(url) }
    if options.resets {
      guard recordings.isEmpty else {
        throw StreamError(
          .inUse, "another recording of \(url) goes on, which a new connection would break",
          hint: "stop it first, or record without reset")
      }
      if receiver != nil { try connectAnew() }
    }
    if receiver == nil { takeNext() }
    let recording = try recorder.begin(options, of: self)
    recordings.append(recording)
    made(recording)
    do {
      if receiver == nil { try connect(plays: false) }
    } catch {
      recording.fail(error)
      throw error
    }
    let back = status == .stopped || file != nil ? .zero : options.back + options.padBefore
    outlet?.record(recording.feed, back: StreamTime(back))
    // What a full buffer refuses is recorded.
    receiveAgain()
    try await recording.begun()
    return recording
  }

  /// What is played goes on with a new connection.
  private func connectAnew() throws {
    guard status == .stopped else {
      next = next ?? (address, nickname, options)
      return try goOver()
    }
    disconnect()
  }

  /// The recording is over: who nobody hears is received no longer.
  func left(_ recording: Recording) {
    recordings.removeAll { $0 === recording }
    guard recordings.isEmpty, status == .stopped else { return }
    disconnect()
    takeNext()
  }

  /// What is recorded ends here.
  func finishRecordings() {
    let all = recordings
    recordings = []
    for recording in all { recording.finish() }
  }

  /// The stream did not come.
  func failRecordings(_ error: StreamError) {
    let all = recordings
    recordings = []
    for recording in all { recording.fail(error) }
  }
}
