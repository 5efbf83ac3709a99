public import AudioCore
internal import EventLoop
internal import JSONText

/// The driver `hkwhub`: HK Omni speakers of a hub, the HKWHub app or a hub speaker, which plays media
/// that the host serves.
///
/// Levels, names, groups and roles are the hub's. It has no events: the state of its speakers is requested
/// every 2 s, and that of its playback every second while it plays; the differences are reported as changes
/// by another controller. It plays one medium at a time, so there is one session. A level of 0...50 is the
/// hub's own; a speaker is muted by level 0, and the level to return to is known to this process alone.
/// Positions follow the hub's clock of whole seconds; `pause` stops the medium, and `resume` plays another
/// one from there.
public final class HubDriver: RemoteDriver {
  /// The name in the configuration: `"hkwhub"`.
  public let name = HubSettings.name
  /// The names of the driver's capabilities.
  public let capabilities = HubSettings.capabilities
  /// The format of the session: 48 kHz, stereo.
  public let format = AudioFormat.session

  let context: DriverContext
  let settings: HubSettings
  private var isClosed = false
  weak var reports: (any DriverReports)?

  private(set) var link: HubLink?
  /// The server of the media that the hub plays; nil for inspection only.
  private(set) var server: MediaServer?
  private var pollTimer: LoopTimer?
  private var statusTimer: LoopTimer?

  /// The speakers as they were reported, in the order in which they were found.
  var devices: [DeviceInfo] = []
  /// The records of speakers by their ids.
  var speakers: [String: Speaker] = [:]
  /// The calls that wait for the answers to all requests of levels.
  let answering = PendingCalls<Void>()
  /// The number of changes of groups so far.
  var lastRank = 0
  /// Commands whose wrong answers were logged.
  var complaints: Set<String> = []

  /// The priority with which the session plays.
  var priority = 100
  var player: HubPlayer
  /// Opened sources by their cues, each with its first frame.
  var sources: [Int: (source: MediaSource, start: Int)] = [:]
  /// Media by the numbers of their runs, with their paths.
  var media: [Int: (media: Media, path: String)] = [:]
  var cueCount = 0
  /// The cue that was started last, whose source is released when it stops; 0 for none.
  var startedCue = 0
  /// The cue whose first answer a caller waits for; nil for none.
  var starting: (cue: Int, call: PendingCall<Void>)?
  /// `true` if the hub was lost when it was to stop.
  var owesStop = false
  /// The loss of the hub in words; nil while it is connected.
  public private(set) var loss: String?

  /// The time between two requests of the hub's speakers.
  package var pollTime = Duration.seconds(2)
  /// The time between two requests of the hub's playback while it plays: its interface advises a second.
  package var statusTime = Duration.seconds(1)
  /// The timeout of an answer of the hub.
  package var responseTime = Duration.seconds(5)
  /// The first delay before a lost hub is tried again; doubles up to 30 s.
  package var retryTime = Duration.seconds(1)

  /// Creates the driver of a hub's house.
  /// - Parameters:
  ///   - context: the loop, the folder and the log.
  ///   - settings: the hub, and the address of this machine for it.
  public init(_ context: DriverContext, _ settings: HubSettings) {
    self.context = context
    self.settings = settings
    player = HubPlayer(rate: format.sampleRate)
  }

  // MARK: Opening

  /// Opens a session on the hub, reads its speakers, and starts to serve.
  /// - Throws: `speaker.lost` when no hub answers, or nothing can be served at the address; `speaker.busy` when another
  ///   process has the state folder for too long.
  public func open(reports: any DriverReports) async throws -> [DeviceInfo] {
    isClosed = false
    if context.access == .drive { try await context.lock { [unowned self] in isClosed } }
    do {
      if context.access == .drive {
        server = try MediaServer(address: settings.serve, port: settings.servePort)
      }
      let link = HubLink(
        loop: loop, network: try context.network(), url: settings.url, bearer: try settings.token())
      link.responseTime = responseTime
      link.backoff = Backoff(from: retryTime, upTo: .seconds(30))
      self.link = link
      try await link.open()
      guard let listed = HubSpeaker.list(try await link.call("device_list")) else { throw notAList }
      guard !isClosed else { throw House.closedError }
      devices = infos(of: listed)
      for speaker in listed { speakers[speaker.id]?.isActive = speaker.isActive }
      for index in devices.indices {
        devices[index].playsOthers = listed.contains { $0.id == devices[index].id && $0.isPlaying }
      }
      link.observer = self
    } catch {
      await end()
      throw (error as? SpeakerError).map { Self.withHint($0) } ?? error
    }
    self.reports = reports
    announce(playing: [])
    schedulePoll()
    return devices
  }

