internal import EventLoop
internal import HTTP

/// Receives one file in place of a reception, once that has found that it is one. On the network thread.
protocol FileReceiver: HTTPReceiver {
  /// Takes over a transfer, whose bytes come to this from now on.
  func adopt(_ transfer: HTTPTransfer?)
  /// Receives as these say from now on.
  func change(_ options: Reception.Options)
  /// Ends it for good.
  func end()
  /// Goes to another place of the file.
  func seek(to time: StreamTime, leap: Int)
  /// Resumes reading: the recorded sound is on the disks.
  func diskHasRoom()
}

/// Receives one file for a player: takes over the connection that found it, holds back what is too far ahead of the player, asks for
/// what is missing after a loss, and for other places of it.
///
/// Unchecked: confined to the loop of its network thread; what it is made of comes in by `init`.
final class FileReception: FileReceiver, @unchecked Sendable {
  private let url: String
  private var options: Reception.Options
  private let network: NetworkThread
  private let loop: EventLoop
  private let buffer: StreamBuffer
  private let tell: @Sendable (ReceptionEvent) -> Void
  private var machine: ConnectionMachine
  private var transfer: HTTPTransfer?
  private var timer: LoopTimer?
  private var isStopped = false

  private var identity: FileIdentity
  private let contentType: String?
  /// What the answer tells, until the file turns out to be sound.
  private var station: StationInfo?
  private var parser: (any FileParser)?
  /// The start of the file, until it is enough to choose a parser.
  private var start: [UInt8] = []
  /// Byte that the transfer brings next, and the one that is wanted next.
  private var position = 0
  private var wanted = 0
  /// Number of the last leap; frames of those before it are not taken.
  private var leap = 0
  /// What has been found and has no room yet.
  private var waiting: FileItem?
  private var isHeldBack = false
  /// A transfer was lost while nothing was wanted: why.
  private var loss: StreamError?
  /// All has been found.
  private var isThrough = false
  private var hasSounded = false
  private var isReconnecting = false
  private var facts = FileFacts()
  /// Leaps by request since the last frame.
  private var requests = 0

  /// Bytes that are rather read than leapt over by another request.
  private static let shortLeap = 64 << 10

  /// - Parameters:
  ///   - head: the answer that is the file.
  ///   - tell: called on the network thread.
  init(
    url: String, head: HTTPResponse, options: Reception.Options, network: NetworkThread, buffer: StreamBuffer,
    tell: @escaping @Sendable (ReceptionEvent) -> Void
  ) {
    self.url = url
    self.options = options
    self.network = network
    loop = network.loop
    self.buffer = buffer
    self.tell = tell
    identity = FileIdentity(head)
    contentType = head.headers["Content-Type"]
    station = StationInfo(head)
    machine = ConnectionMachine(url: url, dataTimeout: options.dataTimeout, isPaced: false)
  }

  /// Takes over a transfer, whose bytes come to this from now on.
  func adopt(_ transfer: HTTPTransfer?) {
    self.transfer = transfer
    // The transfer is there already.
    _ = machine.start(at: loop.now)
    tell(.file(facts))
    buffer.holdBack(above: options.fileLead, wanted: options.fileWait) { [weak self] in
      guard let self else { return }
      loop.post { self.goOn() }
    }
    arm()
  }

  /// Receives as these say from now on.
  func change(_ options: Reception.Options) {
    self.options = options
    machine.setDataTimeout(options.dataTimeout)
    if !isStopped { arm() }
  }

  /// Ends it for good.
  func end() {
    isStopped = true
    machine.stop()
    timer?.cancel()
    timer = nil
    transfer?.cancel()
    transfer = nil
  }

  /// Goes to another place; what came before is not wanted any more.
  func seek(to time: StreamTime, leap: Int) {
    guard !isStopped else { return }
    self.leap = leap
    (waiting, isHeldBack, isThrough, loss) = (nil, false, false, nil)
    guard let byte = parser?.seek(to: time) else {
      return fail(
        StreamError(.noSeek, "\(shownURL) can't be gone to \(time.seconds) s: nobody knows where that is"))
    }
    if identity.size.map({ byte >= $0 }) ?? false { return finish() }
    request(from: byte)
  }

