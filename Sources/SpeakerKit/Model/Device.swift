public import AudioCore
internal import EventLoop

/// One speaker of a house. The same object for as long as the house is open; its fields follow what happens.
///
/// Confined to the loop.
public final class Device {
  /// The session that it is a member of.
  public internal(set) weak var session: Session?
  /// Nil when the house is gone.
  weak var house: House?
  var info: DeviceInfo
  /// The group that it has left, while that is told.
  public internal(set) var leavesGroup: String?
  /// Number of its last move to another session, among all of the house.
  var lastMove = 0
  /// `isPlaying` as it was reported last.
  var reportedPlaying = false
  /// Fades of its level so far; a newer one takes the place of an older one.
  var fades = 0
  /// How often somebody has set its level or mute.
  var levelTouches = 0
  /// The level that an interruption could not give back, with `levelTouches` then.
  var owedLevel: (volume: Int, isMuted: Bool, touches: Int)?
  /// Whether it has gone for good.
  public internal(set) var isRemoved = false

  init(_ info: DeviceInfo, house: House) {
    self.info = info
    self.house = house
  }

  /// Stable and unique in the house.
  public var id: String { info.id }
  /// What people call it.
  public var name: String { info.name }
  /// Name of its group, `Group.ungrouped` when it is in none.
  public var groupName: String { info.groupName }
  /// Its group, nil when it is in none.
  public var group: Group? { house?.groups.first { $0.name == groupName } }
  /// Id of its group, which is the id of the group's founder; its own when it is in none.
  public var groupID: String { group?.id ?? id }
  /// Maker's name of the model.
  public var model: String { info.model }
  /// Where it is in the network.
  public var ipAddress: String { info.ipAddress }
  /// TCP port of its control connection.
  public var port: Int { info.port }
  /// Six hexadecimal pairs with colons.
  public var macAddress: String { info.macAddress }
  /// Version of its firmware.
  public var version: String { info.version }
  /// Received signal strength in dBm, -100...0.
  public var wifiSignal: Int { info.wifiSignal }
  /// The level that is in effect, 0...50; kept while muted.
  public var volume: Int { info.volume }
  /// Whether it is muted.
  public var isMuted: Bool { info.isMuted }
  /// Which channels it renders.
  public var role: ChannelRole { info.role }
  /// -6...6, left to right.
  public var balance: Int { info.balance }
  /// Whether it can be reached.
  public var isAvailable: Bool { info.isAvailable }
  /// Whether it is in a session.
  public var isActive: Bool { session != nil }
  /// Whether it is in a session that plays now.
  public var isPlaying: Bool { session?.isRunning == true && isAvailable }
  /// 1 for a speaker that renders a stereo signal or one side of it, 0 for any other role.
  public var channelType: Int { [.stereo, .left, .right].contains(role) ? 1 : 0 }
  /// Whether it founded the group that it is in; a speaker in no group is its own master.
  public var isMaster: Bool { groupID == id }

  /// Sets the level; unmutes. Takes effect some milliseconds later, which the `volume` event tells.
  /// - Parameter volume: 0...50.
  /// - Throws: `speaker.range`, `speaker.unavailable`, `speaker.closed`.
  public func setVolume(_ volume: Int) throws(SpeakerError) {
    try reachableHouse().change(.volume(volume), of: [self])
  }

  /// Silences it; keeps its level.
  /// - Throws: `speaker.unavailable`, `speaker.closed`.
  public func mute() throws(SpeakerError) { try reachableHouse().change(.muted(true), of: [self]) }

  /// Gives it the level that it had.
  /// - Throws: `speaker.unavailable`, `speaker.closed`.
  public func unmute() throws(SpeakerError) { try reachableHouse().change(.muted(false), of: [self]) }

  /// Moves its level, as `House.fade` does.
  /// - Throws: `speaker.range`, `speaker.unavailable`, `speaker.unsupported`, `speaker.closed`, `CancellationError`.
  public func fade(volume: Int, over duration: Duration) async throws {
    try await reachableHouse().fade([self], volume: volume, over: duration) { !$0.isRemoved }
  }

  /// Makes it a member of `session`, nil for the default session, and takes it out of another.
  ///
  /// When the session plays, it sounds from the next block on, in step with the others; it keeps its own
  /// level.
  /// - Throws: `speaker.outranked` when it is in a session of higher priority; `speaker.closed`, also for a session
  ///   of another house.
  public func join(_ session: Session? = nil) async throws {
    try openHouse().join([self], session)
  }

  /// Takes it out of its session; it fades over one block and is silent. Nothing when it is in none.
  /// When it was the last member, the session stops with `no_devices`.
  /// - Throws: `speaker.closed`.
  public func leave() async throws {
    try openHouse().move(self, to: nil)
  }

  func openHouse() throws(SpeakerError) -> House {
    // Speakers exist only in a house that has been open; it may be open again, with other objects.
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
