internal import Codecs
internal import Crypto
internal import EventLoop
package import HTTP
internal import RTSP
package import StreamCore

/// Receives one stream from a server of RTSP: connects, again after each loss, and fills the outlet.
///
/// A presentation without an end is live: the sound of an outage is lost, and a gap by the clock is reported.
/// One with a range is a file: it can be moved in, and rests while enough is ahead of the player.
///
/// Unchecked: confined to the loop of its network thread once `start` was posted there; `init` passes in all
/// its parts.
package final class RTSPReceiver: StreamReceiver, ConnectionOwner, ConnectionReceiver, @unchecked Sendable {
  /// The stream's own address; only its server receives the credentials.
  private let origin: StreamAddress
  private let network: NetworkThread
  let loop: EventLoop
  private(set) var options: ReceiverOptions
  let outlet: SoundOutlet
  let driver: ConnectionDriver
  var session: RTSPSession?
  var soundClock = SoundClock()
  /// The time at which the last sound of the last connection was due; nil while sound comes, and before the
  /// first.
  var lostAt: Double?
  /// The number of bytes of all frames.
  var offset = 0
  /// The number of connections with sound, which numbers logical streams of Ogg.
  var connections: UInt32 = 0
  /// The file, once the presentation has turned out to have an end.
  var file: RTSPFile?

  /// - Parameter report: called on the network thread.
  package init(
    at address: StreamAddress, options: ReceiverOptions, network: NetworkThread, tee: FrameTee,
    report: @escaping @Sendable (ReceiverEvent) -> Void
  ) {
    origin = address
    (self.network, loop, self.options) = (network, network.loop, options)
    outlet = SoundOutlet(into: tee, report: report)
    // A server of RTSP repeats nothing: a second connection beside a silent one would bring nothing.
    driver = ConnectionDriver(
      ConnectionMachine(address, dataTimeout: options.dataTimeout, isPaced: false), loop: network.loop,
      clock: options.clock, report: report)
    driver.owner = self
  }

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
      self.options = options
      self.driver.setDataTimeout(options.dataTimeout)
    }
  }

  package func seek(to time: StreamTime, generation: Int) {
    loop.post { self.move(to: time, generation: generation) }
  }

  package func receiveEarlier(from time: StreamTime) {
    loop.post { self.report(.earlier(from: time, [], nil)) }
  }

  func report(_ event: ReceiverEvent) { outlet.report(event) }
  var tee: FrameTee { outlet.tee }
  var isStopped: Bool { driver.isStopped }
  var now: Instant { driver.now }
  var seconds: Double { Double(now.nanoseconds) / 1e9 }
  /// The URL of the connection without user and password.
  var shownURL: String { session?.address.description ?? driver.shownURL }

  // MARK: Connections

  func connect(to address: StreamAddress) {
    report(.connecting)
    open(address, redirects: 0)
  }

  private func open(_ address: StreamAddress, redirects: Int) {
    do throws(HTTPError) {
      var request = try HTTPRequest(address.serverURL)
      if let file = options.certificateFile { request.certificateFile = file }
      if driver.machine.hasSounded { request.connectTimeout = .seconds(6) }
      let nonce = Digest.randomBytes(8) ?? []
      let client = RTSPClient(
        uri: address.requestURI, credentials: credentials(for: address), userAgent: options.userAgent,
        clientNonce: nonce.map { String($0, radix: 16) }.joined())
      session = RTSPSession(
        connection: network.connect(request, for: self), address: address, redirects: redirects,
        client: client)
    } catch {
      let failure = StreamError(error, at: address)
      // In a turn of its own: the driver is in the middle of its actions.
      loop.next { [self] in if !isStopped { driver.perform(driver.machine.ended(failure, at: now)) } }
    }
  }

  /// Returns the credentials for an address: those of the stream for its own server, else those in the
  /// address.
  private func credentials(for address: StreamAddress) -> RTSPCredentials? {
    guard address.isSameServer(as: origin) else { return address.rtspCredentials }
    return options.credentials.map { RTSPCredentials($0) } ?? origin.rtspCredentials
      ?? address.rtspCredentials
  }

  /// Closes the connection, and drops its unfinished parts.
  func disconnected() {
    guard var closed = session else { return }
    session = nil
    for action in closed.client.end(at: now) {
      if case .send(let bytes) = action { closed.connection.send(bytes) }
    }
    closed.connection.close()
    guard closed.hasSounded else { return }
    offset = closed.reception?.offset ?? offset
    lostAt = soundClock.due().map { min($0, seconds) } ?? seconds
  }

  /// Does nothing: the first frame reports it, with the length of the gap.
  func resumed() {}

  func end() {
    driver.end()
    disconnected()
  }

  func wakeTime(_ deadline: Instant?) -> Instant? {
    // No sound is missing while the server rests, or waits for a disk.
    let own = isResting ? nil : deadline
    return [own, session?.client.deadline, file?.end].compactMap(\.self).min()
  }

  func timePassed() {
    guard !isStopped else { return }
    if let actions = session?.client.deadlinePassed(at: now) { perform(actions) }
    if isStopped { return }
    if let end = file?.end, now >= end { return finish() }
    if isResting { return driver.arm() }
    driver.deadlinePassed()
  }

  // MARK: The connection

  package func connectionOpened() {
    guard let actions = session?.client.connected(at: now) else { return }
    perform(actions)
    driver.arm()
  }

  package func connectionReceived(_ bytes: UnsafeRawBufferPointer) {
    session?.parser.feed(bytes)
    let connection = session?.connection
    do throws(RTSPError) {
      while let item = try session?.parser.next() {
        // Each step of the session counts, and later sound alone.
        if case .response = item, session?.client.isBeginning == true { driver.machine.answered(at: now) }
        guard let actions = session?.client.received(item, at: now) else { return }
        perform(actions)
        // The session may have been replaced.
        guard session?.connection === connection else { return }
      }
    } catch { return lose(StreamError(error, url: shownURL)) }
    session?.connection.isReading = !(tee.isDiskBehind || file?.isOverfull == true)
    driver.arm()
  }

  package func connectionEnded(_ failure: HTTPError?) {
    guard let address = session?.address else { return }
    lose(failure.map { StreamError($0, at: address) } ?? .ended(shownURL))
  }

  /// The connection has failed.
  func lose(_ error: StreamError) {
    receiveLast()
    if isStopped { return }
    disconnected()
    file?.continues = false
    if isAtEnd { return finish() }
    if file?.hold(error) == true { return driver.arm() }
    driver.perform(driver.machine.ended(error, at: now))
  }

  /// `true` while no sound is expected.
  private var isResting: Bool { isHeldBack || session?.connection.isReading == false }

  private func diskHasRoom() {
    guard !isStopped, let session, !session.connection.isReading, file?.isOverfull != true else { return }
    driver.perform(driver.machine.received(.zero, at: now))
    session.connection.isReading = true
    driver.arm()
  }

  // MARK: The session

  func perform(_ actions: [RTSPClient.Action]) {
    for action in actions {
      guard !isStopped, session != nil else { return }
      switch action {
      case .send(let bytes): session?.connection.send(bytes)
      case .described(let description): setUp(description)
      case .playing(let range): begin(range)
      case .resting: rested()
      case .packet(let bytes): receive(bytes)
      case .report(let bytes): if RTCPPacket.isGoodbye(bytes) { leave() }
      case .redirect(let location): redirect(to: location)
      case .fail(let error): lose(StreamError(error, url: shownURL))
      }
    }
  }

  private func setUp(_ description: SessionDescription) {
    switch RTPSound.choose(in: description) {
    case .failure(let obstacle): lose(.noMedium(obstacle, shownURL))
    case .success(let choice):
      session?.sound = choice.sound
      session?.name = description.stationName
      adopt(choice.medium.range ?? description.range)
      let start = file.map { $0.range.start + $0.position.seconds }
      guard let actions = session?.client.setUp(choice.medium, of: description, from: start, at: now) else {
        return
      }
      perform(actions)
    }
  }

  private func redirect(to location: String) {
    guard let old = session else { return }
    disconnected()
    guard old.redirects < RTSPSession.redirectLimit else {
      return lose(
        StreamError(
          .network, "\(old.address) redirects too often", hint: "check the address",
          facts: [.init("url", .string(old.address.description))]))
    }
    guard case .address(let address)? = old.address.resolving(location), address.scheme.isRTSP else {
      return lose(
        StreamError(
          .unsupported, "\(old.address) redirects to an address that is not of RTSP",
          hint: "use that address itself: \(StreamAddress.shown(location).onOneLine)",
          facts: [.init("url", .string(old.address.description))]))
    }
    open(address, redirects: old.redirects + 1)
  }

  /// The server has ended the presentation.
  private func leave() {
    guard session?.hasSounded == true else { return }
    if file != nil { return finish() }
    lose(StreamError(RTSPError(.ended, "ended the stream"), url: shownURL))
  }
}
