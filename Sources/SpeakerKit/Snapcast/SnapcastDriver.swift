public import AudioCore
internal import EventLoop
internal import JSONText
internal import Synchronization

/// The driver `snapcast`: the clients of a snapserver are the speakers, each session plays through a stream of its own.
///
/// Levels, names and groups are those of the server, mapped both ways; zones are kept by the host too, since the server
/// forgets a group that is emptied. A level of 0...50 is a volume of 0...100 per cent, which a snapclient maps to a gain
/// of (10^v − 1)/9: 50 is unity as in the embedded house, and 25 is −12.4 dB where the embedded house has −22.5 dB.
/// Positions count frames that are heard, a buffer of the server later than they are sent; `pause` and `stop`
/// are heard with the same delay.
public final class SnapcastDriver: RenderingDriver, RemoteDriver {
  /// The name in the configuration: `"snapcast"`.
  public let name = SnapcastSettings.name
  /// The names of the driver's capabilities.
  public let capabilities = SnapcastSettings.capabilities
  /// The format of all sessions: 48 kHz, stereo.
  public let format = AudioFormat.session
  /// The number of streams of the server for sessions.
  public var sessionLimit: Int { pool?.sessions.count ?? 1 }
  /// The command that prints more streams.
  public var moreSessionsHint: String? { SnapcastPool.hint }

  let context: DriverContext
  let settings: SnapcastSettings
  private(set) lazy var kept = KeptState(context, writtenBy: [.drive], keepsAlive: false) { [unowned self] in
    devices
  }

  /// The server that the host has started; nil for another one.
  private(set) var managed: ManagedSnapserver?
  private(set) var link: SnapcastLink?
  private(set) var isClosed = false
  weak var reports: (any DriverReports)?
  private(set) var renderer: (any Renderer)?
  private var writers: [SinkWriter] = []
  /// The ids of speakers with limits.
  private(set) var limited: Set<String> = []

  /// The server's state after its last message; nil before the first one.
  var server: SnapcastServer?
  private(set) var pool: SnapcastPool?
  /// The speakers as they were reported, in the order in which they were found.
  var devices: [DeviceInfo] = []
  /// The records of clients by their ids, also of those that are not shown as speakers.
  var speakers: [String: Speaker] = [:]
  /// The calls that wait for the answers to all requests of levels.
  let answering = PendingCalls<Void>()
  var lastRank = 0
  /// The loss of the server that has not come back; nil while its state is known.
  var outage: Outage?
  /// The loss of the server in words; nil while it is connected.
  public var loss: String? { outage?.message }
  /// The sources of the server's streams by their ids, read on the threads that write to them.
  private let sources = Lock<[String: SnapcastStream.Source]>([:])
  /// `true` while a step of a plan waits for its response, or is scheduled.
  var isArranging = false
  /// Requests the state again; nil unless the last one may be older than a notification.
  var recheck: LoopTimer?

  /// The timeout of a response of the server.
  package var responseTime = SnapcastLink.responseTime
  /// The port at which the server accepts snapclients, for a server that the host has started.
  package var clientPort: Int? { managed?.ports.clients }
  /// The control port of the server.
  package var controlPort: Int { address.port }
  /// The server that is connected or was last; before the first one that of the settings.
  var address: SnapserverAddress { link?.address ?? fallback }
  /// The server of the settings.
  var fallback: SnapserverAddress {
    SnapserverAddress(host: settings.host, port: managed?.ports.control ?? settings.port)
  }
  /// Searches the network for servers, for at most that many seconds; waits for the result.
  var search: @Sendable (_ seconds: Int) -> SnapserverSearch.Outcome = SnapserverSearch.run(seconds:)
  /// The process of the server that the host has started.
  package var serverProcess: Int32? { managed?.processID }

  /// Creates the driver of a snapserver's house.
  /// - Parameters:
  ///   - context: the loop, the log, and the folder in which zones are kept between runs, and the state of a server that
  ///     the host starts.
  ///   - settings: the server.
  public init(_ context: DriverContext, _ settings: SnapcastSettings) {
    self.context = context
    self.settings = settings
  }

  // MARK: Opening

