internal import EventLoop
internal import HTTP
internal import StreamCore

/// The segments of an HLS stream: performs the actions of an `HLSFollower`. The connection is that of the
/// list: it is lost when lists or segments can't be fetched, and brings sound while segments come. Confined to
/// the loop of the reception.
///
/// A segment that fails is received again from its start, and the delivered frames are left out.
final class HLSReception: BodyReader {
  /// The address of the connection.
  let address: StreamAddress
  let outlet: SoundOutlet
  let connection: any BodyConnection
  var follower: HLSFollower
  var sound = HLSSound()
  var segment: HLSProgress?
  private let lists: HLSLists
  lazy var fetch = HLSFetch(on: connection.loop) { [unowned self] transfer, address in
    start(transfer, at: address)
  } handle: { [unowned self] event in
    handle(event)
  }
  private var state: HLSConnection
  /// The delivered sound, which a list may bring again.
  private var repetition = HLSRepetition()
  /// The destination of the sound.
  var supply = HLSSupply.live
  /// The sound before the start of the buffer.
  private let earlier: HLSEarlierSound
  /// `true` if frames have been delivered.
  private(set) var hasSound = false

  /// - Parameter gap: the seconds missing before, if sound came from another kind of stream.
  init(at address: StreamAddress, gap: Double?, over connection: any BodyConnection, into outlet: SoundOutlet)
  {
    (self.address, self.connection, self.outlet) = (address, connection, outlet)
    follower = HLSFollower(rateLimit: connection.options.maxBitRate * 1000)
    lists = HLSLists(on: connection.loop)
    earlier = HLSEarlierSound(over: connection, into: outlet)
    state = .closed(gap.map { .rejoined(missing: $0) } ?? .continuous)
  }

  private var isOpen: Bool { state.isOpen }
  var deadline: Instant? { isOpen && !isAtRest ? follower.deadline : nil }
  var isAtRest: Bool { if case .file(let file) = supply { file.isHeldBack } else { false } }
  // A list changes once in a target duration.
  var silenceLimit: Duration { HLSMedia.silenceLimit(follower.targetDuration) }
  /// The length of the sound that a live list has at once.
  private var lead: StreamTime { StreamTime(seconds: min(60, follower.targetDuration * 4)) }

  // MARK: Connections

  /// Receives the list of a new connection.
  /// - Parameter head: the head of its answer.
  func open(_ text: [UInt8], at url: StreamAddress, _ head: HTTPResponse?) {
    state = .open(state.join, head.map { StationInfo($0) })
    lists.received(head, of: url)
    follower.rateLimit = connection.options.maxBitRate * 1000
    do throws(StreamError) {
      perform(follower.open(try HLSPlaylist(text, url: url.description), at: url, at: connection.now))
    } catch { fail(error) }
  }

  /// Ends the transfers. The next connection continues with the current segment.
  func close() {
    guard isOpen else { return }
    var join = state.join
    if hasSound { join.lose(0) }
    state = .closed(join)
    lists.cancel()
    fetch.cancel()
    follower.close(received: receivedSeconds)
  }

  /// The delivered seconds of the current segment.
  var receivedSeconds: Double { segment?.delivered.seconds ?? 0 }

  func end() {
    close()
    earlier.cancel()
  }

  func receiveEarlier(from time: StreamTime) { earlier.receive(from: time) }

  func silent() { follower.silent(received: receivedSeconds, at: connection.now) }

  func resume() {
    follower.resumed(at: connection.now)
    fetch.resume()
  }

  func deadlinePassed() {
    guard isOpen, let deadline = follower.deadline, connection.now >= deadline else { return }
    perform(follower.deadlinePassed(received: receivedSeconds, at: connection.now))
  }

  func perform(_ actions: [HLSFollower.Action]) {
    for action in actions {
      guard isOpen, !connection.isStopped else { return }
      switch action {
      case .load(let address): load(address)
      case .fetch(let piece): begin(piece)
      case .cancelFetch: fetch.cancel()
      case .lost(let seconds):
        // Nothing is missing before the first sound.
        if connection.hasSounded { state.join.lose(seconds) }
      case .file(let media): beginFile(media)
      case .grown:
        connection.setSilenceLimit(silenceLimit)
        connection.keepAlive()
      case .report(let error): outlet.report(.failed(error))
      case .fail(let error, let wait): fail(error, retryAfter: wait)
      case .complete: complete()
      }
    }
    guard isOpen else { return }
    if case .live = supply { earlier.follow(follower.list, renumberings: follower.renumberings) }
    connection.arm()
  }

