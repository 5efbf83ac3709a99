internal import EventLoop
internal import HTTP
internal import StreamCore

/// The part of a receiver that a `ConnectionDriver` calls. On the driver's loop.
protocol ConnectionOwner: AnyObject {
  var driver: ConnectionDriver { get }
  /// Opens a connection to `address`.
  func connect(to address: StreamAddress)
  /// Drops the frames of a connection that has been closed.
  func disconnected()
  /// Reports that sound comes again.
  func resumed()
  /// The moment of the next look at the connection; nil if no look is due.
  /// - Parameter deadline: the machine's own deadline.
  func wakeTime(_ deadline: Instant?) -> Instant?
  /// Handles everything that is due now.
  func timePassed()
  /// Ends the receiver for good.
  func end()
  func connectStandby(_ address: StreamAddress)
  func disconnectStandby()
  func adoptStandby()
}

extension ConnectionOwner {
  func disconnected() {}
  func resumed() { driver.reportJoin() }
  func timePassed() { driver.deadlinePassed() }
  // A file has no pace, so it never stalls.
  func connectStandby(_ address: StreamAddress) {}
  func disconnectStandby() {}
  func adoptStandby() {}
}

/// The connection of one receiver: performs the actions of its `ConnectionMachine`, and holds the transfer
/// and the timer; the bytes of a transfer go to the receiver. Confined to the loop.
final class ConnectionDriver {
  let loop: EventLoop
  /// Reports the events of the stream.
  let report: @Sendable (ReceiverEvent) -> Void
  var machine: ConnectionMachine
  /// The open transfer.
  var transfer: HTTPTransfer?
  /// The receiver. It sets this itself, as soon as it is created.
  weak var owner: (any ConnectionOwner)?
  /// The interval at which the transfer is read; nil while bytes are read as they come.
  var pace: Duration?
  /// The arrival time of the bytes being received, if they did not arrive now.
  var moment: Instant?
  /// `true` once the receiver has ended; `restart` resets it.
  private(set) var isStopped = false
  /// `true` if a connection has failed since the last `reportJoin`.
  private(set) var isReconnecting = false
  private let clock: ReceiverClock
  private let mayWakeEarly: Bool
  /// The timer and the moment at which it fires; nil while none is set.
  private var alarm: (timer: LoopTimer, due: Instant)?

  /// - Parameters:
  ///   - clock: the time of the machine.
  ///   - mayWakeEarly: `true` if waking early does no harm: a deadline that moves with every read then needs
  ///     no new timer.
  ///   - report: called on the loop.
  init(
    _ machine: ConnectionMachine, loop: EventLoop, clock: ReceiverClock = .loop, mayWakeEarly: Bool = false,
    report: @escaping @Sendable (ReceiverEvent) -> Void
  ) {
    (self.machine, self.loop, self.report) = (machine, loop, report)
    (self.clock, self.mayWakeEarly) = (clock, mayWakeEarly)
  }

  /// Creates the connection of a receiver of one file.
  convenience init(
    fileAt address: StreamAddress, _ options: ReceiverOptions, loop: EventLoop,
    report: @escaping @Sendable (ReceiverEvent) -> Void
  ) {
    self.init(
      ConnectionMachine(address, dataTimeout: options.dataTimeout, isPaced: false), loop: loop, report: report
    )
  }

  var now: Instant { moment ?? clock.now(loop) }
  /// The address of the connection.
  var address: StreamAddress { machine.currentAddress }
  /// The URL of the connection without user and password.
  var shownURL: String { address.description }

  // MARK: The machine

  /// Opens the first connection.
  func start() { perform(machine.start(at: now)) }

  /// Connects again after `end`.
  func restart() {
    isStopped = false
    perform(machine.restart(at: now))
  }

  /// Closes the transfer, and connects as `machine` decides.
  func start(with machine: ConnectionMachine) {
    closeTransfer()
    self.machine = machine
    start()
  }

  func perform(_ actions: [ConnectionMachine.Action]) {
    for action in actions {
      guard !isStopped, let owner else { return }
      switch action {
      case .connect(let address): owner.connect(to: address)
      case .disconnect: disconnect()
      case .report(let error):
        isReconnecting = true
        report(.failed(error))
      case .giveUp(let error): giveUp(error)
      case .resumed: owner.resumed()
      case .connectStandby(let address): owner.connectStandby(address)
      case .disconnectStandby: owner.disconnectStandby()
      case .adoptStandby: owner.adoptStandby()
      }
    }
    arm()
  }

  func disconnect() {
    closeTransfer()
    owner?.disconnected()
  }

  /// Reports the end of an outage in which no sound was lost.
  func reportJoin() {
    if isReconnecting { report(.reconnected(gap: 0, stitched: true, overlap: 0)) }
    isReconnecting = false
  }

  /// Ends the receiver for good.
  func giveUp(_ error: StreamError) {
    report(.gaveUp(error))
    owner?.end()
  }

  /// Reports a failure that no other connection can repair, and ends the receiver.
  func fail(_ error: StreamError) {
    report(.failed(error))
    giveUp(error)
  }

  /// Ends the connection for good.
  func end() {
    isStopped = true
    machine.stop()
    disarm()
    closeTransfer()
  }

  // MARK: The transfer

  /// Opens a transfer. A request that can't be made fails like a connection.
  /// - Parameter start: opens the transfer of `address`.
  func open(_ address: StreamAddress, _ start: () throws(HTTPError) -> HTTPTransfer) {
    do throws(HTTPError) { transfer = try start() } catch {
      let failure = StreamError(error, at: address)
      // In a turn of its own: `perform` is in the middle of its actions.
      loop.next { [self] in if !isStopped { perform(machine.ended(failure, at: now)) } }
    }
  }

  /// Adopts an open transfer of another receiver; all further bytes go to `receiver`.
  func adopt(_ transfer: HTTPTransfer?, for receiver: any HTTPReceiver) {
    self.transfer = transfer
    transfer?.handOver(to: receiver)
  }

  /// Ends a connection whose answer is an error.
  func refused(_ head: HTTPResponse) -> HTTPFlow {
    transfer = nil
    let wait = head.retryAfter(at: loop.wallNow)
    let error = StreamError.answer(head.status, url: head.url, retryAfter: wait)
    perform(machine.ended(error, retryAfter: wait ?? .zero, at: now))
    return .stop
  }

  /// Reads again from a paused transfer: its silence was not the server's.
  func readAgain() {
    perform(machine.received(.zero, at: now))
    transfer?.resume()
  }

  func closeTransfer() {
    transfer?.cancel()
    transfer = nil
  }

  // MARK: Time

  /// Sets the timer to the owner's next moment.
  func arm() {
    guard !isStopped, let due = owner?.wakeTime(machine.deadline) else { return disarm() }
    // A timer due before the next read would be set anew by each read, and never fire.
    if mayWakeEarly, let alarm, alarm.due <= due, alarm.due > now.advanced(by: pace ?? .zero) { return }
    disarm()
    guard let wait = clock.sleep(due, loop) else { return }
    alarm = (loop.after(wait) { [weak self] in self?.wake() }, due)
  }

  func disarm() {
    alarm?.timer.cancel()
    alarm = nil
  }

  /// Lets the owner handle everything that is due.
  func wake() {
    guard !isStopped else { return }
    disarm()
    owner?.timePassed()
  }

  /// Reports the time to the machine.
  func deadlinePassed() { perform(machine.deadlinePassed(at: now)) }

  /// Applies the longest time without bytes, also to the current connection.
  func setDataTimeout(_ limit: Duration) {
    machine.setDataTimeout(limit)
    arm()
  }
}
