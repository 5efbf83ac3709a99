public import EventLoop

/// A headset's board in software: all of HBP/1, with its state in memory or on disk, its flash, and what goes wrong
/// with them. Confined to a loop.
///
/// It has one host at a time, on a channel inside the process or at an address (`listen`).
public final class Board {
  private enum Phase { case starting, running, dead, closed }

  /// Takes what happens, a line each.
  private let onLog: (String) -> Void
  /// Told at once when the power is lost, in the middle of whatever the board does: it must not be touched there.
  public var onDeath: () -> Void = {}

  /// How long a host waits for another one to go: one that connects anew may be seen before its end is.
  private static let moment = Duration.milliseconds(20)
  /// The most hosts that do.
  private static let mostWaiting = 8

  let loop: EventLoop
  private let options: BoardOptions
  private var machine: BoardMachine
  private var phase = Phase.starting
  private var link: BoardLink?
  private var waiting = 0
  private var trial: LoopTimer?
  private var start: LoopTimer?
  private let dice: FaultDice

  /// A board that has started, in whatever state the folder has.
  /// - Throws: `state`.
  public convenience init(
    _ options: BoardOptions, loop: EventLoop, onLog: @escaping (String) -> Void = { _ in }
  ) throws(BoardError) {
    if let folder = options.stateFolder {
      try self.init(options, store: FolderStore(folder), loop: loop, onLog: onLog)
    } else {
      try self.init(options, store: MemoryStore(), loop: loop, onLog: onLog)
    }
  }

  /// A board that has started from a store.
  init(
    _ options: BoardOptions, store: any BoardStore, loop: EventLoop,
    onLog: @escaping (String) -> Void = { _ in }
  ) throws(BoardError) {
    self.onLog = onLog
    (self.options, self.loop, dice) = (options, loop, FaultDice(options.faults))
    machine = try BoardMachine(options, store: store)
    machine.store.onDeath = { [unowned self] in onDeath() }
    if let percent = options.battery {
      var battery = machine.settings.battery
      guard let level = UInt8(exactly: percent), level <= 100 else {
        throw BoardError(.gesture, "a battery is 0 to 100 percent full, not \(percent)")
      }
      battery.percent = level
      machine.settings.battery = battery
    }
    try run(.application)
  }

  deinit { close() }

  /// Whether the power is lost.
  public var isDead: Bool { phase == .dead }

  /// The board as it is.
  public var report: BoardReport { BoardReport(machine, link: link, isRunning: phase == .running) }

  // MARK: Hosts

  /// The host's end of a channel inside the process; it is closed at once while there is another host.
  func connect() -> any LinkChannel {
    let (host, own) = MemoryChannel.pair(loop: loop)
    attach(own)
    return host
  }

  /// Takes a channel, unless there is another host: then it is closed, after a moment in which that one may go.
  /// - Parameter isLine: whether hosts come and go on it unseen.
  func attach(_ channel: any LinkChannel, isLine: Bool = false) {
    guard phase == .starting || phase == .running, waiting < Self.mostWaiting else { return channel.close() }
    let channel = options.faults.touchLink ? FaultyChannel(channel, dice, loop: loop) : channel
    let link = BoardLink(channel, isLine: isLine, session: BoardSession(options), loop: loop)
    guard self.link != nil else { return adopt(link) }
    waiting += 1
    loop.after(Self.moment) { [weak self] in
      self?.waiting -= 1
      if let self, self.link == nil, phase == .starting || phase == .running { return adopt(link) }
      self?.onLog("another host is turned away")
      link.close()
    }
  }

  private func adopt(_ link: BoardLink) {
    self.link = link
    if !link.isLine { onLog("connected") }
    link.onAction = { [unowned self, unowned link] in perform($0, on: link) }
    link.listen(
      { [unowned self, unowned link] in received($0, on: link) },
      end: { [unowned self, unowned link] in ended(link, $0) })
  }

  private func ended(_ link: BoardLink, _ end: LinkEnd) {
    guard link === self.link else { return }
    self.link = nil
    link.close()
    onLog("disconnected (\(end.words))")
    if link.isLine { onLineEnd() }
  }

  /// Told when the channel of a line has ended, which takes a new one.
  var onLineEnd: () -> Void = {}

