public import AudioCore
public import EventLoop

/// The driver `house`: speakers inside the process, which sound through WAV files, a sound card or not at all.
///
/// It behaves as speakers in a network do: levels take effect some milliseconds after the call, and the house is
/// found some 100 ms after opening.
public final class HouseDriver: Driver {
  /// `"house"`.
  public let name = "house"
  /// What it can do.
  public let capabilities: Set<String> = [
    "volume", "mute", "join", "play", "pause", "seek", "loop", "role", "balance", "sessions",
    "rename", "group", "refresh", "wifi", "controls",
    "gain", "fade", "equalizer", "interrupt", "snapshot",
  ]
  /// 48 kHz, stereo.
  public let format = AudioFormat.session

  /// 16.
  public let sessionLimit = 16
  /// As its speakers do.
  public let editsStopPlayback = true

  /// From a command to its effect.
  static let reactionTime = Duration.milliseconds(5)
  /// From opening to the last speaker that answers.
  private static let discoveryTime = Duration.milliseconds(100)

  let loop: EventLoop
  private let specs: [SpeakerSpec]?
  let output: Output
  let log: (String) -> Void
  /// Takes what a speaker plays in place of the output, where time is virtual: for measuring. To be set before `open`.
  package var makeSink: ((_ device: Int) throws -> any PCMSink)?
  /// Where the house is kept between runs; nil when it is not.
  let state: StateFolder?
  /// What is wanted of the house that is kept there.
  let access: HouseAccess
  /// Whether `close` was called.
  private(set) var isClosed = false
  /// How long to wait for another process that has the state folder, and what that is told who has it then.
  let lockWait: Duration
  let processName: String
  /// What was kept when it opened.
  var kept = HouseState()
  /// Writes the state, when something has changed.
  var stateTimer: LoopTimer?
  weak var reports: (any DriverReports)?
  /// Speakers by their number towards the renderer, also those that were removed.
  var devices: [DeviceInfo] = []
  /// Numbers of speakers that are gone.
  var removed: Set<Int> = []
  /// How well each is received, whether or not the house knows.
  var signals: [Int] = []
  /// The session of each, also while it can't be reached.
  var memberships: [SessionID?] = []
  /// How many speakers there is room for.
  private(set) var speakerLimit = 0
  var renderer: (any Renderer)?
  /// Levels that were set and have not taken effect.
  private var pendingChanges: [(timer: LoopTimer, apply: () -> Void)] = []
  /// Of the speaker that joined its group last.
  private var lastGroupRank = 0

  /// A house on `loop`.
  /// - Parameters:
  ///   - speakers: nil for the demonstration house of six speakers in four rooms.
  ///   - output: where they sound.
  ///   - stateFolder: where names, groups, levels, roles and balance are kept between runs; one process at a time
  ///     has it. Nil keeps nothing. What is kept of a speaker goes before its configuration.
  ///   - access: whether the house may sound and change, or is only looked at.
  ///   - wait: how long opening waits for another process that has the folder.
  ///   - processName: what others are told while this one has it.
  ///   - log: takes one line that a person should read; called on the loop.
  public init(
    loop: EventLoop, speakers: [SpeakerSpec]? = nil, output: Output, stateFolder: String? = nil,
    access: HouseAccess = .drive, wait: Duration = .seconds(30), processName: String = "roomtone",
    log: @escaping (String) -> Void = { _ in }
  ) {
    self.loop = loop
    specs = speakers
    self.output = output
    state = stateFolder.map(StateFolder.init)
    self.access = access
    lockWait = wait
    self.processName = processName
    self.log = log
  }

  /// Finds the speakers, as they were left, and opens the output.
  /// - Throws: `speaker.busy` when another process has the state folder for too long; `speaker.lost`.
  public func open(reports: any DriverReports) async throws -> [DeviceInfo] {
    isClosed = false
    try await lockState()
    let outcome: Result<[DeviceInfo], any Error>
    do { outcome = .success(try await openLocked(reports)) } catch { outcome = .failure(error) }
    if case .failure = outcome { state?.unlock() }
    return try outcome.get()
  }

  private func openLocked(_ reports: any DriverReports) async throws -> [DeviceInfo] {
    devices = try findSpeakers()
    kept = state?.read(setsAside: access == .drive, log) ?? HouseState()
    devices = kept.applied(to: devices)
    lastGroupRank = devices.map(\.groupRank).max() ?? 0
    signals = devices.map(\.wifiSignal)
    memberships = devices.map { _ in nil }
    removed = []
    speakerLimit = devices.count + RendererFactory.spareSpeakers
    if access == .drive { try await loop.sleep(for: Self.discoveryTime) }
    connect(try await makeRenderer())
    self.reports = reports
    announce(playing: [])
    return devices
  }

  private func findSpeakers() throws(SpeakerError) -> [DeviceInfo] {
    guard let specs else { return HouseSpeakers.demonstration }
    return try HouseSpeakers.configured(specs)
  }

  private func makeRenderer() async throws -> any Renderer {
    if access == .look { return ArithmeticRenderer(loop: loop, format: format) }
    return try await RendererFactory(
      loop: loop, format: format, speakers: devices.map(\.name), sessions: sessionLimit, output: output,
      makeSink: makeSink, log: log
    ).make()
  }

  private func connect(_ renderer: any Renderer) {
    self.renderer = renderer
    renderer.onEnd = { [weak self] cue, session, failure in
      self?.reports?.ended(cue: cue, in: session, failure: failure)
    }
    renderer.onTrouble = { [weak self] error, device in
      self?.reports?.failed(error, device: device.flatMap { self?.devices[$0].id }, session: nil)
    }
    for index in devices.indices { sendMix(ofDevice: index) }
  }

