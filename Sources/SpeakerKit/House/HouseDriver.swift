public import AudioCore
internal import EventLoop

/// The driver `house`: speakers inside the process, which sound through WAV files, a sound card or not at
/// all.
///
/// Behaves as speakers in a network do: levels take effect some milliseconds after the call, and the house is
/// discovered some 100 ms after opening.
public final class HouseDriver: RenderingDriver {
  /// The name in the configuration: `"house"`.
  public let name = HouseSettings.name
  /// The names of the driver's capabilities.
  public let capabilities = HouseSettings.capabilities
  /// The format of all sessions: 48 kHz, stereo.
  public let format = AudioFormat.session

  /// The number of streams: 32.
  public let sessionLimit = 32
  /// `true`: network speakers stop as well.
  public let editsStopPlayback = true

  /// The time from a command to its effect.
  static let reactionTime = Duration.milliseconds(5)
  /// The time from opening to the answer of the last speaker.
  private static let discoveryTime = Duration.milliseconds(100)

  let context: DriverContext
  var loop: EventLoop { context.loop }
  private let specs: [SpeakerSpec]?
  let output: Output
  /// Creates the sink of a speaker in place of the output, where time is virtual: for measuring. To be set
  /// before `open`.
  package var makeSink: ((_ device: Int) throws -> any PCMSink)?
  /// `true` if `close` was called.
  private(set) var isClosed = false
  private lazy var kept = KeptState(context, writtenBy: [.drive, .adjust]) { [unowned self] in present }
  weak var reports: (any DriverReports)?
  /// Speakers by their index in the renderer, including removed ones.
  var devices: [DeviceInfo] = []
  /// The indices of removed speakers.
  var removed: Set<Int> = []
  /// The current signal strength of each speaker in dBm, before the house has read it.
  var signals: [Int?] = []
  /// The sound cards of the speakers; nil for an output for all of them, and for invented speakers.
  private(set) var plan: CardPlan?
  /// The indices of speakers that a person has unplugged.
  var unplugged: Set<Int> = []
  /// Reasons in words for which the sound cards of speakers are lost, by the indices of the speakers.
  var silenced: [Int: String] = [:]
  /// The session of each speaker, also while it is unavailable.
  var memberships: [DriverStream?] = []
  /// The session over that of a speaker, and its level, by the speaker's index.
  var overlays: [Int: (session: DriverStream, volume: Int?)] = [:]
  /// The maximum number of speakers.
  private(set) var speakerLimit = 0
  var renderer: (any Renderer)?
  /// The commands that have not taken effect, in their order.
  private var pendingChanges: [(timer: LoopTimer, apply: () -> Void)] = []
  /// The group rank of the speaker that joined its group last.
  private var lastGroupRank = 0

  /// Creates the driver of an embedded house.
  /// - Parameters:
  ///   - context: the loop, the log, and the folder in which names, groups, levels, roles and balance are kept between
  ///     runs. The kept state of a speaker has precedence over its configuration.
  ///   - speakers: nil for the demonstration house of six speakers in four rooms.
  ///   - output: the output of the speakers.
  public init(_ context: DriverContext, speakers: [SpeakerSpec]? = nil, output: Output) {
    self.context = context
    specs = speakers
    self.output = output
  }

  /// Discovers the speakers, in their saved state, and opens the output.
  /// - Throws: `speaker.busy` when another process has the state folder for too long; `speaker.lost`.
  public func open(reports: any DriverReports) async throws -> [DeviceInfo] {
    isClosed = false
    if context.access != .look { try await context.lock { [unowned self] in isClosed } }
    let outcome: Result<[DeviceInfo], any Error>
    do { outcome = .success(try await openLocked(reports)) } catch { outcome = .failure(error) }
    if case .failure = outcome { context.state?.unlock() }
    return try outcome.get()
  }

  private func openLocked(_ reports: any DriverReports) async throws -> [DeviceInfo] {
    devices = try findSpeakers()
    (unplugged, silenced) = ([], [:])
    plan = try makePlan()
    kept.read()
    devices = kept.last.applied(to: devices)
    for index in devices.indices { devices[index].output = outputText(ofSpeaker: index) }
    lastGroupRank = devices.map(\.groupRank).max() ?? 0
    signals = devices.map(\.wifiSignal)
    memberships = devices.map { _ in nil }
    removed = []
    overlays = [:]
    speakerLimit = devices.count + RendererFactory.spareSpeakers
    if context.access == .drive { try await loop.sleep(for: Self.discoveryTime) }
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
    if context.access != .drive { return ArithmeticRenderer(loop: loop, format: format) }
    return try await RendererFactory(
      loop: loop, format: format, speakers: devices.map(\.name), sessions: sessionLimit, output: output,
      plan: plan, makeSink: makeSink, log: context.log,
      lostAtFirst: { card, loss in self.setCard(card, loss: loss) }
    ).make()
  }

  /// Returns the cards of the configured speakers; nil for an output for all of them.
  private func makePlan() throws(SpeakerError) -> CardPlan? {
    // Under virtual time no hardware is used.
    guard let specs, !loop.isVirtual, !output.kind.isForAllSpeakers else { return nil }
    do throws(CardPlan.Problem) { return try CardPlan(specs, output: output) } catch {
      throw SpeakerError(
        .unsupported, "\"\(specs[error.speaker].name)\": \(error.option): \(error.message)",
        facts: [.init("option", .string(error.option))])
    }
  }

  /// `true` for the demonstration house.
  var isInvented: Bool { specs == nil }

