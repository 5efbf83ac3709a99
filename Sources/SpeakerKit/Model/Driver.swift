public import AudioCore
public import EventLoop

/// The number of one of a driver's streams, from 0 on; one session at a time sounds on it.
public typealias DriverStream = Int

/// A request of a session to its driver to open a source.
public struct SourceRequest: Sendable {
  /// The origin of the sound.
  public enum Sound: Sendable {
    /// The file at a path.
    case file(String)
    /// A source at its own position, such as a stream; its session does not reposition it.
    case source(any SoundSource)
  }

  /// The origin of the sound.
  public let sound: Sound
  /// The name of the source in messages: the path, or a URL.
  public let name: String
  /// Start position in seconds, 0 or more: in a file from its start; for a source, the value at which the
  /// session's position begins to count.
  public let start: Double
  /// `true` if the source is repeated without end.
  public let loops: Bool

  /// Requests the file at `path`, from `start` seconds on.
  public init(path: String, start: Double = 0, loops: Bool = false) {
    self.init(sound: .file(path), name: path, start: start, loops: loops)
  }

  /// Requests a source at its own position, called `name`.
  public init(_ source: any SoundSource, name: String) {
    self.init(sound: .source(source), name: name, start: 0, loops: false)
  }

  private init(sound: Sound, name: String, start: Double, loops: Bool) {
    self.sound = sound
    self.name = name
    self.start = start
    self.loops = loops
  }

  /// Returns a request for the same sound from another position.
  func starting(at seconds: Double) -> SourceRequest {
    SourceRequest(sound: sound, name: name, start: seconds, loops: loops)
  }
}

/// A source that a driver has opened, ready to sound at once.
public struct Cue: Sendable {
  /// Identifies the cue within its driver.
  public let id: Int
  /// The length of the whole source in frames of the session's rate; nil when unknown.
  public let duration: Int?

  /// Creates the cue of an opened source.
  public init(id: Int, duration: Int?) {
    self.id = id
    self.duration = duration
  }
}

/// A change of one speaker's level, mute, role or balance.
public enum LevelChange: Sendable, Equatable {
  /// A new level, 0...50; unmutes.
  case volume(Int)
  /// A new level, 0...50; a mute stays, also one that is under way.
  case level(Int)
  /// Mutes, or unmutes at the level that was kept.
  case muted(Bool)
  /// The channels that the speaker renders.
  case role(ChannelRole)
  /// The balance, -6...6, left to right.
  case balance(Int)
}

/// A change of a speaker's name or group.
public enum DeviceEdit: Sendable, Equatable {
  /// A new name; not empty, and not the name of another speaker.
  case name(String)
  /// The name of its group, `Group.ungrouped` for none.
  case group(String)
}

/// A change on a speaker, other than of its level.
public enum DeviceChange: Sendable, Equatable {
  /// The name.
  case name(String)
  /// The group; `rank` orders members by the time at which they joined it, see `DeviceInfo.groupRank`; `id` is
  /// `DeviceInfo.groupID`.
  case group(String, rank: Int, id: String? = nil)
  /// The received signal strength in dBm, -100...0; nil for an unknown one.
  case wifiSignal(Int?)
  /// `true` if the speaker plays sound that another controller has started.
  case playsOthers(Bool)
  /// The availability: `true` if the speaker can be reached again.
  case available(Bool)
  /// The channels that the speaker renders.
  case role(ChannelRole)
  /// The balance, -6...6, left to right.
  case balance(Int)
}

/// Plays the model of a house on speakers: the one interface between the two.
///
/// Confined to the loop. A driver answers changes of level through its reports, when they have taken effect;
/// the other commands take effect in the order of the calls, within a block or two.
public protocol Driver: AnyObject {
  /// The name of the driver in the configuration: `"house"`.
  var name: String { get }
  /// The names of the driver's capabilities; a missing one raises `speaker.unsupported`.
  var capabilities: Set<String> { get }
  /// The rate and channels in which sessions count their frames.
  var format: AudioFormat { get }
  /// The number of streams, which is the maximum number of sessions that sound at a time.
  var sessionLimit: Int { get }
  /// The way to more sessions, as a hint of `speaker.no_stream`; nil for none.
  var moreSessionsHint: String? { get }

