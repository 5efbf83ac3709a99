public import AudioCore
public import EventLoop
internal import JSONText
internal import Synchronization

/// The driver `snapcast`: the clients of a snapserver are the speakers, each session plays through a stream of its own.
///
/// Levels, names and groups are those of the server, mapped both ways; zones are kept by the host too, since the server
/// forgets a group that is emptied. A level of 0...50 is a volume of 0...100 per cent, which a snapclient maps to a gain
/// of (10^v − 1)/9: 50 is unity as in the embedded house, and 25 is −12.4 dB where the embedded house has −22.5 dB.
/// Positions count frames that are heard, a buffer of the server later than they are sent; `pause` and `stop` are heard as
/// much later.
public final class SnapcastDriver: Driver {
  /// Name in the configuration: `"snapcast"`.
  public let name = "snapcast"
  /// Names of the driver's capabilities.
  public let capabilities: Set<String> = [
    "volume", "mute", "join", "play", "pause", "seek", "loop", "sessions", "rename", "group", "refresh",
    "gain", "fade", "equalizer", "interrupt", "snapshot",
  ]
  /// Format of all sessions: 48 kHz, stereo.
  public let format = AudioFormat.session
  /// Number of streams of the server for sessions.
  public var sessionLimit: Int { pool?.sessions.count ?? 1 }
  /// The command that prints more streams.
  public var moreSessionsHint: String? { SnapcastPool.hint }

  let loop: EventLoop
  let settings: SnapcastSettings
  let access: HouseAccess
  let log: (String) -> Void
  private let lockWait: Duration
  private let processName: String
  private let service: String?
  /// Folder in which zones are kept between runs; nil for none.
  let state: StateFolder?
  var stateTimer: LoopTimer?
  var kept = HouseState()

  /// The server that the host has started; nil for another one.
  private(set) var managed: ManagedSnapserver?
  private(set) var link: SnapcastLink?
  private var isClosed = false
  weak var reports: (any DriverReports)?
  private(set) var renderer: (any Renderer)?
  private var writers: [SinkWriter] = []

  /// The server's state as the last message says; nil before the first one.
  var server: SnapcastServer?
  private(set) var pool: SnapcastPool?
  /// Speakers as they were reported, in the order in which they were found.
  var devices: [DeviceInfo] = []
  /// Names of the clients that the names of speakers were made from, by the speaker's id.
  var givenNames: [String: String] = [:]
  /// Zones by the speaker's id.
  var zones: [String: String] = [:]
  var zoneRanks: [String: Int] = [:]
  var lastRank = 0
  /// Sessions by the speaker's id.
  var memberships: [String: SessionID] = [:]
  /// Speakers as they were before the server was lost, by their ids: to be restored when they are back.
  var owed: [String: Debt] = [:]

  /// A speaker's volume and name that a server has to get again.
  enum Debt {
    /// The speaker is not back yet.
    case due(SnapcastClient)
    /// The server has been asked, and reports its own values until it has answered.
    case requested(SnapcastClient)

    var client: SnapcastClient {
      switch self {
      case .due(let client), .requested(let client): client
      }
    }
  }
  /// `true` while a step of a plan waits for its response, or is scheduled.
  var isArranging = false
  /// Requested levels without a response.
  public private(set) var pendingChangeCount = 0

  /// Timeout of a response of the server.
  package var responseTime = SnapcastLink.responseTime
  /// The port at which the server accepts snapclients, for a server that the host has started.
  package var clientPort: Int? { managed?.ports.clients }
  /// The control port of the server.
  package var controlPort: Int { managed?.ports.control ?? settings.port }
  /// Process of the server that the host has started.
  package var serverProcess: Int32? { managed?.processID }

  /// Creates the driver of a snapserver's house on `loop`.
  /// - Parameters:
  ///   - settings: the server.
  ///   - stateFolder: folder in which zones are kept between runs, and the state of a server that the host starts; one
  ///     process at a time has it. Nil keeps nothing.
  ///   - access: playback and changes, or inspection only.
  ///   - wait: timeout of opening while another process has the folder.
  ///   - processName: the name published to other processes while this one has the folder.
  ///   - service: the name of a process that keeps the folder for ever and is not waited for; nil for none.
  ///   - log: receives one line for a person to read; called on the loop.
  public init(
    loop: EventLoop, settings: SnapcastSettings, stateFolder: String? = nil, access: HouseAccess = .drive,
    wait: Duration = .seconds(30), processName: String = "roomtone", service: String? = nil,
    log: @escaping (String) -> Void = { _ in }
  ) {
    self.loop = loop
    self.settings = settings
    self.access = access
    self.log = log
    lockWait = wait
    self.processName = processName
    self.service = service
    state = stateFolder.map(StateFolder.init)
  }

  // MARK: Opening

