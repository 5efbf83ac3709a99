public import AudioCore
public import EventLoop

extension Device {
  /// Renames the speaker; returns when the new name is in effect. The current name again changes nothing and
  /// emits no event.
  ///
  /// In an embedded house this stops its playback, with an `error` event `speaker.renamed_while_playing`.
  /// - Parameter name: at most 100 letters, not blank, not another speaker's.
  /// - Throws: `speaker.range` for a name that breaks these rules, `speaker.unavailable`,
  ///   `speaker.unsupported`, `speaker.closed`, `CancellationError`.
  public func setName(_ name: String) async throws {
    let house = try reachableHouse()
    try house.require("rename", for: "other names")
    try NameRule.check(name, of: "speaker")
    guard name != self.name else { return }
    guard !house.devices.contains(where: { $0.name == name }), house.namesOnTheWay.insert(name).inserted
    else {
      throw SpeakerError(
        .range, "a speaker is called \"\(name)\" already", hint: "give each speaker a name of its own",
        facts: [.init("name", .string(name))])
    }
    defer { house.namesOnTheWay.remove(name) }
    try await house.edit(.name(name), of: self)
  }

  /// Puts the speaker into the group of that name, which it founds when there is no such group; returns when
  /// that has happened. The current group again changes nothing and emits no event. Stops the speaker's
  /// playback as `setName` does.
  /// - Parameter name: at most 100 letters, not blank; `Group.ungrouped` for no group.
  /// - Throws: as `setName`.
  public func setGroup(_ name: String) async throws {
    let house = try reachableHouse()
    try house.require("group", for: "other groups")
    try NameRule.check(name, of: "group")
    guard name != groupName else { return }
    try await house.edit(.group(name), of: self)
  }

  /// Removes the speaker from its group; does nothing when it is in none.
  /// - Throws: as `setName`.
  public func leaveGroup() async throws { try await setGroup(Group.ungrouped) }

  /// Sets the channels that the speaker renders, over a ramp of one block. The current role again emits no
  /// event.
  /// - Throws: `speaker.unavailable`, `speaker.unsupported`, `speaker.closed`.
  public func setRole(_ role: ChannelRole) throws(SpeakerError) {
    let house = try reachableHouse()
    try house.require("role", for: "other roles")
    try house.change(.role(role), of: [self])
  }

  /// Sets the balance, over a ramp of one block.
  /// - Parameter balance: -6...6, left to right.
  /// - Throws: `speaker.range`, and as `setRole`.
  public func setBalance(_ balance: Int) throws(SpeakerError) {
    let house = try reachableHouse()
    try house.require("balance", for: "balance")
    guard ChannelMix.balanceRange.contains(balance) else {
      throw SpeakerError(
        .range, "balance \(balance) is not in -6...6", facts: [.init("balance", .int(balance))])
    }
    try house.change(.balance(balance), of: [self])
  }

  /// Returns the speaker's house if it is open and the speaker is available.
  /// - Throws: `speaker.closed`, `speaker.unavailable`.
  func reachableHouse() throws(SpeakerError) -> House {
    let house = try openHouse()
    guard isAvailable else {
      throw SpeakerError(
        .unavailable, "\"\(name)\" can't be reached", hint: "the device event reports its return",
        facts: [.init("device", .string(name))])
    }
    return house
  }
}

extension House {
  /// Changes a speaker's name or group through the driver; stops its playback first, where the driver
  /// would.
  fileprivate func edit(_ edit: DeviceEdit, of device: Device) async throws {
    if driver.editsStopPlayback, device.isPlaying, let session = device.session {
      let what = if case .name = edit { "renamed" } else { "regrouped" }
      events.emit(
        .error(
          code: SpeakerError.Kind.renamedWhilePlaying.rawValue,
          message: "\"\(device.name)\" was \(what) while it played", device: device, session: session))
      session.perform(session.machine.stop(.failed))
    }
    report(.edit(device, { if case .name = edit { .renamed } else { .regrouped } }()))
    try await driver.edit(edit, of: device.id)
  }
}

/// Rules for the names of speakers and groups.
public enum NameRule {
  /// Checks the name of a `what`, such as `"speaker"`.
  /// - Throws: `speaker.range`.
  static func check(_ name: String, of what: String) throws(SpeakerError) {
    guard let problem = problem(with: name) else { return }
    throw SpeakerError(.range, "the name of a \(what) \(problem)", facts: [.init("name", .string(name))])
  }

  /// Returns the fault of a name, as the predicate of a sentence; nil for a valid name.
  public static func problem(with name: String) -> String? {
    if name.allSatisfy(\.isWhitespace) { return "is blank" }
    if name.count > 100 || name.utf8.count > 255 { return "has more than 100 letters or 255 bytes" }
    // The replacement character stands for bytes that were not UTF-8.
    if name.unicodeScalars.contains("\u{FFFD}") { return "is not UTF-8 text" }
    let hasControl = name.unicodeScalars.contains { $0.properties.generalCategory == .control }
    return hasControl ? "has a control character in it" : nil
  }
}
