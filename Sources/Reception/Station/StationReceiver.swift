internal import Codecs
internal import EventLoop
package import HTTP
package import StreamCore

/// Receives one stream: connects, recognises the content of each answer, and has it read into the tee.
///
/// Unchecked: confined to the loop of its network thread once `start` was posted there; `init` passes in all
/// its parts.
package final class StationReceiver: StreamReceiver, HTTPReceiver, ConnectionOwner, @unchecked Sendable {
  /// The kind of the stream, as far as it is known, and the answer that is received.
  enum Phase {
    /// A station, or a stream of a kind that is not known yet.
    case station(Answer)
    /// Segments. The answers bring their list, or sound of another kind, which ends them.
    case segments(HLSReception, Answer)
    /// A file, with a connection of its own.
    case file(any AdoptingReceiver)
  }

  /// An answer of the connection.
  enum Answer {
    /// No answer is received, or its remaining bytes are ignored; the connection beside it may replace it.
    case closed(beside: StandbyConnection?)
    /// No head has come.
    case awaited
    /// Too few bytes have come to recognise it.
    case unknown(HTTPResponse, [UInt8])
    /// A list, with its bytes so far.
    case list(HTTPResponse, Playlist.Format, [UInt8])
    /// Sound, and the connection beside it, while it is stalled.
    case sound(beside: StandbyConnection?)
  }

  let outlet: SoundOutlet
  let connection: StationConnection
  /// The reader of a station's sound.
  let sound: StationBody
  var phase = Phase.station(.closed(beside: nil))
  /// `true` while the first entry of a list is requested, which is part of the attempt that led to the list.
  private var isFollowingList = false

  /// - Parameters:
  ///   - depth: the number of lists that led to `address`.
  ///   - report: called on the network thread.
  package init(
    at address: StreamAddress, depth: Int = 0, options: ReceiverOptions, network: NetworkThread,
    tee: FrameTee, report: @escaping @Sendable (ReceiverEvent) -> Void
  ) {
    outlet = SoundOutlet(into: tee, report: report)
    connection = StationConnection(to: address, depth: depth, options, on: network, outlet)
    sound = StationBody(over: connection, into: outlet)
    driver.owner = self
  }

  package func start() {
    outlet.tee.onDiskRoom { [weak self] in
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
      self.reader.change(self.connection.options(for: self.driver.address))
      self.connection.setSilenceLimit(self.reader.silenceLimit)
      self.connection.keepPace(isJoining: self.sound.isJoining)
    }
  }

  package func playerIsDry() {
    loop.post {
      if case .file = self.phase { return }
      guard !self.isStopped else { return }
      self.sound.playerIsDry()
      self.driver.perform(self.sound.isUrgent ? self.driver.machine.playerIsDry(at: self.now) : [])
      if let standby = self.standby { self.sound.beginDetour(on: standby) }
    }
  }

  package func seek(to time: StreamTime, generation: Int) {
    loop.post { self.reader.seek(to: time, generation: generation) }
  }

  package func rest() { loop.post { self.reader.rest() } }

  package func receiveEarlier(from time: StreamTime) {
    loop.post {
      guard !self.isStopped else { return self.outlet.report(.earlier(from: time, [], nil)) }
      self.reader.receiveEarlier(from: time)
    }
  }

  /// Handles everything that is due, after its clock was moved from outside.
  func clockMoved() {
    loop.post { self.driver.wake() }
  }

  var driver: ConnectionDriver { connection.driver }
  private var loop: EventLoop { connection.loop }
  var isStopped: Bool { connection.isStopped }
  /// The URL of the transfer without user and password.
  var shownURL: String { connection.shownURL }
  var now: Instant { connection.now }

  /// The reader of the stream's content.
  private var reader: any BodyReader {
    switch phase {
    case .station: sound
    case .segments(let segments, _): segments
    case .file(let file): file
    }
  }

  /// The answer that is received; none for a file.
  var answer: Answer {
    get {
      switch phase {
      case .station(let answer), .segments(_, let answer): answer
      case .file: .closed(beside: nil)
      }
    }
    set {
      switch phase {
      case .station: phase = .station(newValue)
      case .segments(let segments, _): phase = .segments(segments, newValue)
      case .file: break
      }
    }
  }

  // MARK: Connections

  func connect(to address: StreamAddress) {
    if !isFollowingList { outlet.report(.connecting) }
    expectAnswer()
    driver.open(address) { () throws(HTTPError) in
      connection.network.start(try connection.request(address), on: self)
    }
  }

  /// Resets the state of one connection, as a new one begins.
  func expectAnswer() {
    answer = .awaited
    driver.pace = nil
    _ = outlet.drainDelivered()
  }

  func disconnected() {
    outlet.pause.release()
    let before = phase
    answer = .closed(beside: standby)
    switch before {
    case .station(.sound): sound.lost()
    case .segments(let segments, _): segments.close()
    case .station, .file: break
    }
  }

  /// Does nothing: the stitcher's action reports it, with the way in which the sound joins.
  func resumed() {}

  func end() {
    driver.end()
    reader.end()
    disconnectStandby()
    outlet.detour = nil
  }

  // MARK: Time

  func wakeTime(_ deadline: Instant?) -> Instant? {
    let reader = reader
    if reader.isAtRest { return nil }
    // No sound is missing while reading is paused.
    guard var due = outlet.pause.isHolding ? outlet.pause.end : deadline else { return reader.deadline }
    if let moment = reader.deadline { due = min(due, moment) }
    // Paced receivers round their deadline up to 100 ms, so that one wake-up serves many.
    if driver.pace != nil { due = due.advanced(by: Self.timerGrain).roundedDown(to: Self.timerGrain) }
    return due
  }

  private static let timerGrain = Duration.milliseconds(100)

  func timePassed() {
    reader.deadlinePassed()
    guard !isStopped else { return }
    if outlet.pause.isHolding { return outlet.pause.timePassed(at: now) ? readAgain() : driver.arm() }
    if driver.machine.phase != .waiting, let deadline = driver.machine.deadline, now >= deadline {
      reader.silent()
    }
    driver.deadlinePassed()
  }

  /// Resumes reading: the recorded sound is on the disks.
  private func diskHasRoom() {
    guard !isStopped, !outlet.tee.isDiskBehind else { return }
    reader.diskHasRoom()
    if outlet.pause.diskHasRoom() { readAgain() }
  }

  /// Reads again from paused transfers.
  private func readAgain() {
    driver.readAgain()
    reader.resume()
  }

  // MARK: A transfer

  package func receiveHead(_ head: HTTPResponse) -> HTTPFlow {
    guard !isStopped else { return .stop }
    guard head.status < 400 else {
      answer = .closed(beside: nil)
      return driver.refused(head)
    }
    answer = .unknown(head, [])
    driver.machine.answered(at: now)
    if connection.options.isRaw {
      if !isFile(head) || isPlayedOnly { beginSound(head) }
    } else if let format = connection.options.playlist, !driver.machine.isListed {
      answer = .list(head, format, [])
    }
    driver.arm()
    return .more
  }

  package func receiveBody(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    guard !isStopped else { return .stop }
    sound.noteArrival()
    switch answer {
    case .closed, .awaited: return .stop
    case .unknown(let head, let start):
      let start = start + bytes
      answer = .unknown(head, start)
      if start.count >= 64 {
        let flow = recognise(start, of: head, isWhole: false)
        // Content other than sound may have led to the next entry of a list, whose body is not known either.
        if case .stop = flow { return .stop }
        guard case .unknown = answer else { return flow }
      }
    case .list(let head, let format, var list):
      guard list.count + bytes.count <= Playlist.sizeLimit else {
        return drop(StreamError(.content, "the playlist \(shownURL) has more than 1 MiB"))
      }
      answer = .closed(beside: nil)  // so that the received bytes are not copied
      list += bytes
      answer = .list(head, format, list)
    case .sound:
      if case .stop = receive(bytes) { return .stop }
      return sound.isJoining ? .more : connection.flow(lead: .zero)
    }
    // The connection is not silent.
    connection.keepAlive()
    return .more
  }

  package func receiveEnd(_ failure: HTTPError?) {
    guard !isStopped else { return }
    driver.transfer = nil
    var isSound = false
    switch answer {
    case .unknown(let head, let start) where !start.isEmpty:
      if case .stop = recognise(start, of: head, isWhole: true) { return }
      if case .unknown = answer { break }
      if case .file(let file) = phase { return file.receiveEnd(failure) }
      return receiveEnd(failure)
    case .unknown(let head, _) where failure == nil:
      _ = drop(.empty(shownURL, status: head.status))
      return
    case .list(let head, let format, let text) where failure == nil: return follow(text, format, head)
    case .sound:
      isSound = true
      // Too few bytes may have come to recognise it; text may be recognised now.
      if outlet.format == nil, let error = sound.endUnrecognised() {
        _ = drop(error)
        return
      }
    case .closed, .awaited, .unknown, .list: break
    }
    if sound.ended(isComplete: failure == nil, isSound: isSound) { return connection.finish() }
    disconnected()
    let error = failure.map { StreamError($0, at: driver.address) } ?? .ended(shownURL)
    connection.lost(error, retryAfter: .zero)
  }

  /// Ends a connection without usable content.
  func drop(_ error: StreamError) -> HTTPFlow {
    driver.transfer = nil
    disconnected()
    connection.lost(error, retryAfter: .zero)
    return .stop
  }

  /// Continues with the addresses, or the segments, of a list.
  private func follow(_ text: [UInt8], _ format: Playlist.Format, _ head: HTTPResponse) {
    answer = .closed(beside: nil)
    if format == .m3u, Playlist.isHLS(text) { return open(segments: text, head) }
    do throws(StreamError) {
      let list = try Playlist(text, format: format, base: driver.address)
      isFollowingList = true
      driver.perform(driver.machine.found(list, at: now))
      isFollowingList = false
    } catch { connection.lost(error, retryAfter: .zero) }
  }

  /// Receives bytes of a station's sound.
  func receive(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    if let error = sound.receive(bytes) { return drop(error) }
    return isStopped ? .stop : .more
  }
}