  /// Connects to the server, which it starts first where it is the host's own, and reads its clients.
  /// - Throws: `speaker.lost` when no server answers, `speaker.no_stream` when it has no streams for sessions,
  ///   `speaker.busy` when another process has the state folder for too long.
  public func open(reports: any DriverReports) async throws -> [DeviceInfo] {
    isClosed = false
    if access == .drive {
      try await state?.lock(on: loop, wait: lockWait, as: processName, service: service, log: log) {
        [unowned self] in isClosed
      }
    }
    do {
      try await connect()
      try makeRenderer()
      kept = state?.read(setsAside: access == .drive, log) ?? HouseState()
      lastRank = kept.speakers.values.map(\.rank).max() ?? 0
      devices = adoptFirst()
    } catch {
      await end()
      throw error
    }
    self.reports = reports
    announce(playing: [])
    return devices
  }

  /// Starts the server where it is the host's own, and reads its state.
  private func connect() async throws {
    if settings.isManaged, access == .drive { try await startServer() }
    let link = SnapcastLink(loop: loop, host: settings.host, port: controlPort, responseTime: responseTime)
    self.link = link
    var attempts = managed == nil ? 1 : 50
    while true {
      attempts -= 1
      do {
        try await link.open()
        break
      } catch let error as SpeakerError where error.kind == .lost {
        if let failure = managed?.failure { throw failure }
        if settings.isManaged, access == .look {
          return log("the host's own snapserver does not run: its speakers are known while the house is open")
        }
        guard attempts > 0, managed != nil else {
          throw SpeakerError(
            .lost, "no snapserver answers: \(error.message)",
            hint:
              "start it, name its machine with house { host = … }, or let the host start one with managed = true"
          )
        }
        try await loop.sleep(for: .milliseconds(100))
      }
      guard !isClosed else { throw House.closedError }
    }
    guard let server = SnapcastServer(try await link.call("Server.GetStatus")["server"]) else {
      throw SpeakerError(
        .lost, "what answers at \(link.address) is no snapserver: its state has another form",
        hint: "the port of the control is 1705, unless snapserver.conf says otherwise")
    }
    self.server = server
    pool = try SnapcastPool(server.streams, prefix: settings.streams)
    link.onOpen = { [unowned self] in reconnected() }
    link.onLost = { [unowned self] in lost($0) }
    link.onNotification = { [unowned self] in received($0, $1) }
  }

  private func startServer() async throws {
    let server = try ManagedSnapserver(loop: loop, settings: settings, stateFolder: state?.path)
    managed = server
    server.onEnd = { [unowned self] error in
      guard !isClosed, link != nil else { return }
      reports?.failed(error, device: nil, session: nil)
      // Again a moment later: one that can't run would otherwise be started for ever without a pause.
      loop.after(.milliseconds(500), keepsAlive: false) { [weak self] in
        do throws(SpeakerError) { try self?.managed?.start() } catch { self?.log(error.message) }
      }
    }
    try server.start()
    log(
      "a snapserver of the host's own runs: snapclient --host 127.0.0.1 --port \(server.ports.clients) joins it"
    )
  }

  /// Creates the renderer: a device of it is a stream of the pool.
  private func makeRenderer() throws {
    guard access == .drive, let pool else {
      return renderer = ArithmeticRenderer(loop: loop, format: format)
    }
    let (waiter, format) = (try Waiter(), format)
    let delay = settings.buffer - Self.readTime
    writers = try pool.sessions.map { stream in
      let source = reachable(stream.source)
      let isAgain = Flag()
      return try SinkWriter(
        format: format, frames: 10 * format.framesPerBlock, policy: .openAgain, renderer: waiter
      ) {
        let sink = StreamSink(source, name: stream.id, format: format)
        if isAgain.value.exchange(true, ordering: .relaxed) { try sink.connect() }
        return sink
      }
    }
    let timing = StreamTiming(lead: 100_000_000, delay: delay.nanoseconds)
    let memory = RenderMemory(devices: writers.count, sessions: writers.count, format: format)
    let stage = try ThreadedStage(
      loop: loop, memory: memory, outputs: Outputs(.streams(writers, timing), waiter), format: format
    ) { _ in throw SpeakerError(.unsupported, "a snapserver's streams are fixed") }
    let renderer = PCMRenderer(loop: loop, format: format, memory: memory, stage: stage)
    renderer.onEnd = { [weak self] cue, session, failure in
      self?.reports?.ended(cue: cue, in: session, failure: failure)
    }
    renderer.onTrouble = { [weak self] error, device in self?.streamLost(error, session: device) }
    for stream in writers.indices {
      renderer.setMix(ChannelMix(role: .stereo), channel: nil, ofDevice: stream)
      renderer.setSession(stream, ofDevice: stream)
    }
    self.renderer = renderer
  }

  /// Time by which the server plays a block earlier than a buffer after it has read it: the block's length.
  private static let readTime = Duration.milliseconds(20)

  /// Returns a source as this machine reaches it: a server that listens on all its addresses does so on that of the
  /// control.
  private func reachable(_ source: SnapcastStream.Source) -> SnapcastStream.Source {
    guard case .tcp(let host, let port) = source, ["0.0.0.0", "", "::", "[::]"].contains(host) else {
      return source
    }
    return .tcp(host: settings.host, port: port)
  }

