internal import EventLoop
internal import HTTP
internal import StreamCore

/// A reader of one file, with a connection of its own, which adopts the transfer that has turned out to bring
/// the file. On the network thread.
protocol AdoptingReceiver: BodyReader, HTTPReceiver {
  /// Adopts a transfer, whose bytes go to this receiver from now on.
  func adopt(_ transfer: HTTPTransfer?)
}

/// Receives one file for a player: adopts the connection that found it, holds back sound that is too far
/// ahead of the player, requests the rest after a loss, and other parts after a seek.
///
/// Unchecked: confined to the loop of its network thread; `init` passes in all its parts.
final class FileReceiver: AdoptingReceiver, ConnectionOwner, @unchecked Sendable {
  let driver: ConnectionDriver
  let outlet: SoundOutlet
  private let address: StreamAddress
  private var options: ReceiverOptions
  private let network: NetworkThread
  private let buffer: StreamBuffer

  private var identity: FileIdentity
  private let contentType: String?
  /// The facts of the answer, until the file turns out to be sound.
  private var station: StationInfo?
  private var parser: (any FileParser)?
  /// The start of the file, until there is enough to choose a parser.
  private var start: [UInt8] = []
  /// The next byte of the transfer, and the next byte to parse.
  private var position = 0
  private var wanted = 0
  /// The generation of the last seek; frames of earlier generations are not accepted.
  private var seekGeneration = 0
  /// The item that was found and has no room yet.
  private var waiting: FileItem?
  private var reading = Reading.flowing
  private var hasSounded = false
  private var facts = FileFacts()
  /// The number of requests for other parts since the last frame.
  private var requests = 0
  private var restarts = FileRestarts()

  /// A state of the reading of the file.
  private enum Reading {
    case flowing
    /// The buffer has no room.
    case heldBack(HeldTransfer)
    /// All items have been found.
    case finished
  }

  /// The transfer of a file that is held back.
  private enum HeldTransfer {
    case open
    /// The connection was lost meanwhile.
    case lost(StreamError)
    /// The connection was closed, as the player rests for long: another one brings the rest.
    case closed
  }

  /// The number of bytes that are read rather than skipped by another request.
  private static let shortSkip = 64 << 10

  /// - Parameters:
  ///   - head: the head of the answer with the file.
  init(
    at address: StreamAddress, head: HTTPResponse, options: ReceiverOptions, network: NetworkThread,
    buffer: StreamBuffer, outlet: SoundOutlet
  ) {
    (self.address, self.options, self.network, self.buffer) = (address, options, network, buffer)
    self.outlet = outlet
    identity = FileIdentity(head)
    contentType = head.headers["Content-Type"]
    station = StationInfo(head)
    driver = ConnectionDriver(fileAt: address, options, loop: network.loop, report: outlet.report)
    driver.owner = self
  }

  func adopt(_ transfer: HTTPTransfer?) {
    driver.adopt(transfer, for: self)
    // The transfer is open already.
    _ = driver.machine.start(at: driver.now)
    report(.file(facts))
    buffer.holdBack(above: options.fileLead, wanted: options.fileWait) { [weak self] in
      guard let self else { return }
      driver.loop.post { self.roomCame() }
    }
    driver.arm()
  }

  func change(_ options: ReceiverOptions) {
    self.options = options
    driver.setDataTimeout(options.dataTimeout)
  }

  func end() { driver.end() }

  /// Moves to a time of the file; items found earlier are dropped.
  func seek(to time: StreamTime, generation: Int) {
    guard !isStopped else { return }
    seekGeneration = generation
    (waiting, reading) = (nil, .flowing)
    guard let byte = parser?.seek(to: time) else {
      return driver.fail(
        StreamError(
          .noSeek, "\(shownURL) can't seek to \(time.seconds) s: the position of that time is unknown"))
    }
    if identity.size.map({ byte >= $0 }) ?? false { return finish() }
    request(from: byte)
  }

  func rest() {
    guard case .heldBack(.open) = reading, driver.transfer != nil else { return }
    reading = .heldBack(.closed)
    driver.closeTransfer()
  }

