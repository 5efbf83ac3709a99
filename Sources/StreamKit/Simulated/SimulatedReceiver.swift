internal import EventLoop
internal import HTTP

/// Receives a simulated station, and reports what the receiver of the real one would, in the same order: a
/// `ConnectionMachine` decides here too.
///
/// Frames come about a second at a time; while only a clock follows them the reception rests, see
/// `StreamBuffer.Rest`, and the time line is the same. Behind a lost connection the station sends its burst again: sound of the
/// outage that is in it is stitched, and the rest is a gap, which is reported when the real search would have given up.
///
/// Unchecked: confined to the loop that it is made with.
final class SimulatedReceiver: StreamReceiver, ConnectionOwner, @unchecked Sendable {
  /// The sound in one step, as a time.
  private static let step = Duration.seconds(1)

  let driver: ConnectionDriver
  private let station: SimulatedStation
  private var options: ReceiverOptions
  private let loop: EventLoop
  private let tee: FrameTee
  private let report: @Sendable (ReceiverEvent) -> Void
  /// True if the player has nothing left to play.
  private var isDry = false

  /// The moment of the first request: the start of the station's programme.
  private var origin = Instant.start
  private var schedule: StationSchedule
  /// True while a request is not answered.
  private var isAsking = false
  private var connection: Connection?
  /// The number of the last headers of Ogg that were delivered.
  private var headers: Int?
  /// The next frame that is wanted.
  private var next = 0
  private var hasBegun = false
  private var discontinuity: PacketBuffer.Discontinuity?
  private var lastTitle: SimulatedStation.Title?
  /// The receiver in place of this one, once the station has turned out to be a file.
  private var file: LocalReceiver?
  /// The time of the last step.
  private var lastStep = Duration.zero
  private var pace = Pace.steps

  /// The moments at which frames are appended.
  private enum Pace {
    /// At every step.
    case steps
    /// At the next step: what came in a rest has been looked for.
    case nextStep
    /// At each read of this buffer, and at the end of the rest.
    case rests(StreamBuffer, until: Instant)
  }

  /// A connection that brings sound.
  private struct Connection {
    let sound: StationSound
    let begin: Duration
    /// The time up to which its sound has come.
    var received: Duration
    /// The first frame, until the search for a join with the previous connection is over; nil behind a join.
    var landing: Int?
    /// True if none of it has gone into the buffer.
    var isFresh = true
  }

  init(
    at address: StreamAddress, station: SimulatedStation, random: SeededRandom,
    options: ReceiverOptions, loop: EventLoop, tee: FrameTee,
    report: @escaping @Sendable (ReceiverEvent) -> Void
  ) {
    (self.station, self.options) = (station, options)
    (self.loop, self.tee, self.report) = (loop, tee, report)
    schedule = StationSchedule(station)
    driver = ConnectionDriver(
      ConnectionMachine(address, dataTimeout: options.dataTimeout, random: random), loop: loop,
      report: report)
    driver.owner = self
  }

  func start() {
    loop.post {
      self.origin = self.loop.now
      self.driver.start()
    }
  }

  func stop() {
    loop.post {
      self.forgetRest()
      self.file?.stop()
      self.end()
    }
  }

  func restart() { loop.post { self.driver.restart() } }

  func change(_ options: ReceiverOptions) {
    loop.post {
      self.catchUp()
      self.options = options
      self.file?.change(options)
      self.driver.setDataTimeout(options.dataTimeout)
    }
  }

  func playerIsDry() {
    loop.post {
      self.isDry = true
      if !self.isStopped, self.connection?.landing != nil { self.advance() }
    }
  }

  func seek(to time: StreamTime, generation: Int) {
    loop.post { self.file?.seek(to: time, generation: generation) }
  }

  /// Time of the programme.
  private var now: Duration { origin.duration(to: loop.now) }
  private var isStopped: Bool { driver.isStopped }
  private var shownURL: String { driver.shownURL }

  func end() {
    forgetRest()
    driver.end()
    connection = nil
  }

  // MARK: Connections

  func connect(to address: StreamAddress) {
    report(.connecting)
    isAsking = true
    // The answer comes in a turn of its own, as over a network.
    loop.next { [weak self] in self?.answer() }
  }

  func disconnected() {
    catchUp()
    (connection, isAsking) = (nil, false)
  }

  /// Does nothing: it is reported with the frames, which know how they join.
  func resumed() {}

  // A silent station is silent for all its listeners: of a standby no more than its adoption is to be seen.
  func adoptStandby() {
    catchUp()
    (connection, isAsking) = (nil, true)
    report(.connecting)
  }

  private func answer() {
    guard !isStopped, isAsking else { return }
    let (answer, address) = (station.answer(at: now, to: options.credentials), driver.address)
    isAsking = answer == .silence
    switch answer {
    case .sound: open()
    case .silence: driver.arm()
    case .refusal: lose(StreamError(HTTPError(.refused, host: address.host), at: address))
    case .status(let status): lose(.answer(status, url: address.description))
    case .page:
      report(.answered(info))
      lose(.noAudio("an HTML page", from: address.description))
    }
  }

