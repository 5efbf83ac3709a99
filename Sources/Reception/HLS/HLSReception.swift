internal import EventLoop
internal import HTTP
internal import StreamCore

/// The segments of an HLS stream: performs the actions of an `HLSFollower` for a `StationReceiver`, which
/// connects, reports and delivers. Confined to the receiver's loop.
///
/// A segment that fails is received again from its start, and the delivered frames are left out.
final class HLSReception {
  /// The address of the connection.
  let address: StreamAddress
  unowned let receiver: StationReceiver
  var follower: HLSFollower
  var sound = HLSSound()
  var segment: HLSProgress?
  private let lists: HLSLists
  lazy var fetch = HLSFetch(on: receiver.loop) { [unowned self] transfer, address in
    start(transfer, at: address)
  } handle: { [unowned self] event in
    handle(event)
  }
  private var connection: HLSConnection
  /// The delivered sound, which a list may bring again.
  private var repetition = HLSRepetition()
  /// The destination of the sound.
  var supply = HLSSupply.live
  /// The sound before the start of the buffer.
  private let earlier: HLSEarlierSound
  /// `true` if frames have been delivered.
  private(set) var hasSound = false

  /// - Parameter gap: the seconds missing before, if sound came from another kind of stream.
  init(at address: StreamAddress, gap: Double?, of receiver: StationReceiver) {
    (self.address, self.receiver) = (address, receiver)
    follower = HLSFollower(rateLimit: receiver.options.maxBitRate * 1000)
    lists = HLSLists(on: receiver.loop)
    earlier = HLSEarlierSound(of: receiver)
    connection = .closed(gap.map { .rejoined(missing: $0) } ?? .continuous)
  }

  private var isOpen: Bool { connection.isOpen }
  /// The moment of the next look; nil if no look is due.
  var deadline: Instant? { isOpen && !isAtRest ? follower.deadline : nil }
  /// `true` while no requests are needed.
  var isAtRest: Bool { if case .file(let file) = supply { file.isHeldBack } else { false } }
  /// The longest time without bytes, beside that of the options: a list changes once in a target duration.
  var silenceLimit: Duration { HLSMedia.silenceLimit(follower.targetDuration) }
  /// The length of the sound that a live list has at once.
  var lead: StreamTime { StreamTime(seconds: min(60, follower.targetDuration * 4)) }

  // MARK: Connections

  /// Receives the list of a new connection.
  /// - Parameter head: the head of its answer.
  func open(_ text: [UInt8], at url: StreamAddress, _ head: HTTPResponse?) {
    connection = .open(connection.join)
    lists.received(head, of: url)
    follower.rateLimit = receiver.options.maxBitRate * 1000
    do throws(StreamError) {
      perform(follower.open(try HLSPlaylist(text, url: url.description), at: url, at: receiver.now))
    } catch { fail(error) }
  }

  /// Ends the transfers. The next connection continues with the current segment.
  func close() {
    guard isOpen else { return }
    var join = connection.join
    if hasSound { join.lose(0) }
    connection = .closed(join)
    lists.cancel()
    fetch.cancel()
    follower.close(received: receivedSeconds)
  }

  /// The delivered seconds of the current segment.
  var receivedSeconds: Double { segment?.delivered.seconds ?? 0 }

  /// Ends the reception for good.
  func end() {
    close()
    earlier.cancel()
  }

  /// Receives the sound before the start of the buffer, for which the player waits.
  func receiveEarlier(from time: StreamTime) { earlier.receive(from: time) }

  /// Handles a connection that was silent for too long.
  func silent() { follower.silent(received: receivedSeconds, at: receiver.now) }

  /// Resumes reading after a pause.
  func resume() {
    follower.resumed(at: receiver.now)
    fetch.resume()
  }

  func timePassed() {
    guard isOpen, let deadline = follower.deadline, receiver.now >= deadline else { return }
    perform(follower.deadlinePassed(received: receivedSeconds, at: receiver.now))
  }

  func perform(_ actions: [HLSFollower.Action]) {
    for action in actions {
      guard isOpen, !receiver.isStopped else { return }
      switch action {
      case .load(let address): load(address)
      case .fetch(let piece): begin(piece)
      case .cancelFetch: fetch.cancel()
      case .lost(let seconds):
        // Nothing is missing before the first sound.
        if receiver.driver.machine.hasSounded { connection.join.lose(seconds) }
      case .file(let media): beginFile(media)
      case .grown:
        receiver.setSilenceLimit()
        receiver.driver.perform(receiver.driver.machine.received(.zero, at: receiver.now))
      case .report(let error): receiver.report(.failed(error))
      case .fail(let error, let wait): fail(error, retryAfter: wait)
      case .complete: complete()
      }
    }
    guard isOpen else { return }
    if case .live = supply { earlier.follow(follower.list, renumberings: follower.renumberings) }
    receiver.driver.arm()
  }

  private func fail(_ error: StreamError, retryAfter: Duration = .zero) {
    close()
    receiver.driver.perform(receiver.driver.machine.ended(error, retryAfter: retryAfter, at: receiver.now))
  }

  private func complete() {
    guard !receiver.isStopped else { return }
    deliver { (sound, body) throws(HLSSound.Obstacle) in sound.finish(body) }
    guard isOpen, !receiver.isStopped else { return }
    if case .file(let file) = supply { complete(file) } else { receiver.finish() }
  }

  // MARK: Lists

