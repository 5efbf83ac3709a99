public import SpeakerKit

/// The own sessions of scripts, by keys of the scripts: a later version of a script finds that of the one before.
/// Confined to the loop.
public final class OwnSessions {
  private var known: [String: Session] = [:]
  /// The streams that these sessions play on, and that their scripts have left.
  private var left: [HouseStream] = []

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

  /// Keeps a stream that the session of a script plays while a later version of the script is read, and stops it when the
  /// session plays it no longer.
  /// - Returns: `false` if the session does not play it.
  public func keep(_ stream: HouseStream, of key: String) -> Bool {
    left.removeAll { $0.session == nil }
    guard let session = self[key], stream.session === session else { return false }
    stream.endWithSession()
    left.append(stream)
    return true
  }

  /// Closes the session of a script that has ended; does nothing without one.
  public func close(_ key: String) { known.removeValue(forKey: key)?.close() }
}
