/// The membership of a speaker in the default session that the opening of the house gives it. Any later join, leave or
/// move of the speaker ends it: `since` is the value of `Device.lastMove` that it still has without one.
enum OpenMembership: Equatable {
  case none
  case member(since: Int)
  case withdrawn(since: Int)
}

/// The speakers that opening the house makes members of the default session: for callers that want them, not for those
/// that opened it without.
extension House {
  /// The members of the default session, with those that an interruption has borrowed from it, each with the number of
  /// the move that made it one.
  private var defaultMembers: [(device: Device, since: Int)] {
    devices.compactMap { device in
      if device.session === session { return (device, device.lastMove) }
      let since = interruptions.lazy.compactMap { $0.move(of: device, from: self.session) }.first
      return since.map { (device, $0) }
    }
  }

  /// Removes the members that opening the house has made, unless the session plays, or opens a source:
  /// playback by another caller's command continues.
  public func withdrawOpenMembers() {
    guard session.state == .stopped, session.pendingPlays == 0 else { return }
    withdraw(defaultMembers)
  }

  /// Removes the members that opening the house has made, before a source plays in place of the present one.
  /// - Throws: `speaker.no_active_device` when something plays and has no other members: it plays on.
  public func withdrawOpenMembersToPlay() throws(SpeakerError) {
    let members = defaultMembers
    let others = members.count { $0.device.openMembership != .member(since: $0.since) }
    guard others > 0 || session.state == .stopped else { throw SessionMachine.noActiveDevice }
    withdraw(members)
  }

  private func withdraw(_ members: [(device: Device, since: Int)]) {
    for (device, since) in members where device.openMembership == .member(since: since) {
      let isBorrowed = device.session !== session
      remove(device, from: session)
      device.openMembership = .withdrawn(since: isBorrowed ? since : device.lastMove)
    }
  }

  /// Adds the speakers that opening the house makes members, if the default session has no member, except those that
  /// have been moved since.
  public func restoreOpenMembers() {
    guard defaultMembers.isEmpty, !session.isSuspended else { return }
    for device in devices
    where device.openMembership == .withdrawn(since: device.lastMove) && device.session == nil {
      move(device, to: session)
      device.openMembership = .member(since: device.lastMove)
    }
  }
}
