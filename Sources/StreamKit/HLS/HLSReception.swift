internal import Codecs
internal import EventLoop
internal import HTTP

/// The segments of an HLS stream: performs the actions of an `HLSFollower` for a `StationReceiver`, which connects,
/// reports and delivers. Confined to the receiver's loop.
///
/// A segment that fails is received again from its start, and the frames that were delivered are left out.
final class HLSReception {
  /// The address of the connection.
  let address: StreamAddress
  private unowned let receiver: StationReceiver
  private var follower: HLSFollower
  private var sound = HLSSound()
  private var segment: HLSProgress?
  private let lists: HLSLists
  /// The request for a segment, or for what it needs; nil while none is open.
  private var request: HLSTransfer?
  private var sections = HLSSections()
  private var connection: HLSConnection
  /// True if frames have been delivered.
  private(set) var hasSound = false

  /// - Parameter gap: seconds that are missing in front, where sound came of another kind of stream.
  init(at address: StreamAddress, gap: Double?, of receiver: StationReceiver) {
    (self.address, self.receiver) = (address, receiver)
    follower = HLSFollower(rateLimit: receiver.options.maxBitRate * 1000)
    lists = HLSLists(on: receiver.loop)
    connection = .closed(gap.map { .rejoined(missing: $0) } ?? .continuous)
  }

  private var isOpen: Bool { connection.isOpen }
  /// The moment of the next look; nil if none is.
  var deadline: Instant? { isOpen ? follower.deadline : nil }
  /// The longest that nothing may come, beside that of the options: a list changes once in a target duration.
  var silenceLimit: Duration { Duration(inSeconds: min(60, follower.targetDuration * 2)) }
  /// The sound that a live list has at once.
  var lead: StreamTime { StreamTime(seconds: min(60, follower.targetDuration * 4)) }

  // MARK: Connections

  /// A connection has brought a list.
  func open(_ text: [UInt8], at url: StreamAddress) {
    connection = .open(connection.join)
    follower.rateLimit = receiver.options.maxBitRate * 1000
    do throws(StreamError) {
      perform(follower.open(try HLSPlaylist(text, url: url.description), at: url, at: receiver.now))
    } catch { fail(error) }
  }

  /// Ends the transfers. The next connection continues with the segment under way.
  func close() {
    guard isOpen else { return }
    var join = connection.join
    if hasSound { join.lose(0) }
    connection = .closed(join)
    lists.cancel()
    cancelRequest()
    follower.close(received: receivedSeconds)
  }

  /// Seconds of the segment under way that were delivered.
  private var receivedSeconds: Double { segment?.delivered.seconds ?? 0 }

  private func cancelRequest() {
    request?.cancel()
    request = nil
  }

  /// The connection has brought nothing for too long.
  func silent() { follower.silent(received: receivedSeconds, at: receiver.now) }

  /// Resumes reading after a pause.
  func resume() {
    follower.resumed(at: receiver.now)
    request?.resume()
  }

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
      case .cancelFetch: cancelRequest()
      case .lost(let seconds): connection.join.lose(seconds)
      case .file(let seconds): receiver.report(.file(FileFacts(duration: seconds)))
      case .grown:
        receiver.setSilenceLimit()
        receiver.driver.perform(receiver.machine.received(.zero, at: receiver.now))
      case .report(let error): receiver.report(.failed(error))
      case .fail(let error, let wait): fail(error, retryAfter: wait)
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
    if let old = segment, old.isSame(as: piece) {
      sound = old.start
      segment?.restart(as: piece)
    } else {
      segment = HLSProgress(piece, from: sound)
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
        guard let self, segment?.piece == piece else { return }
        segmentFailed(error, .content)
      }
      return
    }
    switch part {
    case .section(let section):
      var bytes: [UInt8] = []
      let transfer = HLSTransfer(of: section.address, range: section.range, on: receiver.loop) {
        [unowned self] _, new in
        guard bytes.count + new.count <= section.limit else {
          request = nil
          segmentFailed(section.tooLong, .content)
          return .stop
        }
        bytes += new
        return .more
      } onEnd: { [unowned self] _, end in
        request = nil
        switch end {
        case .failed(let error, let failure): segmentFailed(section.missing(error), failure)
        case .complete:
          do throws(StreamError) { try sections.add(bytes, as: section) } catch {
            return segmentFailed(error, .content)
          }
          requestNext(of: piece)
        }
      }
      if start(transfer, at: section.address) { request = transfer }
    case .segment(let address, let initialization, let cipher):
      let transfer = HLSTransfer(of: address, range: piece.segment.range, on: receiver.loop) {
        [unowned self] _, bytes in
        receive(bytes, initialization, cipher)
      } onEnd: { [unowned self] _, end in
        request = nil
        switch end {
        case .failed(let error, let failure): segmentFailed(error, failure)
        case .complete: finishSegment(cipher)
        }
      }
      if start(transfer, at: address) { request = transfer }
    }
  }

  private func segmentFailed(_ error: StreamError, _ failure: HLSFailure) {
    guard isOpen else { return }
    perform(
      follower.segmentFailed(
        error, failure, received: receivedSeconds, hasSound: hasSound, at: receiver.now))
  }

  private func receive(
    _ bytes: UnsafeRawBufferPointer, _ initialization: [UInt8]?, _ cipher: HLSCipher?
  ) -> HTTPFlow {
    guard isOpen, let segment else { return .stop }
    if !segment.hasStarted {
      self.segment?.begin()
      let (title, isContinuous) = (segment.piece.segment.title, segment.piece.isContinuous)
      // The last frame of the segment in front may come of this, which is in front of what is missing.
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
    request = nil
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
    segmentFailed(error, .content)
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
            if case .open(let join) = connection {
              receiver.reportAnswer()
              connection = .sounding(join)
            }
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
    guard segment?.find(frame) ?? true else { return true }
    if case .rejoined(let missing) = connection.join {
      if missing > 0 { receiver.discontinuity = .gap(seconds: missing) }
      receiver.report(.reconnected(gap: missing, stitched: missing == 0, overlap: 0))
      connection.join = .continuous
    }
    guard receiver.deliver(frame, bytes, title: title, into: &delivery) else { return false }
    hasSound = true
    received = received + frame.duration
    segment?.deliver(frame)
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