  /// The loss of the connection to the speakers in words; nil while they can be reached, and for drivers without one.
  var loss: String? { get }

  /// Discovers the speakers and emits reports to `reports` from then on, until `close`.
  /// - Returns: the speakers, in the order in which the house lists them.
  /// - Throws: `SpeakerError`, `AudioError` (`audio.no_output`).
  func open(reports: any DriverReports) async throws -> [DeviceInfo]
  /// Stops playback, finishes outputs and threads; emits no report after the call.
  func close() async

  /// `true` if a playing speaker falls silent when its name or group changes.
  var editsStopPlayback: Bool { get }
  /// Changes a speaker's name or group, which the house has checked; the change has been reported when the
  /// call returns.
  /// - Throws: `speaker.unsupported`, `CancellationError`.
  func edit(_ edit: DeviceEdit, of device: String) async throws

  /// Queries the state of a speaker, nil for all; changes have been reported when the call returns.
  /// - Throws: `speaker.lost`, `CancellationError`.
  func refresh(_ device: String?) async throws

  /// Changes levels of speakers, all in the same block.
  func change(_ changes: [(device: String, change: LevelChange)])
  /// Applies pending changes and reports them at once, where the driver can; otherwise does nothing.
  func settle()
  /// Publishes the playing sources to other processes that inspect the house.
  /// - Parameter playing: a line for each session that plays or is paused.
  func announce(playing: [String])
  /// The number of requested changes that have not taken effect.
  var pendingChangeCount: Int { get }
  /// Waits until the changes requested so far have taken effect and have been reported.
  /// - Throws: `CancellationError`.
  func awaitChanges() async throws
  /// Sets the volume that nothing on a speaker exceeds, gain and equalizer included, from the next block on; nil for
  /// none. Levels are below it when they come.
  func setCeiling(_ volume: Int?, ofDevice device: String)
  /// Puts a speaker into a session; nil removes it from its session.
  func setSession(_ stream: DriverStream?, ofDevice device: String)
  /// Has a speaker render a second session over that of `setSession`, which continues; nil for none. For
  /// drivers with capability `duck`.
  /// - Parameter volume: the level of the second session, 0...50, also on a muted speaker; nil for the speaker's own.
  func setOverlay(_ stream: DriverStream?, volume: Int?, ofDevice device: String)
  /// Moves the gain of a speaker's session of `setSession` to `decibels`, 0 or less, in a straight line of decibels
  /// over `duration`; at once when nothing plays. For drivers with capability `duck`.
  func setDuck(_ decibels: Double, over duration: Duration, ofDevice device: String)

  /// Opens a source and reads ahead, so that `start` is heard at once.
  /// - Throws: `AudioError` (`audio.not_found`, `audio.unreadable`), `CancellationError`.
  func load(_ request: SourceRequest) async throws -> Cue
  /// Releases a cue that was loaded and never started.
  func discard(_ cue: Cue)
  /// Starts a cue in a session, in place of the one that it rendered.
  /// - Parameter paused: `true` if the cue remains paused until `resume`.
  func start(_ cue: Cue, in stream: DriverStream, paused: Bool)
  /// Waits until a cue that was started is accepted by its player, or is replaced by another command.
  /// - Throws: the reason why it will not be heard, which is not reported then; `CancellationError`.
  func awaitStart(of cue: Cue) async throws
  /// Announces the priority of a session before its next cue starts (initially 100).
  func setPriority(_ priority: Int, of stream: DriverStream)
  /// Pauses a session; it keeps its cue and position.
  func pause(_ stream: DriverStream)
  /// Resumes a session after `pause`.
  func resume(_ stream: DriverStream)
  /// Stops a session and releases its cue.
  func stop(_ stream: DriverStream)
  /// Moves the session's gain to `decibels`, in a straight line of decibels over `duration` of playback; at
  /// once when nothing plays. For drivers with capability `gain`.
  func setGain(_ decibels: Double, over duration: Duration, of stream: DriverStream)
  /// Moves the session's equalizer to `gains`, without a click; at once when nothing plays. For drivers with
  /// capability `equalizer`.
  func setEqualizer(_ gains: EqualizerGains, of stream: DriverStream)
  /// Returns the number of frames of the session's cue that have been *heard*, counted from the start of the
  /// source and on through the repetitions of a looped one.
  func position(of stream: DriverStream) -> Int
}

