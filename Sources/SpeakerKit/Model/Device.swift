public import AudioCore
public import EventLoop

/// A speaker of a house: the same object for as long as the house is open; its fields follow events.
///
/// Confined to the loop.
public final class Device {
  /// The session of which the speaker is a member; nil for none.
  public internal(set) weak var session: Session?
  /// The session that the speaker plays over `session`, and its level there, nil for the speaker's own; nil
  /// for none.
  public internal(set) var overlay: (session: Session, volume: Int?)?
  /// The house of the speaker; nil once the house has been released.
  weak var house: House?
  var info: DeviceInfo
  /// The group that the speaker has left, while that event is emitted.
  public internal(set) var leavesGroup: String?
  /// The number of the speaker's last move to another session, counted over the whole house.
  var lastMove = 0
  /// The value of `isPlaying` that was reported last.
  var reportedPlaying = false
  /// The fade that has its level, until another command, another controller or a newer fade sets it; nil for
  /// none.
  var fade: Fade? {
    didSet {
      guard let oldValue, oldValue !== fade else { return }
      oldValue.lose(self)
      house?.reportUnreported()
    }
  }
  /// The number of changes of its level or mute that were requested so far.
  var levelTouches = 0
  /// The highest volume of the speaker, as configured; nil for none.
  public internal(set) var limit: SpeakerLimit?
  /// The volume that was asked for, while its limit keeps the speaker below it; nil for the one in effect.
  var asked: Int?
  /// The number of `asked` among the borrowed levels of the house.
  var askedNumber: Int?
  /// The session whose own command set its level last, which may exceed the limit there; nil for another command.
  weak var levelSession: Session?
  /// The volume that nothing on the speaker exceeds, as the driver was told; nil for none.
  var ceiling: Int?
  /// The origin of the change of its level that was requested last; nil for a command or a fade.
  var levelCause: LevelCause?
  /// The level that an interruption could not restore.
  var owedLevel: FormerLevel?
  /// `true` while the level that an interruption found is on its way back, which a fade waits for.
  var isRestoring = false
  /// `true` if the speaker was removed from the house for good.
  public internal(set) var isRemoved = false

  init(_ info: DeviceInfo, house: House) {
    self.info = info
    self.house = house
  }

  /// The identifier, stable and unique in the house.
  public var id: String { info.id }
  /// The display name.
  public var name: String { info.name }
  /// The name of the speaker's group, `Group.ungrouped` when it is in none.
  public var groupName: String { info.groupName }
  /// The group of the speaker, nil when it is in none.
  public var group: Group? { house?.groups.first { $0.name == groupName } }
  /// The id of the speaker's group, which is that of the group's founder; its own id when it is in none.
  public var groupID: String { group?.id ?? id }
  /// The maker's name of the model.
  public var model: String { info.model }
  /// The network address: dotted IPv4, or the driver's equivalent.
  public var ipAddress: String { info.ipAddress }
  /// The TCP port of the control connection.
  public var port: Int { info.port }
  /// The MAC address: six hexadecimal pairs with colons.
  public var macAddress: String { info.macAddress }
  /// The firmware version.
  public var version: String { info.version }
  /// The received signal strength in dBm, -100...0; nil where the driver does not know it.
  public var wifiSignal: Int? { info.wifiSignal }
  /// The level in effect, 0...50; kept while muted.
  public var volume: Int { info.volume }
  /// `true` if the speaker is muted.
  public var isMuted: Bool { info.isMuted }
  /// Channels that the speaker renders.
  public var role: ChannelRole { info.role }
  /// The balance, -6...6, left to right.
  public var balance: Int { info.balance }
  /// `true` if the speaker can be reached.
  public var isAvailable: Bool { info.isAvailable }
  /// The output of the speaker in one line, as in `alsa:hw:2,0 channels 3 and 4`; nil when the driver has
  /// none of its own.
  public var output: String? { info.output }
  /// `true` if the speaker is in a session.
  public var isActive: Bool { session != nil }
  /// `true` if the speaker can be reached, and is in a session that plays now, plays one over it, or plays
  /// sound that another controller has started.
  public var isPlaying: Bool {
    (session?.isRunning == true || overlay?.session.isRunning == true || info.playsOthers) && isAvailable
  }
  /// The level at which the speaker plays a session: its own, or that of the session over it; nil while it is
  /// muted.
  public func level(in session: Session) -> Int? {
    guard let overlay, overlay.session === session else { return isMuted ? nil : volume }
    if isMuted, overlay.volume == nil { return nil }
    return house?.levelOfOverlay(on: self) ?? volume
  }
  /// `true` while an event is delivered that another controller of the speakers has caused.
  public var isControlled: Bool { house?.events.isByController == true }
  /// 1 for a speaker that renders a stereo signal or one side of it, 0 for any other role.
  public var channelType: Int { [.stereo, .left, .right].contains(role) ? 1 : 0 }
  /// `true` if the speaker founded its group; a speaker in no group is its own master.
  public var isMaster: Bool { groupID == id }

