public import AudioCore

/// What a session does.
public enum PlayerState: String, Sendable {
  case stopped, playing, paused
}

/// What changed on a device; the volume is told by an event of its own.
public enum DeviceReason: String, Sendable {
  case added, removed, available, unavailable, joined, left, renamed, regrouped, role, balance, wifi, playing
}

/// Why a source no longer plays.
public enum EndReason: String, Sendable {
  /// Its last frame has been heard.
  case finished
  /// Somebody stopped it, or the house closed.
  case stopped
  /// Another source took its place.
  case replaced
  /// It turned bad on the way; an `error` event says how.
  case failed
  /// The last speaker left.
  case noDevices = "no_devices"
}

/// What a session plays.
public struct SourceInfo: Sendable, Equatable {
  /// Path of the file, as it was given to `play`.
  public let path: String
  /// What a person would call it: the title given to `play`, else the file's name.
  public let title: String

  /// A source called `title`.
  public init(path: String, title: String) {
    self.path = path
    self.title = title
  }
}

/// How far an interruption of a session is that takes all its speakers; the name by which scripts subscribe.
public enum SuspensionPhase: String, Sendable {
  /// It fades out.
  case suspending
  /// It stands still, and is silent.
  case suspended
  /// It has its speakers back, and goes on as it was, or as somebody wished meanwhile.
  case resumed
}

/// A change of a session that scripts cause themselves and get no event for.
public enum SessionChange: Sendable, Equatable {
  /// Its gain goes from one level to another, in dB, over this time of what plays.
  case gain(from: Double, to: Double, over: Duration)
  /// Its equalizer has these gains.
  case equalizer(EqualizerGains)
  /// Its position is this frame of the source.
  case seek(frame: Int)
}

/// What listeners of a house are told. Objects in it are the house's own: read them, on the loop.
public enum HouseEvent {
  /// Something other than the volume changed on a speaker.
  case device(Device, DeviceReason)
  /// A speaker has a new level or was (un)muted; `average` is the house's, see `House.volume`.
  case volume(Device, volume: Int, muted: Bool, average: Int)
  /// A session plays, pauses or stops.
  case state(PlayerState, Session)
  /// Whole seconds heard of the source, once a second while it plays; goes on counting over the loops of a
  /// looped source.
  case time(elapsed: Int, Session)
  /// A source no longer plays.
  case ended(Session, source: SourceInfo, reason: EndReason)
  /// A session loses all its speakers to an interruption, whose session is `by`, or has them back.
  case suspension(SuspensionPhase, Session, by: Session)
  /// Something failed that no caller waits for.
  case error(code: String, message: String, device: Device?, session: Session?)

  /// The name by which scripts subscribe.
  public enum Kind: String, Sendable, CaseIterable {
    case device, volume, state, time, ended, error, suspending, suspended, resumed
  }

  /// Which event this is.
  public var kind: Kind {
    switch self {
    case .device: .device
    case .volume: .volume
    case .state: .state
    case .time: .time
    case .ended: .ended
    case .error: .error
    case .suspension(.suspending, _, _): .suspending
    case .suspension(.suspended, _, _): .suspended
    case .suspension(.resumed, _, _): .resumed
    }
  }

  /// The session that it is about: its own for `state`, `time` and `ended`, the one interrupted for suspensions, the
  /// one concerned for `error`.
  public var session: Session? {
    switch self {
    case .device, .volume: nil
    case .state(_, let session), .time(_, let session), .ended(let session, _, _): session
    case .suspension(_, let session, _): session
    case .error(_, _, _, let session): session
    }
  }

  /// The speaker that it is about.
  public var device: Device? {
    switch self {
    case .device(let device, _), .volume(let device, _, _, _): device
    case .error(_, _, let device, _): device
    case .state, .time, .ended, .suspension: nil
    }
  }
}
