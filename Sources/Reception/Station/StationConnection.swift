internal import EventLoop
internal import HTTP
internal import StreamCore

/// The connection of a `StationReceiver`, as its readers know it: requests, the pace and the pause of
/// reading. Confined to the loop of the network thread.
final class StationConnection: BodyConnection {
  let network: NetworkThread
  let driver: ConnectionDriver
  var options: ReceiverOptions
  private let outlet: SoundOutlet
  /// The stream's own address; only its server receives the credentials.
  private let origin: StreamAddress

  /// - Parameters:
  ///   - origin: the stream's own address.
  ///   - depth: the number of lists that led to it.
  init(
    to origin: StreamAddress, depth: Int, _ options: ReceiverOptions, on network: NetworkThread,
    _ outlet: SoundOutlet
  ) {
    (self.origin, self.options, self.network, self.outlet) = (origin, options, network, outlet)
    driver = ConnectionDriver(
      ConnectionMachine(origin, depth: depth, dataTimeout: options.dataTimeout), loop: network.loop,
      clock: options.clock, mayWakeEarly: true, report: outlet.report)
  }

  var loop: EventLoop { driver.loop }
  var now: Instant { driver.now }
  var isStopped: Bool { driver.isStopped }
  var hasSounded: Bool { driver.machine.hasSounded }
  var shownURL: String { driver.shownURL }
  var candidates: [ListedAddress] { driver.machine.candidates }

  // MARK: Requests

  /// Returns the request of the stream's body.
  func request(_ address: StreamAddress) throws(HTTPError) -> HTTPRequest {
    var request = try HTTPRequest(address)
    request.userAgent = options.userAgent
    if let file = options.certificateFile { request.certificateFile = file }
    if let credentials = options(for: address).credentials { request.credentials = credentials }
    request.wakeTime = options.wakeTime
    request.wantsICY = options.isFile != true
    request.decodesUnasked = true
    // Packets to an absent host are lost, and sent again ever more rarely: a new attempt is sooner.
    if hasSounded { request.connectTimeout = Self.reconnectTimeout }
    return request
  }

  private static let reconnectTimeout = Duration.seconds(6)

  /// Returns the options of a request, with the credentials for its server.
  func options(for address: StreamAddress) -> ReceiverOptions {
    var options = options
    options.credentials = options.credentials(for: address, from: origin)
    return options
  }

  func open(
    _ address: StreamAddress, headers: [(name: String, value: String)], on receiver: any HTTPReceiver
  ) throws(HTTPError) -> any BodyTransfer {
    var request = try request(address)
    (request.wantsICY, request.wakeTime) = (false, nil)
    request.headers += headers
    return network.start(request, on: receiver)
  }

  // MARK: Reports of a reader

  func received(_ sound: StreamTime, isJoining: Bool) {
    outlet.pause.add(sound, at: now)
    let (audio, isNew) = (Duration(inSeconds: sound.seconds), outlet.drainDelivered())
    driver.perform(driver.machine.received(audio, isNew: isNew, at: now, look: driver.pace ?? .zero))
    keepPace(isJoining: isJoining)
  }

  func keepAlive() { driver.perform(driver.machine.received(.zero, at: now)) }

  func setSilenceLimit(_ limit: Duration) { driver.setDataTimeout(max(options.dataTimeout, limit)) }

  func arm() { driver.arm() }

  func lost(_ error: StreamError, retryAfter: Duration) {
    driver.perform(driver.machine.ended(error, retryAfter: retryAfter, at: now))
  }

  func bufferIsFull() {
    driver.owner?.end()
    driver.owner?.disconnected()
  }

  func finish() {
    outlet.report(.complete)
    driver.owner?.end()
  }

  // MARK: Reading

  func flow(lead: StreamTime) -> HTTPFlow {
    let limit = options.liveLead.flatMap { most in
      outlet.tee.buffer.map { $0.liveLead(max(most, lead)) }
    }
    let flow = outlet.flow(aheadBy: limit, at: now)
    if case .pause = flow { driver.arm() }
    return flow
  }

  /// Reads in larger pieces while no player waits for new sound.
  /// - Parameter isJoining: `true` while frames are held, so that bytes must be read as they come.
  func keepPace(isJoining: Bool) {
    let wanted = isJoining ? nil : longestLook
    guard wanted != driver.pace else { return }
    driver.pace = wanted
    driver.transfer?.setPace(wanted.flatMap { options.clock.sleep(now.advanced(by: $0), loop) })
  }

  /// The longest interval of reading; nil while bytes must be read as they come.
  private var longestLook: Duration? {
    guard let buffer = outlet.tee.buffer else { return driver.machine.longestLook }
    // A player may begin at any moment, and plays the buffered sound until the next look.
    guard buffer.mayRest, options.wakeTime >= Self.playedLook, driver.machine.longestLook != nil else {
      return nil
    }
    return Self.playedLook
  }

  private static let playedLook = Duration.milliseconds(250)
}
