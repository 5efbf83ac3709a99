internal import Codecs
internal import EventLoop
package import HTTP
package import StreamCore

/// Receives one stream: connects, separates titles from sound, joins its connections, and fills the tee.
///
/// Unchecked: confined to the loop of its network thread once `start` was posted there; `init` passes in all
/// its parts.
package final class StationReceiver: StreamReceiver, HTTPReceiver, ConnectionOwner, @unchecked Sendable {
  enum Body {
    /// Too few bytes have come to recognise it.
    case unknown([UInt8])
    /// A list, with its bytes so far.
    case playlist(Playlist.Format, [UInt8])
    case audio
    /// The remaining bytes are ignored.
    case done
  }

  let outlet: SoundOutlet
  let connection: StationConnection
  /// The connection beside a stalled transfer.
  var standby: StandbyConnection?
  var head: HTTPResponse?
  var body = Body.done
  var sound = ReceivedSound()
  var titles = ReceivedTitles()
  var stitcher = Stitcher()
  private var lastByte = Instant.start
  /// `true` while the first entry of a list is requested, which is part of the attempt that led to the list.
  private var isFollowingList = false
  var soundClock = SoundClock()
  var repetition = RepeatedBody()
  /// The receiver that replaces this one, once the stream has turned out to be a file.
  var file: (any AdoptingReceiver)?
  /// The segments, once the stream has turned out to be HLS.
  var hls: HLSReception?

  /// - Parameters:
  ///   - depth: the number of lists that led to `address`.
  ///   - report: called on the network thread.
  package init(
    at address: StreamAddress, depth: Int = 0, options: ReceiverOptions, network: NetworkThread,
    tee: FrameTee, report: @escaping @Sendable (ReceiverEvent) -> Void
  ) {
    outlet = SoundOutlet(into: tee, report: report)
    connection = StationConnection(to: address, depth: depth, options, on: network, outlet)
    driver.owner = self
  }

  var driver: ConnectionDriver { connection.driver }
  private var loop: EventLoop { connection.loop }
  private var network: NetworkThread { connection.network }
  var options: ReceiverOptions { connection.options }
  var tee: FrameTee { outlet.tee }

  package func start() {
    tee.onDiskRoom { [weak self] in
      guard let self else { return }
      loop.post { self.diskHasRoom() }
    }
    loop.post { self.driver.start() }
  }

  package func stop() { loop.post { self.end() } }

  package func restart() { loop.post { self.driver.restart() } }

  package func change(_ options: ReceiverOptions) {
    loop.post {
      self.connection.options = options
      self.file?.change(self.connection.options(for: self.driver.address))
      self.connection.setSilenceLimit(self.hls?.silenceLimit ?? .zero)
      self.connection.keepPace(isJoining: self.stitcher.isJoining)
    }
  }

  package func playerIsDry() {
    loop.post {
      guard !self.isStopped, self.file == nil else { return }
      self.setSearchTime()
      if let action = self.stitcher.decide(at: self.seconds) { self.resolve(action) }
      self.driver.perform(self.isUrgent ? self.driver.machine.playerIsDry(at: self.now) : [])
      self.beginDetour()
    }
  }

  package func seek(to time: StreamTime, generation: Int) {
    loop.post {
      self.file?.seek(to: time, generation: generation)
      self.hls?.seek(to: time, generation: generation)
    }
  }

  package func rest() { loop.post { self.file?.rest() } }

  package func receiveEarlier(from time: StreamTime) {
    loop.post {
      guard !self.isStopped, let hls = self.hls else {
        return self.outlet.report(.earlier(from: time, [], nil))
      }
      hls.receiveEarlier(from: time)
    }
  }

  /// Handles everything that is due, after its clock was moved from outside.
  func clockMoved() {
    loop.post { self.driver.wake() }
  }

  var isStopped: Bool { driver.isStopped }
  /// The URL of the transfer without user and password.
  var shownURL: String { driver.shownURL }
  var now: Instant { driver.now }
  var seconds: Double { Double(now.nanoseconds) / 1e9 }

  // MARK: Connections

  /// `true` if only a dry player waits for sound, which need not be complete. A join that comes too early is
  /// heard for a moment, but recorded for ever.
  var isUrgent: Bool { tee.isDry && !tee.isRecorded && options.catchUp == .skip }

  func setSearchTime() {
    stitcher.searchSeconds = isUrgent ? Stitcher.urgentSeconds : Stitcher.searchSeconds
  }

  func connect(to address: StreamAddress) {
    if !isFollowingList { outlet.report(.connecting) }
    expectAnswer()
    driver.open(address) { () throws(HTTPError) in network.start(try connection.request(address), on: self) }
  }

  /// Resets the state of one connection, as a new one begins.
  func expectAnswer() {
    (head, driver.pace) = (nil, nil)
    _ = outlet.drainDelivered()
    body = .unknown([])
  }

  /// Ends the search for a join; frames that are not joined yet are not part of the stream.
  func disconnected() {
    outlet.pause.release()
    hls?.close()
    guard case .audio = body else { return body = .done }
    body = .done
    setSearchTime()
    if let action = stitcher.lost(at: lastDue, pending: sound.pendingBytes) {
      resolve(action)
    }
  }

  /// Does nothing: the stitcher's action reports it, with the way in which the sound joins.
  func resumed() {}

  /// The time at which the last byte was due, in seconds: not later than it was read.
  var lastDue: Double {
    let read = Double(lastByte.nanoseconds) / 1e9
    return min(read, soundClock.due(pending: sound.pendingBytes) ?? read)
  }

  func end() {
    driver.end()
    file?.end()
    hls?.end()
    disconnectStandby()
    outlet.detour = nil
  }

  func wakeTime(_ deadline: Instant?) -> Instant? {
    if hls?.isAtRest == true { return nil }
    // No sound is missing while reading is paused.
    guard var due = outlet.pause.isHolding ? outlet.pause.end : deadline else { return hls?.deadline }
    if let moment = hls?.deadline { due = min(due, moment) }
    if let end = stitcher.searchEnd {
      let soon = now.advanced(by: .milliseconds(500))
      let end = Instant(nanoseconds: Int64((end * 1e9).rounded(.up)))
      due = min(due, end > now ? end : soon)
    }
    // Paced receivers round their deadline up to 100 ms, so that one wake-up serves many.
    if driver.pace != nil { due = due.advanced(by: Self.timerGrain).roundedDown(to: Self.timerGrain) }
    return due
  }

  private static let timerGrain = Duration.milliseconds(100)

  func timePassed() {
    hls?.deadlinePassed()
    guard !isStopped else { return }
    if outlet.pause.isHolding { return outlet.pause.timePassed(at: now) ? readAgain() : driver.arm() }
    if let action = stitcher.decide(at: seconds) { resolve(action) }
    if driver.machine.phase != .waiting, let deadline = driver.machine.deadline, now >= deadline {
      hls?.silent()
    }
    driver.deadlinePassed()
  }

  // MARK: A transfer

  package func receiveHead(_ head: HTTPResponse) -> HTTPFlow {
    guard !isStopped else { return .stop }
    self.head = head
    guard head.status < 400 else {
      body = .done
      return driver.refused(head)
    }
    driver.machine.answered(at: now)
    if options.isRaw {
      if !isFile(head) || isPlayedOnly { beginAudio() }
    } else if let format = options.playlist, !driver.machine.isListed {
      body = .playlist(format, [])
    }
    driver.arm()
    return .more
  }

  package func receiveBody(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    guard !isStopped else { return .stop }
    lastByte = now
    switch body {
    case .unknown(let start):
      let start = start + bytes
      body = .unknown(start)
      if start.count >= 64 {
        let flow = recognise(start, isWhole: false)
        // Content other than sound may have led to the next entry of a list, whose body is not known either.
        if case .stop = flow { return .stop }
        guard case .unknown = body else { return flow }
      }
    case .playlist(let format, var list):
      guard list.count + bytes.count <= Playlist.sizeLimit else {
        return drop(StreamError(.content, "the playlist \(shownURL) has more than 1 MiB"))
      }
      body = .done  // so that the received bytes are not copied
      list += bytes
      body = .playlist(format, list)
    case .audio:
      if case .stop = receive(bytes) { return .stop }
      return stitcher.isJoining ? .more : connection.flow(lead: .zero)
    case .done: return .stop
    }
    // The connection is not silent.
    driver.perform(driver.machine.received(.zero, at: now))
    return .more
  }

  package func receiveEnd(_ failure: HTTPError?) {
    guard !isStopped else { return }
    driver.transfer = nil
    let now = now
    switch body {
    case .unknown(let start) where !start.isEmpty:
      if case .stop = recognise(start, isWhole: true) { return }
      if case .unknown = body { break }
      if let file { return file.receiveEnd(failure) }
      return receiveEnd(failure)
    case .unknown where failure == nil:
      _ = drop(.empty(shownURL, status: head?.status ?? 200))
      return
    case .playlist(let format, let text) where failure == nil:
      body = .done
      if format == .m3u, HLSPlaylist.isHLS(text) { return open(segments: text) }
      do throws(StreamError) {
        let list = try Playlist(text, format: format, base: driver.address)
        isFollowingList = true
        driver.perform(driver.machine.found(list, at: now))
        isFollowingList = false
      } catch { driver.perform(driver.machine.ended(error, at: now)) }
      return
    case .audio where outlet.format == nil:
      // Too few bytes came to recognise it; text may be recognised now.
      if let found = sound.end() {
        _ = drop(.noAudio(found, from: shownURL))
        return
      }
    default: break
    }
    if failure == nil, repetition.mayBeFile { receiveLast() }
    if repetition.ended(isComplete: failure == nil) { return finish() }
    disconnected()
    let error =
      failure.map { StreamError($0, at: driver.address) } ?? .ended(shownURL)
    driver.perform(driver.machine.ended(error, at: now))
  }

  /// Ends a connection without usable content.
  func drop(_ error: StreamError) -> HTTPFlow {
    driver.transfer = nil
    disconnected()
    driver.perform(driver.machine.ended(error, at: now))
    return .stop
  }

  private func recognise(_ start: [UInt8], isWhole: Bool) -> HTTPFlow {
    let (type, path) = (head?.contentType?.name, driver.address.path)
    if !options.isRaw, let format = Playlist.format(start: start, contentType: type, path: path) {
      body = .playlist(format, start)
      return .more
    }
    if let head, isFile(head), !isPlayedOnly {
      // A page is not a file, though it is sent as one.
      switch FileAnswer.content(start, isWhole: isWhole) {
      case .unknown: return .more
      case .text(let found): return drop(.noAudio(found, from: shownURL))
      case .other: break
      }
    }
    beginAudio(start)
    if isStopped { return .stop }
    return start.withUnsafeBytes { file?.receiveBody($0) ?? receive($0) }
  }

  // MARK: Sound

  private func beginAudio(_ start: [UInt8] = []) {
    body = .audio
    endSegments()
    guard let head else { return }
    sound.connect(head)
    titles.connect()
    soundClock = SoundClock()
    outlet.pause = TransferPause()
    repetition.connect(mayBeFile: options.isFile != false && !FileAnswer.isStation(head), at: now)
    let codec = ContentSniffer.container(start.prefix(ContentSniffer.magicLength))
    if isFile(head) || (codec == .flac || codec == .wav) && isOpenFile(head) { handOver(head) }
  }

  /// Returns `true` if an answer is a file. Once a station has played, later answers are never treated as
  /// files.
  private func isFile(_ head: HTTPResponse) -> Bool {
    if driver.machine.hasSounded { return false }
    return options.isFile ?? FileAnswer.isFile(head)
  }

  /// Returns `true` if an answer with FLAC or WAV, which begin only once, is received as a file though its
  /// end is unknown: to be played, or to be recorded byte for byte.
  private func isOpenFile(_ head: HTTPResponse) -> Bool {
    guard !driver.machine.hasSounded, options.isFile != false, !FileAnswer.isStation(head) else {
      return false
    }
    return isPlayedOnly || tee.buffer == nil && tee.takesFile && !tee.endsWithin
  }

  /// `true` if the stream is played, and not recorded.
  private var isPlayedOnly: Bool { tee.buffer != nil && !tee.isRecorded }

  /// Hands the transfer, and all further bytes, to a receiver of files.
  private func handOver(_ head: HTTPResponse) {
    driver.disarm()
    let address = driver.address
    let (rest, options) = (driver.machine.candidates, connection.options(for: address))
    driver.machine.stop()
    let file: any AdoptingReceiver
    if tee.isRecorded {
      guard tee.buffer == nil else { return driver.giveUp(.notRecorded(shownURL)) }
      guard tee.takesFile else { return driver.giveUp(.recordedAsIs(shownURL)) }
      file = FileCopyReceiver(
        at: address, head: head, options: options, network: network, outlet: outlet)
      if !rest.isEmpty { outlet.report(.programme(rest)) }
    } else if let buffer = tee.buffer {
      file = FileReceiver(
        at: address, head: head, options: options, network: network, buffer: buffer, outlet: outlet)
      if !rest.isEmpty {
        buffer.isFollowed = true
        outlet.report(.programme(rest))
      }
    } else {
      return driver.giveUp(.notRecorded(shownURL))
    }
    self.file = file
    file.adopt(driver.transfer)
    driver.transfer = nil
  }
}