  private func load(_ address: StreamAddress) {
    lists.load(address, isKnown: follower.isReloading) { transfer, headers in
      start(transfer, at: address, headers)
    } onAnswer: { [unowned self] answer in
      let now = receiver.now
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
      var request = try receiver.request(address)
      (request.wantsICY, request.wakeTime) = (false, nil)
      request.headers += headers
      transfer.start(request, on: receiver.network)
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
        at: receiver.now))
  }

  /// The seconds of sound that a player has; nil if it may wait, as skipped sound would be missing in a
  /// recording.
  private var secondsAhead: Double? {
    receiver.tee.isRecorded ? nil : receiver.tee.buffer.flatMap(\.secondsAhead)
  }

  private func receive(_ bytes: UnsafeRawBufferPointer, _ initialization: [UInt8]?) -> HTTPFlow {
    guard isOpen, let segment else { return .stop }
    if !segment.hasStarted {
      self.segment?.begin()
      let (title, isContinuous) = (segment.piece.segment.title, segment.piece.isContinuous)
      // `begin` may emit the last frame of the segment before, which comes before any missing sound.
      let join = connection.join
      connection.join = .continuous
      let obstacle = deliver { (sound, body) throws(HLSSound.Obstacle) in
        try sound.begin(
          title: title, initialization: initialization, isContinuous: isContinuous && self.hasSound, body)
      }
      connection.join = join
      if let obstacle { return stop(obstacle) }
      guard isOpen else { return .stop }
    }
    guard !receiver.isStopped else { return .stop }
    let obstacle = deliver { (sound, body) throws(HLSSound.Obstacle) in try sound.consume(bytes, body) }
    if let obstacle { return stop(obstacle) }
    guard isOpen, !receiver.isStopped else { return .stop }
    guard case .file(let file) = supply else { return receiver.holdBack() }
    guard file.isHeldBack else { return .more }
    receiver.driver.arm()
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
    guard isOpen, !receiver.isStopped else { return }
    if let segment, segment.isSilent {
      // Some servers send this instead of a segment that they do not have yet, or no longer have.
      if segment.found == 0 { sound = segment.start }
      let error = HLSSound.Obstacle(found: "no frames").error(at: segment.piece.address)
      return segmentFailed(error, .answer(retryAfter: .zero))
    }
    self.segment = nil
    perform(follower.segmentReceived(at: receiver.now))
  }

  /// Delivers the held frames: the end of their segment decides that they are new.
  private func releaseHeld() {
    let held = repetition.drainHeld()
    guard !held.isEmpty else { return }
    var received = StreamTime.zero
    receiver.tee.receive { _ = pass(held, &received, into: &$0) }
    if isOpen, !receiver.isStopped { receiver.account(for: received) }
  }

  // MARK: Sound

  /// Delivers the frames that `feed` finds.
  @discardableResult
  private func deliver(
    _ feed: (inout HLSSound, (HLSSound.Item) -> Bool) throws(HLSSound.Obstacle) -> Void
  ) -> HLSSound.Obstacle? {
    var (received, missing) = (StreamTime.zero, 0.0)
    var obstacle: HLSSound.Obstacle?
    receiver.tee.receive { outlets in
      do throws(HLSSound.Obstacle) {
        try feed(&sound) { item in
          switch item {
          case .format(let format):
            if case .open(let join) = connection {
              receiver.reportAnswer()
              connection = .sounding(join)
            }
            receiver.begin(format)
            return true
          case .clock(let ticks):
            segment?.ticks = ticks
            return true
          case .missing(let seconds):
            missing = seconds
            return true
          case .frame(let frame, let bytes, let title):
            // A gap before frames that were delivered earlier has been reported already.
            if missing > 0, segment?.isNext ?? true { connection.join.lose(missing) }
            missing = 0
            return deliver(frame, bytes, title, &received, into: &outlets)
          }
        }
      } catch { obstacle = error }
    }
    // Bytes without frames do not reset the data timeout.
    if isOpen, !receiver.isStopped, received > .zero { receiver.account(for: received) }
    return obstacle
  }

  /// - Returns: `false` if the buffer is full, which ends the connection.
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
      if case .last = result { connection.join.stitch() }
      received = received + frame.duration
      segment?.deliver(frame)
      return true
    case .new(let held):
      return pass(held, &received, into: &outlets)
        && pass(frame, bytes, title, &received, into: &outlets)
    }
  }

  /// - Returns: `false` if the buffer is full, which ends the connection.
  private func pass(
    _ frames: [TitledFrame], _ received: inout StreamTime, into outlets: inout FrameTee.Outlets
  ) -> Bool {
    frames.allSatisfy { held in
      held.bytes.withUnsafeBytes { pass(held.frame, $0, held.title, &received, into: &outlets) }
    }
  }

  /// - Returns: `false` if the buffer is full, which ends the connection.
  private func pass(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, _ title: ICYMetadata?,
    _ received: inout StreamTime,
    into outlets: inout FrameTee.Outlets
  ) -> Bool {
    if case .rejoined(let missing) = connection.join {
      if missing > 0 { receiver.discontinuity = .gap(seconds: missing) }
      receiver.report(.reconnected(gap: missing, stitched: missing == 0, overlap: 0))
      connection.join = .continuous
    }
    if case .file(let file) = supply {
      let new = TitledFrame(frame: frame, bytes: Array(bytes), title: title)
      guard append(new, bytes, to: file, into: &outlets) else { return true }
    } else {
      earlier.note(segment, in: outlets.player)
      guard !receiver.isStopped, receiver.deliver(frame, bytes, title: title, into: &outlets) else {
        return false
      }
      repetition.add(frame)
    }
    if !hasSound { receiver.segmentsSounded() }
    hasSound = true
    received = received + frame.duration
    segment?.deliver(frame)
    return true
  }
}
