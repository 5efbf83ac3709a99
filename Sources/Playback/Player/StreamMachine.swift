internal import EventLoop
internal import Reception
internal import StreamCore

/// The states of a stream, and the actions that follow from each event. Knows no receiver, buffer, clock or
/// listener.
///
/// | phase | start | enough has come | nothing left | pause | stop, failure, end of file |
/// | --- | --- | --- | --- | --- | --- |
/// | stopped | connecting | | | | |
/// | connecting, filling | waits | playing | | | stopped |
/// | playing | returns | flowing | filling | paused | stopped |
/// | paused | flowing or filling | | | | stopped |
///
/// A lost connection changes connecting, filling and playing to their variants that reconnect. With another
/// address set, `start` leaves any phase for connecting.
struct StreamMachine {
  /// The state of the player.
  enum Phase: Equatable {
    /// The stream does not play; it may be received for recordings.
    case stopped
    /// The player waits for the first sound.
    case connecting
    /// A server has answered; too little sound has come to play.
    case filling
    /// The stream has a play position, which moves while there is sound.
    case playing(Activity)
    /// The play position is at rest.
    case paused
  }

  /// The activity of a playing stream, as last reported.
  enum Activity: Equatable {
    case flowing
    /// The player waits for enough.
    case filling
    /// The connection is lost; the player continues with the sound in the buffer, as long as it lasts.
    case connecting
  }

  /// The state of the reception.
  enum Reception: Equatable {
    /// There is no receiver.
    case none
    /// The receiver waits for sound.
    case connecting
    case receiving
    /// The receiver has ended, as the buffer was full of unheard sound.
    case full
  }

  /// An action of the stream; actions are performed in the given order.
  enum Action {
    // The receiver.
    /// Creates a receiver, and with `plays` a buffer, and reports to `connect`. May fail, and is always the
    /// last action.
    case connect(plays: Bool)
    case disconnect
    /// Lets the receiver resume after the buffer was full.
    case restart
    /// Lets the receiver close a transfer that the player of a file does not need.
    case rest
    /// Reports to the receiver that the player has run out of sound.
    case reportDry

    // The player.
    /// Creates a buffer for a stream that is received already.
    case playReceived
    /// Ends the buffer, the timers of the player and the meter.
    case leavePlayer
    /// Marks the buffer as complete: no frame follows.
    case completeBuffer
    /// Marks the buffer of a live stream that has turned out to be a file as complete.
    case completeSound
    /// Marks the buffer as one that another buffer follows.
    case followBuffer
    /// Sets whether unheard sound may be evicted.
    case keepUnheard(Bool)
    /// Sets the position to the first sound, and opens the taps.
    case beginPosition
    /// Lets the position move, or rest.
    case run, halt
    /// Drops sound that was heard silently from the buffer.
    case passHeard
    /// Checks whether all sound that was read has been heard.
    case watchReadOut
    /// Arms or cancels the timer that ends a pause.
    case pauseTimer(runs: Bool)
    /// Ends the listening session.
    case forgetListener
    case playNext
    /// Creates a receiver of the next file of the list, for the recordings of the last one.
    case recordNext
    case stop

    // Others.
    /// Adopts the address of the next start.
    case adoptNext
    case finishRecordings
    case failRecordings(StreamError)
    case emit(StreamEvent)
    /// Emits the event of a status, unless an earlier action has led to another status.
    case announce(Stream.Status)
    /// Ends all waiting calls of `start`; nil if the stream plays.
    case endStarts((any Error)?)
    /// Ends calls of `start` that waited when the action was decided.
    case fail([PendingCall<Void>], any Error)
  }

  private(set) var phase = Phase.stopped
  private(set) var reception = Reception.none
  /// `true` while a session that plays the stream is suspended: no sound is lost meanwhile.
  private(set) var isSuspended = false
  private(set) var content = StreamContent()
  /// The files of a list; nil if the stream is not a list of files.
  private(set) var files: FileList?
  /// The failure of the first left out file of a list; nil without one since the list was opened.
  private(set) var leftOut: StreamError?
  /// The waiting calls of `start`.
  private(set) var waiters: [PendingCall<Void>] = []

