internal import AudioCore
public import EventLoop

/// A saved state of speakers: levels, sessions, and the sources of those sessions. Confined to the loop.
public final class Snapshot {
  private struct Member {
    let device: Device
    weak var session: Session?
    let volume: Int
    let isMuted: Bool
  }

  private struct Playback {
    let session: Session
    let state: PlayerState
    let source: SourceInfo?
    let request: SourceRequest?
  }

  /// Strong reference: a script may keep a snapshot for longer than the house is open.
  private let house: House
  private let members: [Member]
  private let playbacks: [Playback]

  /// The speakers of the snapshot.
  public var devices: [Device] { members.map(\.device) }

  fileprivate init(of devices: [Device], in house: House) {
    self.house = house
    members = devices.map {
      .init(device: $0, session: $0.session, volume: $0.requestedVolume, isMuted: $0.isMuted)
    }
    playbacks = house.sessions(within: devices).map { session in
      let current = session.machine.current
      return Playback(
        session: session, state: session.state, source: current?.source,
        request: session.restorable)
    }
  }

  /// Restores the speakers' sessions, volumes and mute; sessions that had no other speakers play, pause or
  /// stop as they did, from their position at that time. May be called again.
  ///
  /// Speakers that were removed or can't be reached, and closed sessions, are left out. Nothing is changed
  /// when a speaker is in a session of higher priority than the one it was in.
  /// - Throws: `speaker.outranked`, `speaker.closed`, `CancellationError`; `audio.not_found` and the like
  ///   when a source is missing, after all else is restored.
  public func restore() async throws {
    house.loop.assertOnLoop()
    guard house.isOpen else {
      throw SpeakerError(
        .closed, "the snapshot belongs to a house that was closed",
        hint: "use a snapshot of the open house")
    }
    let present = members.filter { !$0.device.isRemoved }
    for member in present {
      guard let session = member.session, session.isOpen, member.device.session !== session else { continue }
      try house.check(member.device, mayGoTo: session.priority)
    }
    for member in present where member.session?.isOpen ?? true {
      house.move(member.device, to: member.session)
    }
    // A pending level would take effect after the restored one.
    house.driver.settle()
    let changed = present.filter { member in
      let device = member.device
      return device.isAvailable
        && (device.requestedVolume != member.volume || device.isMuted != member.isMuted)
    }
    for member in changed {
      member.device.levelTouches += 1
      member.device.levelCause = nil
      member.device.fade = nil
    }
    house.report(
      .level(changed.map { ($0.device, .set($0.volume, isMuted: $0.isMuted)) }, by: .snapshot))
    house.setLevels(changed.map { ($0.device, $0.volume, $0.isMuted) })
    var failure: (any Error)?
    for playback in playbacks where playback.session.isOpen {
      do { try await restore(playback) } catch { failure = failure ?? error }
    }
    try await house.driver.awaitChanges()
    if let failure { throw failure }
  }

  private func restore(_ playback: Playback) async throws {
    guard let source = playback.source, let request = playback.request else { return playback.session.stop() }
    try await playback.session.play(
      request.reopened, as: source, paused: playback.state == .paused, rooms: .present, priority: nil)
  }
}

extension House {
  /// Saves the state of speakers.
  /// - Parameter devices: nil for all.
  /// - Throws: `speaker.closed`.
  public func snapshot(devices: [Device]? = nil) throws(SpeakerError) -> Snapshot {
    loop.assertOnLoop()
    guard isOpen else { throw Self.closedError }
    // Pending changes belong to the state.
    driver.settle()
    return Snapshot(of: devices.map(Self.eachOnce) ?? self.devices, in: self)
  }
}
