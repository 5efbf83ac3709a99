@testable import SpeakerKit

/// A session for tests that need one, and the ways to act on it.
extension House {
  /// The session "test", made at its first use.
  var session: Session {
    if let known = sessions.first(where: { $0.name == "test" }) { return known }
    do { return try makeSession(name: "test") } catch { fatalError("no session: \(error)") }
  }

  /// Opens the house.
  /// - Parameter addAll: `true` if its session has all speakers.
  func open(addAll: Bool) async throws {
    try await open()
    if addAll { try session.want(devices) }
  }

  /// `true` if all members of the session are muted.
  var isMuted: Bool { session.isMuted }

  /// Sets the members of the session, and speakers in no session, to one level.
  func setVolume(_ volume: Int) throws {
    try change(.volume(volume), of: devices.filter { $0.session == nil || $0.session === session })
  }

  /// Mutes the members of the session.
  func mute() throws { try session.mute() }

  /// Unmutes the members of the session.
  func unmute() throws { try session.unmute() }
}

extension Device {
  /// Joins the session "test".
  func join() async throws {
    guard let house else { return }
    try await join(house.session)
  }
}

extension Group {
  /// Joins the session "test".
  func join() async throws {
    for device in devices { try await device.join() }
  }
}