  var status: Stream.Status {
    switch phase {
    case .stopped: .stopped
    case .connecting, .playing(.connecting): .connecting
    case .filling, .playing(.filling): .buffering
    case .playing(.flowing): .playing
    case .paused: .paused
    }
  }

  /// `true` if there is a play position.
  var hasPosition: Bool {
    switch phase {
    case .stopped, .connecting, .filling: false
    case .playing, .paused: true
    }
  }

  /// `true` if there is a play position that is not paused.
  var isPlaying: Bool { if case .playing = phase { true } else { false } }

  // MARK: Commands

  /// Starts, or resumes after a pause.
  /// - Parameters:
  ///   - hasNext: `true` if another address was set.
  ///   - isFilling: `true` if the buffer holds too little for its player.
  /// - Throws: `stream.unsupported` for a stream that is received for recordings and can't be played.
  mutating func start(hasNext: Bool, isFilling: Bool) throws(StreamError) -> [Action] {
    if hasNext { return connectToNext() }
    switch phase {
    case .connecting, .filling, .playing: return []
    case .paused: return resume(isFilling: isFilling)
    case .stopped:
      guard reception != .none else { return [.connect(plays: true)] }
      if let error = content.unplayable { throw error }
      if reception == .full { reception = .connecting }
      guard content.format != nil else {
        phase = .connecting
        return [.playReceived]
      }
      phase = .filling
      return [.playReceived, .emit(.buffering)]
    }
  }

  /// Adds a call of `start` that waits until the stream plays.
  mutating func add(_ waiter: PendingCall<Void>) { waiters.append(waiter) }

  /// Ends a call of `start` whose task was cancelled; the stream stops if no other one waits.
  mutating func giveUp(_ waiter: PendingCall<Void>, isRecorded: Bool) -> [Action] {
    guard let index = waiters.firstIndex(where: { $0 === waiter }) else { return [] }
    waiters.remove(at: index)
    return (waiters.isEmpty ? stop(isRecorded: isRecorded) : []) + [.fail([waiter], CancellationError())]
  }

  mutating func takeWaiters() -> [PendingCall<Void>] {
    defer { waiters = [] }
    return waiters
  }

  /// Leaves the current sound for the next address. The listener waits for the new sound. The files of a list
  /// belong to the old address.
  mutating func connectToNext() -> [Action] {
    files = nil
    let leave: [Action] = phase == .stopped ? [] : [.leavePlayer]
    if phase != .stopped { phase = .connecting }
    return [.finishRecordings] + leave + disconnect() + [.adoptNext, .connect(plays: true)]
  }

  /// Notes that a receiver of `content` begins.
  mutating func connect(plays: Bool) {
    reception = .connecting
    if plays { phase = .connecting }
    if files == nil { leftOut = nil }
  }

  /// Sets the facts of the stream to receive.
  mutating func reset(_ content: StreamContent) { self.content = content }

  /// Ends the reception.
  mutating func disconnect() -> [Action] {
    reception = .none
    return [.disconnect]
  }

  mutating func stop(isRecorded: Bool) -> [Action] {
    guard phase != .stopped else { return [] }
    return close(isRecorded: isRecorded) + [.emit(.stopped), .endStarts(CancellationError())]
  }

  /// Ends the reception of a stream that is no longer recorded, unless it plays.
  mutating func recordingsEnded() -> [Action] {
    guard phase == .stopped else { return [] }
    files = nil
    return disconnect() + [.adoptNext]
  }

  /// Ends playing, and receiving unless it is recorded.
  private mutating func close(isRecorded: Bool) -> [Action] {
    (phase, files, isSuspended) = (.stopped, nil, false)
    let end = isRecorded ? [] : disconnect()
    return [.completeBuffer, .leavePlayer, .forgetListener] + end + (reception == .none ? [.adoptNext] : [])
  }

