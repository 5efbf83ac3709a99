internal import AudioCore
public import EventLoop
public import HTTP
public import Reception
public import StreamCore

/// A live stream or a file: received on the network thread, played through this object. Confined to the loop.
///
/// Nothing is connected until `start`. From then on the play position moves in real time, through a session
/// that plays the sound, or silently without one; it can be moved within the buffered sound. `StreamMachine`
/// decides; this object performs its actions, and owns receiver, buffer and timers.
public final class Stream: RecordedStream {
  /// The state of a stream.
  public enum Status: String, Sendable {
    case stopped, connecting, buffering, playing, paused
  }

  /// The metadata feed, whose titles replace those of the sound while it is received.
  public var feed: Feed? {
    didSet {
      oldValue?.end()
      beginFeed()
    }
  }
  private var listeners = Listeners<(StreamEvent) -> Void>()
  private var changeListeners = Listeners<(StreamChange) -> Void>()

  /// The address and the options in effect.
  var target: StreamTarget
  /// The address and the options of the next `start`, once they have been set.
  var next: StreamTarget?
  var machine = StreamMachine()
  let loop: EventLoop
  let source: StreamSource
  /// The receiver with its resources; nil while nothing is received.
  var connection: Connection?
  /// The sound that is played; nil while the stream is stopped.
  var buffer: StreamBuffer?
  /// The recordings of the stream that have not ended.
  var recordings: [any StreamRecording] = []
  /// The name and the genre of the station, for the disk thread.
  package let stationName = StationName()
  var timers = Timers()
  var titles = TitleQueue()
  var listener = Listener.none
  /// The position while no listener has one.
  var clock = MediaClock()
  /// The gain, the meter and the taps of the sound.
  let sound: SoundControls

  /// The resources of a reception.
  struct Connection {
    let receiver: any StreamReceiver
    /// The destination of the frames.
    let tee: FrameTee
    let hold: Hold?
  }

  /// The timers of a player.
  struct Timers {
    /// Ends a pause.
    var pause: LoopTimer?
    /// Checks whether a file that another one follows has been heard.
    var end: LoopTimer?
    /// Checks whether all sound that was read has been heard.
    var readOut: LoopTimer?
    /// Checks whether all received sound has been heard silently.
    var silence: LoopTimer?
    /// Fires when the next title is heard.
    var title: LoopTimer?
    /// Checks the length of the reserve.
    var reserve: LoopTimer?

    func cancel() { for timer in [pause, end, readOut, silence, title, reserve] { timer?.cancel() } }
  }

  /// Creates a stream at `address`; nothing is connected.
  public convenience init(
    at address: StreamAddress, options: StreamOptions = .init(), loop: EventLoop, source: StreamSource
  ) {
    self.init(StreamTarget(origin: .server(address), options: options), loop: loop, source: source)
  }

  /// Creates a stream at `address`, over the network.
  /// - Parameter network: returns the thread that receives, at `start`.
  public convenience init(
    at address: StreamAddress, options: StreamOptions = .init(), loop: EventLoop,
    network: @escaping () throws -> NetworkThread
  ) {
    self.init(at: address, options: options, loop: loop, source: .network(network))
  }

  /// Creates a stream of the sound file at `path` on this machine; nothing is opened.
  /// - Parameter source: the source of a URL that is set later.
  public convenience init(
    file path: String, options: StreamOptions = .init(), loop: EventLoop,
    source: StreamSource = .network {
      throw StreamError(.unsupported, "a file of this machine needs no network")
    }
  ) {
    self.init(StreamTarget(origin: .file(path), options: options), loop: loop, source: source)
  }

  init(_ target: StreamTarget, loop: EventLoop, source: StreamSource) {
    (self.target, self.loop, self.source) = (target, loop, source)
    sound = SoundControls(loop)
    sound.onUse { [unowned self] in soundIsUsed() }
  }

  /// Calls `listener` with each event, on the loop, after it has happened.
  public func onEvent(_ listener: @escaping (StreamEvent) -> Void) { _ = listeners.add(listener) }

  /// Calls `listener` with each change of the sound, when it has been made.
  public func onChange(_ listener: @escaping (StreamChange) -> Void) { _ = changeListeners.add(listener) }

