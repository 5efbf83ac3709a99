internal import EventLoop

/// The packet buffer of a stream, between the thread that receives and those that play.
///
/// It has one player, whose cursor is here: the player waits until enough has come, and again after it ran dry. A live
/// stream that is paused keeps what has not been heard and refuses what does not fit.
final class StreamBuffer: Sendable {
  /// What a frame that came has changed.
  struct Arrival {
    /// False when the buffer is full of what has not been heard.
    var isTaken = true
    /// Whether the player may go on now, and could not before.
    var isEnough = false
    /// Where the frame stands in the stream.
    var start = StreamTime.zero
    /// Whether no more is to come until `onRoom` tells.
    var isHeldBack = false
  }

  /// The sound of a file that is heard: what decoders need in front of it, and what fills its last frame, is not.
  struct Heard: Equatable {
    var start: StreamTime
    var end: StreamTime?
  }

  /// What the player gets.
  enum Reading {
    case frame(PacketBuffer.Packet, [UInt8])
    /// Not enough has come.
    case waiting
    /// No more comes.
    case end
  }

  private struct State {
    var packets: PacketBuffer
    var cursor: PacketBuffer.Cursor
    /// Whether the player waits until `wait` has come.
    var isFilling = true
    var wait: PlayerWait
    var isComplete = false
    /// True if another buffer follows this one when it is complete: the player waits for that.
    var isFollowed = false
    /// All was read, and `onReadOut` was called for it.
    var isReadOut = false
    var keepsUnheard = false
    /// Blocks that what is not heard leaves free while it is kept.
    var reserve = 0
    var wakers: [@Sendable () -> Void] = []
    /// A reader found nothing: it is to be woken.
    var hasWaited = false
    var rate = MeasuredRate()
    /// Called when all was read that has come.
    var onReadOut: (@Sendable () -> Void)?
    /// Number of the decoder that reads; those before it get nothing any more.
    var reader = 0
    var file = FileState()

    /// Sound between the cursor and the end. Behind a seek, what decoders need in front of the target does not count.
    var ahead: StreamTime {
      let held = packets.timeShift(at: cursor)
      guard let start = file.heard?.start else { return held }
      return min(held, max(.zero, packets.time(at: packets.end) - start))
    }
    /// Whether no more fits before what has not been heard makes room: who wants more gets that.
    var isFull: Bool { packets.used == packets.size && cursor <= packets.start }

    /// What is to be told now that the player has moved on.
    mutating func takeRoom() -> (@Sendable () -> Void)? {
      guard file.isHeldBack, ahead < file.low, !file.isFull || cursor > packets.start else { return nil }
      file.isHeldBack = false
      return file.onRoom
    }
  }

  /// What only files have.
  private struct FileState {
    /// Number of the leap behind which frames are taken.
    var leap = 0
    var heard: Heard?
    /// Frames in front of the one that is wanted that decoders need.
    var preroll = 0
    /// More than this is held back; below `low` it comes again.
    var high: StreamTime?
    var low = StreamTime.zero
    var isHeldBack = false
    /// The buffer had no room for the last frame that came: there is some when the oldest has been heard.
    var isFull = false
    var onRoom: (@Sendable () -> Void)?
  }

  private let state: Lock<State>

  /// - Parameters:
  ///   - blocks: of 5 KiB.
  ///   - wait: what is to come before the player goes on; nil for the rule of `PlayerWait`.
  init(blocks: Int, wait: StreamTime? = nil) {
    let packets = PacketBuffer(blocks: blocks)
    state = Lock(State(packets: packets, cursor: packets.start, wait: PlayerWait(given: wait)))
  }

  // MARK: The receiving thread

