internal import Codecs
internal import EventLoop
internal import HTTP

/// Receives one stream: connects, takes it apart, joins its connections, fills the buffer.
///
/// Unchecked: confined to the loop of its network thread once `start` was posted there; what it is made of comes in by
/// `init`.
final class Reception: StreamReceiver, HTTPReceiver, @unchecked Sendable {
  enum Body {
    /// Too little has come to tell what it is.
    case unknown([UInt8])
    /// A list, of which `list` has come.
    case playlist(Playlist.Format)
    case audio
    /// Nothing more is taken of it.
    case done
  }

  /// The stream's own URL, whose server alone is told who asks.
  private let origin: String
  let network: NetworkThread
  let loop: EventLoop
  var options: Options
  let outlet: FrameOutlet
  let tell: @Sendable (ReceptionEvent) -> Void
  var machine: ConnectionMachine
  var transfer: HTTPTransfer?
  /// Beside a transfer that has stalled.
  var standby: StandbyConnection?
  /// The player has nothing left to play.
  var isDry = false
  /// When what is received came, while that is not now.
  var moment: Instant?
  private var timer: LoopTimer?
  /// When the timer looks.
  private var timerDue: Instant?
  /// How often the transfer is read, by the clock; nil when it is read as its bytes come.
  var pace: Duration?
  var head: HTTPResponse?
  var body = Body.done
  private var list: [UInt8] = []
  var sound = ReceivedSound()
  var titles = ReceivedTitles()
  var stitcher = Stitcher()
  private var lastByte = Instant.start
  var soundClock = SoundClock()
  var format: StreamFormat?
  var discontinuity: PacketBuffer.Discontinuity?
  var pause = TransferPause()
  var repetition = RepeatedBody()
  /// Frames have gone into the buffer since the machine was told of what came.
  var hasDelivered = false
  var isStopped = false
  /// Receives in place of this, once what is received has turned out to be a file.
  var file: (any FileReceiver)?

  /// - Parameters:
  ///   - depth: lists that led to `url`.
  ///   - tell: called on the network thread.
  init(
    url: String, depth: Int = 0, options: Options, network: NetworkThread, outlet: FrameOutlet,
    tell: @escaping @Sendable (ReceptionEvent) -> Void
  ) {
    origin = url
    self.network = network
    loop = network.loop
    self.options = options
    self.outlet = outlet
    self.tell = tell
    machine = ConnectionMachine(url: url, depth: depth, dataTimeout: options.dataTimeout)
  }

  func start() {
    outlet.onDiskRoom { [weak self] in
      guard let self else { return }
      loop.post { self.diskHasRoom() }
    }
    loop.post { self.perform(self.machine.start(at: self.now)) }
  }

  func stop() {
    loop.post { self.end() }
  }

  func restart() {
    loop.post {
      self.isStopped = false
      self.perform(self.machine.restart(at: self.now))
    }
  }

  func change(_ options: Options) {
    loop.post {
      self.options = options
      self.file?.change(self.options(for: self.machine.currentURL))
      self.machine.setDataTimeout(options.dataTimeout)
      self.arm()
      self.keepPace()
    }
  }

  func playerIsDry() {
    loop.post {
      guard !self.isStopped, self.file == nil else { return }
      self.isDry = true
      self.setSearchTime()
      if let action = self.stitcher.decide(at: self.seconds) { self.resolve(action) }
      self.perform(self.isUrgent ? self.machine.playerIsDry(at: self.now) : [])
    }
  }

  /// What is due may be due now, by a clock that others move.
  func clockMoved() {
    loop.post { self.timePassed() }
  }

  /// The URL of the transfer without user and password.
  var shownURL: String { StreamURL.shown(machine.currentURL) }

  var clock: ReceptionClock { options.clock }
  var now: Instant { moment ?? clock.now(loop) }
  var seconds: Double { Double(now.nanoseconds) / 1e9 }

  // MARK: Connections

  /// Whether nobody can wait for what may still come. A join that comes too early is heard for a moment, but recorded
  /// for ever.
  var isUrgent: Bool { isDry && !outlet.isRecorded }

  func setSearchTime() {
    stitcher.searchSeconds = isUrgent ? Stitcher.urgentSeconds : Stitcher.searchSeconds
  }

  func perform(_ actions: [ConnectionMachine.Action]) {
    for action in actions {
      if isStopped { return }
      switch action {
      case .connect(let url): connect(url)
      case .disconnect: disconnect()
      case .tell(let error): tell(.failed(error))
      case .giveUp(let error):
        tell(.gaveUp(error))
        end()
      case .resumed: break  // told by the stitcher's action, which knows how
      case .connectStandby(let url): connectStandby(url)
      case .disconnectStandby: disconnectStandby()
      case .adoptStandby: adoptStandby()
      }
    }
    arm()
  }

