internal import AudioCore
public import EventLoop
public import HTTP

/// A live stream or a file: received on the network thread, moved through here. Confined to the loop.
///
/// Nothing is connected until `start`. From then on the play position moves in real time, through a session that plays
/// its sound, or silently without one; it can be moved in what the buffer holds.
public final class Stream {
  /// What it does.
  public enum Status: String, Sendable {
    case stopped, connecting, buffering, playing, paused
  }

  /// Where it is, without user and password: what plays, or will with the next `start` when it is stopped.
  public internal(set) var url: String
  /// How it is received; a change takes effect as `StreamOptions` says.
  public var options: StreamOptions { didSet { optionsChanged(from: oldValue) } }
  /// What it does.
  public internal(set) var status = Status.stopped
  /// What the station says of itself, as far as it is known.
  public internal(set) var station = StationInfo()
  /// What recordings call the station when it does not say what it is called.
  public var nickname: String?
  /// What its frames are, once they come.
  public internal(set) var format: StreamFormat?
  /// The title that is heard.
  public internal(set) var title: StreamTitle?
  /// What tells its titles in place of those that come with the sound, while it is received.
  public var feed: Feed? {
    didSet {
      oldValue?.end()
      beginFeed()
    }
  }
  /// Told of everything, on the loop, when it has happened.
  public var onEvent: (StreamEvent) -> Void = { _ in }

  /// True while the bytes of a file go to a recording as they are.
  var isCopied = false
  /// What a file tells of itself, while one is played.
  var file: FileFacts?
  /// The URL as it was given, or the path of a file.
  var address: String
  /// Whether it is a file of this machine.
  var isLocal: Bool
  /// The files of a list, which are played in turn.
  var programme: Programme?
  var endTimer: LoopTimer?
  /// Runs while all that has come was read and is still heard.
  var readOutTimer: LoopTimer?
  /// Where the next `start` goes.
  var next: (address: String, nickname: String?, options: StreamOptions)?
  let loop: EventLoop
  let source: StreamSource
  var receiver: (any StreamReceiver)?
  /// Where what is received goes, while it is.
  var outlet: FrameOutlet?
  /// What is played; nil while it is received for recordings only.
  var buffer: StreamBuffer?
  /// Tells events of an older reception from those of this one.
  var generation = 0
  /// What of it is recorded.
  var recordings: [Recording] = []
  /// What the station calls itself, for the disk thread.
  let stationName = StationName()
  var starting: [StartWaiter] = []
  var hold: Hold?
  var pauseTimer: LoopTimer?
  var isFull = false
  var isPaused = false
  var hasPosition = false
  /// True while a server that was asked sends sound.
  var isReceiving = false
  var isSuspended = false

  /// Titles that are still in the buffer, in the order of their times.
  var titles: [(time: StreamTime, title: StreamTitle)] = []
  var titleTimer: LoopTimer?

  /// Where the silent player stood at `since`; nil while it stands still.
  var silentTime = StreamTime.zero
  var silentSince: Instant?
  var silentTimer: LoopTimer?
  var playback: StreamPlayback?
  /// What is done to its sound.
  let sound: SoundControls
  /// Plays it for `sound` while no session does; `playback` is its then.
  var silentPlayer: SilentPlayer?
  /// In place of `playback` where nobody hears it.
  var silentSession: SilentSession?

  /// A stream at `url`; nothing is connected.
  /// - Throws: `stream.url`, `stream.unsupported`.
  public init(
    url: String, options: StreamOptions = .init(), loop: EventLoop, source: StreamSource
  ) throws(StreamError) {
    try StreamURL.check(url)
    self.url = StreamURL.shown(url)
    (address, isLocal) = (url, false)
    self.options = options
    self.loop = loop
    self.source = source
    sound = SoundControls(loop)
    sound.onUse = { [unowned self] in soundIsUsed() }
  }

  /// The same over the network.
  /// - Parameter network: gives the thread that receives, at `start`.
  public convenience init(
    url: String, options: StreamOptions = .init(), loop: EventLoop,
    network: @escaping () throws -> NetworkThread
  ) throws(StreamError) {
    try self.init(url: url, options: options, loop: loop, source: .network(network))
  }

  /// The sound file at `path` of this machine; nothing is opened.
  /// - Parameter source: where it comes from, should it go over to a URL.
  public init(
    file path: String, options: StreamOptions = .init(), loop: EventLoop,
    source: StreamSource = .network {
      throw StreamError(.unsupported, "a file of this machine needs no network")
    }
  ) {
    (url, address, isLocal) = (path, path, true)
    self.options = options
    self.loop = loop
    self.source = source
    sound = SoundControls(loop)
    sound.onUse = { [unowned self] in soundIsUsed() }
  }

  deinit {
    receiver?.stop()
    feed?.end()
  }

  /// True while something is to be heard: also while paused, and while disconnected with sound left in the buffer.
  public var isPlaying: Bool {
    hasPosition && (isReceiving || buffer.map { $0.isComplete || $0.range.end > position } ?? false)
  }

