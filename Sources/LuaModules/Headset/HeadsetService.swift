public import EventLoop
public import HeadsetKit

/// The headsets of an engine, and which script has which. Confined to the loop.
///
/// A script has the headsets that it connected, found in the list or was told of. One that no script has any more is
/// disconnected.
public final class HeadsetService {
  /// Those that are connected.
  public let headsets: Headsets
  private let loop: EventLoop
  /// Numbers of the scripts that have a headset.
  private var owners: [ObjectIdentifier: (headset: Headset, scripts: Set<Int>)] = [:]
  /// The scripts that want the configured headset connected whenever it is there, by their numbers; each is told when
  /// that can't come about any more.
  private var seekers: [Int: (HeadsetError) -> Void] = [:]
  /// Ticks as long as a headset is looked for: to wait for one is to have something to wait for.
  private var patience: LoopTimer?

  /// No headset yet.
  public init(loop: EventLoop, headsets: Headsets) {
    (self.loop, self.headsets) = (loop, headsets)
    // Kept as long as the headsets, which this has.
    _ = headsets.listen { [weak self] headset, event in self?.note(event, of: headset) }
  }

  private func note(_ event: HeadsetEvent, of headset: Headset) {
    switch event {
    case .connected: for script in seekers.keys { take(headset, for: script) }
    case .error(let error) where headsets.isAwaited(headset) && !headset.isInUse:
      let seekers = seekers.sorted { $0.key < $1.key }
      stopSeeking()
      for seeker in seekers { seeker.value(error) }
    default: break
    }
  }

  /// The script has the headset.
  func take(_ headset: Headset, for script: Int) {
    owners[ObjectIdentifier(headset), default: (headset, [])].scripts.insert(script)
  }

  /// Whether the script looks for the configured headset.
  func isSeeking(_ script: Int) -> Bool { seekers[script] != nil }

  /// Has the configured headset connected whenever it is there, as long as the script wants that.
  /// - Parameter givenUp: told when it is not tried any more.
  /// - Throws: `notAvailable` when none is configured, `auth` when its key can't be read.
  func seek(for script: Int, _ givenUp: @escaping (HeadsetError) -> Void) throws(HeadsetError) {
    guard seekers[script] == nil else { return }
    let headset = try headsets.connectAutomatically()
    seekers[script] = givenUp
    if headset.isConnected { take(headset, for: script) }
    tick()
  }

  /// The script does not look for it any more.
  func stopSeeking(for script: Int) {
    if seekers.removeValue(forKey: script) != nil, seekers.isEmpty { stopSeeking(besides: script) }
  }

  /// Nobody looks for the configured headset any more: it is given up, unless it is connected or another script has it.
  private func stopSeeking(besides script: Int? = nil) {
    seekers = [:]
    patience?.cancel()
    guard let headset = headsets.stopConnectingAutomatically(), !headset.isConnected, !headset.isBusy else {
      return
    }
    let others = owners[ObjectIdentifier(headset)]?.scripts.filter { $0 != script } ?? []
    if others.isEmpty { loop.start { await headset.disconnect() } }
  }

  /// Disconnects a headset for all scripts, which don't look for it any more either.
  /// - Throws: `busy` while it is updated or restarted.
  func disconnectForAll(_ headset: Headset) async throws(HeadsetError) {
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

  /// The script has ended: what it alone had is disconnected.
  func letGo(of script: Int) async {
    stopSeeking(for: script)
    let mine = owners.values.filter { $0.scripts.contains(script) }.map(\.headset)
    for headset in mine { owners[ObjectIdentifier(headset)]?.scripts.remove(script) }
    // Each is looked at when its turn has come: others may take or leave it meanwhile.
    for headset in mine.sorted(by: { $0.address < $1.address }) where isLeft(headset) {
      await disconnect(headset)
    }
  }

  /// Whether no script has it, nor looks for it.
  private func isLeft(_ headset: Headset) -> Bool {
    let isOwned = owners[ObjectIdentifier(headset)]?.scripts.isEmpty == false
    return !isOwned && !(headsets.isAwaited(headset) && !seekers.isEmpty)
  }

  /// Disconnects all.
  public func close() async {
    patience?.cancel()
    (owners, seekers) = ([:], [:])
    await headsets.close()
  }

  private func tick() {
    patience?.cancel()
    patience = loop.after(.seconds(3600)) { [weak self] in self?.tick() }
  }
}