  func emit(_ event: StreamEvent) { for listener in listeners.all { listener(event) } }

  func emit(_ change: StreamChange) { for listener in changeListeners.all { listener(change) } }

  deinit {
    connection?.receiver.stop()
    feed?.end()
  }

  // MARK: Values

  /// The state; it is the new one when its event is emitted.
  public var status: Status { machine.status }
  /// The URL without user and password, or the path of a file: of the sound that plays, or that the next
  /// `start` plays while the stream is stopped.
  public var url: String { target.url }
  /// The URL as messages show it, without its query, or the path.
  public var shownURL: String { target.shownURL }
  /// The address in effect; nil for a file of this machine.
  package var address: StreamAddress? { target.address }
  /// `true` for a file of this machine.
  public var isLocalFile: Bool { if case .file = target.origin { true } else { false } }
  /// The memory in bytes of a file on this machine that plays without a session: buffer, decoder and thread.
  public static let localFileMemory = LocalReceiver.bufferBlocks * PacketBuffer.blockSize + 64 << 10
  /// The memory in bytes that the current buffer may need; 0 while nothing is played.
  public var bufferMemory: Int { PacketBuffer.blockSize * (buffer?.blocks ?? 0) }
  /// The memory in bytes that the buffer of the next `start` may need, or the current one if that is larger.
  public var nextBufferMemory: Int {
    max(bufferMemory, PacketBuffer.blockSize * (next ?? target).options.bufferBlocks)
  }
  /// The options of reception and player; a change takes effect as `StreamOptions` states.
  public var options: StreamOptions {
    get { target.options }
    set {
      let old = target.options
      target.options = newValue
      optionsChanged(from: old)
    }
  }
  /// The name of the station in recordings, if the station sends none.
  public var nickname: String? {
    get { target.nickname }
    set { target.nickname = newValue }
  }
  /// The facts that the station publishes about itself, as far as they are known.
  public var station: StationInfo { machine.content.station }
  /// The format of the frames, once they come.
  public var format: StreamFormat? { machine.content.format }
  /// The title that is heard.
  public var title: StreamTitle? { titles.heard }

  /// The failure of the first left out file of a list, since the list was opened; nil without one.
  public var leftOut: StreamError? { machine.leftOut }

  var receiver: (any StreamReceiver)? { connection?.receiver }
  var tee: FrameTee? { connection?.tee }
  /// The facts of a file, while one is played.
  var file: FileFacts? { machine.content.file }

  /// `true` while there is sound to hear: also while paused, and while disconnected with sound left in the
  /// buffer, unless the player waits for more.
  public var isPlaying: Bool {
    guard machine.hasPosition, machine.reception != .receiving else { return machine.hasPosition }
    let isDry = status == .buffering || status == .connecting && isFilling
    return !isDry && buffer.map { $0.isComplete || $0.range.end > position } ?? false
  }

  // MARK: Starting and stopping

  /// Connects and fills the buffer, or resumes after `pause`; changes to the next address if one was set.
  /// Returns when it plays; at once if it already does.
  /// - Throws: the error of the first connection; `CancellationError` after `stop`, and when the task is
  ///   cancelled: the stream stops then, unless another call waits for it too.
  public func start() async throws {
    loop.assertOnLoop()
    let wasPaused = status == .paused
    let actions = try machine.start(hasNext: next != nil, isFilling: isFilling)
    do { try attempt(actions) } catch {
      stop()
      throw error
    }
    if machine.hasPosition ? !wasPaused || !isFilling : status == .stopped { return }
    // Added before the task suspends, which may take a turn in which all the sound comes.
    let call = PendingCall<Void>()
    machine.add(call)
    try await call.result(on: loop) { [weak self, unowned call] in self?.giveUp(call) }
  }

  private func giveUp(_ call: PendingCall<Void>) { perform(machine.giveUp(call, isRecorded: isRecorded)) }

  /// Sets the address and the options of the next `start`; the sound that plays continues until then.
  /// - Parameter nickname: the name of the station in recordings, if the station sends none.
  public func setNext(_ address: StreamAddress, nickname: String? = nil, options: StreamOptions) {
    next = StreamTarget(origin: .server(address), nickname: nickname, options: options)
    // Recordings continue until then too.
    if machine.phase == .stopped, machine.reception == .none { adoptNext() }
  }

