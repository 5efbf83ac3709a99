internal import Codecs
internal import EventLoop
internal import HTTP

/// Receives one stream: connects, takes it apart, joins its connections, fills the buffer.
///
/// Unchecked: confined to the loop of its network thread once `start` was posted there; what it is made of comes in by
/// `init`.
final class Reception: StreamReceiver, HTTPReceiver, @unchecked Sendable {
  private enum Body {
    /// Too little has come to tell what it is.
    case unknown([UInt8])
    /// A list, of which `list` has come.
    case playlist(Playlist.Format)
    case audio
    /// Nothing more is taken of it.
    case done
  }

  /// The server of the stream's own URL.
  private let host: String?
  private let network: NetworkThread
  private let loop: EventLoop
  private var options: Options
  private let outlet: FrameOutlet
  private let tell: @Sendable (ReceptionEvent) -> Void
  private(set) var machine: ConnectionMachine
  private var transfer: HTTPTransfer?
  private var timer: LoopTimer?
  /// When the timer looks.
  private var timerDue: Instant?
  /// How often the transfer is read, by the clock; nil when it is read as its bytes come.
  private(set) var pace: Duration?
  private var head: HTTPResponse?
  private var body = Body.done
  private var list: [UInt8] = []
  private(set) var sound = ReceivedSound()
  private var titles = ReceivedTitles()
  private var stitcher = Stitcher()
  private var lastByte = Instant.start
  private var soundClock = SoundClock()
  private var format: StreamFormat?
  private var discontinuity: PacketBuffer.Discontinuity?
  /// Frames have gone into the buffer since the machine was told of what came.
  private var hasDelivered = false
  private var isStopped = false
  /// Receives in place of this, once what is received has turned out to be a file.
  private var file: FileReception?

  /// - Parameters:
  ///   - tell: called on the network thread.
  init(
    url: String, options: Options, network: NetworkThread, outlet: FrameOutlet,
    tell: @escaping @Sendable (ReceptionEvent) -> Void
  ) {
    host = StreamURL.host(url)
    self.network = network
    loop = network.loop
    self.options = options
    self.outlet = outlet
    self.tell = tell
    machine = ConnectionMachine(url: url, dataTimeout: options.dataTimeout)
  }

