internal import AudioCore
internal import EventLoop

/// A driver whose sessions are rendered in this process: the renderer performs the commands of sessions.
protocol RenderingDriver: Driver {
  /// The renderer of the sessions; nil while the driver is closed.
  var renderer: (any Renderer)? { get }
}

extension RenderingDriver {
  /// Opens a file and decodes its first blocks.
  public func load(_ request: SourceRequest) async throws -> Cue {
    guard let renderer else { throw House.closedError }
    return try await renderer.load(request)
  }
  /// Releases a cue.
  public func discard(_ cue: Cue) { renderer?.discard(cue) }
  /// Starts a cue with the next block.
  public func start(_ cue: Cue, in session: DriverStream, paused: Bool) {
    renderer?.start(cue, in: session, paused: paused)
  }
  /// Pauses a session, with a fade out over one block.
  public func pause(_ session: DriverStream) { renderer?.pause(session) }
  /// Resumes a session, with a fade in over one block.
  public func resume(_ session: DriverStream) { renderer?.resume(session) }
  /// Stops a session, with a fade out over one block.
  public func stop(_ session: DriverStream) { renderer?.stop(session) }
  /// Moves a session's gain in the mix, exact to the block.
  public func setGain(_ decibels: Double, over duration: Duration, of session: DriverStream) {
    renderer?.setGain(decibels, over: duration, of: session)
  }
  /// Moves a session's equalizer in the mix, within one block.
  public func setEqualizer(_ gains: EqualizerGains, of session: DriverStream) {
    renderer?.setEqualizer(gains, of: session)
  }
  /// Returns the number of frames heard.
  public func position(of session: DriverStream) -> Int { renderer?.position(of: session) ?? 0 }
}
