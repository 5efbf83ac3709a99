internal import EventLoop

/// Rooms and speakers under one roof, as a person speaks of them: "the kitchen", "the left one in the bedroom".
extension House {
  /// The groups all of whose speakers are among `devices`, and the other speakers of these, by name and in their order.
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

  /// The speakers of the group, or the one speaker, with that name; also a speaker's id.
  ///
  /// The rules are those of `find`: the whole name goes before a part of it, which is enough when it means one thing
  /// only, in any case. A group goes before a speaker of the same name, and before its own speakers: `"bed"` is the
  /// bedroom, also when its speakers are called `"Bed left"` and `"Bed right"`.
  /// - Throws: `speaker.unknown` when nothing is called so, the hint suggests the nearest name; or when several
  ///   things are, the hint lists them.
  public func speakers(in place: String) throws(SpeakerError) -> [Device] {
    let groups = groups
    let wanted = place.lowercased()
    let stages: [(isWhole: Bool, matches: (String) -> Bool)] = [
      (true, { $0 == place }), (true, { $0.lowercased() == wanted }),
      (false, { !wanted.isEmpty && $0.lowercased().contains(wanted) }),
    ]
    for (isWhole, matches) in stages {
      let rooms = groups.filter { matches($0.name) }
      let others = devices.filter { device in
        // A part of an id means nothing to anybody.
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