  private func lose(_ error: StreamError) {
    catchUp()
    connection = nil
    driver.perform(driver.machine.ended(error, at: loop.now))
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
    driver.machine.answered(at: loop.now)
    let sound: StationSound
    switch station.content {
    case .programme(let frames): sound = frames
    case .file(let path): return handOver(path)
    }
    report(.answered(info))
    var new = Connection(sound: sound, begin: now, received: now)
    if hasBegun {
      let first = sound.count(by: StreamTime(now))
      if first < next {
        report(.reconnected(gap: 0, stitched: true, overlap: next - first))
      } else {
        new.landing = first
      }
    } else {
      hasBegun = true
      report(.format(sound.format))
    }
    connection = new
    // Changes while nobody was connected are over.
    _ = schedule.advance(to: now)
    if PlayerWait.isBurst(burst(of: sound)), tee.buffer?.burstCame() == true { report(.buffered) }
    let burst = Duration(inSeconds: burst(of: sound).seconds)
    _ = driver.machine.received(burst, isNew: new.landing == nil && burst > .zero, at: loop.now)
    advance()
  }

  /// Hands over to a receiver of files of this machine.
  private func handOver(_ path: String) {
    driver.disarm()
    driver.machine.stop()
    if tee.isRecorded, tee.buffer == nil { return copy(path) }
    guard let buffer = tee.buffer, !tee.isRecorded else { return driver.giveUp(.notRecorded(shownURL)) }
    let (report, info) = (report, info)
    let file = LocalReceiver(path: path, options: options, loop: loop, buffer: buffer) { event in
      switch event {
      case .connecting: break  // reported already
      case .answered: report(.answered(info))
      default: report(event)
      }
    }
    self.file = file
    file.start()
  }

  /// Sends the bytes of the file to the recording.
  private func copy(_ path: String) {
    guard tee.takesFile else { return driver.giveUp(.recordedAsIs(shownURL)) }
    do throws(RecordError) {
      let bytes = try FileBytes.withFile(path) { file, size throws(RecordError) in
        try FileBytes.read(file, path, at: 0, count: size)
      }
      guard let kind = CopiedKind(bytes, contentType: nil, path: driver.address.path, isWhole: true) else {
        return driver.giveUp(.noAudio(ContentSniffer.describe(bytes[...]), from: shownURL))
      }
      tee.beginFile(end: kind.fileEnd)
      report(.answered(info))
      report(.copying)
      tee.receive { delivery in bytes.withUnsafeBytes { delivery.append($0, at: 0, of: kind.format) } }
      report(.complete)
      end()
    } catch { driver.giveUp(StreamError(.content, error.message)) }
  }

  // MARK: Time

  func wakeTime(_ deadline: Instant?) -> Instant? {
    guard file == nil else { return nil }
    let isComing = connection != nil && !schedule.isSilent(at: now)
    if isComing, let end = restEnd() { return end }
    var step = now + Self.step
    if case .nextStep = pace { step = lastStep + Self.step }
    pace = .steps
    return [
      schedule.next.map { origin.advanced(by: $0) }, isComing ? origin.advanced(by: step) : deadline,
    ].compactMap(\.self).min()
  }

  func timePassed() {
    catchUp()
    let events = schedule.advance(to: now)
    if connection != nil, !events.isSilent {
      advance(isChange: events.isChange)
      if events.closes, connection != nil { lose(.ended(shownURL)) }
    } else if isAsking, station.answer(at: now, to: options.credentials) != .silence {
      answer()
    } else {
      driver.deadlinePassed()
    }
  }

  // MARK: Rest

  /// The longest rest.
  private static let longestRest = Duration.seconds(86_400)

  /// The end of the rest under way, or of one that begins now: the last step before the next event of the schedule. Nil
  /// while something but a clock follows the frames.
  private func restEnd() -> Instant? {
    if case .rests(_, let end) = pace { return end }
    guard case .steps = pace, lastStep == now, let open = connection, open.landing == nil, !open.isFresh,
      driver.machine.phase == .receiving, !tee.isRecorded, let buffer = tee.buffer, buffer.mayRest
    else { return nil }
    let free = min(Self.longestRest, schedule.next.map { $0 - now } ?? Self.longestRest)
    let count = (free.nanoseconds - 1) / Self.step.nanoseconds
    guard count > 1 else { return nil }
    let end = loop.now.advanced(by: Self.step * count)
    // The sound of a step comes at its end, in whole frames.
    let late = StreamTime(Self.step) + open.sound.start(of: 1)
    buffer.rest(
      StreamBuffer.Rest(since: loop.now, until: end, end: buffer.range.end - late) { [weak self] in
        self?.catchUp()
      })
    pace = .rests(buffer, until: end)
    return end
  }