  private func outputText(ofSpeaker index: Int) -> String {
    if isInvented { return "invented, on \(output.text)" }
    return plan?.text(ofSpeaker: index) ?? output.text
  }

  private func connect(_ renderer: any Renderer) {
    self.renderer = renderer
    renderer.observer = self
    for index in devices.indices { sendMix(ofDevice: index) }
  }

  private func sendMix(ofDevice index: Int) {
    renderer?.setMix(devices[index].mix, channel: devices[index].role.channel, ofDevice: index)
    if overlays[index] != nil { renderOverlay(of: index) }
  }

  /// Applies pending changes, writes the state and finishes the output.
  public func close() async {
    isClosed = true
    // Pending changes belong to the saved state.
    applyAll()
    reports = nil
    kept.write()
    await renderer?.close()
    renderer = nil
    context.state?.unlock()
  }

  /// Changes levels, roles and balance after the reaction time, all in one block.
  public func change(_ changes: [(device: String, change: LevelChange)]) {
    react { $0.apply(changes) }
  }

  /// Applies pending levels, roles, balance, names and groups at once.
  public func settle() { applyAll() }

  /// The number of commands within their reaction time.
  public var pendingChangeCount: Int { pendingChanges.count }

  /// Waits for the reaction time of the last command.
  public func awaitChanges() async throws {
    if !pendingChanges.isEmpty { try await loop.sleep(for: Self.reactionTime) }
  }

  /// Changes a speaker's name or group after the reaction time.
  public func edit(_ edit: DeviceEdit, of device: String) async throws {
    react { $0.apply(edit, to: device) }
    try await loop.sleep(for: Self.reactionTime)
  }

  /// Runs `effect` after the reaction time, in the order of the commands.
  private func react(_ effect: @escaping (HouseDriver) -> Void) {
    let timer = loop.after(Self.reactionTime) { [weak self] in self?.applyEarliest() }
    pendingChanges.append(
      (timer, { [weak self] in if let self { effect(self) } }))
  }

  private func applyEarliest() {
    guard !pendingChanges.isEmpty else { return }
    pendingChanges.removeFirst().apply()
  }

  /// Applies all pending commands: a level set before a source starts is the level at which it starts.
  private func applyAll() {
    while let pending = pendingChanges.first {
      pending.timer.cancel()
      applyEarliest()
    }
  }

  private func apply(_ changes: [(device: String, change: LevelChange)]) {
    guard let reports else { return }
    kept.changed()
    var changed: [Int] = []
    changed.reserveCapacity(changes.count)
    for (id, change) in changes {
      guard let index = index(of: id) else { continue }
      switch change {
      case .volume(let volume):
        devices[index].volume = volume
        devices[index].isMuted = false
      case .level(let volume): devices[index].volume = volume
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
      // Reported once, however many of the changes concern the speaker.
      if !changed.contains(index) { changed.append(index) }
    }
    if changed.isEmpty { return }
    reports.levelsChanged(changed.map { (devices[$0].id, devices[$0].volume, devices[$0].isMuted) })
  }

  private func apply(_ edit: DeviceEdit, to device: String) {
    guard let reports, let index = index(of: device) else { return }
    kept.changed()
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

  /// Moves a speaker to a session, from the next block on.
  public func setSession(_ session: DriverStream?, ofDevice device: String) {
    guard let index = index(of: device) else { return }
    applyAll()
    memberships[index] = session
    renderMembership(of: index)
  }

  /// Keeps all gains of a speaker together below that of a volume, sample by sample in the mix.
  public func setCeiling(_ volume: Int?, ofDevice device: String) {
    guard let index = index(of: device) else { return }
    renderer?.setCeiling(volume.map(VolumeLaw.gain), ofDevice: index)
  }

  /// Lays a session over that of a speaker, from the next block on.
  public func setOverlay(_ session: DriverStream?, volume: Int?, ofDevice device: String) {
    guard let index = index(of: device) else { return }
    applyAll()
    overlays[index] = session.map { ($0, volume) }
    renderOverlay(of: index)
  }

  /// Moves the gain of a speaker's session in the mix, exact to the block.
  public func setDuck(_ decibels: Double, over duration: Duration, ofDevice device: String) {
    if let index = index(of: device) { renderer?.setDuck(decibels, over: duration, ofDevice: index) }
  }

  func index(of device: String) -> Int? {
    devices.indices.first { devices[$0].id == device && !removed.contains($0) }
  }

  /// Speakers that were not removed.
  var present: [DeviceInfo] { devices.indices.filter { !removed.contains($0) }.map { devices[$0] } }

  /// Starts a cue with the next block.
  public func start(_ cue: Cue, in session: DriverStream, paused: Bool) {
    applyAll()
    renderer?.start(cue, in: session, paused: paused)
  }
}

extension HouseDriver: RenderObserver {
  func receive(_ event: RenderEvent) {
    switch event {
    case .ended(let cue, let session, let failure): reports?.ended(cue: cue, in: session, failure: failure)
    case .trouble(let error, let device):
      reports?.failed(error, device: device.map { devices[$0].id }, stream: nil)
    case .card(let card, let loss): setCard(card, loss: loss)
    }
  }
}

extension DeviceInfo {
  /// Gains that result from role, balance, volume and mute.
  var mix: ChannelMix { mix(at: isMuted ? 0 : volume) }

  /// Gains that result from role, balance and a level.
  func mix(at volume: Int) -> ChannelMix {
    ChannelMix(role: role, balance: balance, gain: VolumeLaw.gain(at: volume))
  }
}