  /// Reports the loss of a stream, unless the server is lost, which is reported for all.
  private func streamLost(_ error: any CodedError, session: SessionID?) {
    loop.after(.milliseconds(300)) { [weak self] in
      guard let self, link?.isOpen == true else { return }
      reports?.failed(error, device: nil, session: session)
    }
  }

  /// Attempts to open lost streams at once.
  func retryStreams() { for writer in writers { writer.retry() } }

  /// Writes the zones, finishes the streams and ends a server of the host's own.
  public func close() async {
    isClosed = true
    reports = nil
    writeState()
    await end()
  }

  private func end() async {
    await renderer?.close()
    renderer = nil
    writers = []
    link?.close()
    link = nil
    await managed?.stop()
    managed = nil
    (server, pool, isArranging) = (nil, nil, false)
    (zones, zoneRanks, memberships, owed) = ([:], [:], [:], [:])
    givenNames = [:]
    state?.unlock()
  }

  // MARK: Commands

  /// Changes levels on the server: one request for each speaker.
  public func change(_ changes: [(device: String, change: LevelChange)]) {
    var wanted: [(device: String, percent: Int?, isMuted: Bool)] = []
    for (device, change) in changes {
      let place = wanted.firstIndex { $0.device == device }
      switch change {
      case .volume(let level):
        if let place {
          wanted[place] = (device, 2 * level, false)
        } else {
          wanted.append((device, 2 * level, false))
        }
      case .muted(let isMuted):
        if let place { wanted[place].isMuted = isMuted } else { wanted.append((device, nil, isMuted)) }
      case .role, .balance: break  // not among the capabilities
      }
    }
    for (device, percent, isMuted) in wanted { setVolume(of: device, percent, isMuted) }
  }

  private func setVolume(of device: String, _ percent: Int?, _ isMuted: Bool) {
    if !isMuted { unmuteGroup(of: device) }
    requestVolume(of: device, percent, isMuted)
  }

  /// Unmutes a group that another controller has muted; its other members are muted by themselves instead.
  private func unmuteGroup(of device: String) {
    guard let group = server?.group(of: device), group.isMuted else { return }
    for client in group.clients where client.id != device && !client.isMuted {
      requestVolume(of: client.id, nil, true)
    }
    link?.request("Group.SetMute", [("id", .string(group.id)), ("mute", false)]) { [weak self] result in
      guard let self, case .success = result, var server else { return }
      server.changeGroup(group.id) { $0.isMuted = false }
      adopt(server)
    }
  }

  func requestVolume(of device: String, _ percent: Int?, _ isMuted: Bool) {
    let volume: [(name: String, value: JSON)] =
      (percent.map { [("percent", .number($0))] } ?? []) + [("muted", .bool(isMuted))]
    guard let link else { return }
    pendingChangeCount += 1
    link.request("Client.SetVolume", [("id", .string(device)), ("volume", .object(volume))]) {
      [weak self] result in
      guard let self else { return }
      pendingChangeCount -= 1
      settle(device)
      guard case .success(let result) = result, var server, let volume = result["volume"] else { return }
      server.changeClient(device) { $0.read(volume: volume) }
      adopt(server, answers: device)
    }
  }

  /// Waits until the server has answered the requests so far, which it does in their order.
  public func awaitChanges() async throws {
    if pendingChangeCount > 0 { _ = try? await link?.call("Server.GetRPCVersion") }
    try Task.checkCancellation()
  }

  /// Requests the state of the server.
  public func refresh(_ device: String?) async throws {
    guard let link else { throw House.closedError }
    if let server = SnapcastServer(try await link.call("Server.GetStatus")["server"]) { adopt(server) }
  }

  /// Changes a speaker's name on the server, or its zone.
  public func edit(_ edit: DeviceEdit, of device: String) async throws {
    guard let link else { throw House.closedError }
    switch edit {
    case .name(let name):
      try await link.call("Client.SetName", [("id", .string(device)), ("name", .string(name))])
      guard var server else { return }
      server.changeClient(device) { $0.name = name }
      adopt(server)
    case .group(let name):
      setZone(name == Group.ungrouped ? nil : name, of: device)
      if let server { adopt(server) }
      arrange()
      for _ in 0..<500 where isArranging { try await loop.sleep(for: .milliseconds(10)) }
    }
  }

  /// Puts a speaker on the stream of a session, or on the idle one.
  public func setSession(_ session: SessionID?, ofDevice device: String) {
    memberships[device] = session
    arrange()
  }

  /// Publishes what plays to processes that inspect the house.
  public func announce(playing: [String]) {
    if access == .drive {
      state?.announce(output: "snapcast at \(settings.host) port \(controlPort)", playing: playing)
    }
  }
}

/// A Boolean that threads share.
final class Flag: Sendable { let value = Atomic(false) }
