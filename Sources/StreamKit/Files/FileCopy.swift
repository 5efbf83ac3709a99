internal import EventLoop
internal import HTTP

/// Receives one file for a recording, whose bytes go there as they are: takes over the connection that found it, and asks
/// for what is missing after a loss. A server that gives no parts begins anew, and what is there is passed over.
///
/// Unchecked: confined to the loop of its network thread; what it is made of comes in by `init`.
final class FileCopy: FileReceiver, @unchecked Sendable {
  private enum Phase {
    /// Too little has come to tell what it is.
    case starting([UInt8])
    case copying(CopiedKind)
    case over
  }

  private let url: String
  private var options: Reception.Options
  private let network: NetworkThread
  private let loop: EventLoop
  private let outlet: FrameOutlet
  private let tell: @Sendable (ReceptionEvent) -> Void
  private var machine: ConnectionMachine
  private var transfer: HTTPTransfer?
  private var timer: LoopTimer?
  private var identity: FileIdentity
  private let head: HTTPResponse
  private var phase = Phase.starting([])
  /// Byte that the transfer brings next, and the one that is wanted next.
  private var position = 0
  private var wanted = 0
  private var waitsForDisk = false
  private var isReconnecting = false

  /// - Parameters:
  ///   - head: the answer that is the file.
  ///   - tell: called on the network thread.
  init(
    url: String, head: HTTPResponse, options: Reception.Options, network: NetworkThread, outlet: FrameOutlet,
    tell: @escaping @Sendable (ReceptionEvent) -> Void
  ) {
    (self.url, self.head, self.options, self.network) = (url, head, options, network)
    (self.outlet, self.tell) = (outlet, tell)
    loop = network.loop
    identity = FileIdentity(head)
    machine = ConnectionMachine(url: url, dataTimeout: options.dataTimeout, isPaced: false)
  }

  func adopt(_ transfer: HTTPTransfer?) {
    self.transfer = transfer
    // The transfer is there already.
    _ = machine.start(at: loop.now)
    machine.answered(at: loop.now)
    arm()
  }

  func change(_ options: Reception.Options) {
    self.options = options
    machine.setDataTimeout(options.dataTimeout)
    arm()
  }

  func end() {
    phase = .over
    machine.stop()
    timer?.cancel()
    timer = nil
    transfer?.cancel()
    transfer = nil
  }

  /// A recording has no place to go to.
  func seek(to time: StreamTime, leap: Int) {}

  func diskHasRoom() {
    guard waitsForDisk, !isOver else { return }
    waitsForDisk = false
    // The silence was not the server's.
    perform(machine.received(.zero, at: loop.now))
    transfer?.resume()
  }

  private var isOver: Bool { if case .over = phase { true } else { false } }
  private var shownURL: String { StreamURL.shown(url) }

  // MARK: Connections

  private func perform(_ actions: [ConnectionMachine.Action]) {
    for action in actions {
      if isOver { return }
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
      case .resumed: reconnected()
      // A file comes at no pace, so that it never stalls.
      case .connectStandby, .disconnectStandby, .adoptStandby: break
      }
    }
    arm()
  }

  private func connect() {
    tell(.connecting)
    (position, waitsForDisk) = (0, false)
    do throws(HTTPError) {
      transfer = network.start(try identity.request(url, from: wanted, options), on: self)
    } catch {
      let failure = StreamError(error, url: shownURL)
      loop.next { if !self.isOver { self.perform(self.machine.ended(failure, at: self.loop.now)) } }
    }
  }

  private func reconnected() {
    if isReconnecting { tell(.reconnected(gap: 0, stitched: true, overlap: 0)) }
    isReconnecting = false
  }

  private func arm() {
    timer?.cancel()
    timer = nil
    // Nothing is missing while nothing is read.
    guard !isOver, !waitsForDisk, let due = machine.deadline else { return }
    timer = loop.at(due) { [weak self] in
      guard let self, !isOver else { return }
      perform(machine.deadlinePassed(at: loop.now))
    }
  }

  private func fail(_ error: StreamError) -> HTTPFlow {
    transfer = nil
    tell(.failed(error))
    tell(.gaveUp(error))
    end()
    return .stop
  }

  // MARK: A transfer

  func receiveHead(_ head: HTTPResponse) -> HTTPFlow {
    guard !isOver else { return .stop }
    if head.status == 416 { return receiveNoRange(head) }
    guard head.status < 400 else {
      transfer = nil
      let wait = head.retryAfter(at: loop.wallNow)
      let error = StreamError.answer(head.status, url: head.url, retryAfter: wait)
      perform(machine.ended(error, retryAfter: wait ?? .zero, at: loop.now))
      return .stop
    }
    guard let first = identity.admit(head, from: wanted) else {
      return fail(.changed(shownURL, while: "recorded"))
    }
    position = first
    machine.answered(at: loop.now)
    arm()
    return .more
  }

  /// Receives the answer that no byte is there: the file ends before it, or has become shorter.
  private func receiveNoRange(_ head: HTTPResponse) -> HTTPFlow {
    transfer = nil
    let size = head.headers["Content-Range"].flatMap { ContentRange($0)?.size } ?? identity.size
    guard size == wanted else { return fail(.changed(shownURL, while: "recorded")) }
    finish()
    return .stop
  }

  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    guard !isOver else { return .stop }
    let skipped = min(bytes.count, max(0, wanted - position))
    let start = position + skipped
    position += bytes.count
    if skipped < bytes.count {
      wanted = position
      take(UnsafeRawBufferPointer(rebasing: bytes[skipped...]), at: start)
    }
    if isOver { return .stop }
    // What comes again is no headway.
    let isNew = skipped < bytes.count
    perform(machine.received(isNew ? .nanoseconds(1) : .zero, isNew: isNew, at: loop.now))
    guard !isOver else { return .stop }
    guard outlet.isDiskBehind else { return .more }
    waitsForDisk = true
    arm()
    return .pause
  }

  func receiveEnd(_ failure: HTTPError?) {
    guard !isOver else { return }
    transfer = nil
    // Where no size is told the end of an answer that ends in order is that of the file.
    if identity.size.map({ wanted >= $0 }) ?? (failure == nil && position >= wanted) { return finish() }
    let error = failure.map { StreamError($0, url: shownURL) } ?? .ended(shownURL)
    perform(machine.ended(error, at: loop.now))
  }

  // MARK: Bytes

  private func take(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    switch phase {
    case .over: break
    case .copying(let kind): outlet.receive { $0.append(bytes, at: offset, of: kind.format) }
    case .starting(let start):
      phase = .starting(start + bytes)
      begin(isWhole: false)
    }
  }

  /// Begins to record if the start tells what it is.
  private func begin(isWhole: Bool) {
    guard case .starting(let start) = phase, isWhole || start.count >= ContentSniffer.magicLength else {
      return
    }
    let type = head.headers["Content-Type"]
    guard let kind = CopiedKind(start, contentType: type, url: url, isWhole: isWhole) else {
      if isWhole || start.count >= CopiedKind.longestStart {
        _ = fail(.noAudio(ContentSniffer.describe(start[...]), from: shownURL))
      }
      return
    }
    phase = .copying(kind)
    tell(.answered(StationInfo(head)))
    tell(.copying)
    outlet.beginFile(end: kind.fileEnd)
    outlet.receive { intake in start.withUnsafeBytes { intake.append($0, at: 0, of: kind.format) } }
  }

  /// All of the file has come.
  private func finish() {
    begin(isWhole: true)
    guard !isOver else { return }
    reconnected()
    tell(.complete)
    end()
  }
}