  /// Whether there is a host, or a line on which one may come.
  var isTaken: Bool { link != nil }

  private func received(_ bytes: ArraySlice<UInt8>, on link: BoardLink) {
    // A board that starts hears nothing on a line.
    guard phase == .running else { return link.isLine ? () : link.hold(bytes) }
    for packet in link.packets(in: bytes) where phase == .running && link === self.link {
      let actions = link.session.received(packet, board: &machine, at: loop.now)
      guard !checkDeath() else { return }
      for note in machine.takeNotes() { onLog(note) }
      link.perform(actions, after: options.profile.answerDelay)
    }
  }

  private func perform(_ action: BoardSession.Action, on link: BoardLink) {
    guard link === self.link else { return }
    switch action {
    case .send(let bytes): link.send(bytes)
    case .tell(let text): onLog(text)
    case .end: drop("the board ends the link", silent: true)
    case .restart(let target): restart(target)
    }
  }

  private func drop(_ why: String, silent: Bool) {
    guard let link else { return }
    onLog("disconnected (\(why))")
    if !link.isLine { self.link = nil }
    link.end(BoardSession(options), silent: silent)
  }

  // MARK: Life

  /// Goes off, and on again after the time that it takes to start.
  private func restart(_ target: ImageType) {
    guard phase == .running else { return }
    drop(target == .bootloader ? "jumping to the bootloader" : "rebooting", silent: false)
    phase = .starting
    trial?.cancel()
    start = loop.after(options.bootTime) { [unowned self] in
      do throws(BoardError) { try run(target) } catch { fail(error) }
    }
  }

  private func run(_ target: ImageType) throws(BoardError) {
    do throws(BoardStoreError) { try machine.start(target, at: loop.now) } catch {
      if checkDeath() { return }
      throw BoardError(error)
    }
    phase = .running
    onLog(
      "started \(machine.boot.running.manifest.version), \(machine.mode)"
        + (machine.trialEndsAt == nil ? "" : ", on trial"))
    if let end = machine.trialEndsAt {
      trial = loop.after(loop.now.duration(to: end), keepsAlive: false) { [unowned self] in endTrial() }
    }
    if let link { received(link.takeHeld(), on: link) }
  }

  private func endTrial() {
    guard phase == .running else { return }
    do throws(BoardStoreError) {
      guard try machine.wake(at: loop.now) else { return }
      onLog("nobody confirmed the new firmware: going back to the old")
      restart(.application)
    } catch {
      if !checkDeath() { fail(BoardError(error)) }
    }
  }

  /// A store that does not do its work leaves nothing that could run.
  private func fail(_ error: BoardError) {
    onLog("the board stops: \(error.message)")
    die()
  }

  /// Whether the power is lost; all links end with it.
  private func checkDeath() -> Bool {
    if let failure = machine.storeFailure, failure != .powerLost {
      onLog("the flash fails: \(BoardError(failure).message)")
    }
    machine.storeFailure = nil
    guard machine.store.isDead else { return false }
    die()
    return true
  }

  private func die() {
    phase = .dead
    end()
  }

  private func end() {
    trial?.cancel()
    start?.cancel()
    link?.close()
    link = nil
  }

  /// Ends the board; its state stays in its store.
  public func close() {
    guard phase != .closed else { return }
    phase = .closed
    end()
  }
}

extension Board {
  /// Does what the wearer does at the board: `ambient left 3`.
  /// - Throws: `gesture`: the line can't be read, or the board can't do it.
  public func perform(_ line: String) throws(BoardError) { try perform(BoardGesture(parsing: line)) }

  /// Does what the wearer does at the board.
  func perform(_ gesture: BoardGesture) throws(BoardError) {
    guard phase == .running else { throw BoardError(.gesture, "the board is starting") }
    switch gesture {
    case .disconnect: return drop("by hand", silent: true)
    case .reboot: return restart(.application)
    default: break
    }
    do throws(LinkRefusal) { try machine.perform(gesture) } catch {
      throw BoardError(.gesture, "the board \(error.status?.meaning ?? "can't do that")")
    }
    guard !checkDeath() else { return }
    guard let link else { return machine.forgetNews() }
    link.perform(link.session.events(of: &machine), after: options.profile.answerDelay)
  }
}