  // MARK: Starting and stopping

  /// Connects and fills the buffer, or goes on after `pause`; goes over to the address that was set for it. Returns
  /// when it plays; at once when it does already.
  /// - Throws: what the first connection fails with; `CancellationError` after `stop`, and when the task is cancelled:
  ///   the stream stops then, unless somebody else waits for it too.
  public func start() async throws {
    loop.assertOnLoop()
    if next != nil {
      try goOver()
    } else if isPaused {
      resume()
      if status != .buffering { return }
    } else if status == .stopped {
      if receiver == nil {
        try connect(plays: true)
      } else if let unplayable {
        throw unplayable
      } else {
        playWhatComes()
      }
    } else if hasPosition {
      return
    }
    // Noted before the task suspends, which may take a turn in which all comes.
    let waiter = StartWaiter()
    starting.append(waiter)
    let (this, reference) = (LoopReference(self), LoopReference(waiter))
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter.wait($0) }
    } onCancel: { [loop] in
      loop.post {
        if let waiter = reference.object { this.object?.giveUpStart(waiter) }
      }
    }
  }

  func giveUpStart(_ waiter: StartWaiter) {
    guard let index = starting.firstIndex(where: { $0 === waiter }) else { return }
    starting.remove(at: index)
    if starting.isEmpty { stop() }
    waiter.end(.failure(CancellationError()))
  }

  /// Sets the address and the options of the next `start`; what sounds goes on until then.
  /// - Parameter nickname: what recordings call the station when it does not say what it is called.
  /// - Throws: `stream.url`, `stream.unsupported`.
  public func setNext(
    url: String, nickname: String? = nil, options: StreamOptions
  ) throws(StreamError) {
    try StreamURL.check(url)
    next = (url, nickname, options)
    // What is recorded goes on until then too.
    if status == .stopped, receiver == nil { takeNext() }
  }

  /// Where the next `start` goes, without user and password.
  public var nextURL: String { next.map { StreamURL.shown($0.address) } ?? url }

  /// What was set for the next `start`, if that is not in effect yet.
  public var nextOptions: StreamOptions? {
    get { next?.options }
    set { if let newValue { next?.options = newValue } }
  }

  func takeNext() {
    guard let next else { return }
    self.next = nil
    (address, nickname, isLocal, programme) = (next.address, next.nickname, false, nil)
    (url, options) = (StreamURL.shown(next.address), next.options)
  }

  /// Leaves what plays for the address that was set, without a stop. Who plays the sound waits for that of the new one.
  func goOver() throws {
    finishRecordings()
    if status != .stopped { leavePlayer() }
    disconnect()
    takeNext()
    do { try connect(plays: true) } catch {
      stop()
      throw error
    }
  }

  /// Ends playing, and receiving unless it is recorded. Nothing when it is stopped.
  public func stop() {
    guard status != .stopped else { return }
    close()
    if receiver == nil { takeNext() }
    status = .stopped
    onEvent(.stopped)
    let starting = starting
    self.starting = []
    for waiter in starting { waiter.end(.failure(CancellationError())) }
  }

  /// Lets the play position stand; what comes is kept. Nothing when there is none, or it stands already.
  public func pause() {
    guard hasPosition, !isPaused else { return }
    standStill()
    // Who plays silently reads nothing: what was heard is not to be kept.
    if playback == nil { buffer?.pass(to: silentTime) }
    isPaused = true
    status = .paused
    buffer?.keepUnheard(true, forBurst: true)
    armPauseTimer()
    onEvent(.paused)
  }

  func armPauseTimer() {
    pauseTimer?.cancel()
    guard isPaused, !isSuspended, options.pauseTimeout > .zero else { return }
    pauseTimer = loop.after(options.pauseTimeout) { [weak self] in self?.stop() }
  }

  /// Who plays it must be silent for a while, or may sound again: meanwhile nothing that comes is lost, and no pause
  /// gets too long.
  public func suspend(_ isSuspended: Bool) {
    guard isSuspended != self.isSuspended else { return }
    self.isSuspended = isSuspended
    armPauseTimer()
    buffer?.keepUnheard(isSuspended || isPaused, forBurst: true)
    guard !isSuspended, !isPaused else { return }
    receiveAgain()
    watchReadOut()
  }

  /// Goes on after `pause`; nothing else.
  public func goOnIfPaused() { if isPaused { resume() } }

  func resume() {
    isPaused = false
    pauseTimer?.cancel()
    buffer?.keepUnheard(isSuspended, forBurst: true)
    receiveAgain()
    guard buffer?.isFilling == false else {
      // It was moved, or had run dry, before it stood still.
      status = .buffering
      return onEvent(.buffering)
    }
    status = .playing
    goOn()
    // There may be nothing left to play.
    if status == .playing { onEvent(.started) }
  }

  /// The buffer was full of what had not been heard.
  func receiveAgain() {
    guard isFull else { return }
    isFull = false
    receiver?.restart()
  }
}