  private func sendMix(ofDevice index: Int) {
    renderer?.setMix(devices[index].mix, channel: devices[index].role.channel, ofDevice: index)
  }

  /// Finishes the output.
  public func close() async {
    isClosed = true
    // What was asked for a moment ago is how the house is left.
    applyAll()
    reports = nil
    writeState()
    await renderer?.close()
    renderer = nil
    state?.unlock()
  }

  /// Levels, all in one block.
  public func change(_ changes: [(device: String, change: LevelChange)]) {
    react { $0.apply(changes) }
  }

  /// Levels, names and groups that were asked for a moment ago.
  public func settle() { applyAll() }

  /// True for the reaction time after each command.
  public var pendingChangeCount: Int { pendingChanges.count }

  /// Waits for the reaction time of the last command.
  public func awaitChanges() async throws {
    if !pendingChanges.isEmpty { try await loop.sleep(for: Self.reactionTime) }
  }

  /// Another name or group.
  public func edit(_ edit: DeviceEdit, of device: String) async throws {
    react { $0.apply(edit, to: device) }
    try await loop.sleep(for: Self.reactionTime)
  }

  /// Lets `effect` come some milliseconds later, in the order of the commands.
  private func react(_ effect: @escaping (HouseDriver) -> Void) {
    let timer = loop.after(Self.reactionTime) { [weak self] in self?.applyEarliest() }
    pendingChanges.append(
      (timer, { [weak self] in if let self { effect(self) } }))
  }

  private func applyEarliest() {
    guard !pendingChanges.isEmpty else { return }
    pendingChanges.removeFirst().apply()
  }

  /// A level that was set before something sounds is the level at which it begins to sound.
  private func applyAll() {
    while let pending = pendingChanges.first {
      pending.timer.cancel()
      applyEarliest()
    }
  }

  private func apply(_ changes: [(device: String, change: LevelChange)]) {
    guard let reports else { return }
    stateChanged()
    var changed: [Int] = []
    for (id, change) in changes {
      guard let index = index(of: id) else { continue }
      switch change {
      case .volume(let volume):
        devices[index].volume = volume
        devices[index].isMuted = false
      case .muted(let isMuted):
        if devices[index].isMuted == isMuted { continue }
        devices[index].isMuted = isMuted
      case .role(let role):
        if devices[index].role == role { continue }
        devices[index].role = role
        sendMix(ofDevice: index)
        reports.deviceChanged(.role(role), of: id)
        continue
      case .balance(let balance):
        if devices[index].balance == balance { continue }
        devices[index].balance = balance
        sendMix(ofDevice: index)
        reports.deviceChanged(.balance(balance), of: id)
        continue
      }
      sendMix(ofDevice: index)
      // Told once, however many of the changes are about it.
      if !changed.contains(index) { changed.append(index) }
    }
    if changed.isEmpty { return }
    reports.levelsChanged(changed.map { (devices[$0].id, devices[$0].volume, devices[$0].isMuted) })
  }

  private func apply(_ edit: DeviceEdit, to device: String) {
    guard let reports, let index = index(of: device) else { return }
    stateChanged()
    switch edit {
    case .name(let name):
      devices[index].name = name
      reports.deviceChanged(.name(name), of: device)
    case .group(let name):
      lastGroupRank += 1
      devices[index].groupName = name
      devices[index].groupRank = lastGroupRank
      reports.deviceChanged(.group(name, rank: lastGroupRank), of: device)
    }
  }

  /// Membership, from the next block on.
  public func setSession(_ session: SessionID?, ofDevice device: String) {
    guard let index = index(of: device) else { return }
    applyAll()
    memberships[index] = session
    renderMembership(of: index)
  }

  func index(of device: String) -> Int? {
    devices.indices.first { devices[$0].id == device && !removed.contains($0) }
  }

  /// The speakers that are there.
  var present: [DeviceInfo] { devices.indices.filter { !removed.contains($0) }.map { devices[$0] } }

  /// Opens a file and decodes its first blocks.
  public func load(_ request: SourceRequest) async throws -> Cue {
    guard let renderer else { throw House.closedError }
    return try await renderer.load(request)
  }
  /// Forgets a cue.
  public func discard(_ cue: Cue) { renderer?.discard(cue) }
  /// From the next block on.
  public func start(_ cue: Cue, in session: SessionID, paused: Bool) {
    applyAll()
    renderer?.start(cue, in: session, paused: paused)
  }
  /// Fades over one block.
  public func pause(_ session: SessionID) { renderer?.pause(session) }
  /// Rises over one block.
  public func resume(_ session: SessionID) { renderer?.resume(session) }
  /// Fades over one block.
  public func stop(_ session: SessionID) { renderer?.stop(session) }
  /// In the mix, exact to the block.
  public func setGain(_ decibels: Double, over duration: Duration, of session: SessionID) {
    renderer?.setGain(decibels, over: duration, of: session)
  }
  /// In the mix, within one block.
  public func setEqualizer(_ gains: EqualizerGains, of session: SessionID) {
    renderer?.setEqualizer(gains, of: session)
  }
  /// Frames heard.
  public func position(of session: SessionID) -> Int { renderer?.position(of: session) ?? 0 }
}

extension DeviceInfo {
  /// Role, balance, volume and mute as the gains that they come to.
  var mix: ChannelMix {
    ChannelMix(role: role, balance: balance, gain: isMuted ? 0 : VolumeLaw.gain(at: volume))
  }
}