  private func connect(_ url: String) {
    tell(.connecting)
    expectAnswer()
    do throws(HTTPError) { transfer = network.start(try request(url), on: self) } catch {
      // In a turn of its own: `perform` is in the middle of what was to be done.
      let failure = StreamError(error, url: StreamURL.shown(url))
      loop.next { if !self.isStopped { self.perform(self.machine.ended(failure, at: self.now)) } }
    }
  }

  /// A connection begins.
  func expectAnswer() {
    (head, pace, hasDelivered) = (nil, nil, false)
    body = .unknown([])
  }

  func request(_ url: String) throws(HTTPError) -> HTTPRequest {
    var request = try HTTPRequest(url)
    request.userAgent = options.userAgent
    if let file = options.certificateFile { request.certificateFile = file }
    if let credentials = options(for: url).credentials { request.credentials = credentials }
    request.wakeTime = options.wakeTime
    request.wantsICY = options.isFile != true
    request.decodesUnasked = true
    // What is asked of a host that is away is lost, and asked again ever more rarely: a new attempt is sooner.
    if machine.hasSounded { request.connectTimeout = Self.reconnectTimeout }
    return request
  }

  private static let reconnectTimeout = Duration.seconds(6)

  private func options(for url: String) -> Options {
    var options = options
    options.credentials = options.credentials(for: url, from: origin)
    return options
  }

  /// Ends a transfer; its frames that are not joined yet are no part of the stream.
  func disconnect() {
    transfer?.cancel()
    transfer = nil
    lose()
  }

  func lose() {
    pause.release()
    guard case .audio = body else { return body = .done }
    body = .done
    setSearchTime()
    if let action = stitcher.lost(at: lastArrival, pending: sound.pendingBytes) {
      resolve(action)
    }
  }

  /// When the last byte came.
  var lastArrival: Double {
    soundClock.lastArrival(
      readAt: Double(lastByte.nanoseconds) / 1e9, pending: sound.pendingBytes,
      after: pace.map { StreamTime($0).seconds })
  }

  func seek(to time: StreamTime, leap: Int) {
    loop.post { self.file?.seek(to: time, leap: leap) }
  }

  func end() {
    isStopped = true
    file?.end()
    machine.stop()
    disarm()
    disconnectStandby()
    transfer?.cancel()
    transfer = nil
  }

  private func disarm() {
    timer?.cancel()
    (timer, timerDue) = (nil, nil)
  }

  func arm() {
    // Nothing is missing while nothing is read.
    guard !isStopped, var due = pause.isHolding ? pause.end : machine.deadline else { return disarm() }
    if let end = stitcher.searchEnd {
      let soon = now.advanced(by: .milliseconds(500))
      let end = Instant(nanoseconds: Int64((end * 1e9).rounded(.up)))
      due = min(due, end > now ? end : soon)
    }
    // Who is read seldom need not be looked at to the millisecond: those that are due at about the same time wake the
    // thread once.
    if pace != nil { due = due.advanced(by: Self.timerGrain).roundedDown(to: Self.timerGrain) }
    // What is due moves on with all that comes: a timer that is too early looks again.
    if let timerDue, timerDue <= due, timerDue > now { return }
    disarm()
    guard let wait = clock.sleep(due, loop) else { return }
    timerDue = due
    timer = loop.after(wait) { [weak self] in self?.timePassed() }
  }

  private static let timerGrain = Duration.milliseconds(100)

  private func timePassed() {
    guard !isStopped else { return }
    timerDue = nil
    if pause.isHolding { return pause.timePassed(at: now) ? readAgain() : arm() }
    if let action = stitcher.decide(at: seconds) { resolve(action) }
    perform(machine.deadlinePassed(at: now))
  }

  // MARK: A transfer

