public import AudioCore
internal import EventLoop

extension Device {
  /// Gives it another name. Returns when it has it. The same name again changes nothing and tells nothing.
  ///
  /// In an embedded house this stops what plays on it, with an `error` event `speaker.renamed_while_playing`.
  /// - Parameter name: at most 100 letters, not blank, no other speaker's.
  /// - Throws: `speaker.range` for such a name, `speaker.unavailable`, `speaker.unsupported`, `speaker.closed`,
  ///   `CancellationError`.
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

  /// Puts it into the group of that name, which it founds when there is none. Returns when it is in it. The same
  /// group again changes nothing and tells nothing. Stops what plays on it as `setName` does.
  /// - Parameter name: at most 100 letters, not blank; `Group.ungrouped` for no group.
  /// - Throws: as `setName`.
  public func setGroup(_ name: String) async throws {
    let house = try reachableHouse()
    try house.require("group", for: "other groups")
    try NameRule.check(name, of: "group")
    guard name != groupName else { return }
    try await house.edit(.group(name), of: self)
  }

  /// Takes it out of its group; nothing when it is in none.
  /// - Throws: as `setName`.
  public func leaveGroup() async throws { try await setGroup(Group.ungrouped) }

  /// Sets which channels it renders; heard a moment later, over a ramp of one block. The same role again tells
  /// nothing.
  /// - Throws: `speaker.unavailable`, `speaker.unsupported`, `speaker.closed`.
  public func setRole(_ role: ChannelRole) throws(SpeakerError) {
    let house = try reachableHouse()
    try house.require("role", for: "other roles")
    try house.change(.role(role), of: [self])
  }

  /// Moves it to the left or the right; heard as `setRole` is.
  /// - Parameter balance: -6...6.
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

  /// Its house, when both can be reached.
  func reachableHouse() throws(SpeakerError) -> House {
    let house = try openHouse()
    guard isAvailable else {
      throw SpeakerError(
        .unavailable, "\"\(name)\" can't be reached", hint: "the device event tells when it is back",
        facts: [.init("device", .string(name))])
    }
    return house
  }
}

extension House {
  /// Has the driver change what a speaker is called, and stops what plays on it where the driver would.
  fileprivate func edit(_ edit: DeviceEdit, of device: Device) async throws {
    if driver.editsStopPlayback, device.isPlaying, let session = device.session {
      let what = if case .name = edit { "renamed" } else { "regrouped" }
      events.tell(
        .error(
          code: SpeakerError.Kind.renamedWhilePlaying.rawValue,
          message: "\"\(device.name)\" was \(what) while it played", device: device, session: session))
      session.perform(session.machine.stop(.failed))
    }
    try await driver.edit(edit, of: device.id)
  }
}

/// What speakers and groups may be called.
public enum NameRule {
  /// - Throws: `speaker.range`.
  static func check(_ name: String, of what: String) throws(SpeakerError) {
    guard let problem = problem(with: name) else { return }
    throw SpeakerError(.range, "the name of a \(what) \(problem)", facts: [.init("name", .string(name))])
  }

  /// What is wrong with a name; nil when nothing is.
  public static func problem(with name: String) -> String? {
    if name.allSatisfy(\.isWhitespace) { return "is blank" }
    if name.count > 100 || name.utf8.count > 255 { return "has more than 100 letters or 255 bytes" }
    // What no text holds stands for bytes that were no UTF-8.
    if name.unicodeScalars.contains("\u{FFFD}") { return "is no UTF-8 text" }
    let hasControl = name.unicodeScalars.contains { $0.properties.generalCategory == .control }
    return hasControl ? "has a control character in it" : nil
  }
}
