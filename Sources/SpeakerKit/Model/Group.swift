public import EventLoop

/// Speakers that share a group name, at the time of the query. A value: query the house again after a change.
///
/// Confined to the loop, as its devices are.
public struct Group {
  /// The group name of a speaker that is in no group.
  public static let ungrouped = "harman"

  /// The id of the group's founder: as the speakers keep it, else of the member that has been in it longest.
  public let id: String
  /// The group name that all members share.
  public let name: String
  /// The members, the founder first where it is one of them, then in the order in which they joined.
  public let devices: [Device]

  /// `true` if all members are in a session.
  public var isActive: Bool { devices.allSatisfy(\.isActive) }

  /// The average level of the members; see `House.volume`.
  public var volume: Int { House.average(of: devices) }

  /// `true` if at least one member is available and all available members are muted.
  public var isMuted: Bool { House.areMuted(devices) }

  /// Adds the group's speakers to those that `session` wants.
  /// - Throws: as `Device.join`.
  public func join(_ session: Session) async throws { try openHouse().join(devices, session) }

  /// Removes the group's speakers from their sessions.
  /// - Throws: `speaker.closed`.
  public func leave() async throws {
    try openHouse().leave(devices)
  }

  /// Sets the group's available speakers to one level; unmutes them.
  /// - Parameter volume: 0...50.
  /// - Throws: `speaker.range`, `speaker.unavailable` when none can be reached, `speaker.closed`.
  public func setVolume(_ volume: Int) throws(SpeakerError) {
    try reachableHouse().change(.volume(volume), of: devices)
  }

  /// Mutes the group's speakers; each keeps its level.
  /// - Throws: `speaker.unavailable` when none can be reached, `speaker.closed`.
  public func mute() throws(SpeakerError) { try reachableHouse().change(.muted(true), of: devices) }

  /// Unmutes the group's speakers, each at the level that it kept.
  /// - Throws: `speaker.unavailable` when none can be reached, `speaker.closed`.
  public func unmute() throws(SpeakerError) { try reachableHouse().change(.muted(false), of: devices) }

  /// Fades the group's speakers to one level, as `House.fade` does; a speaker that leaves the group is left
  /// alone from then on.
  /// - Throws: `speaker.range`, `speaker.unavailable`, `speaker.unsupported`, `speaker.closed`,
  ///   `CancellationError`.
  public func fade(volume: Int, over duration: Duration) async throws {
    try await reachableHouse().fade(devices, volume: volume, over: duration) { $0.groupName == name }
  }

  /// Returns the house of the group's speakers; a group has at least one speaker.
  /// - Throws: `speaker.closed`; `speaker.unavailable` when the founder was removed.
  private func openHouse() throws(SpeakerError) -> House { try devices[0].openHouse() }

  private func reachableHouse() throws(SpeakerError) -> House {
    let house = try openHouse()
    guard devices.contains(where: \.isAvailable) else {
      throw SpeakerError(
        .unavailable, "no speaker of \"\(name)\" can be reached",
        hint: "the device event reports one that is back", facts: [.init("group", .string(name))])
    }
    return house
  }

  /// Returns the groups of `devices`, in the order of their founders in the house.
  static func groups(of devices: [Device]) -> [Group] {
    var members: [String: [(place: Int, device: Device)]] = [:]
    for (place, device) in devices.enumerated() where device.groupName != ungrouped {
      members[device.groupName, default: []].append((place, device))
    }
    return members.values
      .map { $0.sorted { rank($0.device, at: $0.place) < rank($1.device, at: $1.place) } }
      .sorted { $0[0].place < $1[0].place }
      .map { members in
        let first = members[0].device
        return Group(
          id: first.info.groupID ?? first.id, name: first.groupName, devices: members.map(\.device))
      }
  }

  private static func rank(_ device: Device, at place: Int) -> (Int, Int, Int) {
    (device.info.groupID == device.id ? 0 : 1, device.info.groupRank, place)
  }
}
