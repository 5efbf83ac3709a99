public import AudioCore
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
  public private(set) var url: String
  /// How it is received; a change takes effect as `StreamOptions` says.
  public var options: StreamOptions { didSet { optionsChanged(from: oldValue) } }
  /// What it does.
  public internal(set) var status = Status.stopped
  /// What the station says of itself, as far as it is known.
  public private(set) var station = StationInfo()
  /// What its frames are, once they come.
  public private(set) var format: StreamFormat?
  /// The title that is heard.
  public private(set) var title: StreamTitle?
  /// What tells its titles in place of those that come with the sound, while it is received.
  public var feed: Feed? {
    didSet {
      oldValue?.end()
      beginFeed()
    }
  }
  /// Told of everything, on the loop, when it has happened.
  public var onEvent: (StreamEvent) -> Void = { _ in }

  /// What a file tells of itself, while one is played.
  private(set) var file: FileFacts?
  /// The URL as it was given, or the path of a file.
  private var address: String
  /// Whether it is a file of this machine.
  private var isLocal: Bool
  /// Where the next `start` goes.
  private var next: (address: String, options: StreamOptions)?
  let loop: EventLoop
  private let source: StreamSource
  var receiver: (any StreamReceiver)?
  var buffer: StreamBuffer?
  /// Tells events of an older reception from those of this one.
  private var generation = 0
  private var starting: [StartWaiter] = []
  private var hold: Hold?
  private var pauseTimer: LoopTimer?
  private var isFull = false
  var isPaused = false
  var hasPosition = false
  private var isSuspended = false

  /// Titles that are still in the buffer, in the order of their times.
  private var titles: [(time: StreamTime, title: StreamTitle)] = []
  private var titleTimer: LoopTimer?

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

  /// Whether there is a play position: also while paused, and while disconnected with sound left in the buffer.
  public var isPlaying: Bool { hasPosition }

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
      try connect()
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

  private func giveUpStart(_ waiter: StartWaiter) {
    guard let index = starting.firstIndex(where: { $0 === waiter }) else { return }
    starting.remove(at: index)
    if starting.isEmpty { stop() }
    waiter.end(.failure(CancellationError()))
  }

  /// Sets the address and the options of the next `start`; what sounds goes on until then.
  /// - Throws: `stream.url`, `stream.unsupported`.
  public func setNext(url: String, options: StreamOptions) throws(StreamError) {
    try StreamURL.check(url)
    next = (url, options)
    if status == .stopped { takeNext() }
  }

  /// Where the next `start` goes, without user and password.
  public var nextURL: String { next.map { StreamURL.shown($0.address) } ?? url }

  /// What was set for the next `start`, if that is not in effect yet.
  public var nextOptions: StreamOptions? {
    get { next?.options }
    set { if let newValue { next?.options = newValue } }
  }

  private func takeNext() {
    guard let next else { return }
    self.next = nil
    (address, isLocal) = (next.address, false)
    (url, options) = (StreamURL.shown(next.address), next.options)
  }

  /// Leaves what plays for the address that was set, without a stop. Who plays the sound waits for that of the new one.
  private func goOver() throws {
    if status != .stopped { leave() }
    takeNext()
    do { try connect() } catch {
      stop()
      throw error
    }
  }

  /// Ends playing and receiving. Nothing when it is stopped.
  public func stop() {
    guard status != .stopped else { return }
    close()
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
    isPaused = true
    status = .paused
    buffer?.keepUnheard(true)
    armPauseTimer()
    onEvent(.paused)
  }

  private func armPauseTimer() {
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
    buffer?.keepUnheard(isSuspended || isPaused)
    if !isSuspended, !isPaused { receiveAgain() }
  }

  /// Goes on after `pause`; nothing else.
  public func goOnIfPaused() { if isPaused { resume() } }

  private func resume() {
    isPaused = false
    pauseTimer?.cancel()
    buffer?.keepUnheard(isSuspended)
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
  private func receiveAgain() {
    guard isFull else { return }
    isFull = false
    receiver?.restart()
  }

  private func connect() throws {
    generation += 1
    let number = generation
    file = nil
    let buffer = StreamBuffer(blocks: options.bufferBlocks, wait: wait)
    buffer.keepUnheard(isSuspended)
    let this = LoopReference(self)
    let loop = loop
    buffer.onDry { loop.post { if this.object?.generation == number { this.object?.ranDry() } } }
    let tell: @Sendable (ReceptionEvent) -> Void = { event in
      loop.post { if this.object?.generation == number { this.object?.take(event) } }
    }
    let receiver: any StreamReceiver =
      if isLocal {
        LocalReception(path: address, options: receptionOptions, loop: loop, buffer: buffer, tell: tell)
      } else {
        try source.makeReceiver(of: address, receptionOptions, on: loop, into: buffer, tell: tell)
      }
    self.buffer = buffer
    status = .connecting
    (isFull, isPaused, hasPosition) = (false, false, false)
    (titles, title, format, station) = ([], nil, nil, StationInfo())
    hold = loop.isVirtual ? nil : loop.hold("a stream is received")
    self.receiver = receiver
    playback?.goOn(with: buffer)
    receiver.start()
    beginFeed()
  }

  private var receptionOptions: Reception.Options {
    var settings = Reception.Options()
    settings.userAgent = options.userAgent
    settings.credentials = options.credentials
    settings.dataTimeout = options.dataTimeout
    settings.encoding = options.metadataEncoding
    settings.clock = options.clock
    settings.isRaw = options.kind == .raw
    settings.isFile = options.isFile
    settings.fileWait = StreamTime(options.bufferWaitFile)
    // What is a second ahead at least need not be asked for at every frame.
    settings.fileLead = max(StreamTime(seconds: 1), settings.fileWait + StreamTime(options.throttleBypass))
    settings.playlist = options.kind == .pls ? .pls : options.kind == .m3u ? .m3u : nil
    settings.wakeTime = min(.milliseconds(250), options.bufferWait / 10)
    return settings
  }

  private func optionsChanged(from old: StreamOptions) {
    guard status != .stopped else { return }
    if options.pauseTimeout != old.pauseTimeout { armPauseTimer() }
    receiver?.change(receptionOptions)
    let isWaitChanged = options.bufferWait != old.bufferWait || options.bufferWaitFile != old.bufferWaitFile
    if isWaitChanged, buffer?.want(wait) == true { begin() }
  }

  private func close() {
    buffer?.complete()
    leave()
    (playback, silentSession) = (nil, nil)
    isSuspended = false
  }

  /// Ends what is received; who plays its sound still waits for more.
  private func leave() {
    generation += 1
    receiver?.stop()
    receiver = nil
    feed?.end()
    buffer = nil
    pauseTimer?.cancel()
    titleTimer?.cancel()
    silentTimer?.cancel()
    silentSince = nil
    hasPosition = false
    isPaused = false
    hold = nil
    if silentPlayer != nil { playback = nil }
    silentPlayer = nil
    silentSession?.tell(.waits)
    sound.end()
  }

  // MARK: What is received

  private func take(_ event: ReceptionEvent) {
    switch event {
    case .connecting:
      if !isPaused { status = .connecting }
      onEvent(.connecting)
    case .answered(let station):
      self.station = station
      guard !hasPosition, status == .connecting else { return }
      status = .buffering
      onEvent(.buffering)
    case .format(let format): self.format = format
    case .metadata(let metadata, let time): if feed == nil { take(StreamTitle(metadata), from: time) }
    case .failed(let error): onEvent(.failed(error))
    case .buffered: begin()
    case .reconnected(let gap, let stitched, let overlap):
      onEvent(.reconnected(gap: gap, stitched: stitched, overlap: overlap))
      guard hasPosition else { return }
      status = isPaused ? .paused : buffer?.isFilling == true ? .buffering : .playing
      onEvent(isPaused ? .paused : status == .playing ? .started : .buffering)
    case .full:
      isFull = true
      // It may have gone on since.
      if !isPaused, !isSuspended { receiveAgain() }
    case .file(let facts): file = facts
    case .heldBack: watchSilentEnd()
    case .gaveUp(let error):
      let starting = starting
      self.starting = []
      close()
      status = .stopped
      onEvent(.stopped)
      for waiter in starting { waiter.end(.failure(error)) }
    }
  }

  /// Enough has come.
  private func begin() {
    // A file may have been moved since it was told.
    guard buffer?.isFilling == false else { return }
    if !hasPosition {
      hasPosition = true
      sound.begin()
      silentTime = file == nil ? buffer?.range.start ?? .zero : .zero
    }
    guard !isPaused else { return }
    // A join may have told it already.
    let isTold = status == .playing
    status = .playing
    goOn()
    // There may be nothing left to play.
    if !isTold, status == .playing { onEvent(.started) }
    endStarting(.success(()))
  }

  /// Tells those who wait for it to play.
  func endStarting(_ result: Result<Void, any Error>) {
    let starting = starting
    self.starting = []
    for waiter in starting { waiter.end(result) }
  }

  private func ranDry() {
    guard hasPosition, !isPaused else { return }
    standStill()
    receiver?.playerIsDry()
    onEvent(.queueExhausted)
    guard status == .playing else { return }
    status = .buffering
    onEvent(.buffering)
  }

  // MARK: The play position

  /// Time of the stream that is heard.
  public var position: StreamTime {
    if let playback, let time = playback.position { return time }
    guard let silentSince else { return silentTime }
    let moved = StreamTime(seconds: Double(silentSince.duration(to: loop.now).nanoseconds) / 1e9)
    return min(silentTime + moved, buffer?.range.end ?? silentTime)
  }

  func goOn() {
    guard silentSession?.stands != true else { return }
    silentSession?.tell(.flows)
    if playback == nil, sound.isUsed { playSilently() }
    if playback == nil {
      silentSince = loop.now
      watchSilentEnd()
    }
    silentPlayer?.goOn()
    followTitles()
  }

  func standStill() {
    silentTime = position
    silentPlayer?.standStill()
    silentSince = nil
    silentTimer?.cancel()
    titleTimer?.cancel()
    silentSession?.tell(.waits)
  }

  /// The silent player reads nothing: it looks whether there is still something when it would be through.
  func watchSilentEnd() {
    silentTimer?.cancel()
    guard playback == nil, silentSince != nil, let buffer else { return }
    if buffer.heldBackUntil != nil { buffer.pass(to: position) }
    let left = (buffer.range.end - position).seconds
    guard left <= 0.02 else {
      // What is held back is wanted before the end.
      let next = buffer.heldBackUntil.map { max(0.05, left - $0.seconds + 0.05) } ?? left
      // Under virtual time no hold keeps the loop alive.
      let wait = Duration.nanoseconds(Int64(min(left, next) * 1e9))
      silentTimer = loop.after(wait, keepsAlive: loop.isVirtual) { [weak self] in
        self?.watchSilentEnd()
      }
      return
    }
    guard file == nil || !buffer.isComplete else { return wasHeard() }
    _ = buffer.move(to: position)
    if !buffer.fill(to: wait) { ranDry() } else { watchSilentEnd() }
  }

  /// Moves the play position by seconds of sound, back when they are negative, as far as the buffer goes.
  /// - Returns: seconds that it moved.
  /// - Throws: `stream.no_seek` when there is no play position.
  public func move(by seconds: Double) throws(StreamError) -> Double {
    guard hasPosition else { throw StreamError(.noSeek, "nothing plays that could be moved") }
    let before = position
    if file != nil {
      return try moveInFile(to: before + StreamTime(seconds: seconds)).seconds - before.seconds
    }
    return (move(to: before + StreamTime(seconds: seconds)) - before).seconds
  }

  /// Moves in what the buffer holds.
  /// - Returns: where it stands then.
  func move(to time: StreamTime) -> StreamTime {
    guard let buffer else { return time }
    let now = buffer.move(to: time)
    silentTime = now
    if silentSince != nil { silentSince = loop.now }
    playback?.moved()
    watchSilentEnd()
    followTitles()
    return now
  }

  /// What is to come before it plays.
  private var wait: StreamTime { StreamTime(file == nil ? options.bufferWait : options.bufferWaitFile) }

  /// Goes to what has come last, but for what is to be there before it plays.
  /// - Throws: `stream.no_seek`.
  public func goLive() throws(StreamError) {
    guard hasPosition, let buffer else { throw StreamError(.noSeek, "nothing plays that could be moved") }
    guard file == nil else { throw StreamError(.noSeek, "a file is not live", hint: "use seek or forward") }
    _ = try move(by: (buffer.range.end - position - wait).seconds)
  }

  /// Whether the buffer reaches so far: back when `seconds` is negative.
  public func canMove(by seconds: Double) -> Bool {
    guard hasPosition, let range = buffer?.range else { return false }
    if file != nil { return canGo(to: position + StreamTime(seconds: seconds)) }
    let target = position + StreamTime(seconds: seconds)
    return range.start <= target && target <= range.end
  }

  // MARK: Titles

  private func beginFeed() {
    guard let feed, receiver != nil, let network = source.feedThread else { return }
    feed.begin(network, userAgent: options.userAgent) { [unowned self] title in
      take(title, from: buffer?.range.end ?? .zero)
    }
  }

  /// A title has come, for the sound from `time` on.
  private func take(_ new: StreamTitle, from time: StreamTime) {
    onEvent(.metadata(new, isRealtime: true))
    // A station tells a new listener its title some seconds late: what came before had it too.
    let start = titles.isEmpty && title == nil ? .zero : max(time, titles.last?.time ?? .zero)
    // While no sound comes the last title is the one that it comes with.
    if titles.last?.time == start { titles.removeLast() }
    titles.append((start, new))
    followTitles()
  }

  /// Tells the title that is heard, and waits for the next one.
  func followTitles() {
    titleTimer?.cancel()
    guard hasPosition else { return }
    let now = position
    if let start = buffer?.range.start {
      while titles.count > 1, titles[1].time <= start { titles.removeFirst() }
    }
    let current = titles.last { $0.time <= now }?.title
    if let current, current != title {
      title = current
      onEvent(.metadata(current, isRealtime: false))
    }
    guard !isPaused, let next = titles.first(where: { $0.time > now }) else { return }
    let wait = max(0.02, (next.time - now).seconds)
    titleTimer = loop.after(.nanoseconds(Int64(wait * 1e9)), keepsAlive: false) { [weak self] in
      self?.followTitles()
    }
  }

  // MARK: Sound

  /// Lets its sound be played: the play position follows what is heard from now on.
  /// - Parameters:
  ///   - heard: seconds of sound that were heard since the playback's last decoder began, on the loop.
  ///   - moved: called when the position has leapt: a new decoder is wanted.
  /// - Throws: `stream.in_use` when it is played elsewhere; `stream.no_seek` before it plays.
  public func attach(
    heard: @escaping () -> Double, moved: @escaping () -> Void
  ) throws(StreamError) -> StreamPlayback {
    guard silentSession == nil, playback == nil || silentPlayer != nil else {
      throw StreamError(.inUse, "the stream plays on another session", hint: "stop it there first")
    }
    guard hasPosition, let buffer else { throw StreamError(.noSeek, "the stream does not play yet") }
    // What went by silently while the player got ready is not to be missing from a file.
    let wasReady = file == nil || silentSince.map { $0.duration(to: loop.now) > .milliseconds(250) } ?? true
    let start = silentTime
    standStill()
    if !wasReady { silentTime = start }
    silentPlayer = nil
    return attach(to: buffer, heard: heard, moved: moved)
  }

  func attach(
    to buffer: StreamBuffer, heard: @escaping () -> Double, moved: @escaping () -> Void
  ) -> StreamPlayback {
    _ = buffer.move(to: silentTime)
    let playback = StreamPlayback(of: self, buffer, sound.chain, heard: heard, moved: moved)
    self.playback = playback
    return playback
  }

  /// Its sound is played no longer; the position goes on silently.
  public func detach() {
    guard playback != nil || silentSession != nil else { return }
    standStill()
    (playback, silentPlayer, silentSession) = (nil, nil, nil)
    buffer?.forgetWakers()
    if hasPosition, !isPaused { goOn() }
  }

  // MARK: Figures

  /// kbit/s: as the station tells, else as its frames are on average; nil before some seconds have come.
  public var bitRate: Int? { station.bitRate ?? buffer?.bitRate }

  /// What scripts read of the buffer; empty while there is none.
  public var figures: StreamFigures {
    buffer?.figures(heardAt: position) ?? StreamFigures(size: options.bufferBlocks)
  }
}