  /// - Parameter leap: in a file, the number of the leap behind which the frame is; those of others are not taken.
  func append(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, _ discontinuity: PacketBuffer.Discontinuity?,
    leap: Int? = nil
  ) -> Arrival {
    // Called out of the lock, which is never held across a call.
    let (arrival, wakers) = state.withLock { state -> (Arrival, [@Sendable () -> Void]) in
      var arrival = Arrival()
      if let leap, leap != state.file.leap {
        (arrival.isTaken, arrival.isHeldBack) = (false, true)
        return (arrival, [])
      }
      arrival.start = state.packets.time(at: state.packets.end)
      let kept = state.keepsUnheard ? state.cursor : nil
      arrival.isTaken = state.packets.append(
        frame, bytes, discontinuity: discontinuity, keeping: kept, reserve: state.reserve)
      if discontinuity == .format { state.rate = MeasuredRate() }
      if arrival.isTaken { state.rate.add(bytes: frame.length, frame.duration) }
      state.file.isFull = !arrival.isTaken
      if let high = state.file.high, !arrival.isTaken || state.ahead > high {
        state.file.isHeldBack = true
        arrival.isHeldBack = true
      }
      // More than fits can't be waited for.
      if state.isFilling,
        state.ahead >= state.wait.time || state.isFull || !arrival.isTaken || arrival.isHeldBack
      {
        state.isFilling = false
        arrival.isEnough = true
      }
      guard !state.isFilling, state.hasWaited else { return (arrival, []) }
      state.hasWaited = false
      return (arrival, state.wakers)
    }
    for waker in wakers { waker() }
    return arrival
  }

  /// No frame follows: what is there is enough.
  /// - Parameter leap: in a file, the number of the leap behind which nothing follows.
  /// - Returns: whether the player may go on now, and could not before.
  @discardableResult
  func complete(leap: Int? = nil) -> Bool {
    let (isEnough, wakers) = state.withLock { state -> (Bool, [@Sendable () -> Void]) in
      if let leap, leap != state.file.leap { return (false, []) }
      defer { (state.isComplete, state.isFilling) = (true, false) }
      return (state.isFilling, state.wakers)
    }
    for waker in wakers { waker() }
    return isEnough
  }

  // MARK: The player

  /// The next frame for the player; calls `onReadOut` when there is none. What was read may still be heard then: the
  /// player waits for enough from `runDry` on.
  /// - Parameter reader: the number that `beginReading` gave; a decoder that another one has replaced waits for ever.
  func read(as reader: Int? = nil) -> Reading {
    let (reading, told) = state.withLock { state -> (Reading, (@Sendable () -> Void)?) in
      if let reader, reader != state.reader { return (.waiting, nil) }
      if state.isFilling {
        state.hasWaited = true
        return (.waiting, nil)
      }
      if let packet = state.packets.next(&state.cursor),
        let bytes = state.packets.withBytes(of: packet, { [UInt8]($0) })
      {
        state.isReadOut = false
        return (.frame(packet, bytes), state.takeRoom())
      }
      if state.isComplete, !state.isFollowed { return (.end, nil) }
      defer { (state.isReadOut, state.hasWaited) = (true, true) }
      return (.waiting, state.isReadOut ? nil : state.onReadOut)
    }
    told?()
    return reading
  }

  /// True if another buffer follows when this one is complete and heard; its player then waits.
  var isFollowed: Bool {
    get { state.withLock { $0.isFollowed } }
    set { state.withLock { $0.isFollowed = newValue } }
  }