  func diskHasRoom() {}

  private var shownURL: String { StreamURL.shown(url) }

  // MARK: Connections

  /// Asks for the bytes from `byte` on, on a new connection.
  private func request(from byte: Int) {
    transfer?.cancel()
    transfer = nil
    wanted = byte
    machine = ConnectionMachine(
      url: url, dataTimeout: options.dataTimeout, isPaced: false, hasSounded: hasSounded)
    perform(machine.start(at: loop.now))
  }

  private func perform(_ actions: [ConnectionMachine.Action]) {
    for action in actions {
      if isStopped { return }
      switch action {
      case .connect: connect()
      case .disconnect:
        transfer?.cancel()
        transfer = nil
      case .tell(let error):
        isReconnecting = true
        tell(.failed(error))
      case .giveUp(let error):
        tell(.gaveUp(error))
        end()
      case .resumed:
        if isReconnecting { tell(.reconnected(gap: 0, stitched: true, overlap: 0)) }
        isReconnecting = false
      // A file comes at no pace, so that it never stalls.
      case .connectStandby, .disconnectStandby, .adoptStandby: break
      }
    }
    arm()
  }

  private func connect() {
    if isReconnecting { tell(.connecting) }
    position = 0
    do throws(HTTPError) {
      transfer = network.start(try identity.request(url, from: wanted, options), on: self)
    } catch {
      let failure = StreamError(error, url: shownURL)
      loop.next { if !self.isStopped { self.perform(self.machine.ended(failure, at: self.loop.now)) } }
    }
  }

  private func arm() {
    timer?.cancel()
    timer = nil
    // Nothing is missing while nothing is wanted.
    guard !isStopped, !isHeldBack, !isThrough, let due = machine.deadline else { return }
    timer = loop.at(due) { [weak self] in
      guard let self, !isStopped else { return }
      perform(machine.deadlinePassed(at: loop.now))
    }
  }

  private func fail(_ error: StreamError) {
    tell(.failed(error))
    tell(.gaveUp(error))
    end()
  }

  // MARK: A transfer

  func receiveHead(_ head: HTTPResponse) -> HTTPFlow {
    guard !isStopped else { return .stop }
    if head.status == 416 { return receiveNoRange(head) }
    guard head.status < 400 else {
      transfer = nil
      let wait = head.retryAfter(at: loop.wallNow)
      let error = StreamError.answer(head.status, url: head.url, retryAfter: wait)
      perform(machine.ended(error, retryAfter: wait ?? .zero, at: loop.now))
      return .stop
    }
    guard let first = identity.admit(head, from: wanted) else { return failChanged() }
    position = first
    machine.answered(at: loop.now)
    arm()
    return .more
  }

  /// There is nothing at that byte: the file ends there, or has become shorter.
  private func receiveNoRange(_ head: HTTPResponse) -> HTTPFlow {
    transfer = nil
    let size = head.headers["Content-Range"].flatMap { ContentRange($0)?.size }
    guard size ?? wanted >= wanted, parser != nil else { return failChanged() }
    identity.size = wanted
    endOfFile()
    return .stop
  }