  /// Makes the steps that a rest has left out, and steps from now on.
  private func catchUp() {
    guard case .rests(let buffer, _) = pace else { return }
    forgetRest()
    guard let open = connection, buffer === tee.buffer else { return }
    pace = .nextStep
    let count = (now - lastStep).nanoseconds / Self.step.nanoseconds
    let time = lastStep + Self.step * count
    let passed = driver.machine.passSteadily(time - lastStep)
    receive(from: lastStep + passed, to: time, isNew: true)
    connection?.received = time
    lastStep = time
    _ = deliver(open.sound, until: open.sound.count(by: StreamTime(time) + burst(of: open.sound)))
    driver.arm()
  }

  private func forgetRest() {
    if case .rests(let buffer, _) = pace { buffer.rest(nil) }
    pace = .steps
  }

  // MARK: Sound

  /// The sound that a new listener gets at once.
  private func burst(of sound: StationSound) -> StreamTime {
    station.burst.map { StreamTime($0) } ?? sound.time(ofBytes: 65_535)
  }

  /// Delivers the sound of the time that has passed.
  /// - Parameter isChange: true if the title may have changed.
  private func advance(isChange: Bool = false) {
    guard let open = connection else { return }
    if let first = open.landing, now - open.begin >= searchTime {
      connection?.landing = nil
      land(at: first, of: open.sound)
    }
    let isJoined = connection?.landing == nil
    let end = isJoined ? open.sound.count(by: StreamTime(now) + burst(of: open.sound)) : next
    advanceMachine(of: open, isNew: end > next)
    connection?.received = now
    lastStep = now
    if isJoined {
      // A new listener gets its title with the first of its sound.
      if open.isFresh { reportTitle() }
      connection?.isFresh = false
      guard deliver(open.sound, until: end) else { return }
      if isChange { reportTitle() }
    }
    driver.arm()
  }

  /// The time for which the real receiver searches for a join.
  private var searchTime: Duration {
    .seconds(isDry && !tee.isRecorded ? Stitcher.urgentSeconds : Stitcher.searchSeconds)
  }

  /// Reports the sound that came since the last step to the machine, as evenly as it came.
  private func advanceMachine(of open: Connection, isNew: Bool) {
    var received = open.received
    // Sound that did not come for long has come at once.
    if now - received > Self.step { received = now - .milliseconds(1) }
    receive(from: received, to: now, isNew: isNew)
  }

  private func receive(from begin: Duration, to end: Duration, isNew: Bool) {
    var received = begin
    while received < end {
      let next = min(end, received + .milliseconds(500))
      _ = driver.machine.received(next - received, isNew: isNew, at: origin.advanced(by: next))
      received = next
    }
  }

  /// Begins behind a gap: the frames of the new connection were not in the old one.
  private func land(at first: Int, of sound: StationSound) {
    let gap = (sound.start(of: first) - sound.start(of: next)).seconds
    next = first
    discontinuity = .gap(seconds: gap)
    report(.reconnected(gap: gap, stitched: false, overlap: 0))
  }

  /// Delivers pages of Ogg one by one, with the headers that their decoders need in front.
  /// - Returns: false when the buffer is full.
  private func deliverPages(
    of sound: StationSound, until end: Int, to delivery: inout FrameTee.Delivery
  ) -> Bool {
    while next < end {
      if headers == nil || discontinuity != nil, let new = sound.headers(of: next), new != headers {
        headers = new
        if new < next { _ = sound.withFrame(new) { delivery.append($0, $1, nil) } }
      }
      let arrival = sound.withFrame(next) { frame, bytes in
        if frame.isHeaders { headers = next }
        return delivery.append(frame, bytes, discontinuity)
      }
      guard arrival.isAccepted else { return false }
      discontinuity = nil
      next += 1
      if arrival.isEnough {
        isDry = false
        report(.buffered)
      }
    }
    return true
  }

  /// Puts the frames before `end` into the buffer.
  /// - Returns: false when it is full.
  private func deliver(_ sound: StationSound, until end: Int) -> Bool {
    let isAccepted = tee.receive { delivery in
      guard next < end else { return true }
      if sound.format.codec.isOgg { return deliverPages(of: sound, until: end, to: &delivery) }
      let (count, isEnough) = delivery.append(FrameRun(sound: sound, numbers: next..<end), discontinuity)
      next += count
      if count > 0 { discontinuity = nil }
      if isEnough {
        isDry = false
        report(.buffered)
      }
      return next == end
    }
    if !isAccepted {
      report(.full)
      self.end()
    }
    return isAccepted
  }

  private func reportTitle() {
    guard let title = station.title(at: now), title.text != lastTitle?.text || title.url != lastTitle?.url
    else { return }
    lastTitle = title
    let metadata = ICYMetadata(title: title.text, url: title.url)
    tee.markFromStation(StreamTitle(metadata))
    report(.metadata(metadata, at: tee.end))
  }
}
