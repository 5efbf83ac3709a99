internal import Codecs
internal import EventLoop
internal import HTTP

/// The segments of an HLS stream: performs the actions of an `HLSFollower` for a `StationReceiver`, which connects,
/// reports and delivers. Confined to the receiver's loop.
///
/// A segment that fails is received again from its start, and the frames that were delivered are left out.
final class HLSReception {
  /// The segment under way.
  private struct Segment {
    var piece: HLSPiece
    /// The sound in front of it, from which it can be read again.
    let start: HLSSound
    /// The frames of it that were delivered, before and now, and their length.
    var frames = 0
    var time = StreamTime.zero
    /// The frames that have come of it since its start.
    var come = 0
    /// The sound that was delivered of another version, and is left out.
    var skipped = StreamTime.zero
    var hasStarted = false
  }

  /// The address of the connection.
  let address: StreamAddress
  private unowned let receiver: StationReceiver
  private var follower: HLSFollower
  private var sound = HLSSound()
  private var segment: Segment?
  private var list: HLSTransfer?
  private var piece: HLSTransfer?
  private var sections = HLSSections()
  /// The headers by which the server recognises the list that came last.
  private var validators: (address: StreamAddress, headers: [(name: String, value: String)])?
  /// Seconds that are missing in front of the next frame.
  private var gap = 0.0
  /// True if a connection was lost since the last frame.
  private var isRejoining = false
  private var isAnswered = false
  private var isOpen = false
  /// True if frames have been delivered.
  private(set) var hasSound = false

  /// - Parameter gap: seconds that are missing in front, where sound came of another kind of stream.
  init(at address: StreamAddress, gap: Double?, of receiver: StationReceiver) {
    (self.address, self.receiver) = (address, receiver)
    follower = HLSFollower(rateLimit: receiver.options.maxBitRate * 1000)
    if let gap { (self.gap, isRejoining) = (gap, true) }
  }

  /// The moment of the next look; nil if none is.
  var deadline: Instant? { isOpen ? follower.deadline : nil }
  /// The longest that nothing may come, beside that of the options: a list changes once in a target duration.
  var silenceLimit: Duration { Duration(inSeconds: min(60, follower.targetDuration * 2)) }
  /// The sound that a live list has at once.
  var lead: StreamTime { StreamTime(seconds: min(60, follower.targetDuration * 4)) }

  // MARK: Connections

  /// A connection has brought a list.
  func open(_ text: [UInt8], at url: StreamAddress) {
    (isOpen, isAnswered) = (true, false)
    follower.rateLimit = receiver.options.maxBitRate * 1000
    do throws(StreamError) {
      perform(follower.open(try HLSPlaylist(text, url: url.description), at: url, at: receiver.now))
    } catch { fail(error) }
  }

  /// Ends the transfers. The next connection continues with the segment under way.
  func close() {
    guard isOpen else { return }
    isOpen = false
    if hasSound { isRejoining = true }
    cancel()
    follower.close(received: receivedSeconds)
  }

  /// Seconds of the segment under way that were delivered.
  private var receivedSeconds: Double { segment?.time.seconds ?? 0 }

  private func cancel() {
    list?.cancel()
    piece?.cancel()
    (list, piece) = (nil, nil)
  }

  /// The connection has brought nothing for too long.
  func silent() { follower.silent(at: receiver.now) }

  /// Resumes reading after a pause.
  func resume() { piece?.resume() }

  func timePassed() {
    guard isOpen, let deadline = follower.deadline, receiver.now >= deadline else { return }
    perform(follower.deadlinePassed(received: receivedSeconds, at: receiver.now))
  }

  private func perform(_ actions: [HLSFollower.Action]) {
    for action in actions {
      guard isOpen, !receiver.isStopped else { return }
      switch action {
      case .load(let address): load(address)
      case .fetch(let piece): begin(piece)
      case .cancelFetch:
        piece?.cancel()
        piece = nil
      case .lost(let seconds): gap += seconds
      case .file(let seconds): receiver.report(.file(FileFacts(duration: seconds)))
      case .grown:
        receiver.setSilenceLimit()
        receiver.driver.perform(receiver.machine.received(.zero, at: receiver.now))
      case .report(let error): receiver.report(.failed(error))
      case .fail(let error): fail(error)
      case .complete: complete()
      }
    }
    if isOpen { receiver.driver.arm() }
  }

  private func fail(_ error: StreamError, retryAfter: Duration = .zero) {
    close()
    receiver.driver.perform(receiver.machine.ended(error, retryAfter: retryAfter, at: receiver.now))
  }

  private func complete() {
    deliver { (sound, body) throws(HLSSound.Obstacle) in sound.finish(body) }
    guard isOpen, !receiver.isStopped else { return }
    receiver.finish()
  }

  // MARK: Lists