  private func fail(_ error: StreamError, retryAfter: Duration = .zero) {
    close()
    connection.lost(error, retryAfter: retryAfter)
  }

  private func complete() {
    guard !connection.isStopped else { return }
    deliver { (sound, body) throws(HLSSound.Obstacle) in sound.finish(body) }
    guard isOpen, !connection.isStopped else { return }
    if case .file(let file) = supply { complete(file) } else { connection.finish() }
  }

  // MARK: Lists

  private func load(_ address: StreamAddress) {
    lists.load(address, isKnown: follower.isReloading) { transfer, headers in
      start(transfer, at: address, headers)
    } onAnswer: { [unowned self] answer in
      let now = connection.now
      switch answer {
      case .list(let list, let url): perform(follower.loaded(list, at: url, at: now))
      case .unchanged: perform(follower.unchanged(at: now))
      case .failed(let error, let failure):
        perform(follower.loadFailed(error, failure, received: receivedSeconds, at: now))
      }
    }
  }

  /// - Returns: `false` if the request can't be made, which ends the connection.
  private func start(
    _ transfer: HLSTransfer, at address: StreamAddress, _ headers: [(name: String, value: String)] = []
  ) -> Bool {
    do throws(HTTPError) {
      try transfer.start(headers, over: connection)
      return true
    } catch {
      fail(StreamError(error, at: address))
      return false
    }
  }

  // MARK: Segments

  private func begin(_ piece: HLSPiece) {
    if let old = segment, old.isSame(as: piece) {
      sound = old.start
      segment?.restart(as: piece)
      repetition.restart()
    } else {
      segment = HLSProgress(piece, from: sound)
      if piece.mayRepeat { repetition.begin() }
    }
    if let error = piece.segment.encryption?.error(at: piece.base) { return fail(error) }
    fetch.request(piece)
  }

  private func handle(_ event: HLSFetch.Event) -> HTTPFlow {
    switch event {
    case .bytes(let bytes, let initialization): return receive(bytes, initialization)
    case .complete: finishSegment()
    case .failed(let error, let failure): segmentFailed(error, failure)
    }
    return .stop
  }

  private func segmentFailed(_ error: StreamError, _ failure: HLSFailure) {
    guard isOpen else { return }
    if supply.stash(error, failure) { return }
    perform(
      follower.segmentFailed(
        error, failure, received: receivedSeconds, hasSound: hasSound, ahead: secondsAhead,
        at: connection.now))
  }

  /// The seconds of sound that a player has; nil if it may wait, as skipped sound would be missing in a
  /// recording.
  private var secondsAhead: Double? {
    outlet.tee.isRecorded ? nil : outlet.tee.buffer.flatMap(\.secondsAhead)
  }

  private func receive(_ bytes: UnsafeRawBufferPointer, _ initialization: [UInt8]?) -> HTTPFlow {
    guard isOpen, let segment else { return .stop }
    if !segment.hasStarted {
      self.segment?.begin()
      let (title, isContinuous) = (segment.piece.segment.title, segment.piece.isContinuous)
      // `begin` may emit the last frame of the segment before, which comes before any missing sound.
      let join = state.join
      state.join = .continuous
      let obstacle = deliver { (sound, body) throws(HLSSound.Obstacle) in
        try sound.begin(
          title: title, initialization: initialization, isContinuous: isContinuous && self.hasSound, body)
      }
      state.join = join
      if let obstacle { return stop(obstacle) }
      guard isOpen else { return .stop }
    }
    guard !connection.isStopped else { return .stop }
    let obstacle = deliver { (sound, body) throws(HLSSound.Obstacle) in try sound.consume(bytes, body) }
    if let obstacle { return stop(obstacle) }
    guard isOpen, !connection.isStopped else { return .stop }
    guard case .file(let file) = supply else { return connection.flow(lead: lead) }
    guard file.isHeldBack else { return .more }
    connection.arm()
    return .pause
  }

  private func stop(_ obstacle: HLSSound.Obstacle) -> HTTPFlow {
    fetch.cancel()
    segmentFailed(obstacle.error(at: segment?.piece.address ?? address.description), .content)
    return .stop
  }

