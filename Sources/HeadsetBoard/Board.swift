public import EventLoop
internal import HeadsetLink

/// A headset's board in software: all of HBP/1, with its state in memory or on disk, its flash, and injected
/// faults. Confined to a loop.
///
/// The board has one host at a time, on a channel inside the process or at an address (`listen`): the one
/// that has proved its key. Another host that proves it, too, replaces a host that does not answer, and is
/// refused otherwise.
public final class Board {
  private enum Phase { case starting, running, dead, closed }

  /// Receives the board's log, line by line.
  private let onLog: (String) -> Void
  /// The time that a host has to prove its key.
  static let loginTime = Duration.seconds(10)
  /// The time that the host has to answer when another host has proved its key.
  static let probeTime = Duration.seconds(2)
  /// The most links without a host that has proved its key; one more link ends the oldest.
  static let mostStrangers = 8

  let loop: EventLoop
  private let options: BoardOptions
  private var machine: BoardMachine
  private var phase = Phase.starting
  /// The links, oldest first.
  private var links: [BoardLink] = []
  /// The link of the host that has proved its key.
  private var owner: BoardLink?
  /// The link of another host that has proved its key; it waits until the owner has had its time to answer.
  private var contender: (link: BoardLink, actions: [BoardSession.Action], timer: LoopTimer)?
  private var trial: LoopTimer?
  private var start: LoopTimer?
  private let dice: FaultDice

  /// Creates a board that has started with the state in its folder.
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