  func start() {
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
      if !self.isStopped, self.file == nil, let action = self.stitcher.decide(at: self.seconds, isFinal: true)
      {
        self.resolve(action)
      }
    }
  }

  /// What is due may be due now, by a clock that others move.
  func clockMoved() {
    loop.post { self.timePassed() }
  }

  /// The URL of the transfer without user and password.
  private var shownURL: String { StreamURL.shown(machine.currentURL) }

  private var clock: ReceptionClock { options.clock }
  private var now: Instant { clock.now(loop) }
  private var seconds: Double { Double(now.nanoseconds) / 1e9 }

  // MARK: Connections

  private func perform(_ actions: [ConnectionMachine.Action]) {
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
      }
    }
    arm()
  }

  private func connect(_ url: String) {
    tell(.connecting)
    (head, pace, hasDelivered) = (nil, nil, false)
    body = .unknown([])
    do throws(HTTPError) {
      var request = try HTTPRequest(url)
      request.userAgent = options.userAgent
      if let credentials = options(for: url).credentials { request.credentials = credentials }
      request.wakeTime = options.wakeTime
      request.wantsICY = options.isFile != true
      request.decodesUnasked = true
      transfer = network.start(request, on: self)
    } catch {
      // In a turn of its own: `perform` is in the middle of what was to be done.
      let failure = StreamError(error, url: StreamURL.shown(url))
      loop.next { if !self.isStopped { self.perform(self.machine.ended(failure, at: self.now)) } }
    }
  }

  /// What is asked of the server of `url`: where a list leads to another server, that one is not told who asks.
  private func options(for url: String) -> Options {
    var options = options
    if StreamURL.host(url) != host { options.credentials = nil }
    return options
  }

  /// Ends a transfer; its frames that are not joined yet are no part of the stream.
  private func disconnect() {
    transfer?.cancel()
    transfer = nil
    lose()
  }

  private func lose() {
    guard case .audio = body else { return body = .done }
    body = .done
    let read = Double(lastByte.nanoseconds) / 1e9
    let pending = sound.pendingBytes
    let time = soundClock.lastArrival(
      readAt: read, pending: pending, after: pace.map { StreamTime($0).seconds })
    if let action = stitcher.lost(at: time, pending: pending) {
      resolve(action)
    }
  }

  func seek(to time: StreamTime, leap: Int) {
    loop.post { self.file?.seek(to: time, leap: leap) }
  }

  private func end() {
    isStopped = true
    file?.end()
    machine.stop()
    disarm()
    transfer?.cancel()
    transfer = nil
  }

  private func disarm() {
    timer?.cancel()
    (timer, timerDue) = (nil, nil)
  }

  private func arm() {
    guard !isStopped, var due = machine.deadline else { return disarm() }
    if stitcher.isJoining { due = min(due, now.advanced(by: .milliseconds(500))) }
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
      if !isRefused(head) { beginAudio() }
    } else if let format = options.playlist {
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
    case .audio: return take(bytes)
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
    lose()
    let error =
      failure.map { StreamError($0, url: shownURL) } ?? .ended(shownURL)
    perform(machine.ended(error, at: now))
  }

  /// What came of a connection can't be used.
  private func drop(_ error: StreamError) -> HTTPFlow {
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
    if let head, isRefused(head) {
      // That it is a file is of no use to know where it is a page.
      switch FileAnswer.content(start, isWhole: isWhole) {
      case .unknown: return .more
      case .text(let found): return drop(.noAudio(found, from: shownURL))
      case .other: return refuse()
      }
    }
    beginAudio()
    return start.withUnsafeBytes { file?.receiveBody($0) ?? take($0) }
  }

  // MARK: Sound

  private func beginAudio() {
    body = .audio
    guard let head else { return }
    sound.connect(head)
    titles.connect()
    soundClock = SoundClock()
    if isFile(head) { handOver(head) }
  }

  /// Whether an answer is a file. What comes in the place of a station that has sounded is none, whatever it looks like.
  private func isFile(_ head: HTTPResponse) -> Bool {
    if machine.hasSounded { return false }
    return options.isFile ?? FileAnswer.isFile(head)
  }

  /// Whether an answer is a file while something is recorded, or nobody plays.
  private func isRefused(_ head: HTTPResponse) -> Bool {
    isFile(head) && (outlet.buffer == nil || outlet.isRecorded)
  }

  /// A file can't be recorded.
  private func refuse() -> HTTPFlow {
    tell(.gaveUp(.notRecorded(shownURL)))
    end()
    return .stop
  }

  /// Lets the transfer, and all that follows, be received as a file.
  private func handOver(_ head: HTTPResponse) {
    disarm()
    let url = machine.currentURL
    guard let buffer = outlet.buffer, !outlet.isRecorded else { return _ = refuse() }
    machine.stop()
    let file = FileReception(
      url: url, head: head, options: options(for: url), network: network, buffer: buffer, tell: tell)
    self.file = file
    file.adopt(transfer)
    transfer = nil
  }

  private func take(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    var received = StreamTime.zero
    let time = seconds
    var isTaken = true
    var isNew = false
    var otherwise: String?
    outlet.receive { intake in
      sound.take(bytes) { item in
        switch item {
        case .title(let block): titles.add(block, encoding: options.encoding)
        case .format(let new):
          if let head { tell(.answered(StationInfo(head))) }
          begin(new)
          isNew = true
        case .frame(let frame, let bytes, let pending):
          received = received + frame.duration
          isTaken = take(frame, bytes, at: time, pending: pending, into: &intake)
        case .notAudio(let found): otherwise = found
        }
        return isTaken && !isStopped && otherwise == nil
      }
    }
    if !isTaken { lose() }
    if isStopped { return .stop }
    if let otherwise { return drop(.noAudio(otherwise, from: shownURL)) }
    if isNew, let codec = format?.codec, !codec.hasFrames, outlet.buffer != nil, !outlet.isRecorded {
      return drop(.notPlayed(codec, shownURL))
    }
    let audio = Duration.nanoseconds(Int64(received.seconds * 1e9))
    perform(machine.received(audio, isNew: hasDelivered, at: now, look: pace ?? .zero))
    hasDelivered = false
    keepPace()
    return isStopped ? .stop : .more
  }

  /// What nobody hears need not be read as it comes.
  private func keepPace() {
    let isHeard = outlet.buffer != nil || stitcher.isJoining
    let wanted = isHeard ? nil : machine.longestLook
    guard wanted != pace else { return }
    pace = wanted
    transfer?.setPace(wanted.flatMap { clock.sleep(now.advanced(by: $0), loop) })
  }

  private func begin(_ new: StreamFormat) {
    if format != nil, format != new { discontinuity = discontinuity ?? .format }
    format = new
    tell(.format(new))
  }

  /// - Returns: false when the buffer is full, which ends the connection.
  private func take(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, at time: Double, pending: Int,
    into intake: inout FrameOutlet.Intake
  ) -> Bool {
    soundClock.add(frame, at: time)
    let action = stitcher.receive(frame, bytes, at: time, pending: pending)
    if case .pass = action { return deliver(frame, bytes, into: &intake) }
    return release(action, into: &intake)
  }

  private func resolve(_ action: Stitcher.Action) {
    if !outlet.receive({ release(action, into: &$0) }) { lose() }
  }

  /// - Returns: false when the buffer is full, which ends the connection.
  private func release(_ action: Stitcher.Action, into intake: inout FrameOutlet.Intake) -> Bool {
    switch action {
    case .pass, .hold: return true
    case .joined(let overlap, _):
      tell(.reconnected(gap: 0, stitched: true, overlap: overlap))
    case .gap(let seconds):
      discontinuity = .gap(seconds: seconds)
      tell(.reconnected(gap: seconds, stitched: false, overlap: 0))
    }
    var isTaken = true
    stitcher.release { frame, bytes in
      isTaken = deliver(frame, bytes, into: &intake)
      return isTaken
    }
    return isTaken
  }

  /// - Returns: false when the buffer is full, which ends the connection.
  private func deliver(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, into intake: inout FrameOutlet.Intake
  ) -> Bool {
    guard !isStopped else { return false }
    let title = titles.next(before: frame.offset + frame.length)
    let arrival = intake.append(frame, bytes, discontinuity, title: title.map { StreamTitle($0) })
    hasDelivered = true
    discontinuity = nil
    guard arrival.isTaken else {
      // What follows is lost: when it is received again, that is a gap, and its title is told.
      if title != nil { titles.takeBack() }
      tell(.full)
      end()
      return false
    }
    if arrival.isEnough { tell(.buffered) }
    if let title { tell(.metadata(title, at: arrival.start)) }
    return true
  }
}
