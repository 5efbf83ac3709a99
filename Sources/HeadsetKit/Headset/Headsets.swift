public import EventLoop
public import HeadsetLink

/// The headsets of an engine. Confined to its loop.
public final class Headsets {
  /// The settings of the configuration.
  public let settings: HeadsetSettings
  private let warn: (String) -> Void
  private let loop: EventLoop
  private let makeDriver: (LinkAddress, LinkKey) -> any HeadsetDriver
  /// The headsets that were connected or awaited, in the order of their first use.
  private var all: [(address: LinkAddress, headset: Headset)] = []
  private var listeners = Listeners<(Headset, HeadsetEvent) -> Void>()
  /// The headset that is connected as soon as it is there.
  private var awaited: Headset?

  /// Creates an empty list.
  /// - Parameters:
  ///   - warn: receives a line about a key that protects nothing.
  ///   - makeDriver: creates the driver for an address.
  init(
    loop: EventLoop, settings: HeadsetSettings, warn: @escaping (String) -> Void = { _ in },
    makeDriver: @escaping (LinkAddress, LinkKey) -> any HeadsetDriver
  ) {
    (self.loop, self.settings, self.warn, self.makeDriver) = (loop, settings, warn, makeDriver)
  }

  /// The headsets that this machine reaches.
  /// - Parameter warn: receives a line about a key that protects nothing.
  public convenience init(
    loop: EventLoop, settings: HeadsetSettings, warn: @escaping (String) -> Void = { _ in }
  ) {
    self.init(loop: loop, settings: settings, warn: warn) { address, key in
      HBPDriver(address: address, key: key, loop: loop)
    }
  }

  /// The headsets of a simulation.
  /// - Parameters:
  ///   - usualAddress: the address of the headset when `settings` have none.
  ///   - link: opens a link to the simulated headset at an address, with its key and the key that its
  ///     firmware must be signed for.
  package convenience init(
    loop: EventLoop, settings: HeadsetSettings, usualAddress: LinkAddress,
    link: @escaping (LinkAddress, LinkKey, VerifyingKey) throws(HeadsetError) -> any LinkChannel
  ) {
    var known = settings
    known.address = settings.address ?? usualAddress
    self.init(loop: loop, settings: known) { address, key in
      HBPDriver(name: "\(address)", key: key, loop: loop) { () async throws(HeadsetError) in
        try link(address, key, settings.firmwareKey())
      }
    }
  }

  /// The headsets that are connected, or whose connection is being made again.
  public var list: [Headset] { all.map(\.headset).filter { $0.isConnected || $0.isKept } }

  /// Returns the headset at an address, the same object as long as it is connected or awaited.
  /// - Parameters:
  ///   - address: the address; the configured one when nil.
  ///   - keyFile: the file of its key; the configured one when nil.
  /// - Throws: `notAvailable` when no address is known, `auth` when the key can't be read.
  public func headset(at address: LinkAddress? = nil, keyFile: String? = nil) throws(HeadsetError) -> Headset
  {
    let named = if let address { address } else { try configured() }
    return try find(named, keyFile: keyFile)
  }

  /// Connects a headset.
  /// - Throws: the errors of `headset(at:keyFile:)` and `Headset.connect`.
  public func connect(to address: LinkAddress? = nil, keyFile: String? = nil) async throws(HeadsetError)
    -> Headset
  {
    let headset = try headset(at: address, keyFile: keyFile)
    try await headset.connect()
    return headset
  }

  /// `true` while the configured headset is connected as soon as it is there, and again whenever it is lost.
  public var isAutomatic: Bool { awaited != nil }

  /// Connects the configured headset as soon as it is there; emits no event if it is connected already.
  /// - Throws: `notAvailable` when no headset is configured, `auth` when its key can't be read.
  public func connectAutomatically() throws(HeadsetError) -> Headset {
    let headset = if let awaited { awaited } else { try find(configured(), keyFile: nil) }
    awaited = headset
    headset.keepConnected()
    return headset
  }

  /// `true` for the headset that is connected as soon as it is there.
  public func isAwaited(_ headset: Headset) -> Bool { awaited === headset }

  /// Stops connecting a headset automatically.
  /// - Returns: the headset that was to be connected automatically; its state does not change.
  public func stopConnectingAutomatically() -> Headset? {
    defer { awaited = nil }
    return awaited
  }

  /// Disconnects all headsets.
  public func close() async {
    awaited = nil
    for entry in all { await entry.headset.disconnect() }
    all = []
  }

  /// Subscribes `body` to all events of all headsets, on the loop.
  /// - Returns: a function that ends the subscription.
  public func listen(_ body: @escaping (Headset, HeadsetEvent) -> Void) -> () -> Void {
    let number = listeners.add(body)
    return { [weak self] in self?.listeners.remove(number) }
  }

  private func configured() throws(HeadsetError) -> LinkAddress {
    guard let address = settings.address else {
      throw HeadsetError(
        .notAvailable, "no headset is configured",
        hint:
          "name one: headset.connect{transport = \"unix:PATH\"}, or headset { transport = … } in the configuration"
      )
    }
    return address
  }

  private func find(_ address: LinkAddress, keyFile: String?) throws(HeadsetError) -> Headset {
    if let known = all.first(where: { $0.address == address })?.headset, known.isInUse {
      return known
    }
    all.removeAll { $0.address == address }
    let key = try settings.key(file: keyFile)
    if key == .development {
      warn(
        "the headset at \(address) is reached with the development key, which everybody has; "
          + "key_file of headset { } in the configuration names a key of your own")
    }
    let headset = Headset(
      driver: makeDriver(address, key), loop: loop, firmwareKeyFile: settings.firmwareKeyFile, warn: warn)
    all.append((address, headset))
    _ = headset.listen { [weak self, weak headset] event in
      guard let self, let headset else { return }
      for listener in listeners.all { listener(headset, event) }
    }
    return headset
  }
}