  private func load(_ address: StreamAddress) {
    list?.cancel()
    var text: [UInt8] = []
    let transfer = HLSTransfer(of: address, on: receiver.loop) { [unowned self] transfer, bytes in
      guard text.count + bytes.count <= Playlist.sizeLimit else {
        list = nil
        let error = StreamError(.content, "the playlist \(address) has more than 1 MiB")
        perform(follower.loadFailed(error, received: receivedSeconds, at: receiver.now))
        return .stop
      }
      text += bytes
      return .more
    } onEnd: { [unowned self] transfer, end in
      list = nil
      loaded(text, of: address, transfer.head, end)
    }
    var headers: [(name: String, value: String)] = []
    if let validators, validators.address == address { headers = validators.headers }
    guard start(transfer, at: address, headers) else { return }
    list = transfer
  }

  private func loaded(
    _ text: [UInt8], of address: StreamAddress, _ head: HTTPResponse?, _ end: HLSTransfer.End
  ) {
    let now = receiver.now
    switch end {
    case .failed(let error, _, _): perform(follower.loadFailed(error, received: receivedSeconds, at: now))
    case .complete:
      guard let head else { return }
      if head.status == 304 { return perform(follower.unchanged(at: now)) }
      do throws(StreamError) {
        let url = (try? StreamAddress(head.url)) ?? address
        let playlist = try HLSPlaylist(text, url: url.description)
        let names = [("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")]
        validators = (
          address, names.compactMap { name, condition in head.headers[name].map { (condition, $0) } }
        )
        perform(follower.loaded(playlist, at: url, at: now))
      } catch { perform(follower.loadFailed(error, received: receivedSeconds, at: now)) }
    }
  }

