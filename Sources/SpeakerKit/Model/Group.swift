/// Speakers that share a group name, as they are now. A value: ask the house again after a change.
///
/// Confined to the loop, as the devices in it are.
public struct Group {
  /// The group name of a speaker that is in no group.
  public static let ungrouped = "harman"

  /// The id of the speaker that founded the group: of its members, the one that has been in it longest.
  public let id: String
  /// The name that makes the group.
  public let name: String
  /// Its speakers, the founder first, then in the order in which they joined it.
  public let devices: [Device]

  /// Whether all its speakers are in a session.
  public var isActive: Bool { devices.allSatisfy(\.isActive) }

  /// The groups of `devices`, in the order in which their founders stand in the house.
  static func groups(of devices: [Device]) -> [Group] {
    var members: [String: [(place: Int, device: Device)]] = [:]
    for (place, device) in devices.enumerated() where device.groupName != ungrouped {
      members[device.groupName, default: []].append((place, device))
    }
    return members.values
      .map { $0.sorted { ($0.device.info.groupRank, $0.place) < ($1.device.info.groupRank, $1.place) } }
      .sorted { $0[0].place < $1[0].place }
      .map { Group(id: $0[0].device.id, name: $0[0].device.groupName, devices: $0.map(\.device)) }
  }
}
