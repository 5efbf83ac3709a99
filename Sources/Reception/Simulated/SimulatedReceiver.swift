internal import Codecs
package import EventLoop
internal import HTTP
package import StreamCore

/// Receives a simulated station, and reports the same events as the receiver of a real one, in the same
/// order: a `ConnectionMachine` decides here too.
///
/// Frames come about a second at a time; while only a clock follows them the reception rests, see
/// `StreamBuffer.Rest`, and the time line is the same. After a lost connection the station sends its burst
/// again: sound of the outage within the burst is stitched, and the rest is a gap, reported when the real
/// search would have given up. An HLS station continues with the frame after the last one, as long as its
/// list has it; the list grows during an outage too.
///
/// Unchecked: confined to the loop that it is created with.
package final class SimulatedReceiver: StreamReceiver, ConnectionOwner, @unchecked Sendable {
  /// The sound in one step, as a duration.
  static let step = Duration.seconds(1)

  let driver: ConnectionDriver
  let station: SimulatedStation
  private var options: ReceiverOptions
  let loop: EventLoop
  let tee: FrameTee
  let report: @Sendable (ReceiverEvent) -> Void

  /// The moment of the first request: the start of the station's programme.
  var origin = Instant.start
  var schedule: StationSchedule
  private var link = Link.none
  /// The connection that brings sound; nil without one.
  var connection: Connection? {
    get { if case .open(let connection) = link { connection } else { nil } }
    set { link = newValue.map { .open($0) } ?? .none }
  }
  /// The number of the last delivered Ogg headers.
  var headers: Int?
  /// The next frame to deliver.
  var next = 0
  private var hasBegun = false
  var discontinuity: PacketBuffer.Discontinuity?
  /// The last reported format.
  var format: StreamFormat?
  var lastTitle: SimulatedStation.Title?
  /// The receiver that replaces this one, once the station has turned out to be a file.
  private var file: LocalReceiver?
  /// The time of the last step.
  var lastStep = Duration.zero
  var pace = Pace.steps

  /// A state of the connection.
  private enum Link {
    case none
    /// A request without an answer so far.
    case asking
    case open(Connection)

    var isAsking: Bool { if case .asking = self { true } else { false } }
  }

  /// The moments at which frames are appended.
  enum Pace {
    /// At every step.
    case steps
    /// At the next step: the buffer was read during the rest.
    case nextStep
    /// At each read of this buffer, and at the end of the rest.
    case rests(StreamBuffer, until: Instant)
  }

  /// A connection that brings sound.
  struct Connection {
    let sound: StationSound
    let begin: Duration
    /// The time up to which its sound has come.
    var received: Duration
    /// The first frame, until the search for a join with the previous connection is over; nil after a join.
    var landing: Int?
    /// `true` if none of its sound has gone into the buffer.
    var isFresh = true
  }

  package init(
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

  package func start() {
    loop.post {
      self.origin = self.loop.now
      self.driver.start()
    }
  }

  package func stop() {
    loop.post {
      self.forgetRest()
      self.file?.stop()
      self.end()
    }
  }

  package func restart() { loop.post { self.driver.restart() } }

  package func change(_ options: ReceiverOptions) {
    loop.post {
      self.catchUp()
      self.options = options
      self.file?.change(options)
      self.setSilenceLimit()
    }
  }

  package func playerIsDry() {
    loop.post {
      if !self.isStopped, self.connection?.landing != nil { self.advance() }
    }
  }

  package func seek(to time: StreamTime, generation: Int) {
    loop.post { self.file?.seek(to: time, generation: generation) }
  }

  /// The time of the programme.
  var now: Duration { origin.duration(to: loop.now) }
  private var isStopped: Bool { driver.isStopped }
  private var shownURL: String { driver.shownURL }

  func end() {
    forgetRest()
    driver.end()
    link = .none
  }

  // MARK: Connections

  func connect(to address: StreamAddress) {
    report(.connecting)
    link = .asking
    // The answer comes in a turn of its own, as over a network.
    loop.next { [weak self] in self?.answer() }
  }

  func disconnected() {
    catchUp()
    link = .none
  }

  /// Does nothing: resuming is reported with the frames, which know how they join.
  func resumed() {}

  // A silent station is silent for all its listeners: only the adoption of a standby is visible.
  func adoptStandby() {
    catchUp()
    link = .asking
    report(.connecting)
  }

  private func answer() {
    guard !isStopped, link.isAsking else { return }
    let (answer, address) = (station.answer(at: now, to: options.credentials), driver.address)
    if answer != .silence { link = .none }
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
    link = .none
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
    case .nothing: return lose(.noAudio("nothing", from: driver.address.description))
    }
    report(.answered(info))
    var new = Connection(sound: sound, begin: now, received: now)
    if let window = sound.window {
      if hasBegun, !lands(in: window, of: sound) {
        report(.reconnected(gap: 0, stitched: true, overlap: 0))
      }
      hasBegun = true
      setSilenceLimit()
      driver.machine.setPaced(false, at: loop.now)
    } else if hasBegun {
      let first = sound.count(by: StreamTime(now))
      if first < next {
        report(.reconnected(gap: 0, stitched: true, overlap: next - first))
      } else {
        new.landing = first
      }
    } else {
      hasBegun = true
    }
    begin(sound.format(of: next))
    link = .open(new)
    // Changes while nothing was connected are over.
    _ = schedule.advance(to: now)
    let burst = Duration(inSeconds: burst(of: sound).seconds)
    _ = driver.machine.received(burst, isNew: new.landing == nil && burst > .zero, at: loop.now)
    advance()
  }

  /// Applies the longest time without bytes.
  private func setSilenceLimit() {
    var limit = options.dataTimeout
    if hasBegun, case .programme(let sound) = station.content {
      limit = max(limit, sound.window?.silenceLimit ?? .zero)
    }
    driver.setDataTimeout(limit)
  }

  /// Reports the format of the frames that follow, if it is a new one.
  func begin(_ new: StreamFormat) {
    guard new != format else { return }
    if format != nil { discontinuity = discontinuity ?? .format }
    format = new
    report(.format(new))
  }

  /// Hands over to a receiver of files on this machine.
  private func handOver(_ path: String) {
    driver.disarm()
    driver.machine.stop()
    if tee.isRecorded, tee.buffer == nil { return copy(path) }
    guard let buffer = tee.buffer, !tee.isRecorded else { return driver.giveUp(.notRecorded(shownURL)) }
    let (report, info) = (report, info)
    let file = LocalReceiver(path: path, options: options, loop: loop, buffer: buffer) { event in
      switch event {
      case .connecting: break  // reported already
      case .answered(let file):
        var info = info
        // The rate declared by a server, or that of the file: not that of the PCM.
        info.bitRate = info.bitRate ?? file.bitRate
        report(.answered(info))
      default: report(event)
      }
    }
    self.file = file
    file.start()
  }

  /// Sends the bytes of the file to the recording.
  private func copy(_ path: String) {
    guard tee.takesFile else { return driver.giveUp(.recordedAsIs(shownURL)) }
    let bytes: [UInt8]
    do { bytes = try WholeFile.read(path, atMost: .max) } catch {
      let cause = error.reason.prefix(1).lowercased() + error.reason.dropFirst()
      return driver.giveUp(
        StreamError(
          .content,
          error.errno == 0 ? "\(path.onOneLine) is not a file" : "can't open \(path.onOneLine): \(cause)"))
    }
    if let found = CopiedKind.refused(bytes) { return driver.giveUp(.noAudio(found, from: shownURL)) }
    guard let kind = CopiedKind(bytes, contentType: nil, path: driver.address.path, isWhole: true) else {
      return driver.giveUp(.noAudio(ContentSniffer.describe(bytes[...]), from: shownURL))
    }
    let endsWithin = tee.endsWithin
    guard !endsWithin || kind.format.codec.hasFrames else {
      return driver.giveUp(.recordedWhole(kind.format.codec, shownURL))
    }
    var ogg = OggStart()
    if kind.format.codec == .ogg, let damage = bytes.withUnsafeBytes({ ogg.receive($0) }) ?? ogg.end() {
      return driver.giveUp(.noAudio(damage, from: shownURL))
    }
    tee.beginFile(end: endsWithin ? nil : kind.fileEnd)
    report(.answered(info))
    report(.copying)
    if endsWithin {
      var frames = FileFrames(kind, contentType: nil)
      if let found = bytes.withUnsafeBytes({ frames.receive($0, into: tee) }) ?? frames.end(into: tee) {
        return driver.giveUp(.noAudio(found, from: shownURL))
      }
    } else {
      tee.receive { outlets in bytes.withUnsafeBytes { outlets.append($0, at: 0, of: kind.format) } }
    }
    report(.complete)
    end()
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
    } else if link.isAsking, station.answer(at: now, to: options.credentials) != .silence {
      answer()
    } else {
      driver.deadlinePassed()
    }
  }
}
