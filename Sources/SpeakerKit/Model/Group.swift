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
  /// Its speakers, the founder first, then in the order of the house.
  public let devices: [Device]

  /// Whether all its speakers are in a session.
  public var isActive: Bool { devices.allSatisfy(\.isActive) }

  /// The groups of `devices`, in the order in which their founders stand in the house.
  static func groups(of devices: [Device]) -> [Group] {
    var names: [String] = []
    for device in devices where device.groupName != ungrouped && !names.contains(device.groupName) {
      names.append(device.groupName)
    }
    return names.map { name in
      let members = devices.filter { $0.groupName == name }
      return Group(id: members.first?.id ?? "", name: name, devices: members)
    }
  }
}