  /// - Returns: false if the request can't be made, which ends the connection.
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
    if var old = segment, old.piece.segment.isSame(as: piece.segment), old.piece.version == piece.version {
      sound = old.start
      (old.piece, old.come, old.hasStarted) = (piece, 0, false)
      segment = old
    } else {
      segment = Segment(
        piece: piece, start: sound, time: StreamTime(seconds: piece.received),
        skipped: StreamTime(seconds: piece.received))
    }
    if case .foreign(let kind)? = piece.segment.encryption {
      return fail(
        StreamError(
          .unsupported, "\(piece.base) is encrypted with \(kind), which doesn't work here",
          hint: "look for another address of the station",
          facts: [.init("url", .string(piece.base.description))]))
    }
    requestNext(of: piece)
  }

  /// Requests what the segment needs and is not there, at last the segment itself.
  private func requestNext(of piece: HLSPiece) {
    let part: HLSSections.Part
    do throws(StreamError) { part = try sections.next(for: piece) } catch {
      // In a turn of its own: a list may have thousands of segments that can't be requested.
      receiver.loop.after(.zero) { [weak self] in
        guard let self, segment?.piece.segment == piece.segment else { return }
        segmentFailed(error, isAnswered: true, isFinal: true)
      }
      return
    }
    switch part {
    case .section(let section):
      var bytes: [UInt8] = []
      let transfer = HLSTransfer(of: section.address, range: section.range, on: receiver.loop) {
        [unowned self] _, new in
        guard bytes.count + new.count <= section.limit else {
          self.piece = nil
          segmentFailed(section.tooLong, isAnswered: true, isFinal: true)
          return .stop
        }
        bytes += new
        return .more
      } onEnd: { [unowned self] _, end in
        self.piece = nil
        switch end {
        case .failed(let error, let isAnswered, _):
          segmentFailed(section.missing(error), isAnswered: isAnswered)
        case .complete:
          do throws(StreamError) { try sections.add(bytes, as: section) } catch {
            return segmentFailed(error, isAnswered: true, isFinal: true)
          }
          requestNext(of: piece)
        }
      }
      if start(transfer, at: section.address) { self.piece = transfer }
    case .segment(let address, let initialization, let cipher):
      let transfer = HLSTransfer(of: address, range: piece.segment.range, on: receiver.loop) {
        [unowned self] _, bytes in
        receive(bytes, initialization, cipher)
      } onEnd: { [unowned self] _, end in
        self.piece = nil
        switch end {
        case .failed(let error, let isAnswered, _): segmentFailed(error, isAnswered: isAnswered)
        case .complete: finishSegment(cipher)
        }
      }
      if start(transfer, at: address) { self.piece = transfer }
    }
  }

  private func segmentFailed(_ error: StreamError, isAnswered: Bool, isFinal: Bool = false) {
    guard isOpen else { return }
    perform(
      follower.segmentFailed(
        error, received: receivedSeconds, isAnswered: isAnswered, isFinal: isFinal,
        hasSound: hasSound, at: receiver.now))
  }

  private func receive(
    _ bytes: UnsafeRawBufferPointer, _ initialization: [UInt8]?, _ cipher: HLSCipher?
  ) -> HTTPFlow {
    guard isOpen, let segment else { return .stop }
    if !segment.hasStarted {
      self.segment?.hasStarted = true
      let (title, isContinuous) = (segment.piece.segment.title, segment.piece.isContinuous)
      // The last frame of the segment in front may come of this, which is in front of what is missing.
      let (gap, isRejoining) = (self.gap, self.isRejoining)
      (self.gap, self.isRejoining) = (0, false)
      let obstacle = deliver { (sound, body) throws(HLSSound.Obstacle) in
        try sound.begin(
          title: title, initialization: initialization, isContinuous: isContinuous && self.hasSound, body)
      }
      (self.gap, self.isRejoining) = (gap, isRejoining)
      if let obstacle { return stop(obstacle) }
      guard isOpen else { return .stop }
    }
    if let cipher { return receive(plain: cipher.update(bytes)) }
    return receive(bytes)
  }

  private func receive(plain: [UInt8]) -> HTTPFlow { plain.withUnsafeBytes { receive($0) } }

  private func receive(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    guard isOpen, !receiver.isStopped else { return .stop }
    let obstacle = deliver { (sound, body) throws(HLSSound.Obstacle) in try sound.consume(bytes, body) }
    if let obstacle { return stop(obstacle) }
    guard isOpen, !receiver.isStopped else { return .stop }
    return receiver.holdBack()
  }

  private func stop(_ obstacle: HLSSound.Obstacle) -> HTTPFlow {
    piece = nil
    let url = segment?.piece.address ?? address.description
    let facts: [ErrorFact] = [.init("url", .string(url)), .init("found", .string(obstacle.found))]
    let error =
      obstacle.isUnsupported
      ? StreamError(
        .unsupported, "\(url) can't be played: found \(obstacle.found)", hint: "look for one in MP3 or AAC",
        facts: facts)
      : StreamError(
        .content, "\(url) sends no audio: found \(obstacle.found)", hint: "report it to the station",
        facts: facts)
    segmentFailed(error, isAnswered: true, isFinal: true)
    return .stop
  }

  private func finishSegment(_ cipher: HLSCipher?) {
    guard isOpen, let segment else { return }
    if !segment.hasStarted || cipher != nil {
      let last = cipher == nil ? [] : cipher?.finish()
      guard let last else {
        _ = stop(.undecipherable)
        return
      }
      if case .stop = receive(plain: last) { return }
    }
    let obstacle = deliver { (sound, body) throws(HLSSound.Obstacle) in try sound.endSegment(body) }
    if let obstacle {
      _ = stop(obstacle)
      return
    }
    guard isOpen, !receiver.isStopped else { return }
    self.segment = nil
    perform(follower.segmentReceived(at: receiver.now))
  }

  // MARK: Sound

  /// Delivers the frames that `feed` finds.
  @discardableResult
  private func deliver(
    _ feed: (inout HLSSound, (HLSSound.Item) -> Bool) throws(HLSSound.Obstacle) -> Void
  ) -> HLSSound.Obstacle? {
    var received = StreamTime.zero
    var obstacle: HLSSound.Obstacle?
    receiver.tee.receive { delivery in
      do throws(HLSSound.Obstacle) {
        try feed(&sound) { item in
          switch item {
          case .format(let format):
            if !isAnswered { receiver.reportAnswer() }
            isAnswered = true
            receiver.begin(format)
            return true
          case .frame(let frame, let bytes, let title):
            return deliver(frame, bytes, title, &received, into: &delivery)
          }
        }
      } catch { obstacle = error }
    }
    // Bytes without sound are no life: a station that sends nothing else is given up after `data_timeout`.
    if isOpen, !receiver.isStopped, received > .zero { receiver.account(for: received) }
    return obstacle
  }

  /// - Returns: false when the buffer is full, which ends the connection.
  private func deliver(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, _ title: ICYMetadata?,
    _ received: inout StreamTime,
    into delivery: inout FrameTee.Delivery
  ) -> Bool {
    if segment != nil {
      segment?.come += 1
      guard let now = segment, now.come > now.frames else { return true }
      if now.skipped >= frame.duration {
        segment?.skipped = now.skipped - frame.duration
        segment?.frames = now.come
        return true
      }
    }
    if isRejoining || gap > 0 {
      if gap > 0 { receiver.discontinuity = .gap(seconds: gap) }
      receiver.report(.reconnected(gap: gap, stitched: gap == 0, overlap: 0))
    }
    (isRejoining, gap) = (false, 0)
    guard receiver.deliver(frame, bytes, title: title, into: &delivery) else {
      // The frame comes again when there is room.
      isRejoining = false
      return false
    }
    hasSound = true
    received = received + frame.duration
    if let now = segment {
      segment?.frames = now.come
      segment?.time = now.time + frame.duration
    }
    return true
  }
}

extension HLSPiece {
  /// The address of the segment, as it is shown.
  var address: String {
    if case .address(let address)? = base.resolving(segment.reference) {
      address.description
    } else {
      "\(base)"
    }
  }
}

extension HLSSound.Obstacle {
  fileprivate static let undecipherable = HLSSound.Obstacle(found: "bytes that its key does not decipher")
}
