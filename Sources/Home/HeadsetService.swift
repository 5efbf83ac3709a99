public import EventLoop
public import HeadsetKit
public import HeadsetLink

/// The headsets of an engine and the scripts that own them. Confined to the loop.
///
/// A script owns the headsets that it connected, found in the list or received in an event. A headset
/// without an owner is disconnected. Scripts are identified by their numbers.
public final class HeadsetService {
  /// All headsets that are connected or being connected.
  public let headsets: Headsets
  /// The journal of the changes of headsets; nil without one.
  public var journal: Journal?
  /// The headset of the event that is delivered now, or was delivered last.
  public private(set) weak var reporting: Headset?
  private let loop: EventLoop
  /// Each owned headset with the numbers of its scripts.
  private var owners: [ObjectIdentifier: (headset: Headset, scripts: Set<Int>)] = [:]
  /// The scripts that look for the configured headset, by their numbers; each function receives the error with which
  /// looking ends for all.
  private var seekers: [Int: (HeadsetError) -> Void] = [:]
  /// Keeps the loop alive as long as a headset is looked for.
  private var keepAlive: LoopTimer?

  /// Creates a service that owns `headsets` and follows their events.
  public init(loop: EventLoop, headsets: Headsets) {
    (self.loop, self.headsets) = (loop, headsets)
    // The listener exists as long as the headsets, which this object owns.
    _ = headsets.listen { [weak self] headset, event in self?.receive(event, of: headset) }
  }

  private func receive(_ event: HeadsetEvent, of headset: Headset) {
    reporting = headset
    journal?.receive(event, of: headset)
    switch event {
    case .connected: for script in seekers.keys { assign(headset, to: script) }
    case .error(let error) where headsets.isAwaited(headset) && !headset.isInUse:
      let seekers = seekers.sorted { $0.key < $1.key }
      stopSeeking()
      for seeker in seekers { seeker.value(error) }
    default: break
    }
  }

  /// Makes the script an owner of the headset.
  public func assign(_ headset: Headset, to script: Int) {
    owners[ObjectIdentifier(headset), default: (headset, [])].scripts.insert(script)
  }

  /// `true` if the script looks for the configured headset.
  public func isSeeking(_ script: Int) -> Bool { seekers[script] != nil }

  /// Connects the configured headset whenever it is in reach, until the script stops looking for it. Without
  /// a configured headset, the script waits for headsets that other scripts connect.
  /// - Parameter failed: receives the error with which looking ends for all scripts.
  /// - Returns: the reason for which no headset is connected for the script, if none is configured; else nil.
  /// - Throws: `auth` when its key can't be read.
  public func seek(for script: Int, failed: @escaping (HeadsetError) -> Void) throws(HeadsetError)
    -> HeadsetError?
  {
    guard seekers[script] == nil else { return nil }
    var reason: HeadsetError?
    do throws(HeadsetError) {
      let headset = try headsets.connectAutomatically()
      if headset.isConnected { assign(headset, to: script) }
    } catch {
      guard error.kind == .notAvailable else { throw error }
      reason = error
    }
    seekers[script] = failed
    rearm()
    return reason
  }

  /// Ends the script's search for the configured headset, and the search itself for the last script.
  public func stopSeeking(for script: Int) {
    if seekers.removeValue(forKey: script) != nil, seekers.isEmpty { stopSeeking(besides: script) }
  }

  /// Ends the search for the configured headset and gives it up, unless it is connected or another script
  /// owns it.
  private func stopSeeking(besides script: Int? = nil) {
    seekers = [:]
    keepAlive?.cancel()
    guard let headset = headsets.stopConnectingAutomatically(), !headset.isConnected, !headset.isBusy else {
      return
    }
    let others = owners[ObjectIdentifier(headset)]?.scripts.filter { $0 != script } ?? []
    if others.isEmpty { loop.start { await headset.disconnect() } }
  }

  /// Disconnects a headset for all scripts, and ends their looking for it.
  /// - Throws: `busy` while it is updated or restarted.
  public func disconnectForAll(_ headset: Headset) async throws(HeadsetError) {
    guard !headset.isBusy else {
      throw HeadsetError(
        .busy, "disconnect: the headset at \(headset.address) is being updated or restarted",
        hint: "cancel the routine that waits for that first")
    }
    await disconnect(headset)
  }

  private func disconnect(_ headset: Headset) async {
    owners[ObjectIdentifier(headset)] = nil
    if headsets.isAwaited(headset) { stopSeeking() }
    await headset.disconnect()
  }

  /// Ends the script's share in all headsets; headsets that it alone owned are disconnected. For the end of a
  /// script.
  public func releaseAll(of script: Int) async {
    stopSeeking(for: script)
    let mine = owners.values.filter { $0.scripts.contains(script) }.map(\.headset)
    for headset in mine { owners[ObjectIdentifier(headset)]?.scripts.remove(script) }
    // Each headset is checked again, as scripts may connect or release one while another is disconnected.
    for headset in mine.sorted(by: { $0.address < $1.address }) where isUnowned(headset) {
      await disconnect(headset)
    }
  }

  /// `true` if no script owns the headset or looks for it.
  private func isUnowned(_ headset: Headset) -> Bool {
    let isOwned = owners[ObjectIdentifier(headset)]?.scripts.isEmpty == false
    return !isOwned && !(headsets.isAwaited(headset) && !seekers.isEmpty)
  }

  /// Disconnects all headsets.
  public func close() async {
    keepAlive?.cancel()
    (owners, seekers) = ([:], [:])
    await headsets.close()
  }

  private func rearm() {
    keepAlive?.cancel()
    keepAlive = loop.after(.seconds(3600)) { [weak self] in self?.rearm() }
  }
}
