public import AudioCore

/// The playback state of a session.
public enum PlayerState: String, Sendable {
  case stopped, playing, paused
}

/// The kind of a change on a device; the volume has an event of its own.
public enum DeviceReason: String, Sendable {
  case added, removed, available, unavailable, joined, left, renamed, regrouped, role, balance, wifi, playing
}

/// The reason for the end of a source.
public enum EndReason: String, Sendable {
  /// The last frame of the source has been heard.
  case finished
  /// A command stopped the session, or the house closed.
  case stopped
  /// Another source replaced it.
  case replaced
  /// The source failed while it played; an `error` event gives the failure.
  case failed
  /// The session lost its last speaker, or had none available for too long.
  case noDevices = "no_devices"
}

/// The path and title of a session's source.
public struct SourceInfo: Sendable, Equatable {
  /// The path of the file, as passed to `play`.
  public let path: String
  /// The display title: as passed to `play`, else the file's name.
  public let title: String

  /// Creates the description of a source called `title`.
  public init(path: String, title: String) {
    self.path = path
    self.title = title
  }
}

/// The phase of an interruption that takes all speakers of a session; the raw value is the event name for
/// scripts.
public enum SuspensionPhase: String, Sendable {
  /// The session fades out.
  case suspending
  /// The session is paused and silent.
  case suspended
  /// The session has its speakers back, and continues in the state that it had or that was requested
  /// meanwhile.
  case resumed
}

/// The origin of a change of a speaker's level other than a command or a fade.
public enum LevelCause: String, Sendable {
  /// An interruption sets the level at which it plays.
  case interruption
  /// The end of the last interruption restores the level of before.
  case restored
  /// Another controller of the speakers has set the level.
  case controller
  /// The limit of the speaker has lowered it, or gives back the volume that was asked for.
  case limit
}

/// A change of a session that scripts cause themselves and receive no event for.
public enum SessionChange: Sendable, Equatable {
  /// The gain moves from one level to another, in dB, over this time of playback; with a time, `gainEnd` follows.
  case gain(from: Double, to: Double, over: Duration)
  /// The move of the gain is over, after this time of playback: at its level, or at the one that it has reached when
  /// another change replaces it.
  case gainEnd(at: Double, after: Duration)
  /// The equalizer has new gains.
  case equalizer(EqualizerGains)
  /// The position has moved to this frame of the source.
  case seek(frame: Int)
  /// The session, which is an interruption's, has borrowed the speakers with these ids, or returns them; with
  /// `duck` it plays over their playback, which is lowered by that many dB.
  case interruption(isBeginning: Bool, devices: [String], duck: Double? = nil)
  /// The session began to sound without a speaker that it wants, by its id: another keeps it, for this reason.
  case missed(device: String, String)
}

/// A command for the level of a speaker.
public enum LevelCommand: Sendable, Equatable {
  /// A volume, at once; unmutes unless `isMuted`.
  case set(Int, isMuted: Bool = false)
  case mute
  /// The end of a mute, at the level that the speaker kept.
  case unmute
  /// The beginning of a fade, in place of one in progress; its steps follow.
  case fade(LevelFade)
  /// A step of the fade in progress, if there is one: the level from now on; unmutes.
  case step(Int)
  /// The end of the fade in progress before its last step: it leaves the speaker alone from now on. Any other command
  /// for the speaker ends it too.
  case fadeEnd
}

/// A fade of a speaker's level, as it was requested.
public struct LevelFade: Sendable, Equatable {
  /// The level at the end, 0...50.
  public let to: Int
  /// The length, more than 0.
  public let over: Duration

  /// A fade to a level.
  public init(to: Int, over: Duration) { (self.to, self.over) = (to, over) }
}

/// The author of a command for the level of a speaker.
public enum LevelAuthor: Sendable, Equatable {
  /// A caller of the house.
  case caller
  /// A snapshot that is restored.
  case snapshot
  /// An interruption, for the level at which it plays.
  case interruption
  /// An interruption at its end, for the level of before.
  case restoration
  /// The limit of a speaker, which has changed or was exceeded.
  case limit
}

/// A command to a house, reported when it is received, in the task that issues it.
public enum HouseCommand {
  /// The volume or the mute of speakers, all in the house.
  case level([(device: Device, command: LevelCommand)], by: LevelAuthor)
  /// Another session, or none, for a speaker.
  case move(Device)
  /// Another source for a session.
  case play(Session)
  /// A pause or the end of the source of a session.
  case stop(Session)
  /// The end of a pause of a session.
  case resume(Session)
  /// Another name, group, role or balance for a speaker, by the reason of its event.
  case edit(Device, DeviceReason)
  /// A change of the sound of a session.
  case sound(Session)
}

/// An event of a house. Objects in it are the house's own: read them on the loop.
public enum HouseEvent {
  /// A change of a speaker other than of its volume.
  case device(Device, DeviceReason)
  /// A new level, mute or unmute of a speaker; `average` is the house's, see `House.volume`; `cause` is nil for a
  /// command or a fade; `limit` keeps it below the requested one.
  case volume(
    Device, volume: Int, muted: Bool, average: Int, cause: LevelCause?, limit: AppliedLimit? = nil)
  /// A new playback state of a session, and the source that it had then: events come later.
  case state(PlayerState, Session, source: SourceInfo?)
  /// Whole seconds heard of the source, once a second while it plays; counts on over the repetitions of a
  /// looped source.
  case time(elapsed: Int, Session)
  /// The end of a source.
  case ended(Session, source: SourceInfo, reason: EndReason)
  /// Another file of a queue is heard, the first one too: `index` from 1 in the order of playing, of `count` files.
  case track(Session, source: SourceInfo, index: Int, count: Int)
  /// An interruption of all speakers of a session, at one of its phases; `by` is the interruption's session.
  case suspension(SuspensionPhase, Session, by: Session)
  /// A failure that no caller waits for.
  case error(code: String, message: String, device: Device?, session: Session?)

  /// Event names, by which scripts subscribe.
  public enum Kind: String, Sendable, CaseIterable {
    case device, volume, state, time, ended, track, error, suspending, suspended, resumed
  }

  /// The kind of the event.
  public var kind: Kind {
    switch self {
    case .device: .device
    case .volume: .volume
    case .state: .state
    case .time: .time
    case .ended: .ended
    case .track: .track
    case .error: .error
    case .suspension(.suspending, _, _): .suspending
    case .suspension(.suspended, _, _): .suspended
    case .suspension(.resumed, _, _): .resumed
    }
  }

  /// The session of the event: its own for `state`, `time`, `ended` and `track`, the interrupted one for
  /// suspensions, the one concerned for `error`; nil for none.
  public var session: Session? {
    switch self {
    case .device, .volume: nil
    case .state(_, let session, _), .time(_, let session), .ended(let session, _, _): session
    case .track(let session, _, _, _): session
    case .suspension(_, let session, _): session
    case .error(_, _, _, let session): session
    }
  }

  /// The speaker of the event; nil for none.
  public var device: Device? {
    switch self {
    case .device(let device, _), .volume(let device, _, _, _, _, _): device
    case .error(_, _, let device, _): device
    case .state, .time, .ended, .track, .suspension: nil
    }
  }
}