  /// The address of the next `start`; nil for a file of this machine.
  public var nextAddress: StreamAddress? { (next ?? target).address }

  /// The options that were set for the next `start`, if they are not in effect yet.
  public var nextOptions: StreamOptions? {
    get { next?.options }
    set { if let newValue { next?.options = newValue } }
  }

  func adoptNext() {
    guard let next else { return }
    (target, self.next) = (next, nil)
  }

  /// Ends playing, and receiving unless it is recorded. Does nothing while it is stopped.
  public func stop() { perform(machine.stop(isRecorded: isRecorded)) }

  /// Pauses at the play position; received sound is kept. Does nothing without a position, and while it is
  /// paused.
  public func pause() { perform(machine.pause()) }

  /// Resumes after `pause`; does nothing else.
  public func resumeIfPaused() { perform(machine.resume(isFilling: isFilling)) }

  /// Notes that its session must be silent for a while, or may sound again: meanwhile no sound is lost, and
  /// no pause gets too long.
  public func suspend(_ isSuspended: Bool) { perform(machine.suspend(isSuspended)) }

  /// Ends a file whose last sound has been heard: reports it, and stops, or plays the next file of its list.
  /// Does nothing for a live stream.
  public func finish() { perform(machine.finish(isComplete: buffer?.isComplete == true)) }

  /// `true` unless the buffer holds enough for its player.
  var isFilling: Bool { buffer?.isFilling != false }

  // MARK: Actions

  /// Performs actions; a connection that can't begin stops the stream.
  func perform(_ actions: [StreamMachine.Action]) {
    do { try attempt(actions) } catch { stop() }
  }

  /// Performs actions.
  /// - Throws: the failure of `connect`.
  func attempt(_ actions: [StreamMachine.Action]) throws {
    for action in actions {
      switch action {
      case .connect(let plays): try connect(plays: plays)
      case .disconnect: disconnect()
      case .restart: receiver?.restart()
      case .rest: receiver?.rest()
      case .reportDry: receiver?.playerIsDry()
      case .playReceived: playReceived()
      case .leavePlayer: leavePlayer()
      case .completeBuffer: buffer?.complete()
      case .completeSound: completeSound()
      case .followBuffer: buffer?.isFollowed = true
      case .keepUnheard(let keeps): buffer?.keepUnheard(keeps, forBurst: true)
      case .beginPosition: beginPosition()
      case .run: run()
      case .halt: halt()
      case .passHeard: passHeard()
      case .watchReadOut: watchReadOut()
      case .pauseTimer(let runs): setPauseTimer(runs: runs)
      case .forgetListener: listener = .none
      case .playNext: perform(machine.playNext())
      case .recordNext: recordNext()
      case .stop: stop()
      case .adoptNext: adoptNext()
      case .finishRecordings: endRecordings { $0.finish() }
      case .failRecordings(let error): endRecordings { $0.fail(error) }
      case .emit(let event): emit(event)
      case .announce(let status): if status == self.status { emit(StreamEvent(status)) }
      case .endStarts(let error): end(machine.takeWaiters(), error)
      case .fail(let waiters, let error): end(waiters, error)
      }
    }
  }

  private func end(_ calls: [PendingCall<Void>], _ error: (any Error)?) {
    for call in calls { call.settle(error.map { .failure($0) } ?? .success(())) }
  }

  func setPauseTimer(runs: Bool) {
    timers.pause?.cancel()
    guard runs, options.pauseTimeout > .zero else { return }
    timers.pause = loop.after(options.pauseTimeout) { [weak self] in
      guard let self else { return }
      perform(machine.pauseEnded(isRecorded: isRecorded))
    }
  }
}

extension StreamEvent {
  /// Creates the event with which a stream enters a status.
  init(_ status: Stream.Status) {
    self =
      switch status {
      case .stopped: .stopped
      case .connecting: .connecting
      case .buffering: .buffering
      case .playing: .started
      case .paused: .paused
      }
  }
}
