public import EventLoop

/// Rooms and speakers in one namespace, as people name them: "the kitchen", "the left one in the bedroom".
extension House {
  /// Returns the names of the groups all of whose speakers are among `devices`, and of the other speakers
  /// among these, in their order.
  public func rooms(of devices: [Device]) -> [String] {
    var names: [String] = []
    for device in devices {
      let group = device.groupName == Group.ungrouped ? nil : device.groupName
      let isWhole =
        group != nil
        && self.devices.count { $0.groupName == group } == devices.count { $0.groupName == group }
      let name = isWhole ? group ?? device.name : device.name
      if !names.contains(name) { names.append(name) }
    }
    return names
  }

  /// Returns the speakers of the group, or the one speaker, with that name; also a speaker's id.
  ///
  /// The rules are those of `find`: the whole name has precedence over a part of it, which suffices when it
  /// is unambiguous, in any case. A group has precedence over a speaker of the same name, and over its own
  /// speakers: `"bed"` is the bedroom, also when its speakers are called `"Bed left"` and `"Bed right"`.
  /// - Throws: `speaker.unknown` when no name matches (the hint suggests the nearest name), or several do
  ///   (the hint lists them).
  public func speakers(in place: String) throws(SpeakerError) -> [Device] {
    try NameSearch.check(place, "room or speaker")
    let groups = groups
    let wanted = place.lowercased()
    let stages: [(isWhole: Bool, matches: (String) -> Bool)] = [
      (true, { $0 == place }), (true, { $0.lowercased() == wanted }),
      (false, { !wanted.isEmpty && $0.lowercased().contains(wanted) }),
    ]
    for (isWhole, matches) in stages {
      let rooms = groups.filter { matches($0.name) }
      let others = devices.filter { device in
        // A part of an id identifies no speaker.
        (matches(device.name) || isWhole && matches(device.id))
          && !rooms.contains { $0.name == device.groupName }
      }
      if rooms.count == 1, isWhole || others.isEmpty { return rooms[0].devices }
      if rooms.isEmpty, others.count == 1 { return others }
      let names = rooms.map(\.name) + others.map(\.name)
      if !names.isEmpty { throw NameSearch.ambiguous(place, "rooms or speakers", names) }
    }
    var names = groups.map(\.name)
    for device in devices where !names.contains(device.name) { names.append(device.name) }
    throw NameSearch.unknown(place, kind: "room or speaker", plural: "speakers", names: names)
  }
}
