public import SpeakerKit

/// The own sessions of scripts, by keys of the scripts: a later version of a script finds that of the one before.
/// Confined to the loop.
public final class OwnSessions {
  private var known: [String: Session] = [:]

  /// No sessions.
  public init() {}

  /// Returns the session of a script, if there is one.
  public subscript(key: String) -> Session? { known[key].flatMap { $0.isOpen ? $0 : nil } }

  /// Returns the session of a script in the open house; made at the first need, and again once it was closed.
  /// - Throws: `speaker.closed`, `script.flooded`.
  public func session(of key: String, named name: String, in house: House) throws -> Session {
    if let session = self[key] { return session }
    let new = try house.makeSession(name: name)
    new.owner = name
    known[key] = new
    return new
  }

  /// Closes the session of a script that has ended; does nothing without one.
  public func close(_ key: String) { known.removeValue(forKey: key)?.close() }
}
