internal import EventLoop
internal import HTTP

/// Fills the buffer of a stream from a simulated station, and tells what the real one would, in the same order:
/// `ConnectionMachine` says what to do here too.
///
/// Frames come about a second at a time. Behind a lost connection the station sends its burst again: what it holds of
/// what was missed is stitched, and what is beyond it is a gap, which is told when the real search would have given up.
///
/// Unchecked: confined to the loop that it is made with.
final class SimulatedReception: StreamReceiver, @unchecked Sendable {
  /// Sound that comes at a time.
  private static let step = Duration.seconds(1)

  private let station: SimulatedStation
  private var options: Reception.Options
  private let loop: EventLoop
  private let outlet: FrameOutlet
  private let tell: @Sendable (ReceptionEvent) -> Void
  private var machine: ConnectionMachine
  private var timer: LoopTimer?
  private var isStopped = false
  /// The player has nothing left to play.
  private var isDry = false

  /// When the station was asked for the first time: the start of its programme.
  private var origin = Instant.start
  private var agenda: StationAgenda
  /// A request that is not answered yet.
  private var isAsking = false
  private var connection: Connection?
  /// The next frame that is wanted.
  private var next = 0
  private var hasBegun = false
  private var discontinuity: PacketBuffer.Discontinuity?
  private var lastTitle: SimulatedStation.Title?
  /// Receives in place of this, once the station has turned out to be a file.
  private var file: LocalReception?

  /// One that gives sound.
  private struct Connection {
    let sound: StationSound
    let begin: Duration
    /// Until when what was to come has come.
    var received: Duration
    /// Its first frame, while that is not known to be behind what the connection before gave.
    var landing: Int?
    /// Nothing of it has gone into the buffer.
    var isFresh = true
  }

  init(
    url: String, station: SimulatedStation, chance: SimulatedStations.Chance, options: Reception.Options,
    loop: EventLoop, outlet: FrameOutlet, tell: @escaping @Sendable (ReceptionEvent) -> Void
  ) {
    (self.station, self.options) = (station, options)
    (self.loop, self.outlet, self.tell) = (loop, outlet, tell)
    agenda = StationAgenda(station)
    machine = ConnectionMachine(url: url, dataTimeout: options.dataTimeout, random: chance)
  }

  func start() {
    loop.post {
      self.origin = self.loop.now
      self.perform(self.machine.start(at: self.loop.now))
    }
  }

  func stop() {
    loop.post {
      self.file?.stop()
      self.end()
    }
  }

  func restart() {
    loop.post {
      self.isStopped = false
      self.perform(self.machine.restart(at: self.loop.now))
    }
  }

  func change(_ options: Reception.Options) {
    loop.post {
      self.options = options
      self.file?.change(options)
      self.machine.setDataTimeout(options.dataTimeout)
      self.arm()
    }
  }

  func playerIsDry() {
    loop.post {
      self.isDry = true
      if !self.isStopped, self.connection?.landing != nil { self.advance() }
    }
  }

  func seek(to time: StreamTime, leap: Int) { loop.post { self.file?.seek(to: time, leap: leap) } }

  /// Time of the programme.
  private var now: Duration { origin.duration(to: loop.now) }
  private var shownURL: String { StreamURL.shown(machine.currentURL) }

  private func end() {
    isStopped = true
    machine.stop()
    timer?.cancel()
    timer = nil
    connection = nil
  }

  // MARK: Connections

  private func perform(_ actions: [ConnectionMachine.Action]) {
    for action in actions {
      if isStopped { return }
      switch action {
      case .connect: connect()
      case .disconnect: (connection, isAsking) = (nil, false)
      case .tell(let error): tell(.failed(error))
      case .giveUp(let error):
        tell(.gaveUp(error))
        end()
      case .resumed: break  // told with the frames, which know how
      // Who is silent is silent for all that listen.
      case .connectStandby, .disconnectStandby: break
      case .adoptStandby:
        (connection, isAsking) = (nil, true)
        tell(.connecting)
      }
    }
    arm()
  }

  private func connect() {
    tell(.connecting)
    isAsking = true
    // The answer comes in a turn of its own, as over a network.
    loop.next { [weak self] in self?.answer() }
  }

  private func answer() {
    guard !isStopped, isAsking else { return }
    let (answer, url) = (station.answer(at: now, to: options.credentials), shownURL)
    isAsking = answer == .silence
    switch answer {
    case .sound: open()
    case .silence: arm()
    case .refusal: fail(StreamError(HTTPError(.refused, host: StreamURL.host(url) ?? ""), url: url))
    case .status(let status): fail(.answer(status, url: url))
    case .page:
      tell(.answered(info))
      fail(.noAudio("an HTML page", from: url))
    }
  }

  private func fail(_ error: StreamError) {
    connection = nil
    perform(machine.ended(error, at: loop.now))
  }

  private var info: StationInfo {
    var info = StationInfo()
    (info.name, info.genre, info.page, info.bitRate) = (
      station.name, station.genre, station.page, station.bitRate
    )
    if case .programme(let sound) = station.content { info.bitRate = info.bitRate ?? sound.bitRate }
    info.url = shownURL
    return info
  }

  private func open() {
    machine.answered(at: loop.now)
    let sound: StationSound
    switch station.content {
    case .programme(let frames): sound = frames
    case .file(let path): return handOver(path)
    }
    tell(.answered(info))
    var new = Connection(sound: sound, begin: now, received: now)
    if hasBegun {
      let first = sound.count(by: StreamTime(now))
      if first < next {
        tell(.reconnected(gap: 0, stitched: true, overlap: next - first))
      } else {
        new.landing = first
      }
    } else {
      hasBegun = true
      tell(.format(sound.format))
    }
    connection = new
    // What was while nobody was connected is over.
    _ = agenda.advance(to: now)
    if PlayerWait.isBurst(burst(of: sound)), outlet.buffer?.burstCame() == true { tell(.buffered) }
    let burst = Duration(inSeconds: burst(of: sound).seconds)
    _ = machine.received(burst, isNew: new.landing == nil && burst > .zero, at: loop.now)
    advance()
  }

