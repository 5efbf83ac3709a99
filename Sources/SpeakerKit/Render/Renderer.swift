internal import AudioCore
internal import EventLoop

/// An event of a renderer or its stage.
enum RenderEvent {
  /// A cue has been heard to its end; `failure` is the reason, when that is not the end of its source.
  case ended(cue: Int, session: DriverStream, failure: (any CodedError)?)
  /// An output fails; playback continues. `device` is nil for an output of all devices.
  case trouble(any CodedError, device: Int?)
  /// A sound card is lost, after its `trouble`, with the reason; or back, with nil.
  case card(Int, loss: String?)
}

/// The owner of a renderer, to which it reports. Called on the loop.
protocol RenderObserver: AnyObject {
  func receive(_ event: RenderEvent)
}

/// Renders sessions to the speakers of an embedded house; devices are numbered in the order of the house.
///
/// Confined to the loop; other threads stay behind this interface. See `Driver` for the meaning of the
/// commands.
protocol Renderer: AnyObject {
  /// Receives the events until `close`; not retained.
  var observer: (any RenderObserver)? { get set }

  /// Adds a device with the next number; its file begins with silence for everything rendered before.
  /// - Throws: `audio.no_output`.
  func addDevice(_ name: String) throws

  /// Sets a device's mix, over a ramp of one block, and the channel of a multichannel source that it renders,
  /// over a fade of one block each way; nil for the stereo pair.
  func setMix(_ mix: ChannelMix, channel: Int?, ofDevice device: Int)
  /// Sets the largest factor by which a device amplifies its sessions: mix, gain and the largest boost of the equalizer
  /// together, and those of its overlay. What would exceed it is lowered, sample by sample. Takes effect over a ramp of
  /// one block; nil for none.
  func setCeiling(_ gain: Float?, ofDevice device: Int)
  /// Sets the session that a device renders; nil for none.
  func setSession(_ session: DriverStream?, ofDevice device: Int)

  /// Sets the session that a device renders over its own, and its mix; nil for none. Fades over one block each way.
  func setOverlay(_ session: DriverStream?, _ mix: ChannelMix, ofDevice device: Int)
  /// Moves the gain of a device's own session to `decibels`, in a straight line of decibels over `duration`; at once
  /// when nothing sounds on it.
  func setDuck(_ decibels: Double, over duration: Duration, ofDevice device: Int)

  /// Moves a session's gain to `decibels`, in a straight line of decibels over `duration` of playback; at
  /// once when nothing plays.
  func setGain(_ decibels: Double, over duration: Duration, of session: DriverStream)

  /// Moves a session's equalizer to `gains` within one block; at once when nothing plays.
  func setEqualizer(_ gains: EqualizerGains, of session: DriverStream)

  func load(_ request: SourceRequest) async throws -> Cue
  func discard(_ cue: Cue)
  func start(_ cue: Cue, in session: DriverStream, paused: Bool)
  func pause(_ session: DriverStream)
  func resume(_ session: DriverStream)
  func stop(_ session: DriverStream)
  func position(of session: DriverStream) -> Int

  /// Stops all sessions, finishes outputs, joins threads.
  func close() async
}