  /// Has `wake` called, on any thread, when frames have come that can be read.
  func onFrames(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wakers = [wake] } }

  /// Nobody waits for frames any more.
  func forgetWakers() { state.withLock { $0.wakers = [] } }

  /// Has `tell` called, on the thread that reads, when all was read that has come.
  func onReadOut(_ tell: @escaping @Sendable () -> Void) { state.withLock { $0.onReadOut = tell } }

  /// True if all was read that has come, by a player that does not wait for enough.
  var isReadOut: Bool {
    state.withLock { $0.isReadOut && !$0.isFilling && $0.cursor >= $0.packets.end }
  }

  /// Has the player wait for enough, as all that was read has been heard.
  /// - Returns: false when more has come meanwhile, or comes no more.
  func runDry() -> Bool {
    state.withLock { state in
      guard !state.isComplete, !state.isFilling, state.cursor >= state.packets.end else { return false }
      state.wait.ranDry()
      (state.isFilling, state.isReadOut) = (true, false)
      return true
    }
  }

  /// Blocks for what a new connection brings faster than it is heard: the most that is received before it is joined.
  private static let burstBlocks =
    (Stitcher.searchBytes + PacketBuffer.blockSize - 1) / PacketBuffer.blockSize

  /// Whether what has not been heard may not make room; that of a file never may.
  /// - Parameter forBurst: true if it counts as full a burst earlier, a quarter of it at most: what was kept while the
  ///   player stood still is not lost to the burst of the connection that follows.
  func keepUnheard(_ keeps: Bool, forBurst: Bool = false) {
    state.withLock { state in
      let isFile = state.file.high != nil
      state.keepsUnheard = keeps || isFile
      state.reserve = keeps && forBurst && !isFile ? min(Self.burstBlocks, state.packets.size / 4) : 0
    }
  }

  /// The player stands where this time of the stream is, or as near as the buffer goes.
  /// - Returns: where it stands.
  func move(to time: StreamTime) -> StreamTime {
    let (place, told) = state.withLock { state -> (StreamTime, (@Sendable () -> Void)?) in
      state.reader += 1
      state.isReadOut = false
      state.cursor = state.packets.cursor(at: time)
      let place = state.packets.time(at: state.cursor)
      guard state.file.heard != nil else { return (place, nil) }
      let exact = max(place, min(time, state.packets.time(at: state.packets.end)))
      state.file.heard?.start = exact
      state.cursor = state.packets.cursor(state.cursor, back: state.file.preroll)
      return (exact, state.takeRoom())
    }
    told?()
    return place
  }

  /// Number of the decoder that is to read from here on, until the player is moved.
  func beginReading() -> Int { state.withLock { $0.reader } }

  /// The lead of a live server over real time, `most` at most, for which no kept sound has to make room.
  func liveLead(_ most: StreamTime) -> StreamTime {
    state.withLock { state in
      let share = StreamTime(seconds: state.packets.capacity.seconds * 0.75)
      return state.keepsUnheard || share <= .zero ? most : min(most, share)
    }
  }

  /// Whether the player waits for more.
  var isFilling: Bool { state.withLock { $0.isFilling } }

  /// The rest for a player that has heard nearly all.
  enum Drained {
    /// More than the rest.
    case more
    /// No sound is left: the player waits.
    case waiting
    /// No sound of a file is left, and its reception has not ended.
    case ending
    /// No sound is left, and no more comes.
    case ended
  }

  /// Has the player wait for enough if it has heard all but `rest` at `time`. Decided in one step, so that a player
  /// never waits for what has come meanwhile, and never finds the same rest again.
  func drain(at time: StreamTime, rest: StreamTime) -> Drained {
    state.withLock { state in
      let end = state.packets.time(at: state.packets.end)
      guard min(end, state.file.heard?.end ?? end) - time <= rest else { return .more }
      guard !state.isComplete else { return .ended }
      if let last = state.file.heard?.end, last - time <= rest { return .ending }
      state.wait.ranDry()
      (state.cursor, state.isFilling) = (state.packets.end, true)
      state.reader += 1
      return .waiting
    }
  }

  /// Sound that is to be there before the player goes on.
  var wanted: StreamTime { state.withLock { $0.wait.time } }

  /// The player is to wait for so much when it waits; nil for the rule of `PlayerWait`.
  /// - Returns: whether it waited, and that much is there.
  func want(_ wanted: StreamTime?) -> Bool { want { $0.given = wanted } }

  /// The connection has begun with a burst.
  /// - Returns: whether the player waited, and enough for that is there.
  func burstCame() -> Bool { want { $0.burstCame() } }

  private func want(_ change: (inout PlayerWait) -> Void) -> Bool {
    let (isEnough, wakers) = state.withLock { state -> (Bool, [@Sendable () -> Void]) in
      change(&state.wait)
      guard state.isFilling, state.ahead > .zero, state.ahead >= state.wait.time else { return (false, []) }
      state.isFilling = false
      return (true, state.wakers)
    }
    for waker in wakers { waker() }
    return isEnough
  }

  /// kbit/s of what came last, on average; nil before some seconds have come.
  var bitRate: Int? { state.withLock { $0.rate.kilobits } }

  /// Time of the stream at which what is held begins and ends.
  var range: (start: StreamTime, end: StreamTime) {
    state.withLock { state in
      let end = state.packets.time(at: state.packets.end)
      return (state.packets.time(at: state.packets.start), min(end, state.file.heard?.end ?? end))
    }
  }

  /// The newest frames, which take `length` together; all when that is more.
  func last(_ length: StreamTime) -> [(packet: PacketBuffer.Packet, bytes: [UInt8])] {
    state.withLock { state in
      var cursor = state.packets.cursor(at: state.packets.time(at: state.packets.end) - length)
      var frames: [(PacketBuffer.Packet, [UInt8])] = []
      while let packet = state.packets.next(&cursor),
        let bytes = state.packets.withBytes(of: packet, { [UInt8]($0) })
      { frames.append((packet, bytes)) }
      return frames
    }
  }

  // MARK: Files

  /// What fills it is a file: nothing that has not been heard makes room, and more than `limit` ahead of the player is
  /// held back.
  /// - Parameters:
  ///   - wanted: what is to come before the player goes on.
  ///   - room: called on the thread that reads when what is held back may come.
  func holdBack(above limit: StreamTime, wanted: StreamTime, _ room: @escaping @Sendable () -> Void) {
    state.withLock { state in
      (state.keepsUnheard, state.reserve, state.wait.given) = (true, 0, wanted)
      state.file.high = limit
      // Not for every frame.
      let step = min(StreamTime(seconds: 0.5), StreamTime(ticks: limit.ticks / 2))
      (state.file.low, state.file.onRoom) = (max(limit - step, StreamTime(ticks: 1)), room)
    }
  }

  /// The player has got to `time` without reading.
  func pass(to time: StreamTime) {
    let told = state.withLock { state in
      state.cursor = state.packets.cursor(at: time)
      return state.takeRoom()
    }
    told?()
  }

  /// How far ahead of the player what comes is held back, and below what it comes again; nil while it is not.
  var heldBackUntil: StreamTime? { state.withLock { $0.file.isHeldBack ? $0.file.low : nil } }

  /// Forgets what is held; the player waits at `time` until `wanted` has come.
  /// - Returns: the number of the leap, for what comes behind it.
  func leap(to time: StreamTime, wanted: StreamTime) -> Int {
    state.withLock { state in
      state.packets.removeAll(thenAt: time)
      state.cursor = state.packets.end
      state.reader += 1
      (state.isFilling, state.isComplete, state.wait.given) = (true, false, wanted)
      state.isReadOut = false
      state.file.isHeldBack = false
      state.file.heard?.start = time
      state.file.leap += 1
      return state.file.leap
    }
  }

  /// The next frame begins at `time`, and decoders need `preroll` frames in front of one. Nothing when frames came, or
  /// for another leap.
  func begin(at time: StreamTime, preroll: Int, leap: Int) {
    state.withLock { state in
      guard leap == state.file.leap, state.packets.count == 0 else { return }
      state.packets.removeAll(thenAt: time)
      state.cursor = state.packets.end
      state.file.preroll = preroll
      if state.file.heard == nil { state.file.heard = Heard(start: .zero, end: nil) }
    }
  }

  /// Which sound is heard; nil for all.
  var heard: Heard? { state.withLock { $0.file.heard } }

  /// What is behind `end` is not heard.
  func setEnd(_ end: StreamTime?) { state.withLock { $0.file.heard?.end = end } }

  /// Whether nothing follows.
  var isComplete: Bool { state.withLock { $0.isComplete } }

  /// The figures for a player that is heard at `time`.
  func figures(heardAt time: StreamTime) -> StreamFigures {
    state.withLock { state in
      let packets = state.packets
      let cursor = packets.cursor(at: time)
      let ahead = packets.timeShift(at: cursor).seconds
      return StreamFigures(
        size: packets.size, used: packets.used, playing: packets.block(at: cursor), buffered: ahead,
        capacity: packets.capacity.seconds, timeShift: ahead, byteOffset: packets.byteOffset(at: cursor))
    }
  }
}
