internal import AudioCore
public import EventLoop

/// A house of speakers: its devices, groups, sessions and events.
///
/// Confined to the loop's thread: not Sendable, every call comes from there and every listener is called
/// there. The driver makes the sound; the house holds the model.
public final class House {
  /// The volumes of speakers.
  public static let volumeRange = VolumeLaw.range
  /// The highest volume, which is unity gain.
  public static let maximumVolume = volumeRange.upperBound

  /// The loop to which the house is confined.
  public let loop: EventLoop
  /// The events of the house, for listeners to subscribe.
  public let events: EventHub
  /// The speakers of the house, in stable order. Empty before `open`.
  public internal(set) var devices: [Device] = []
  /// Open sessions, in the order of their creation.
  public internal(set) var sessions: [Session] = []
  /// `true` if the house is open.
  public var isOpen: Bool { phase == .open }
  /// `true` if `open` is in progress.
  public var isOpening: Bool { phase == .opening }
  /// The names of the driver's capabilities.
  public var capabilities: Set<String> { driver.capabilities }
  /// The name of the driver in the configuration.
  public var driverName: String { driver.name }
  /// The loss of the connection to the speakers in words; nil while it stands.
  public var loss: String? { driver.loss }
  /// `true` for the demonstration house, whose speakers are invented.
  public var isInvented: Bool { (driver as? HouseDriver)?.isInvented == true }

  /// Returns the last command for a session that is not the running one, in words: for the error of a source
  /// that the command has kept from playing; nil when nothing is known about it.
  public var lastCommand: (Session) -> String? = { _ in nil }

  var borrowedListeners = Listeners<([BorrowedLevel]) -> Void>()
  var borrowed = BorrowedLevels()
  /// `true` if a change of the borrowed levels was not reported: a step of a fade.
  var isBorrowedUnreported = false

  let driver: any Driver
  /// The limits of the speakers.
  let limits: SpeakerLimits
  /// The timer of the next beginning or end of quiet hours.
  var limitTimer: LoopTimer?
  /// The sources that are being opened.
  let openings = SourceOpenings()
  /// Interruptions that have not ended.
  var interruptions: [Interruption] = []
  /// The sounds over the playback of speakers that have not ended.
  var overlays: [Overlay] = []
  /// The number of moves of speakers between sessions so far.
  var moveCount = 0
  /// The timer of the next refresh, while the house is watched.
  var watchTimer: LoopTimer?
  private var changeListeners: [(Session, SessionChange) -> Void] = []
  private var commandListeners: [(HouseCommand) -> Void] = []
  /// The sources that play, as last reported to other processes.
  private var announced: [String] = []
  /// The names of renames in progress.
  var namesOnTheWay: Set<String> = []
  private enum Phase { case new, opening, open, closed }
  private var phase = Phase.new

  static let closedError = SpeakerError(.closed, "the house is not open", hint: "open it first")

  /// Creates a house on `loop` that plays through `driver`; nothing happens before `open`.
  /// - Parameter limits: the limits of the speakers, which hold from the opening on.
  public init(loop: EventLoop, driver: any Driver, limits: SpeakerLimits = SpeakerLimits()) {
    self.loop = loop
    self.driver = driver
    self.limits = limits
    events = EventHub(loop: loop)
    events.onSecondsWanted = { [unowned self] in for session in sessions { session.secondsAreWanted() } }
  }

  /// Opens the driver and discovers the speakers; returns after the first discovery. Returns at once when the
  /// house is open or opening already.
  /// - Throws: errors of the driver (`audio.no_output`), `speaker.closed` after `close`.
  public func open() async throws {
    loop.assertOnLoop()
    guard phase == .new else {
      if phase == .closed { throw Self.closedError }
      return
    }
    phase = .opening
    let found: [DeviceInfo]
    do { found = try await driver.open(reports: self) } catch {
      if phase == .opening { phase = .new }
      throw error
    }
    guard phase == .opening else {
      // The house was closed meanwhile, and the driver has opened since: it is closed again.
      await driver.close()
      throw Self.closedError
    }
    phase = .open
    devices = found.map { Device($0, house: self) }
    for device in devices { events.emit(.device(device, .added)) }
    beginLimits()
  }

  /// Closes the house and its sessions. No event is delivered after the call; outputs are finished and
  /// threads ended when it returns.
  public func close() async {
    loop.assertOnLoop()
    guard phase != .closed else { return }
    let wasNew = phase == .new
    phase = .closed
    watchTimer?.cancel()
    limitTimer?.cancel()
    events.close()
    for device in devices { device.fade = nil }
    for session in sessions {
      session.stop()
      session.closing.settle(.success(()))
    }
    if !wasNew { await driver.close() }
  }

  /// Groups that the speakers form, in the order of their founders. `Group.ungrouped` is not a group.
  public var groups: [Group] { Group.groups(of: devices) }

  /// Speakers that are in a session.
  public var activeDevices: [Device] { devices.filter(\.isActive) }

  /// `true` if events wait to be delivered or requested changes to take effect.
  public var hasPending: Bool { events.hasPending || isOpen && driver.pendingChangeCount > 0 }

  /// Emits `playing` for each speaker that has begun or ceased to play. To be called after every change of a
  /// session's state, its members and their availability.
  func reportPlaying() {
    for device in devices where device.isPlaying != device.reportedPlaying {
      device.reportedPlaying = device.isPlaying
      events.emit(.device(device, .playing))
    }
    announcePlaying()
  }

  /// Publishes the playing sources to other processes, when they have changed.
  func announcePlaying() {
    let playing = sessions.compactMap { session -> String? in
      guard let source = session.source else { return nil }
      let rooms = rooms(of: session.devices)
      return source.title + (rooms.isEmpty ? "" : " in \(rooms.joined(separator: ", "))")
        + (session.state == .paused ? " (paused)" : "")
    }
    guard playing != announced else { return }
    announced = playing
    driver.announce(playing: playing)
  }

  /// Calls `body` with the changes of sessions that are not events for scripts, in order with the events, as
  /// long as the house lives.
  public func onSessionChange(_ body: @escaping (Session, SessionChange) -> Void) {
    changeListeners.append(body)
  }

  /// Calls `body` with each command, in the task that issues it, as long as the house lives; it may only
  /// read.
  public func onCommand(_ body: @escaping (HouseCommand) -> Void) { commandListeners.append(body) }

  /// Publishes a command; levels as the limits of their speakers let them take effect.
  /// - Parameter session: the session whose command it is; nil for others.
  func report(_ command: HouseCommand, for session: Session? = nil) {
    guard !commandListeners.isEmpty else { return }
    let command = limited(command, for: session)
    for listener in commandListeners { listener(command) }
  }

  /// Publishes a change of a session.
  /// - Parameter isCommanded: `false` for one that follows from an earlier command.
  func report(_ change: SessionChange, of session: Session, isCommanded: Bool = true) {
    guard !changeListeners.isEmpty else { return }
    if isCommanded { report(.sound(session)) }
    events.afterEvents { [weak self] in
      for listener in self?.changeListeners ?? [] { listener(session, change) }
    }
  }
}