  private var isStopped: Bool { driver.isStopped }
  private var shownURL: String { driver.shownURL }
  private func report(_ event: ReceiverEvent) { driver.report(event) }

  // MARK: Connections

  /// Requests the bytes from `byte` on, on a new connection.
  private func request(from byte: Int) {
    (wanted, restarts) = (byte, FileRestarts())
    driver.start(
      with: ConnectionMachine(
        address, dataTimeout: options.dataTimeout, isPaced: false, hasSounded: hasSounded))
  }

  func connect(to address: StreamAddress) {
    if restarts.isInVain() { return driver.fail(.incomplete(shownURL, beyond: wanted)) }
    if driver.isReconnecting { report(.connecting) }
    position = 0
    driver.open(address) { () throws(HTTPError) in
      network.start(try identity.request(address, from: wanted, options), on: self)
    }
  }

  func wakeTime(_ deadline: Instant?) -> Instant? {
    // No byte is missing while reading is paused.
    if case .flowing = reading { deadline } else { nil }
  }

  // MARK: A transfer

  func receiveHead(_ head: HTTPResponse) -> HTTPFlow {
    guard !isStopped else { return .stop }
    if head.status == 416 { return receiveNoRange(head) }
    guard head.status < 400 else { return driver.refused(head) }
    guard let first = identity.admit(head, from: wanted) else { return failChanged() }
    position = first
    restarts.answered(from: first, wanted: wanted)
    driver.machine.answered(at: driver.now)
    driver.arm()
    return .more
  }

  /// Receives the answer that the requested bytes do not exist: the file ends before them, or has become
  /// shorter.
  private func receiveNoRange(_ head: HTTPResponse) -> HTTPFlow {
    driver.transfer = nil
    let size = head.headers["Content-Range"].flatMap { ContentRange($0)?.size }
    guard size ?? wanted >= wanted, parser != nil else { return failChanged() }
    identity.size = wanted
    endOfFile()
    return .stop
  }