  /// Sets the level; unmutes. Takes effect some milliseconds later, announced by the `volume` event.
  /// - Parameter volume: 0...50.
  /// - Throws: `speaker.range`, `speaker.unavailable`, `speaker.closed`.
  public func setVolume(_ volume: Int) throws(SpeakerError) {
    try reachableHouse().change(.volume(volume), of: [self])
  }

  /// Mutes the speaker; keeps its level.
  /// - Throws: `speaker.unavailable`, `speaker.closed`.
  public func mute() throws(SpeakerError) { try reachableHouse().change(.muted(true), of: [self]) }

  /// Unmutes the speaker at the level that it kept.
  /// - Throws: `speaker.unavailable`, `speaker.closed`.
  public func unmute() throws(SpeakerError) { try reachableHouse().change(.muted(false), of: [self]) }

  /// Fades the speaker's level, as `House.fade` does.
  /// - Throws: `speaker.range`, `speaker.unavailable`, `speaker.unsupported`, `speaker.closed`,
  ///   `CancellationError`.
  public func fade(volume: Int, over duration: Duration) async throws {
    try await reachableHouse().fade([self], volume: volume, over: duration)
  }

  /// Adds the speaker to those that `session` wants, see `Session.want`.
  ///
  /// In a playing session the speaker sounds from the next block on, in step with the others; it keeps its
  /// own level.
  /// - Throws: `speaker.closed`, also for a session of another house.
  public func join(_ session: Session) async throws { try openHouse().join([self], session) }

  /// Removes the speaker from its session, which does not want it any more; its sound fades out over one block. Does
  /// nothing when it is in none. When it was the last member, the session stops with `no_devices`.
  /// - Throws: `speaker.closed`.
  public func leave() async throws {
    try openHouse().leave([self])
  }

  /// Removes the speaker from `session`, also where an interruption has borrowed it from there: it does not return then.
  /// Does nothing when it is in another session, or in none.
  /// - Throws: `speaker.closed`.
  public func leave(_ session: Session) async throws {
    try openHouse().remove(self, from: session)
  }

  /// - Throws: `speaker.closed` when its house was closed, `speaker.unavailable` when it was removed.
  public func requireOpenHouse() throws(SpeakerError) { _ = try openHouse() }

  func openHouse() throws(SpeakerError) -> House {
    // Speakers exist only in a house that has been open; that house may be open again, with other objects.
    guard let house, house.isOpen else {
      throw SpeakerError(
        .closed, "the speaker \"\(name)\" belongs to a house that was closed",
        hint: "look it up again in the house that is open")
    }
    guard !isRemoved else {
      throw SpeakerError(
        .unavailable, "\"\(name)\" was removed from the house", facts: [.init("device", .string(name))])
    }
    return house
  }
}
