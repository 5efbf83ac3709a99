public import AudioCore
public import EventLoop

/// Names a session towards its driver; the default session is 0.
public typealias SessionID = Int

/// Sound that is made elsewhere than in a file: a stream.
///
/// Sendable: the thread that decodes ahead asks it for a decoder.
public protocol SoundSource: AnyObject, Sendable {
  /// A decoder at the place from which the source plays now, for the thread that calls: one that decodes ahead, or the
  /// loop under virtual time.
  /// - Throws: `CodedError` that says why there is no sound.
  func makeDecoder() throws -> any Decoder
}

/// Sound that can be played without a decoder, where nobody hears it: it follows a clock of its own.
public protocol ClockedSound: SoundSource {
  /// Plays by its clock from now on, which stands until the session goes on when it is `paused`. On the loop.
  /// - Parameter tell: takes what becomes of it, on the loop; it flows when it is told so.
  func play(byClock tell: @escaping (SoundFlow) -> Void, paused: Bool)
  /// Its session is paused, or goes on.
  func pause(_ isPaused: Bool)
}

/// Sound with a time of its own, which its session shows in place of what has been heard: a file that is received as a
/// stream. On the loop.
public protocol TimedSound: SoundSource {
  /// Seconds of the source at which it is heard; nil while it has no time, as live.
  var time: Double? { get }
  /// Seconds of the whole source; nil when that is not known.
  var length: Double? { get }
  /// Goes to a time of the source.
  /// - Throws: `CodedError`.
  func seek(to seconds: Double) throws
}

/// What a session asks a driver to open.
public struct SourceRequest: Sendable {
  /// Where the sound comes from.
  public enum Sound: Sendable {
    /// A file with this path.
    case file(String)
    /// What plays where it is, such as a stream; it is not repositioned by its session.
    case source(any SoundSource)
  }

  /// Where the sound comes from.
  public let sound: Sound
  /// What it is called in messages: the path, or a URL.
  public let name: String
  /// Where to begin, in seconds from the start of a file, 0 or more; of a source, at what its position counts on.
  public let start: Double
  /// Whether it begins again after its last frame, for ever.
  public let loops: Bool

  /// The file at `path` from `start` seconds on.
  public init(path: String, start: Double = 0, loops: Bool = false) {
    self.init(sound: .file(path), name: path, start: start, loops: loops)
  }

  /// A source that plays where it is, called `name`.
  public init(_ source: any SoundSource, name: String) {
    self.init(sound: .source(source), name: name, start: 0, loops: false)
  }

  private init(sound: Sound, name: String, start: Double, loops: Bool) {
    self.sound = sound
    self.name = name
    self.start = start
    self.loops = loops
  }

  /// The same sound from another place.
  func starting(at seconds: Double) -> SourceRequest {
    SourceRequest(sound: sound, name: name, start: seconds, loops: loops)
  }
}

/// A source that a driver has opened, ready to sound at once.
public struct Cue: Sendable {
  /// Tells this cue from all others of the driver.
  public let id: Int
  /// Length of the whole source in frames of the session's rate; nil when it can't be known.
  public let duration: Int?

  /// An opened source.
  public init(id: Int, duration: Int?) {
    self.id = id
    self.duration = duration
  }
}

/// A change of what one speaker lets through.
public enum LevelChange: Sendable, Equatable {
  /// A new level, 0...50; unmutes.
  case volume(Int)
  /// Mutes, or gives back the level it had.
  case muted(Bool)
  /// Which channels it renders.
  case role(ChannelRole)
  /// -6...6, left to right.
  case balance(Int)
}

/// A change of what a speaker is called.
public enum DeviceEdit: Sendable, Equatable {
  /// A new name; not empty, and no other speaker has it.
  case name(String)
  /// The name of its group, `Group.ungrouped` for none.
  case group(String)
}

/// What has changed on a speaker, other than its level.
public enum DeviceChange: Sendable, Equatable {
  /// It has another name.
  case name(String)
  /// It has another group; `rank` orders members by when they joined theirs, see `DeviceInfo.groupRank`.
  case group(String, rank: Int)
  /// Its signal is received at that many dBm, -100...0.
  case wifiSignal(Int)
  /// It can be reached again, or no longer.
  case available(Bool)
  /// It renders other channels.
  case role(ChannelRole)
  /// -6...6, left to right.
  case balance(Int)
}

/// Turns the model of a house into something that sounds: the one seam between the two.
///
/// Confined to the loop. A driver answers changes of level through its reports, when they have taken effect;
/// the other commands take effect in the order in which they come, within a block or two.
public protocol Driver: AnyObject {
  /// What the configuration calls it: `"house"`.
  var name: String { get }
  /// Names of what it can do; what is missing raises `speaker.unsupported`.
  var capabilities: Set<String> { get }
  /// Rate and channels in which sessions count their frames.
  var format: AudioFormat { get }
  /// How many sessions can sound at one time, the default session among them.
  var sessionLimit: Int { get }