  /// Connects to the server, which it starts first where it is the host's own, and reads its clients.
  /// - Throws: `speaker.lost` when no server answers, `speaker.no_stream` when it has no streams for sessions,
  ///   `speaker.busy` when another process has the state folder for too long.
  public func open(reports: any DriverReports) async throws -> [DeviceInfo] {
    isClosed = false
    if context.access == .drive { try await context.lock { [unowned self] in isClosed } }
    do {
      try await connect()
      try makeRenderer()
      kept.read()
      lastRank = kept.last.speakers.values.map(\.rank).max() ?? 0
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
    if settings.isManaged, context.access == .drive { try await startServer() }
    let isSearched = settings.isSearched && managed == nil
    let (found, note) = isSearched ? try await searchFirst() : (fallback, "")
    let link = SnapcastLink(loop: loop, address: found, responseTime: responseTime)
    self.link = link
    var attempts = managed == nil ? 1 : 50
    while true {
      attempts -= 1
      do {
        try await link.open()
        break
      } catch let error as SpeakerError where error.kind == .lost {
        if let failure = managed?.failure { throw failure }
        if settings.isManaged, context.access == .adjust {
          throw SpeakerError(
            .lost, "the host's own snapserver does not run: it lives as long as a program has the house",
            hint: "start one that stays: roomtone serve")
        }
        if settings.isManaged, context.access == .look {
          return context.log(
            "the host's own snapserver does not run: its speakers are known while the house is open")
        }
        guard attempts > 0, managed != nil else {
          throw SpeakerError(
            .lost, "no snapserver answers: \(note)\(error.message)",
            hint:
              "start it, name its machine with house { host = … }, or let the host start one with managed = true"
          )
        }
        try await loop.sleep(for: .milliseconds(100))
      }
      guard !isClosed else { throw House.closedError }
    }
    let count = link.notificationCount
    guard let server = SnapcastServer(try await link.call("Server.GetStatus")["server"]) else {
      throw noServer(at: link.address)
    }
    self.server = server
    recheck(since: count)
    let pool = try SnapcastPool(server.streams, prefix: settings.streams)
    self.pool = pool
    readSources(of: server)
    outage = nil
    link.accept()
    if isSearched { link.search = searchAgain }
    link.observer = self
  }

  /// Returns the error for a program that answers at an address and is not a snapserver.
  func noServer(at address: SnapserverAddress) -> SpeakerError {
    SpeakerError(
      .lost, "the server at \(address.text) is not a snapserver: its state has another form",
      hint: "the port of the control is 1705, unless snapserver.conf says otherwise")
  }

  private func startServer() async throws {
    let server = try ManagedSnapserver(loop: loop, settings: settings, stateFolder: context.state?.path) {
      [unowned self] error in
      guard !isClosed, link != nil else { return }
      reports?.failed(error, device: nil, stream: nil)
      // Again a moment later: one that can't run would otherwise be started for ever without a pause.
      loop.after(.milliseconds(500), keepsAlive: false) { [weak self] in
        do throws(SpeakerError) { try self?.managed?.start() } catch { self?.context.log(error.message) }
      }
    }
    managed = server
    try server.start()
    context.log(
      "a snapserver of the host's own runs: snapclient --host 127.0.0.1 --port \(server.ports.clients) joins it"
    )
  }

  /// Creates the renderer: a device of it is a stream of the pool.
  private func makeRenderer() throws {
    guard context.access == .drive, let pool else {
      return renderer = ArithmeticRenderer(loop: loop, format: format)
    }
    limited = []
    let (waiter, format) = (try Waiter(), format)
    let delay = settings.buffer - Self.readTime
    writers = try pool.sessions.map { [sources] stream in
      let isAgain = Flag()
      return try SinkWriter(
        format: format, frames: 10 * format.framesPerBlock, policy: .openAgain, renderer: waiter
      ) {
        let sink = StreamSink(name: stream.id, format: format) {
          sources.withLock { $0[stream.id] } ?? stream.source
        }
        if isAgain.value.exchange(true, ordering: .relaxed) { try sink.connect() }
        return .card(sink)
      }
    }
    let timing = StreamTiming(lead: 100_000_000, delay: delay.nanoseconds)
    let memory = RenderMemory(devices: writers.count, sessions: writers.count, format: format)
    let stage = try ThreadedStage(
      loop: loop, memory: memory, outputs: Outputs(.streams(writers, timing), waiter), format: format
    ) { _ in throw SpeakerError(.unsupported, "a snapserver's streams are fixed") }
    let renderer = PCMRenderer(loop: loop, format: format, memory: memory, stage: stage)
    renderer.observer = self
    for stream in writers.indices {
      renderer.setMix(ChannelMix(role: .stereo), channel: nil, ofDevice: stream)
      renderer.setSession(stream, ofDevice: stream)
    }
    self.renderer = renderer
  }

  /// Keeps the sound of all streams at the loudness of its source while a speaker has a limit: what the server has
  /// buffered is heard later, perhaps by another speaker, and the speakers' levels are the only gains then.
  public func setCeiling(_ volume: Int?, ofDevice device: String) {
    let hadLimits = !limited.isEmpty
    if volume == nil { limited.remove(device) } else { limited.insert(device) }
    guard limited.isEmpty == hadLimits else { return }
    for stream in writers.indices { renderer?.setCeiling(limited.isEmpty ? nil : 1, ofDevice: stream) }
  }

  /// The time by which the server plays a block earlier than a buffer after it has read it: the block's
  /// length.
  private static let readTime = Duration.milliseconds(20)

  /// Keeps the sources of a server's streams: the next connections are made to them.
  func readSources(of server: SnapcastServer) {
    let found = server.streams.map { ($0.id, reachable($0.source)) }
    sources.withLock { $0 = Dictionary(found) { first, _ in first } }
  }

  /// Returns a source as this machine reaches it: a server that listens on all its addresses does so on that of the
  /// control.
  private func reachable(_ source: SnapcastStream.Source) -> SnapcastStream.Source {
    guard case .tcp(let host, let port) = source, ["0.0.0.0", "", "::", "[::]"].contains(host) else {
      return source
    }
    return .tcp(host: address.host, port: port)
  }

  /// Reports the loss of a stream, unless the server is lost, which is reported for all.
  private func streamLost(_ error: any CodedError, session: DriverStream?) {
    loop.after(.milliseconds(300)) { [weak self] in
      guard let self, isConnected else { return }
      reports?.failed(error, device: nil, stream: session)
    }
  }

  /// `true` if the server is connected.
  var isConnected: Bool { link?.isOpen == true }

  /// Attempts to open lost streams at once.
  func retryStreams() { for writer in writers { writer.retry() } }

  /// Writes the zones, finishes the streams, sends the requested levels and ends a server of the host's own.
  public func close() async {
    isClosed = true
    reports = nil
    kept.write()
    await end()
  }

  private func end() async {
    await renderer?.close()
    renderer = nil
    writers = []
    await sendLevels(within: .seconds(2))
    link?.close()
    link = nil
    recheck?.cancel()
    recheck = nil
    await managed?.stop()
    managed = nil
    (server, pool, isArranging) = (nil, nil, false)
    (speakers, outage) = ([:], nil)
    answering.settle(.success(()))
    context.state?.unlock()
  }

  /// Waits until the server has confirmed the requested levels: one that was requested after another is sent once that
  /// is answered.
  private func sendLevels(within limit: Duration) async {
    let end = loop.now.advanced(by: limit)
    while isConnected, pendingChangeCount > 0, loop.now < end {
      do { try await answering.wait(on: loop, timeout: loop.now.duration(to: end)) } catch { return }
    }
  }

  // MARK: Commands

  /// Requests the state of the server.
  public func refresh(_ device: String?) async throws {
    guard let link else { throw House.closedError }
    let count = link.notificationCount
    guard let server = SnapcastServer(try await link.call("Server.GetStatus")["server"]) else { return }
    observe(server.clients)
    adopt(server)
    recheck(since: count)
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
  public func setSession(_ session: DriverStream?, ofDevice device: String) {
    speakers[device, default: Speaker()].session = session
    arrange()
  }

  /// Publishes the playing sources to processes that inspect the house.
  public func announce(playing: [String]) {
    context.state?.announce(output: "snapcast at \(address.host) port \(controlPort)", playing: playing)
  }
}

extension SnapcastDriver: SnapcastLinkObserver, RenderObserver {
  func receive(_ event: RenderEvent) {
    switch event {
    case .ended(let cue, let session, let failure): reports?.ended(cue: cue, in: session, failure: failure)
    case .trouble(let error, let device): streamLost(error, session: device)
    case .card: break
    }
  }
}

/// A Boolean that threads share.
final class Flag: Sendable { let value = Atomic(false) }