  func receiveHead(_ head: HTTPResponse) -> HTTPFlow {
    guard !isStopped else { return .stop }
    self.head = head
    guard head.status < 400 else {
      let wait = head.retryAfter(at: loop.wallNow)
      let error = StreamError.answer(head.status, url: head.url, retryAfter: wait)
      transfer = nil
      body = .done
      perform(machine.ended(error, retryAfter: wait ?? .zero, at: now))
      return .stop
    }
    machine.answered(at: now)
    if options.isRaw {
      if !isFile(head) || isPlayedOnly { beginAudio() }
    } else if let format = options.playlist, !machine.isListed {
      (body, list) = (.playlist(format), [])
    }
    arm()
    return .more
  }

  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    guard !isStopped else { return .stop }
    if let file { return file.receiveBody(bytes) }
    lastByte = now
    switch body {
    case .unknown(let start):
      let start = start + bytes
      body = .unknown(start)
      if start.count >= 64 {
        let flow = recognise(start, isWhole: false)
        guard case .unknown = body else { return flow }
      }
    case .playlist:
      guard list.count + bytes.count <= Playlist.sizeLimit else {
        return drop(StreamError(.content, "the playlist \(shownURL) has more than 1 MiB"))
      }
      list += bytes
    case .audio:
      if case .stop = take(bytes) { return .stop }
      return holdBack()
    case .done: return .stop
    }
    // Something has come: the connection is not silent.
    perform(machine.received(.zero, at: now))
    return .more
  }

  func receiveEnd(_ failure: HTTPError?) {
    guard !isStopped else { return }
    if let file { return file.receiveEnd(failure) }
    transfer = nil
    let now = now
    switch body {
    case .unknown(let start) where !start.isEmpty:
      if case .stop = recognise(start, isWhole: true) { return }
      if case .unknown = body { break }
      if let file { return file.receiveEnd(failure) }
      return receiveEnd(failure)
    case .playlist(let format) where failure == nil:
      let text = list
      (body, list) = (.done, [])
      do throws(StreamError) {
        perform(machine.found(try Playlist(text, format: format, base: machine.currentURL), at: now))
      } catch { perform(machine.ended(error, at: now)) }
      return
    case .audio where format == nil:
      // Too little came to tell what it is: what it is not may be told now.
      if let found = sound.end() {
        _ = drop(.noAudio(found, from: shownURL))
        return
      }
    default: break
    }
    if failure == nil, repetition.mayBeFile { takeLast() }
    if repetition.ended(isComplete: failure == nil) { return finish() }
    lose()
    let error =
      failure.map { StreamError($0, url: shownURL) } ?? .ended(shownURL)
    perform(machine.ended(error, at: now))
  }

  /// What came of a connection can't be used.
  func drop(_ error: StreamError) -> HTTPFlow {
    transfer = nil
    lose()
    perform(machine.ended(error, at: now))
    return .stop
  }

  private func recognise(_ start: [UInt8], isWhole: Bool) -> HTTPFlow {
    let (type, path) = (head?.contentType?.name, StreamURL.path(machine.currentURL))
    if !options.isRaw, let format = Playlist.format(start: start, contentType: type, path: path) {
      (body, list) = (.playlist(format), start)
      return .more
    }
    if let head, isFile(head), !isPlayedOnly {
      // That it is a file is of no use to know where it is a page.
      switch FileAnswer.content(start, isWhole: isWhole) {
      case .unknown: return .more
      case .text(let found): return drop(.noAudio(found, from: shownURL))
      case .other: break
      }
    }
    beginAudio()
    if isStopped { return .stop }
    return start.withUnsafeBytes { file?.receiveBody($0) ?? take($0) }
  }

  // MARK: Sound

  private func beginAudio() {
    body = .audio
    guard let head else { return }
    sound.connect(head)
    titles.connect()
    soundClock = SoundClock()
    pause = TransferPause()
    repetition.connect(mayBeFile: options.isFile != false && !FileAnswer.isStation(head), at: now)
    if isFile(head) { handOver(head) }
  }

  /// Whether an answer is a file. What comes in the place of a station that has sounded is none, whatever it looks like.
  private func isFile(_ head: HTTPResponse) -> Bool {
    if machine.hasSounded { return false }
    return options.isFile ?? FileAnswer.isFile(head)
  }

  /// True if somebody plays, and nobody records.
  private var isPlayedOnly: Bool { outlet.buffer != nil && !outlet.isRecorded }

  /// Ends a reception that can't go on with what it has found.
  private func refuse(_ error: StreamError) {
    tell(.gaveUp(error))
    end()
  }

  /// Lets the transfer, and all that follows, be received as a file.
  private func handOver(_ head: HTTPResponse) {
    disarm()
    let url = machine.currentURL
    let (rest, options) = (machine.candidates, options(for: url))
    machine.stop()
    let file: any FileReceiver
    if outlet.isRecorded {
      guard outlet.buffer == nil else { return refuse(.notRecorded(shownURL)) }
      guard outlet.takesFile else { return refuse(.recordedAsIs(shownURL)) }
      file = FileCopy(url: url, head: head, options: options, network: network, outlet: outlet, tell: tell)
    } else if let buffer = outlet.buffer {
      file = FileReception(
        url: url, head: head, options: options, network: network, buffer: buffer, tell: tell)
      if !rest.isEmpty {
        buffer.isFollowed = true
        tell(.programme(rest))
      }
    } else {
      return refuse(.notRecorded(shownURL))
    }
    self.file = file
    file.adopt(transfer)
    transfer = nil
  }
}