  private func failChanged() -> HTTPFlow {
    driver.transfer = nil
    driver.fail(.changed(shownURL, while: "played"))
    return .stop
  }

  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    guard !isStopped else { return .stop }
    let skipped = min(bytes.count, max(0, wanted - position))
    position += bytes.count
    var flow = HTTPFlow.more
    if skipped < bytes.count {
      wanted = position
      restarts.advanced()
      flow = receive(UnsafeRawBufferPointer(rebasing: bytes[skipped...]))
    }
    if case .stop = flow { return .stop }
    received(isNew: skipped < bytes.count)
    return isStopped ? .stop : flow
  }

  /// Reports to the machine that the connection is not silent.
  /// - Parameter isNew: `true` if bytes have come that had not come before.
  private func received(isNew: Bool) {
    let audio = requests == 0 && hasSounded ? Duration.nanoseconds(1) : .zero
    driver.perform(driver.machine.received(audio, isNew: isNew && audio > .zero, at: driver.now))
  }

  func receiveEnd(_ failure: HTTPError?) {
    guard !isStopped else { return }
    driver.transfer = nil
    let isEnd = identity.size.map { position >= $0 } ?? (failure == nil)
    // Without a known size the end of the answer ends the file, even if more bytes were expected.
    if isEnd, position >= wanted || identity.size == nil { return endOfFile() }
    let error =
      failure.map { StreamError($0, at: driver.address) }
      ?? StreamError(
        .network, "\(shownURL) ended the connection", facts: [.init("url", .string(shownURL))])
    if case .heldBack = reading {
      reading = .heldBack(.lost(error))
    } else {
      driver.perform(driver.machine.ended(error, at: driver.now))
    }
  }

  private func endOfFile() {
    if parser == nil { _ = choose() }
    parser?.end()
    if case .heldBack = reading { return }
    if !isStopped { _ = drain() }
  }

  // MARK: Sound

  private func receive(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    guard parser == nil else {
      parser?.feed(bytes)
      return drain()
    }
    start.append(contentsOf: bytes)
    guard start.count >= FileKind.magicLength else { return .more }
    return choose() ? drain() : .stop
  }

  /// Chooses the parser.
  private func choose() -> Bool {
    switch FileKind.parser(for: start, contentType: contentType, size: identity.size) {
    case .success(let parser):
      self.parser = parser
      start.withUnsafeBytes { self.parser?.feed($0) }
      start = []
      return true
    case .failure(let file):
      refuse(file.kind, isUnsupported: true, hint: file.hint)
      return false
    }
  }

  private func refuse(_ found: String, isUnsupported: Bool, hint: String = UnusableFile.convert) {
    let facts: [ErrorFact] = [.init("url", .string(shownURL)), .init("found", .string(found))]
    driver.fail(
      isUnsupported
        ? StreamError(
          .unsupported, "\(shownURL) can't be played here: \(found)", hint: hint, facts: facts)
        : StreamError(
          .content, "\(shownURL) is not audio: found \(found)", hint: "check the address in a browser",
          facts: facts))
  }

  /// Puts the found items into the buffer, until none are left, or there is no room.
  private func drain() -> HTTPFlow {
    while !isStopped {
      guard let item = waiting ?? parser?.next() else {
        reportFacts()
        return .more
      }
      waiting = nil
      switch item {
      case .format(let format):
        if let station { report(.answered(station)) }
        station = nil
        report(.format(format))
      case .begins(let time):
        reportFacts()
        buffer.begin(at: time, preroll: parser?.preroll ?? 0, generation: seekGeneration)
        buffer.setEnd(parser?.soundEnd)
      case .frame(let frame, let bytes):
        let arrival = bytes.withUnsafeBytes {
          outlet.append(frame, $0, generation: seekGeneration, to: buffer)
        }
        (hasSounded, requests) = (true, 0)
        if !arrival.isAccepted { waiting = item }
        if arrival.isHeldBack { return holdBack() }
      case .jump(let byte): if jump(to: byte) { return .stop }
      case .end:
        finish()
        return .stop
      case .unusable(let found, let isUnsupported):
        refuse(found, isUnsupported: isUnsupported)
        return .stop
      }
    }
    return .stop
  }

  /// - Returns: `true` if another transfer brings it.
  private func jump(to byte: Int) -> Bool {
    wanted = byte
    let isNear = byte >= position && (byte - position <= Self.shortSkip || !identity.acceptsRanges)
    if isNear, driver.transfer != nil { return false }
    requests += 1
    guard requests < 4 else {
      refuse("a file whose parts lie all over it", isUnsupported: false)
      return true
    }
    request(from: byte)
    return true
  }

  private func holdBack() -> HTTPFlow {
    reading = .heldBack(.open)
    reportFacts()
    driver.arm()
    report(.heldBack)
    return .pause
  }

  /// Resumes reading: the buffer has room.
  private func roomCame() {
    guard case .heldBack(let held) = reading, !isStopped else { return }
    reading = .flowing
    guard case .more = drain(), !isStopped else {
      if case .heldBack = reading { reading = .heldBack(held) }
      return
    }
    switch held {
    case .open:
      received(isNew: true)
      driver.transfer?.resume()
    case .lost(let error): driver.perform(driver.machine.ended(error, at: driver.now))
    case .closed: request(from: wanted)
    }
  }

  private func finish() {
    reading = .finished
    driver.closeTransfer()
    driver.machine.stop()
    driver.reportJoin()
    reportFacts()
    buffer.setEnd(parser?.soundEnd)
    if buffer.complete(generation: seekGeneration) { report(.buffered) }
    driver.arm()
  }

  private func reportFacts() {
    var new = FileFacts()
    new.duration = parser?.duration
    new.canSeek = identity.acceptsRanges && identity.size != nil && new.duration != nil
    // An estimate improves with every frame: only a noticeable change is reported.
    let isClose =
      zip(new.duration, facts.duration).map { abs($0 - $1) < 0.001 * $0 } ?? (new.duration == facts.duration)
    var isFinal = false
    if case .finished = reading { isFinal = true }
    guard new.canSeek != facts.canSeek || !isClose || isFinal && new != facts else { return }
    facts = new
    report(.file(new))
  }

  private func zip(_ first: Double?, _ second: Double?) -> (Double, Double)? {
    guard let first, let second else { return nil }
    return (first, second)
  }
}
