internal import EventLoop
package import StreamCore

extension Stream {
  /// `true` if there is a recording of it.
  public var isRecorded: Bool { !recordings.isEmpty }

  /// Records the sound that comes from now on, whatever is heard; a stopped stream is received for the
  /// recording only. A file is recorded whole, also while it plays: then by a connection of its own. Returns
  /// when the first frame is on disk.
  /// - Parameter made: receives the recording before its first event.
  /// - Throws: the error of the first connection, `RecordError`, `CancellationError`.
  package func record<Recorder: StreamRecorder>(
    _ options: Recorder.Options, by recorder: Recorder, made: (Recorder.Result) -> Void = { _ in }
  ) async throws -> Recorder.Result {
    loop.assertOnLoop()
    guard address != nil else { throw StreamError.isFileHere(shownURL) }
    if file != nil, receiver != nil { return try await recordBeside(options, by: recorder, made: made) }
    guard !machine.content.isCopied || receiver == nil else { throw StreamError.recordedAsIs(shownURL) }
    if options.resets {
      guard recordings.isEmpty else {
        throw StreamError(
          .inUse, "another recording of \(shownURL) is under way, which a new connection would break",
          hint: "stop it first, or record without reset")
      }
      if receiver != nil { try connectAnew() }
    }
    if receiver == nil { adoptNext() }
    let recording = try recorder.begin(options, of: self)
    recordings.append(recording)
    made(recording)
    if let tee {
      tee.record(recording.queue, back: back(options))
    } else {
      do { try connect(plays: false, into: [recording]) } catch {
        recording.fail(error)
        throw error
      }
    }
    // Sound that a full buffer refuses is recorded.
    perform(machine.restart())
    try await recording.begun()
    return recording
  }

  /// Records a file that is received for a player, which seeks and waits: another stream receives it for the
  /// recording, which retains that stream.
  private func recordBeside<Recorder: StreamRecorder>(
    _ options: Recorder.Options, by recorder: Recorder, made: (Recorder.Result) -> Void
  ) async throws -> Recorder.Result {
    let other = Stream(target, loop: loop, source: source)
    other.onEvent { [weak self] event in if case .failed = event { self?.emit(event) } }
    return try await other.record(options, by: recorder, made: made)
  }

  /// Records the next file of a list, in a file of its own.
  func recordNext() {
    for recording in recordings { recording.queue.beginFile() }
    do { try connect(plays: false, into: recordings) } catch { endRecordings { $0.fail(error) } }
  }

  /// Returns the length of the buffer's sound with which a recording begins, nil for all of it: the
  /// connection of a recording that resets may have delivered sound already.
  private func back(_ options: some RecordingStart) -> StreamTime? {
    if status == .stopped || file != nil { return .zero }
    return options.resets ? nil : StreamTime(options.back + options.padBefore)
  }

  /// Closes the connection; a stream that plays opens a new one at once.
  private func connectAnew() throws {
    guard status != .stopped else { return perform(machine.disconnect()) }
    next = next ?? target
    do { try attempt(machine.connectToNext()) } catch {
      stop()
      throw error
    }
  }

  /// Sends no more frames to the queue of a recording.
  package func detach(_ queue: RecordingQueue) { tee?.remove(queue) }

  /// Removes a recording that has ended; a stream that is neither recorded nor played is no longer received.
  package func left(_ recording: any StreamRecording) {
    recordings.removeAll { $0 === recording }
    if recordings.isEmpty { perform(machine.recordingsEnded()) }
  }

  /// Ends all recordings.
  func endRecordings(_ end: (any StreamRecording) -> Void) {
    let all = recordings
    recordings = []
    for recording in all { end(recording) }
  }
}