extension Driver {
  /// The limit of a driver with one stream: 1.
  public var sessionLimit: Int { 1 }
  /// Nil: the speakers are this machine's own.
  public var loss: String? { nil }
  /// Nil: the limit is fixed.
  public var moreSessionsHint: String? { nil }
  /// `false`: playback continues.
  public var editsStopPlayback: Bool { false }
  /// Does nothing: requested changes take effect in their own time.
  public func settle() {}
  /// Does nothing: no other process inspects this house.
  public func announce(playing: [String]) {}
  /// 0: changes take effect at once.
  public var pendingChangeCount: Int { 0 }
  /// Returns at once: no change is pending.
  public func awaitChanges() async throws {}
  /// Does nothing: changes are reported without a query.
  public func refresh(_ device: String?) async throws {}
  /// Does nothing: for drivers without gains.
  public func setCeiling(_ volume: Int?, ofDevice device: String) {}
  /// Does nothing: for drivers without capability `duck`.
  public func setOverlay(_ stream: DriverStream?, volume: Int?, ofDevice device: String) {}
  /// Does nothing: for drivers without capability `duck`.
  public func setDuck(_ decibels: Double, over duration: Duration, ofDevice device: String) {}
  /// Returns at once: a cue that was loaded is heard.
  public func awaitStart(of cue: Cue) async throws {}
  /// Does nothing: the house alone ranks sessions.
  public func setPriority(_ priority: Int, of stream: DriverStream) {}
  /// Does nothing: for drivers without capability `gain`.
  public func setGain(_ decibels: Double, over duration: Duration, of stream: DriverStream) {}
  /// Does nothing: for drivers without capability `equalizer`.
  public func setEqualizer(_ gains: EqualizerGains, of stream: DriverStream) {}
  /// Throws `speaker.unsupported`.
  public func edit(_ edit: DeviceEdit, of device: String) async throws {
    throw SpeakerError(.unsupported, "the driver \"\(name)\" can't rename speakers")
  }
}

/// Receiver of a driver's reports, on the loop.
public protocol DriverReports: AnyObject {
  /// Reports levels that have taken effect together.
  func levelsChanged(_ levels: [(device: String, volume: Int, isMuted: Bool)])
  /// Reports an added speaker.
  func deviceAdded(_ info: DeviceInfo)
  /// Reports a speaker that was removed for good.
  func deviceRemoved(_ device: String)
  /// Marks the reports that are made in `body` as changes by another controller of the speakers.
  func byController(_ body: () -> Void)
  /// Reports that another controller has moved a speaker to the sound of a session; nil for none.
  /// - Returns: the session that the speaker is in now; nil for none, also when there is no such session.
  func sessionChanged(_ stream: DriverStream?, ofDevice device: String) -> DriverStream?
  /// Reports a change of a speaker, other than of its level.
  func deviceChanged(_ change: DeviceChange, of device: String)
  /// Reports that the last frame of a cue has been heard. `failure` says why that is not the end of its
  /// source.
  func ended(cue: Int, in stream: DriverStream, failure: (any CodedError)?)
  /// Reports a failure that no caller waits for.
  func failed(_ error: any CodedError, device: String?, stream: DriverStream?)
}