  private func failChanged() -> HTTPFlow {
    transfer = nil
    fail(.changed(shownURL, while: "played"))
    return .stop
  }

  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    guard !isStopped else { return .stop }
    let skipped = min(bytes.count, max(0, wanted - position))
    position += bytes.count
    var flow = HTTPFlow.more
    if skipped < bytes.count {
      wanted = position
      flow = take(UnsafeRawBufferPointer(rebasing: bytes[skipped...]))
    }
    if case .stop = flow { return .stop }
    received(isNew: skipped < bytes.count)
    return isStopped ? .stop : flow
  }

  /// Tells the machine that the connection is not silent.
  /// - Parameter isNew: whether bytes have come that had not before.
  private func received(isNew: Bool) {
    let audio = requests == 0 && hasSounded ? Duration.nanoseconds(1) : .zero
    perform(machine.received(audio, isNew: isNew && audio > .zero, at: loop.now))
  }

  func receiveEnd(_ failure: HTTPError?) {
    guard !isStopped else { return }
    transfer = nil
    let isEnd = identity.size.map { position >= $0 } ?? (failure == nil)
    // Where no size is told the end of the answer is that of the file, though more was to be there.
    if isEnd, position >= wanted || identity.size == nil { return endOfFile() }
    let error =
      failure.map { StreamError($0, url: shownURL) }
      ?? StreamError(
        .network, "\(shownURL) ended the connection", facts: [.init("url", .string(shownURL))])
    if isHeldBack {
      loss = error
    } else {
      perform(machine.ended(error, at: loop.now))
    }
  }

  private func endOfFile() {
    if parser == nil { _ = choose() }
    parser?.end()
    if !isHeldBack, !isStopped { _ = drain() }
  }

  // MARK: Sound

  private func take(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
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
    fail(
      isUnsupported
        ? StreamError(
          .unsupported, "\(shownURL) can't be played here: \(found)", hint: hint, facts: facts)
        : StreamError(
          .content, "\(shownURL) is not audio: found \(found)", hint: "check the address in a browser",
          facts: facts))
  }

  /// Puts what was found into the buffer, until there is no more, or no room.
  private func drain() -> HTTPFlow {
    while !isStopped {
      guard let item = waiting ?? parser?.next() else {
        tellFacts()
        return .more
      }
      waiting = nil
      switch item {
      case .format(let format):
        if let station { tell(.answered(station)) }
        station = nil
        tell(.format(format))
      case .begins(let time):
        tellFacts()
        buffer.begin(at: time, preroll: parser?.preroll ?? 0, leap: leap)
        buffer.setEnd(parser?.soundEnd)
      case .frame(let frame, let bytes):
        let arrival = bytes.withUnsafeBytes { buffer.append(frame, $0, nil, leap: leap) }
        (hasSounded, requests) = (true, 0)
        if !arrival.isTaken { waiting = item }
        if arrival.isEnough { tell(.buffered) }
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

  /// - Returns: whether another transfer brings it.
  private func jump(to byte: Int) -> Bool {
    wanted = byte
    let isNear = byte >= position && (byte - position <= Self.shortLeap || !identity.acceptsRanges)
    if isNear, transfer != nil { return false }
    requests += 1
    guard requests < 4 else {
      refuse("a file whose parts lie all over it", isUnsupported: false)
      return true
    }
    request(from: byte)
    return true
  }

  private func holdBack() -> HTTPFlow {
    isHeldBack = true
    tellFacts()
    arm()
    tell(.heldBack)
    return .pause
  }

  /// There is room.
  private func goOn() {
    guard isHeldBack, !isStopped else { return }
    isHeldBack = false
    guard case .more = drain(), !isStopped else { return }
    if let error = loss {
      loss = nil
      perform(machine.ended(error, at: loop.now))
    } else {
      received(isNew: true)
      transfer?.resume()
    }
  }

  private func finish() {
    isThrough = true
    transfer?.cancel()
    transfer = nil
    machine.stop()
    if isReconnecting { tell(.reconnected(gap: 0, stitched: true, overlap: 0)) }
    isReconnecting = false
    tellFacts()
    buffer.setEnd(parser?.soundEnd)
    if buffer.complete(leap: leap) { tell(.buffered) }
    arm()
  }

  private func tellFacts() {
    var new = FileFacts()
    new.duration = parser?.duration
    new.canSeek = identity.acceptsRanges && identity.size != nil && new.duration != nil
    // A guess gets better with every frame: what nobody would notice is not told.
    let isClose =
      zip(new.duration, facts.duration).map { abs($0 - $1) < 0.001 * $0 } ?? (new.duration == facts.duration)
    guard new.canSeek != facts.canSeek || !isClose || isThrough && new != facts else { return }
    facts = new
    tell(.file(new))
  }

  private func zip(_ first: Double?, _ second: Double?) -> (Double, Double)? {
    guard let first, let second else { return nil }
    return (first, second)
  }
}