  mutating func pause() -> [Action] {
    guard isPlaying else { return [] }
    phase = .paused
    return [.halt, .passHeard, .keepUnheard(true), .pauseTimer(runs: !isSuspended), .emit(.paused)]
  }

  /// Handles the end of the longest pause. A file keeps its position; none of it is missed meanwhile.
  mutating func pauseEnded(isRecorded: Bool) -> [Action] {
    content.file == nil ? stop(isRecorded: isRecorded) : [.rest]
  }

  mutating func resume(isFilling: Bool) -> [Action] {
    guard phase == .paused else { return [] }
    let isLost = reception == .connecting
    phase = .playing(isLost ? .connecting : isFilling ? .filling : .flowing)
    let begin: [Action] = [.pauseTimer(runs: false), .keepUnheard(isSuspended)] + restart()
    if isLost { return begin + (isFilling ? [] : [.run, .emit(.started)]) }
    // The position was moved, or the buffer had run dry, before the pause.
    return begin + (isFilling ? [.emit(.buffering)] : [.run, .announce(.playing)])
  }

  mutating func suspend(_ isSuspended: Bool) -> [Action] {
    guard isSuspended != self.isSuspended else { return [] }
    self.isSuspended = isSuspended
    let isPaused = phase == .paused
    return [.pauseTimer(runs: isPaused && !isSuspended), .keepUnheard(isSuspended || isPaused)]
      + (isSuspended || isPaused ? [] : restart() + [.watchReadOut])
  }

  /// Resumes a reception that ended because the buffer was full.
  mutating func restart() -> [Action] {
    guard reception == .full else { return [] }
    reception = .connecting
    return [.restart]
  }

  // MARK: Events of the receiver

  /// Notes that an attempt to connect begins, the first or another one.
  mutating func connecting() -> [Action] {
    reception = .connecting
    switch phase {
    case .stopped, .paused: break
    case .connecting, .filling: phase = .connecting
    case .playing: phase = .playing(.connecting)
    }
    return [.emit(.connecting)]
  }

  mutating func answered(_ station: StationInfo) -> [Action] {
    (reception, content.station) = (.receiving, station)
    guard phase == .connecting else { return [] }
    phase = .filling
    return [.emit(.buffering)]
  }

  mutating func received(_ format: StreamFormat, isRecorded: Bool) -> [Action] {
    content.format = format
    return isRecorded ? endUnplayable() : []
  }

  mutating func received(_ facts: FileFacts) { content.file = facts }

  /// Notes that the bytes of a file go to a recording unchanged.
  mutating func copying() -> [Action] {
    content.isCopied = true
    return endUnplayable()
  }

  /// Notes that the URL is a list of files, the first of which is being received.
  mutating func received(_ rest: [ListedAddress]) -> [Action] {
    files = FileList(current: files?.current, rest: rest + (files?.rest ?? []))
    return [.followBuffer]
  }

  mutating func failed(_ error: StreamError) -> [Action] {
    reception = .connecting
    return [.emit(.failed(error))]
  }

  /// Starts a player for which enough has come, unless the position has been moved since.
  mutating func buffered(isFilling: Bool) -> [Action] {
    guard !isFilling else { return [] }
    let before = phase
    switch before {
    case .stopped, .paused: return []
    case .connecting, .filling, .playing: phase = .playing(.flowing)
    }
    let begin: [Action] = before == .connecting || before == .filling ? [.beginPosition] : []
    // A join may have announced it already.
    let announce: [Action] = before == .playing(.flowing) ? [] : [.announce(.playing)]
    return begin + [.run] + announce + [.endStarts(nil)]
  }

  mutating func reconnected(gap: Double, stitched: Bool, overlap: Int, isFilling: Bool) -> [Action] {
    reception = .receiving
    let event = Action.emit(.reconnected(gap: gap, stitched: stitched, overlap: overlap))
    guard hasPosition else { return [event] }
    if isPlaying { phase = .playing(isFilling ? .filling : .flowing) }
    return [event, .announce(status)]
  }