/// What scripts read of a stream's buffer.
public struct StreamFigures: Sendable {
  /// Blocks of 5 KiB.
  public var size: Int
  /// Blocks that hold something.
  public var used = 0
  /// The block that is heard.
  public var playing: Int?
  /// Seconds of sound that have not been heard.
  public var buffered = 0.0
  /// Seconds that it holds when it is full, at the rate of what is there.
  public var capacity = 0.0
  /// Seconds behind what has come last.
  public var timeShift = 0.0
  /// Byte of the received sound that is heard.
  public var byteOffset: Int?
}

/// The sound of a stream, for who plays it.
///
/// Unchecked: `makeDecoder` may be called on any thread and uses what is Sendable; all else belongs to the loop.
public final class StreamPlayback: @unchecked Sendable {
  private let source: Lock<(buffer: StreamBuffer, map: PlayMap)>
  private let heard: () -> Double
  private let onMoved: () -> Void
  private let levelMap = Lock(LevelMap())
  private let chain: SoundChain
  private(set) weak var stream: Stream?

  fileprivate init(
    of stream: Stream, _ buffer: StreamBuffer, _ chain: SoundChain, heard: @escaping () -> Double,
    moved: @escaping () -> Void
  ) {
    self.stream = stream
    source = Lock((buffer, PlayMap()))
    self.chain = chain
    self.heard = heard
    onMoved = moved
  }