  private var notAList: SpeakerError {
    SpeakerError(.lost, "the hub at \(settings.url.onOneLine) is lost: it lists no speakers")
  }

  private static func withHint(_ error: SpeakerError) -> SpeakerError {
    guard error.kind == .lost, error.hint == nil else { return error }
    return SpeakerError(
      .lost, error.message,
      hint: "`url` is the address that the HKWHub app shows in local-server mode", facts: error.facts)
  }

  /// Sends the queued requests, closes the session and ends the endpoint.
  public func close() async {
    isClosed = true
    reports = nil
    await end()
  }

  private func end() async {
    pollTimer?.cancel()
    statusTimer?.cancel()
    (pollTimer, statusTimer) = (nil, nil)
    starting?.call.settle(.failure(House.closedError))
    await link?.close()
    link = nil
    await server?.close(on: loop)
    server = nil
    player = HubPlayer(rate: format.sampleRate)
    (sources, media, speakers, starting) = ([:], [:], [:], nil)
    answering.settle(.success(()))
    priority = 100
    context.state?.unlock()
  }

  /// Publishes the playing sources to processes that inspect the house.
  public func announce(playing: [String]) {
    context.state?.announce(output: settings.outputText, playing: playing)
  }

  /// `true` if the hub answers.
  var isConnected: Bool { link?.isOpen == true }

  // MARK: Polling

  private func schedulePoll() {
    guard reports != nil else { return }
    pollTimer?.cancel()
    pollTimer = loop.after(pollTime, keepsAlive: false) { [weak self] in self?.poll() }
  }

  /// Requests the state of the speakers.
  func poll() {
    guard let link, link.isOpen else { return }
    link.request("device_list") { [weak self] result in
      guard let self else { return }
      switch result {
      case .success(let answer): adopt(answer)
      case .failure(let error):
        // A lost hub is asked again when it is back.
        guard link.isOpen else { return }
        complain("device_list", error.message)
      }
      schedulePoll()
    }
  }

  /// Requests the hub's playback a moment later, and again until it plays nothing of this host.
  func followStatus() {
    statusTimer?.cancel()
    statusTimer = loop.after(statusTime, keepsAlive: false) { [weak self] in self?.requestStatus() }
  }

  private func requestStatus() {
    // The playback at the time of the request is that of this run.
    let (run, interrupted) = (player.playing, player.interrupted)
    guard run != nil || interrupted != nil else { return }
    link?.request("playback_status") { [weak self] result in
      guard let self, isConnected else { return }
      defer { followStatus() }
      guard case .success(let answer) = result else { return }
      guard let status = HubStatus(answer) else {
        return complain(
          "playback_status", "the hub answers playback_status in a form that is not known")
      }
      complaints.remove("playback_status")
      if let run {
        perform(player.observed(status, of: run.number, delivery(of: run), at: loop.now))
      } else if let interrupted,
        devices.contains(where: { speakers[$0.id]?.isMember == true && $0.isAvailable })
      {
        perform(player.found(status, delivery(of: interrupted), at: loop.now))
      }
    }
  }

  /// Logs that a command is answered wrongly, once until it is answered well.
  func complain(_ command: String, _ text: String) {
    if complaints.insert(command).inserted { context.log(text) }
  }

  /// Requests the state of the speakers at once.
  public func refresh(_ device: String?) async throws {
    guard let link else { throw House.closedError }
    adopt(try await link.call("device_list"))
  }

  // MARK: Loss

  func lost(_ error: SpeakerError) {
    player.lost(at: loop.now)
    // Its caller receives the error: a failed start does not play later.
    starting?.call.settle(.failure(error))
    for device in speakers.keys { speakers[device]?.moves = 0 }
    pollTimer?.cancel()
    statusTimer?.cancel()
    if loss == nil { context.log(error.message) }
    loss = error.message
    reports?.failed(error, device: nil, stream: nil)
    for index in devices.indices { setAvailable(false, index) }
  }

  /// Restores the members of a hub that has forgotten them; a hub that has restarted is silent, and is to
  /// play again.
  func renewed() {
    // The command that is under way is repeated.
    if player.playing != nil { player.lost(at: loop.now) }
    for device in devices where speakers[device.id]?.isMember == true { move(device.id, isIn: true) }
  }

  /// Restores the members, the requested levels and the playback of a hub that is back.
  func reconnected() {
    if loss != nil { context.log("the hub is connected again") }
    loss = nil
    if owesStop, player.interrupted == nil { link?.request("stop_play") { _ in } }
    owesStop = false
    for device in speakers.keys.sorted() { perform(speakers[device]?.level.back() ?? [], of: device) }
    poll()
    requestStatus()
  }
}

extension HubDriver: HubLinkObserver {}
