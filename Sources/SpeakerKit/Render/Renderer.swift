internal import AudioCore
internal import EventLoop

/// Renders sessions to the speakers of an embedded house; devices are numbered in the order of the house.
///
/// Confined to the loop; what runs on other threads is behind it. See `Driver` for the meaning of the commands.
protocol Renderer: AnyObject {
  /// A cue has been heard to its end.
  var onEnd: ((_ cue: Int, _ session: SessionID, _ failure: (any CodedError)?) -> Void)? { get set }
  /// An output has trouble; what plays goes on.
  var onTrouble: ((_ error: any CodedError, _ device: Int?) -> Void)? { get set }

  /// One more device, with the next number; its file begins with the silence of what was rendered before.
  /// - Throws: `audio.no_output`.
  func addDevice(_ name: String) throws

  /// Sets a device's mix, reached in a ramp of one block, and the channel of a multichannel source that it renders, in a
  /// fade of a block each way; nil for the stereo pair.
  func setMix(_ mix: ChannelMix, channel: Int?, ofDevice device: Int)
  /// Which session a device renders.
  func setSession(_ session: SessionID?, ofDevice device: Int)

  /// A session's gain goes to `decibels`, in a straight line of decibels over `duration` of what plays; at once
  /// when nothing does.
  func setGain(_ decibels: Double, over duration: Duration, of session: SessionID)

  /// A session's equalizer goes to `gains` within one block; at once when nothing plays.
  func setEqualizer(_ gains: EqualizerGains, of session: SessionID)

  func load(_ request: SourceRequest) async throws -> Cue
  func discard(_ cue: Cue)
  func start(_ cue: Cue, in session: SessionID, paused: Bool)
  func pause(_ session: SessionID)
  func resume(_ session: SessionID)
  func stop(_ session: SessionID)
  func position(of session: SessionID) -> Int

  /// Ends what sounds at once, finishes outputs, joins threads.
  func close() async
}