  /// Finds the speakers and keeps `reports` informed from then on, until `close`.
  /// - Returns: the speakers, in the order in which the house lists them.
  /// - Throws: `SpeakerError`, `AudioError` (`audio.no_output`).
  func open(reports: any DriverReports) async throws -> [DeviceInfo]
  /// Ends what sounds, finishes outputs and threads; no report comes after the call.
  func close() async

  /// Whether a speaker that plays falls silent when it gets another name or group.
  var editsStopPlayback: Bool { get }
  /// Changes what a speaker is called; its report has come when the call returns. The house has checked it.
  /// - Throws: `speaker.unsupported`, `CancellationError`.
  func edit(_ edit: DeviceEdit, of device: String) async throws

  /// Asks a speaker, nil for all, how it is; what has changed has been reported when the call returns.
  /// - Throws: `speaker.lost`, `CancellationError`.
  func refresh(_ device: String?) async throws

  /// Changes levels of speakers, all in the same block.
  func change(_ changes: [(device: String, change: LevelChange)])
  /// Lets changes that are on their way take effect, and reports them, where they need not be waited for.
  func settle()
  /// Lets other processes that look at the house know what plays in it.
  /// - Parameter playing: a line for each session that plays or is paused.
  func announce(playing: [String])
  /// Number of changes that were asked for and have not taken effect.
  var pendingChangeCount: Int { get }
  /// Returns when the changes that were asked for by now have taken effect and have been reported.
  /// - Throws: `CancellationError`.
  func awaitChanges() async throws
  /// Puts a speaker into a session, nil takes it out.
  func setSession(_ session: SessionID?, ofDevice device: String)

  /// Opens a source and reads ahead, so that `start` is heard at once.
  /// - Throws: `AudioError` (`audio.not_found`, `audio.unreadable`), `CancellationError`.
  func load(_ request: SourceRequest) async throws -> Cue
  /// Forgets a cue that was loaded and never started.
  func discard(_ cue: Cue)
  /// Lets the session render a cue from now on, in place of what it rendered.
  /// - Parameter paused: the cue stands still until `resume`.
  func start(_ cue: Cue, in session: SessionID, paused: Bool)
  /// Silences the session; it keeps its cue and its place in it.
  func pause(_ session: SessionID)
  /// Goes on after `pause`.
  func resume(_ session: SessionID)
  /// Silences the session and forgets its cue.
  func stop(_ session: SessionID)
  /// Moves the session's gain to `decibels`, in a straight line of decibels over `duration` of what plays; at once
  /// when nothing does. Of a session with capability `gain` only.
  func setGain(_ decibels: Double, over duration: Duration, of session: SessionID)
  /// Moves the session's equalizer to `gains`, without a click; at once when nothing plays. Of a driver with capability
  /// `equalizer` only.
  func setEqualizer(_ gains: EqualizerGains, of session: SessionID)
  /// Frames of the session's cue that have been *heard*, counted from the start of the source and on through
  /// the loops of a looped one.
  func position(of session: SessionID) -> Int
}

extension Driver {
  /// The default session only.
  public var sessionLimit: Int { 1 }
  /// Goes on.
  public var editsStopPlayback: Bool { false }
  /// Nothing: what was asked for takes its time.
  public func settle() {}
  /// Does nothing: no other process reads it.
  public func announce(playing: [String]) {}
  /// None: changes take effect at once.
  public var pendingChangeCount: Int { 0 }
  /// Returns at once.
  public func awaitChanges() async throws {}
  /// Nothing: what changes comes by itself.
  public func refresh(_ device: String?) async throws {}
  /// Can't.
  public func setGain(_ decibels: Double, over duration: Duration, of session: SessionID) {}
  /// Can't.
  public func setEqualizer(_ gains: EqualizerGains, of session: SessionID) {}
  /// Can't.
  public func edit(_ edit: DeviceEdit, of device: String) async throws {
    throw SpeakerError(.unsupported, "the driver \"\(name)\" can't rename speakers")
  }
}

/// What a driver tells the house, on the loop.
public protocol DriverReports: AnyObject {
  /// Levels that have taken effect, at one time.
  func levelsChanged(_ levels: [(device: String, volume: Int, isMuted: Bool)])
  /// There is one more speaker.
  func deviceAdded(_ info: DeviceInfo)
  /// A speaker is gone for good.
  func deviceRemoved(_ device: String)
  /// Something other than its level has changed on a speaker.
  func deviceChanged(_ change: DeviceChange, of device: String)
  /// The last frame of a cue has been heard. `failure` says why it is not the end of its source.
  func ended(cue: Int, in session: SessionID, failure: (any CodedError)?)
  /// Something failed that nobody waits for.
  func failed(_ error: any CodedError, device: String?, session: SessionID?)
}