  /// Notes that the buffer is full of unheard sound.
  mutating func full(isRecorded: Bool) -> [Action] {
    reception = .full
    // The player may have resumed since.
    return phase != .paused && !isSuspended || isRecorded ? restart() : []
  }

  /// Completes a live stream that has turned out to be a file, or a file that is recorded: the next file of
  /// its list is then recorded, unless the stream plays.
  mutating func complete() -> [Action] {
    guard phase == .stopped else {
      let left = files.flatMap { $0.rest.isEmpty ? nil : Action.emit(.failed(.leftOut($0.rest))) }
      return [left, .finishRecordings, .completeSound].compactMap(\.self)
    }
    if let next = recordNext() { return next }
    return [leftOut.map { .failRecordings($0) } ?? .finishRecordings] + disconnect()
  }

  /// Records the next file of the list.
  /// - Returns: nil if there is no next file.
  private mutating func recordNext() -> [Action]? {
    guard phase == .stopped, let old = files, let next = old.rest.first else { return nil }
    files = FileList(current: next, rest: Array(old.rest.dropFirst()))
    return disconnect() + [.recordNext]
  }

  /// Handles a first connection that failed, or a reception that can't continue.
  mutating func gaveUp(_ error: StreamError) -> [Action] {
    var error = error
    if files != nil {
      // The other files of the list are played or recorded, and the first failure ends a recording.
      let first = leftOut ?? error
      leftOut = first
      if let next = recordNext() { return next }
      if phase == .stopped { error = first }
    }
    let next = phase == .stopped ? [] : playNext()
    guard next.isEmpty else { return next }
    let stopped: [Action] = phase == .stopped ? [] : [.emit(.stopped)]
    let waiters = takeWaiters()
    return [.failRecordings(error)] + close(isRecorded: false) + stopped + [.fail(waiters, error)]
  }

  /// Ends playing a stream that can only be recorded.
  private mutating func endUnplayable() -> [Action] {
    guard phase != .stopped, let error = content.unplayable else { return [] }
    return [.emit(.failed(error)), .stop, .fail(takeWaiters(), error)]
  }

  // MARK: Events of the player

  /// Notes that the player has run out of sound.
  mutating func ranDry() -> [Action] {
    guard case .playing(let activity) = phase else { return [] }
    let actions: [Action] = [.halt, .reportDry, .emit(.queueExhausted)]
    guard activity == .flowing else { return actions }
    phase = .playing(.filling)
    return actions + [.announce(.buffering)]
  }

  /// Notes that the position has moved out of the buffer, which is empty now.
  mutating func leftBuffer() -> [Action] {
    guard isPlaying, phase != .playing(.connecting) else { return [] }
    phase = .playing(.filling)
    return [.emit(.buffering)]
  }

  /// Notes that the position is in the buffer again, which it had left.
  mutating func returned(isFilling: Bool) -> [Action] {
    phase == .playing(.connecting) && !isFilling ? [.run] : buffered(isFilling: isFilling)
  }

  /// Ends the sound, the last of which has been heard.
  /// - Parameter isComplete: `true` if no frame follows.
  mutating func finish(isComplete: Bool) -> [Action] {
    guard hasPosition, isComplete else { return [] }
    let isLast = files?.rest.isEmpty ?? true
    return isLast
      ? [.endStarts(nil), .emit(.fileComplete), .stop] : [.emit(.fileComplete), .playNext]
  }

  /// Plays the next file of the list; the listener waits for it.
  /// - Returns: an empty array if there is no next file.
  mutating func playNext() -> [Action] {
    guard let files, let next = files.rest.first else { return [] }
    self.files = FileList(current: next, rest: Array(files.rest.dropFirst()))
    phase = .connecting
    return [.leavePlayer] + disconnect() + [.connect(plays: true)]
  }
}