  private func finishSegment() {
    guard isOpen else { return }
    let obstacle = deliver { (sound, body) throws(HLSSound.Obstacle) in try sound.endSegment(body) }
    if let obstacle {
      _ = stop(obstacle)
      return
    }
    releaseHeld()
    guard isOpen, !connection.isStopped else { return }
    if let segment, segment.isSilent {
      // Some servers send this instead of a segment that they do not have yet, or no longer have.
      if segment.found == 0 { sound = segment.start }
      let error = HLSSound.Obstacle(found: "no frames").error(at: segment.piece.address)
      return segmentFailed(error, .answer(retryAfter: .zero))
    }
    self.segment = nil
    perform(follower.segmentReceived(at: connection.now))
  }

  /// Delivers the held frames: the end of their segment decides that they are new.
  private func releaseHeld() {
    let held = repetition.drainHeld()
    guard !held.isEmpty else { return }
    var received = StreamTime.zero
    if !outlet.tee.receive({ pass(held, &received, into: &$0) }) { connection.bufferIsFull() }
    if isOpen, !connection.isStopped { connection.received(received, isJoining: false) }
  }

  // MARK: Sound

  /// Delivers the frames that `feed` finds.
  @discardableResult
  private func deliver(
    _ feed: (inout HLSSound, (HLSSound.Item) -> Bool) throws(HLSSound.Obstacle) -> Void
  ) -> HLSSound.Obstacle? {
    var (received, missing) = (StreamTime.zero, 0.0)
    var obstacle: HLSSound.Obstacle?
    var isAccepted = true
    outlet.tee.receive { outlets in
      do throws(HLSSound.Obstacle) {
        try feed(&sound) { item in
          switch item {
          case .format(let format):
            if case .open(let join, let info) = state {
              if let info { outlet.report(.answered(info)) }
              state = .sounding(join)
            }
            outlet.begin(format)
            return true
          case .clock(let ticks):
            segment?.ticks = ticks
            return true
          case .missing(let seconds):
            missing = seconds
            return true
          case .frame(let frame, let bytes, let title):
            // A gap before frames that were delivered earlier has been reported already.
            if missing > 0, segment?.isNext ?? true { state.join.lose(missing) }
            missing = 0
            isAccepted = deliver(frame, bytes, title, &received, into: &outlets)
            return isAccepted
          }
        }
      } catch { obstacle = error }
    }
    if !isAccepted { connection.bufferIsFull() }
    // Bytes without frames do not reset the data timeout.
    if isOpen, !connection.isStopped, received > .zero { connection.received(received, isJoining: false) }
    return obstacle
  }

  /// - Returns: `false` if the buffer is full.
  private func deliver(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, _ title: ICYMetadata?,
    _ received: inout StreamTime,
    into outlets: inout FrameTee.Outlets
  ) -> Bool {
    guard segment?.find(frame) ?? true else { return true }
    guard case .live = supply else { return pass(frame, bytes, title, &received, into: &outlets) }
    let result = repetition.receive(frame, bytes, title)
    switch result {
    case .held: return true
    case .old, .last:
      if case .last = result { state.join.stitch() }
      received = received + frame.duration
      segment?.deliver(frame)
      return true
    case .new(let held):
      return pass(held, &received, into: &outlets)
        && pass(frame, bytes, title, &received, into: &outlets)
    }
  }

  /// - Returns: `false` if the buffer is full.
  private func pass(
    _ frames: [TitledFrame], _ received: inout StreamTime, into outlets: inout FrameTee.Outlets
  ) -> Bool {
    frames.allSatisfy { held in
      held.bytes.withUnsafeBytes { pass(held.frame, $0, held.title, &received, into: &outlets) }
    }
  }

  /// - Returns: `false` if the buffer is full.
  private func pass(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, _ title: ICYMetadata?,
    _ received: inout StreamTime,
    into outlets: inout FrameTee.Outlets
  ) -> Bool {
    if case .rejoined(let missing) = state.join {
      if missing > 0 { outlet.discontinuity = .gap(seconds: missing) }
      outlet.report(.reconnected(gap: missing, stitched: missing == 0, overlap: 0))
      state.join = .continuous
    }
    if case .file(let file) = supply {
      let new = TitledFrame(frame: frame, bytes: Array(bytes), title: title)
      guard append(new, bytes, to: file, into: &outlets) else { return true }
    } else {
      earlier.note(segment, in: outlets.player)
      guard outlet.deliver(frame, bytes, title: title, at: connection.seconds, into: &outlets) else {
        return false
      }
      repetition.add(frame)
    }
    hasSound = true
    received = received + frame.duration
    segment?.deliver(frame)
    return true
  }
}