  /// Lets the file be received as one of this machine.
  private func handOver(_ path: String) {
    timer?.cancel()
    timer = nil
    machine.stop()
    if outlet.isRecorded, outlet.buffer == nil { return copy(path) }
    guard let buffer = outlet.buffer, !outlet.isRecorded else { return refuse(.notRecorded(shownURL)) }
    let (tell, info) = (tell, info)
    let file = LocalReception(path: path, options: options, loop: loop, buffer: buffer) { event in
      switch event {
      case .connecting: break  // told already
      case .answered: tell(.answered(info))
      default: tell(event)
      }
    }
    self.file = file
    file.start()
  }

  private func refuse(_ error: StreamError) {
    tell(.gaveUp(error))
    end()
  }

  /// Gives the bytes of the file to what is recorded.
  private func copy(_ path: String) {
    guard outlet.takesFile else { return refuse(.recordedAsIs(shownURL)) }
    do throws(RecordError) {
      let bytes = try FileBytes.withFile(path) { file, size throws(RecordError) in
        try FileBytes.read(file, path, at: 0, count: size)
      }
      guard let kind = CopiedKind(bytes, contentType: nil, url: shownURL, isWhole: true) else {
        return refuse(.noAudio(ContentSniffer.describe(bytes[...]), from: shownURL))
      }
      outlet.beginFile(end: kind.fileEnd)
      tell(.answered(info))
      tell(.copying)
      outlet.receive { intake in bytes.withUnsafeBytes { intake.append($0, at: 0, of: kind.format) } }
      tell(.complete)
      end()
    } catch { refuse(StreamError(.content, error.message)) }
  }

  // MARK: Time

  private func arm() {
    timer?.cancel()
    timer = nil
    guard !isStopped, file == nil else { return }
    let isComing = connection != nil && !agenda.isSilent(at: now)
    let due = [
      agenda.next.map { origin.advanced(by: $0) },
      isComing ? loop.now.advanced(by: Self.step) : machine.deadline,
    ].compactMap(\.self).min()
    timer = due.map { due in loop.at(due) { [weak self] in self?.timePassed() } }
  }

  private func timePassed() {
    guard !isStopped else { return }
    let news = agenda.advance(to: now)
    if connection != nil, !news.isSilent {
      advance(isChange: news.isChange)
      if news.closes, connection != nil { fail(.ended(shownURL)) }
    } else if isAsking, station.answer(at: now, to: options.credentials) != .silence {
      answer()
    } else {
      perform(machine.deadlinePassed(at: loop.now))
    }
  }

  // MARK: Sound

  /// What a new listener has at once.
  private func burst(of sound: StationSound) -> StreamTime {
    station.burst.map { StreamTime($0) } ?? sound.time(ofBytes: 65_535)
  }

  /// Takes all that has come by now.
  /// - Parameter isChange: whether the title may be another now.
  private func advance(isChange: Bool = false) {
    guard let open = connection else { return }
    if let first = open.landing, now - open.begin >= searchTime {
      connection?.landing = nil
      land(at: first, of: open.sound)
    }
    let isJoined = connection?.landing == nil
    let end = isJoined ? open.sound.count(by: StreamTime(now) + burst(of: open.sound)) : next
    tellMachine(of: open, isNew: end > next)
    connection?.received = now
    if isJoined {
      // A new listener is told its title with the first of its sound.
      if open.isFresh { tellTitle() }
      connection?.isFresh = false
      guard deliver(open.sound, until: end) else { return }
      if isChange { tellTitle() }
    }
    arm()
  }

  /// For how long the real one looks for a join.
  private var searchTime: Duration {
    .seconds(isDry && !outlet.isRecorded ? Stitcher.urgentSeconds : Stitcher.searchSeconds)
  }

  /// Has the machine know what came since, as evenly as it did.
  private func tellMachine(of open: Connection, isNew: Bool) {
    var received = open.received
    // What did not come for long has come at once.
    if now - received > Self.step { received = now - .milliseconds(1) }
    while received < now {
      let next = min(now, received + .milliseconds(500))
      _ = machine.received(next - received, isNew: isNew, at: origin.advanced(by: next))
      received = next
    }
  }

  /// What has come was not in the old connection.
  private func land(at first: Int, of sound: StationSound) {
    let gap = (sound.start(of: first) - sound.start(of: next)).seconds
    next = first
    discontinuity = .gap(seconds: gap)
    tell(.reconnected(gap: gap, stitched: false, overlap: 0))
  }

  /// Puts the frames before `end` into the buffer.
  /// - Returns: false when it is full.
  private func deliver(_ sound: StationSound, until end: Int) -> Bool {
    let isTaken = outlet.receive { intake in
      while next < end {
        let arrival = sound.withFrame(next) { intake.append($0, $1, discontinuity) }
        guard arrival.isTaken else { return false }
        discontinuity = nil
        next += 1
        if arrival.isEnough {
          isDry = false
          tell(.buffered)
        }
      }
      return true
    }
    if !isTaken {
      tell(.full)
      self.end()
    }
    return isTaken
  }

  private func tellTitle() {
    guard let title = station.title(at: now), title.text != lastTitle?.text || title.url != lastTitle?.url
    else { return }
    lastTitle = title
    let metadata = ICYMetadata(title: title.text, url: title.url)
    outlet.markFromStation(StreamTitle(metadata))
    tell(.metadata(metadata, at: outlet.end))
  }
}