  /// Creates a board that has started from a store.
  init(
    _ options: BoardOptions, store: any BoardStore, loop: EventLoop,
    onLog: @escaping (String) -> Void = { _ in }
  ) throws(BoardError) {
    self.onLog = onLog
    (self.options, self.loop, dice) = (options, loop, FaultDice(options.faults))
    machine = try BoardMachine(options, store: store)
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

  /// Calls `body` at once when the power is lost, in the middle of the board's work: it must not use the board.
  public func onDeath(_ body: @escaping () -> Void) { machine.store.onDeath(body) }

  /// `true` once the power is lost.
  public var isDead: Bool { phase == .dead }

  /// The present state of the board.
  public var report: BoardReport {
    BoardReport(machine, link: owner ?? links.first, isRunning: phase == .running)
  }

  // MARK: Hosts

  /// The host's end of a channel inside the process.
  func connect() -> any LinkChannel {
    let (host, own) = MemoryChannel.pair(loop: loop)
    attach(own)
    return host
  }

  /// Listens to a channel. A channel on which no host proves its key in time is closed.
  /// - Parameter renewLine: for a line, on which hosts come and go unseen and which stays open: called when it has ended,
  ///   to attach a new one.
  func attach(_ channel: any LinkChannel, renewLine: (() -> Void)? = nil) {
    guard phase == .starting || phase == .running else { return channel.close() }
    let channel = options.faults.touchLink ? FaultyChannel(channel, dice, loop: loop) : channel
    let link = BoardLink(channel, renewLine: renewLine, session: BoardSession(options), loop: loop)
    let strangers = links.filter { !$0.isLine && $0 !== owner && $0 !== contender?.link }
    if strangers.count >= Self.mostStrangers, let oldest = strangers.first {
      end(oldest, "too many hosts that have not proved the key", silent: true)
    }
    links.append(link)
    if !link.isLine {
      onLog("connected")
      link.limit(to: Self.loginTime) { [unowned self, unowned link] in
        end(link, "no host has proved the key in time", silent: true)
      }
    }
    let receiver = LinkReceiver(
      bytes: { [unowned self, unowned link] in received($0, on: link) },
      end: { [unowned self, unowned link] in ended(link, $0) })
    link.listen(receiver) { [unowned self, unowned link] in perform($0, on: link) }
  }

  private func ended(_ link: BoardLink, _ end: LinkEnd) {
    guard links.contains(where: { $0 === link }) else { return }
    forget(link)
    link.close()
    onLog("disconnected (\(end.words))")
    link.renewLine?()
  }

  /// Removes a link that ends; a waiting host replaces the host of that link.
  private func forget(_ link: BoardLink) {
    links.removeAll { $0 === link }
    if link === contender?.link {
      contender?.timer.cancel()
      contender = nil
    }
    guard link === owner else { return }
    owner = nil
    if contender != nil { succeed() }
  }

  // MARK: One host

  /// Makes the host that has proved its key on this link the owner, or the contender of the present one.
  private func authenticated(_ link: BoardLink, _ actions: [BoardSession.Action]) {
    link.limit(to: nil) {}
    guard let owner, owner !== link else {
      self.owner = link
      return link.perform(actions, after: options.profile.answerDelay)
    }
    guard contender == nil else { return turnAway(link) }
    let timer = loop.after(Self.probeTime) { [unowned self] in
      end(owner, "its host does not answer, and another one is there", silent: true)
    }
    contender = (link, actions, timer)
    owner.perform(owner.session.events([AreYouThere()]), after: options.profile.answerDelay)
  }

  private func turnAway(_ link: BoardLink) {
    onLog("another host is turned away")
    end(link, "there is another host", silent: true)
  }

  /// Makes the waiting host the owner.
  private func succeed() {
    guard let (link, actions, timer) = contender else { return }
    timer.cancel()
    (contender, owner) = (nil, link)
    link.perform(actions, after: options.profile.answerDelay)
  }

  /// true if there is a link: with a host, or one on which one may come.
  var hasLink: Bool { !links.isEmpty }

  private func received(_ bytes: ArraySlice<UInt8>, on link: BoardLink) {
    // A board that is starting receives nothing on a line.
    guard phase == .running else { return link.isLine ? () : link.hold(bytes) }
    for packet in link.packets(in: bytes) where phase == .running && links.contains(where: { $0 === link }) {
      let (wasOpen, isContender) = (link.session.isOpen, link === contender?.link)
      let heard = link.session.accepted
      let actions = isContender ? [] : link.session.received(packet, board: &machine, at: loop.now)
      guard !checkDeath() else { return }
      for note in machine.drainNotes() { onLog(note) }
      if !wasOpen, link.session.isOpen {
        authenticated(link, actions)
      } else {
        link.perform(actions, after: options.profile.answerDelay)
      }
      // A host that answers stays the owner.
      if link === owner, link.session.accepted > heard, let other = contender?.link { turnAway(other) }
    }
  }

  private func perform(_ action: BoardSession.Action, on link: BoardLink) {
    guard links.contains(where: { $0 === link }) else { return }
    switch action {
    case .send(let bytes): link.send(bytes)
    case .log(let text): onLog(text)
    case .end: end(link, "the board ends the link", silent: true)
    case .restart(let target): restart(target)
    }
  }

  /// Ends a link; a line stays, for the next host.
  private func end(_ link: BoardLink, _ why: String, silent: Bool) {
    onLog("disconnected (\(why))")
    link.end(BoardSession(options), silent: silent)
    forget(link)
    if link.isLine { links.append(link) }
  }

  private func endAll(_ why: String, silent: Bool) {
    for link in links where link !== owner { end(link, why, silent: silent) }
    if let owner { end(owner, why, silent: silent) }
  }

  // MARK: Start and end

  /// Stops the board, and starts it after its boot time.
  private func restart(_ target: ImageType) {
    guard phase == .running else { return }
    endAll(target == .bootloader ? "jumping to the bootloader" : "rebooting", silent: false)
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
    for link in links { received(link.drainHeld(), on: link) }
  }

  private func endTrial() {
    guard phase == .running else { return }
    do throws(BoardStoreError) {
      guard try machine.wake(at: loop.now) else { return }
      onLog("the new firmware was not confirmed: the old one is restored")
      restart(.application)
    } catch {
      if !checkDeath() { fail(BoardError(error)) }
    }
  }

  /// Stops the board after a failure of its store: there is nothing that it could run.
  private func fail(_ error: BoardError) {
    onLog("the board stops: \(error.message)")
    die()
  }

  /// Returns `true` if the power is lost, and ends all links in this case.
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
    contender?.timer.cancel()
    for link in links { link.close() }
    (links, owner, contender) = ([], nil, nil)
  }

  /// Ends the board; its state stays in its store.
  public func close() {
    guard phase != .closed else { return }
    phase = .closed
    end()
  }
}

extension Board {
  /// Performs a gesture of the wearer: `ambient left 3`.
  /// - Throws: `gesture`: the line can't be read, or the board refuses.
  public func perform(_ line: String) throws(BoardError) { try perform(BoardGesture(parsing: line)) }

  /// Performs a gesture of the wearer.
  func perform(_ gesture: BoardGesture) throws(BoardError) {
    guard phase == .running else { throw BoardError(.gesture, "the board is starting") }
    switch gesture {
    case .disconnect: return endAll("by hand", silent: true)
    case .reboot: return restart(.application)
    default: break
    }
    do throws(LinkRefusal) { try machine.perform(gesture) } catch {
      throw BoardError(.gesture, "the board \(error.status?.meaning ?? "can't do that")")
    }
    guard !checkDeath() else { return }
    guard let owner else { return machine.dropEvents() }
    owner.perform(owner.session.events(of: &machine), after: options.profile.answerDelay)
  }
}
