internal import AudioCore
internal import EventLoop

/// How some speakers were: levels, sessions, and what those sessions played. Confined to the loop.
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

  /// Kept: a script may hold on to a snapshot for longer than the house is open.
  private let house: House
  private let members: [Member]
  private let playbacks: [Playback]

  /// Its speakers.
  public var devices: [Device] { members.map(\.device) }

  fileprivate init(of devices: [Device], in house: House) {
    self.house = house
    members = devices.map { .init(device: $0, session: $0.session, volume: $0.volume, isMuted: $0.isMuted) }
    playbacks = house.sessions(within: devices).map { session in
      let current = session.machine.current
      let start = Double(session.heardFrames) / Double(session.format.sampleRate)
      return Playback(
        session: session, state: session.state, source: current?.source,
        request: current?.request.starting(at: start))
    }
  }

  /// Makes the speakers what they were: their sessions, volumes and mute; and sessions that had no others play,
  /// stand or stop as they did, from the position where they were. May be called again.
  ///
  /// Speakers that were removed or can't be reached, and sessions that were closed, are left out. Nothing is changed
  /// when a speaker is in a session of higher priority than the one it was in.
  /// - Throws: `speaker.outranked`, `speaker.closed`, `CancellationError`; `audio.not_found` and the like when a
  ///   source is gone, after all else is restored.
  public func restore() async throws {
    house.loop.assertOnLoop()
    guard house.isOpen else {
      throw SpeakerError(
        .closed, "the snapshot belongs to a house that was closed",
        hint: "take one of the house that is open")
    }
    let present = members.filter { !$0.device.isRemoved }
    for member in present {
      guard let session = member.session, session.isOpen, member.device.session !== session else { continue }
      try house.check(member.device, mayGoTo: session.priority)
    }
    for member in present where member.session?.isOpen ?? true {
      house.move(member.device, to: member.session)
    }
    // A level that is on its way would come after the one that is restored.
    house.driver.settle()
    let changed = present.filter { member in
      let device = member.device
      return device.isAvailable && (device.volume != member.volume || device.isMuted != member.isMuted)
    }
    for member in changed { member.device.levelTouches += 1 }
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
    try await playback.session.play(request, as: source, paused: playback.state == .paused)
  }
}

extension House {
  /// Remembers how speakers are.
  /// - Parameter devices: nil for all.
  /// - Throws: `speaker.closed`.
  public func snapshot(devices: [Device]? = nil) throws(SpeakerError) -> Snapshot {
    loop.assertOnLoop()
    guard isOpen else { throw Self.closedError }
    // What was asked for just before is how the speakers are.
    driver.settle()
    return Snapshot(of: devices.map(Self.eachOnce) ?? self.devices, in: self)
  }
}
