public import AudioCore
internal import EventLoop

/// Sessions are rendered as in the embedded house; each is sent to a stream of the server.
extension SnapcastDriver {
  /// Opens a file and decodes its first blocks.
  public func load(_ request: SourceRequest) async throws -> Cue {
    guard let renderer else { throw House.closedError }
    return try await renderer.load(request)
  }
  /// Releases a cue.
  public func discard(_ cue: Cue) { renderer?.discard(cue) }
  /// Starts a cue; heard a buffer of the server later.
  public func start(_ cue: Cue, in session: SessionID, paused: Bool) {
    renderer?.start(cue, in: session, paused: paused)
  }
  /// Pauses a session; heard a buffer of the server later.
  public func pause(_ session: SessionID) { renderer?.pause(session) }
  /// Resumes a session; heard a buffer of the server later.
  public func resume(_ session: SessionID) { renderer?.resume(session) }
  /// Stops a session; heard a buffer of the server later.
  public func stop(_ session: SessionID) { renderer?.stop(session) }
  /// Moves a session's gain in the mix, exact to the block.
  public func setGain(_ decibels: Double, over duration: Duration, of session: SessionID) {
    renderer?.setGain(decibels, over: duration, of: session)
  }
  /// Moves a session's equalizer in the mix, within one block.
  public func setEqualizer(_ gains: EqualizerGains, of session: SessionID) {
    renderer?.setEqualizer(gains, of: session)
  }
  /// Returns the number of frames heard.
  public func position(of session: SessionID) -> Int { renderer?.position(of: session) ?? 0 }
}
