internal import AudioCore
public import EventLoop
public import SpeakerKit
internal import StreamCore

/// The actions of a person on the rooms of a house, from the command line and the daemon's socket. Confined to the loop.
public struct RoomActions {
  /// A change of volume.
  public enum VolumeChange: Sendable, Equatable {
    /// The level, 0 to 50.
    case level(Int)
    /// Louder, or softer when negative; each speaker from the level that was last asked for, and no further than 0 and 50
    /// or its limit.
    case step(Int)

    /// Reads `20`, `+5`, `-5`.
    /// - Throws: `speaker.range`.
    public init(parsing text: String) throws(SpeakerError) {
      let digits = text.first == "+" || text.first == "-" ? text.dropFirst() : text[...]
      guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits),
        number <= House.maximumVolume
      else {
        throw SpeakerError(
          .range, "\"\(text.prefix(40).description.onOneLine)\" is not a volume",
          hint: "a level from 0 to \(House.maximumVolume), or a change: +5, -5")
      }
      switch text.first {
      case "+": self = .step(number)
      case "-": self = .step(-number)
      default: self = .level(number)
      }
    }
  }

  /// The level of a speaker.
  public struct Level: Sendable, Equatable {
    /// The name of the speaker.
    public let speaker: String
    /// The name of its group; nil without one.
    public let room: String?
    /// The volume, 0 to 50.
    public let volume: Int
    /// `true` if the speaker is muted.
    public let isMuted: Bool
    /// The limit that keeps it below the volume that was asked for, in words; nil for none.
    public let limit: String?
  }

  /// A session with a source.
  public struct Playing: Sendable, Equatable {
    /// The name of the session.
    public let session: String
    /// Playing or paused.
    public let state: PlayerState
    /// The title for people.
    public let title: String
    /// The path or the URL.
    public let source: String
    /// The rooms that it plays in, and single speakers of other rooms.
    public let rooms: [String]
    /// The position in seconds.
    public let position: Double
    /// The length in seconds; nil for a live source.
    public let duration: Double?
    /// The average volume of its speakers.
    public let volume: Int
  }

  /// The house.
  public let house: House

  /// Actions on `house`.
  public init(_ house: House) { self.house = house }

  // MARK: Levels

  /// Returns the levels of a room, or of all speakers for nil.
  /// - Throws: `speaker.unknown`.
  public func levels(in room: String?) throws(SpeakerError) -> [Level] {
    try speakers(room).map { level($0) }
  }

  /// Sets the volume of a room and unmutes it.
  /// - Returns: the levels when the driver has answered.
  /// - Throws: `speaker.unknown`, `speaker.range`, `speaker.unavailable`, `speaker.lost`, `CancellationError`.
  public func setVolume(_ change: VolumeChange, in room: String?) async throws -> [Level] {
    let devices = try reachable(room)
    for device in devices {
      switch change {
      case .level(let volume): try device.setVolume(volume)
      // A louder step would lower it.
      case .step(let step) where step > 0 && device.isAboveLimit: break
      case .step(let step): try device.setVolume(device.volume(steppedBy: step))
      }
    }
    return try await answered(devices)
  }

  /// Mutes or unmutes a room.
  /// - Returns: the levels when the driver has answered.
  /// - Throws: `speaker.unknown`, `speaker.unavailable`, `speaker.lost`, `CancellationError`.
  public func setMuted(_ isMuted: Bool, in room: String?) async throws -> [Level] {
    let devices = try reachable(room)
    for device in devices {
      if isMuted { try device.mute() } else { try device.unmute() }
    }
    return try await answered(devices)
  }

  private func answered(_ devices: [Device]) async throws -> [Level] {
    try await house.awaitChanges(of: devices)
    return devices.map { level($0) }
  }

  private func speakers(_ room: String?) throws(SpeakerError) -> [Device] {
    if let room { return try house.speakers(in: room) }
    return house.devices
  }

  /// Returns the speakers of a room that can be reached.
  private func reachable(_ room: String?) throws(SpeakerError) -> [Device] {
    let speakers = try speakers(room)
    let available = speakers.filter(\.isAvailable)
    guard available.isEmpty, let first = speakers.first else { return available }
    throw SpeakerError(.unavailable, "\"\(room ?? first.name)\" can't be reached")
  }

  private func level(_ device: Device) -> Level {
    Level(
      speaker: device.name, room: device.groupName == Group.ungrouped ? nil : device.groupName,
      volume: device.volume, isMuted: device.isMuted, limit: device.appliedLimit?.text)
  }

  // MARK: Playback

  /// Returns the sessions that play or are paused, in a room or anywhere.
  /// - Throws: `speaker.unknown`.
  public func playing(in room: String?) throws(SpeakerError) -> [Playing] {
    try sessions(room).map { session in
      let rate = Double(session.format.sampleRate)
      return Playing(
        session: session.name, state: session.state, title: session.source?.title ?? "",
        source: StreamAddress.shown(session.source?.path ?? ""), rooms: house.rooms(of: session.devices),
        position: Double(session.position) / rate, duration: session.duration.map { Double($0) / rate },
        volume: session.heardVolume)
    }
  }

  /// Pauses the sessions that play, in a room or anywhere, with all their rooms.
  /// - Returns: the sessions that play or are paused now.
  public func pause(_ room: String?) throws(SpeakerError) -> [Playing] {
    try act(room, on: [.playing], "plays") { session throws(SpeakerError) in session.pause() }
  }

  /// Resumes the sessions that are paused.
  public func resume(_ room: String?) throws(SpeakerError) -> [Playing] {
    try act(room, on: [.paused], "is paused") { session throws(SpeakerError) in try session.resume() }
  }

  /// Plays the next file of a queue.
  public func next(_ room: String?) throws(SpeakerError) -> [Playing] {
    try act(room, on: [.playing, .paused], "plays") { session throws(SpeakerError) in try session.next() }
  }

  /// Plays the previous file of a queue.
  public func previous(_ room: String?) throws(SpeakerError) -> [Playing] {
    try act(room, on: [.playing, .paused], "plays") { session throws(SpeakerError) in try session.previous() }
  }

  /// Stops the sessions of a room, or all. Speakers of the room leave a session that plays in other rooms
  /// too, which continues there.
  /// - Returns: the sessions that still play or are paused.
  /// - Throws: `speaker.unknown`.
  public func stop(_ room: String?) async throws -> [Playing] {
    let speakers = try speakers(room)
    for session in try sessions(room) {
      // One that an announcement has returns to the session, which goes on there.
      let all = house.speakers(of: session)
      let own = session.devices.filter { member in speakers.contains { $0 === member } }
      if all.allSatisfy({ member in speakers.contains { $0 === member } }) {
        session.stop()
      } else {
        for device in own { try await device.leave() }
      }
    }
    return try playing(in: nil)
  }

  /// Returns the sessions with a source, in a room or anywhere.
  private func sessions(_ room: String?) throws(SpeakerError) -> [Session] {
    let speakers = try speakers(room)
    return house.sessions.filter { session in
      session.state != .stopped
        && (room == nil || session.devices.contains { member in speakers.contains { $0 === member } })
    }
  }

  private func act(
    _ room: String?, on states: [PlayerState], _ what: String,
    _ body: (Session) throws(SpeakerError) -> Void
  ) throws(SpeakerError) -> [Playing] {
    let wanted = try sessions(room).filter { states.contains($0.state) }
    guard !wanted.isEmpty else {
      throw SpeakerError(.noActiveDevice, "nothing \(what)" + (room.map { " in \"\($0)\"" } ?? ""))
    }
    for session in wanted { try body(session) }
    return try playing(in: nil)
  }
}