  /// A decoder at the play position.
  public func makeDecoder() -> any LiveDecoder {
    let new = PlayMap()
    let buffer = source.withLock { source in
      source.map = new
      return source.buffer
    }
    let levels = LevelMap()
    levelMap.withLock { $0 = levels }
    return SoundDecoder(
      StreamDecoder(buffer, map: new), chain, levels, patience: chain.loop.isVirtual ? nil : .init())
  }

  /// The stream goes on in another buffer.
  fileprivate func goOn(with buffer: StreamBuffer) {
    source.withLock { $0 = (buffer, PlayMap()) }
    onMoved()
  }

  fileprivate var position: StreamTime? { source.withLock { $0.map }.time(heard: heard()) }
  var levels: MeterReading? { levelMap.withLock { $0 }.reading(heard: heard()) }
  func moved() { onMoved() }
}

/// Somebody who waits until a stream plays. Confined to the loop.
private final class StartWaiter {
  private var continuation: CheckedContinuation<Void, any Error>?
  private var result: Result<Void, any Error>?

  func wait(_ continuation: CheckedContinuation<Void, any Error>) {
    if let result { return continuation.resume(with: result) }
    self.continuation = continuation
  }

  /// Once.
  func end(_ result: Result<Void, any Error>) {
    self.result = result
    continuation?.resume(with: result)
    continuation = nil
  }
}

/// Carries a weak reference to an object of the loop through other threads.
///
/// Unchecked: `object` is read on the loop only.
final class LoopReference<Object: AnyObject>: @unchecked Sendable {
  private(set) weak var object: Object?
  init(_ object: Object) { self.object = object }
}
