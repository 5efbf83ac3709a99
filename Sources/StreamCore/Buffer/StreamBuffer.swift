internal import EventLoop

/// The packet buffer of a stream, between the thread that receives and those that play.
///
/// The buffer holds the cursor of its one player, which waits until enough has come, and again after it ran
/// dry. While a live stream is paused, unheard frames stay and new ones that do not fit are refused.
package final class StreamBuffer: Sendable {
  /// The effect of an appended frame.
  package struct Arrival {
    /// `false` if the buffer is full of unheard sound.
    package var isAccepted = true
    /// `true` if the player may resume now, and could not before.
    package var isEnough = false
    /// The time of the stream at which the frame begins.
    package var start = StreamTime.zero
    /// `true` if nothing more may be appended until `roomListener` is called.
    package var isHeldBack = false
  }

  /// The result of a read by the player.
  package enum Reading {
    case frame(PacketBuffer.Packet, [UInt8])
    /// Too little sound is buffered.
    case waiting
    /// The end: no frame follows.
    case end
  }

  /// The decoder that reads for the player.
  struct Reader {
    /// The number of the decoder; earlier ones receive no further frames.
    var number = 0
    /// The callback for readable frames.
    var wake: (@Sendable () -> Void)?
    /// `true` if the decoder found nothing, and is to be woken.
    var isWaiting = false
  }

  /// The state, under the lock.
  struct State {
    var packets: PacketBuffer
    var cursor: PacketBuffer.Cursor
    var supply = Supply.filling
    /// The sound that must be buffered while `supply` is filling or dry.
    var wait: PlayerWait
    /// `true` if another buffer follows this one when it is complete: the player waits for it.
    var isFollowed = false
    var keepsUnheard = false
    /// The number of blocks that kept unheard sound leaves free.
    var reserve = 0
    var reader = Reader()
    var rate = MeasuredRate()
    /// The callback for a player that has read everything.
    var readOutListener: (@Sendable () -> Void)?
    var file = FileState()
    var earlier = EarlierState()
    /// The resting reception; nil while frames are appended as they come.
    var rest: Rest?

    /// The sound between the cursor and the end. After a seek, the preroll of decoders does not count.
    var ahead: StreamTime {
      let held = packets.timeShift(at: cursor)
      guard let start = file.heard?.start else { return held }
      return min(held, max(.zero, packets.time(at: packets.end) - start))
    }
    /// `true` if no frame fits before others are heard: a player can't wait for more.
    var isFull: Bool { packets.used == packets.size && cursor <= packets.start }

    /// Appends a frame of the current seek generation.
    mutating func append(
      _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, _ discontinuity: PacketBuffer.Discontinuity?
    ) -> Arrival {
      var arrival = Arrival()
      arrival.start = packets.time(at: packets.end)
      arrival.isAccepted = packets.append(
        frame, bytes, discontinuity: discontinuity, keeping: keepsUnheard ? cursor : nil, reserve: reserve)
      if discontinuity == .format { rate = MeasuredRate() }
      if arrival.isAccepted { rate.add(bytes: frame.length, frame.duration) }
      if let high = file.high {
        arrival.isHeldBack = !arrival.isAccepted || ahead > high
        file.intake.appended(isAccepted: arrival.isAccepted, isHigh: arrival.isHeldBack)
      }
      // A player can't wait for more than fits.
      if supply.isFilling, ahead >= wait.time || isFull || !arrival.isAccepted || arrival.isHeldBack {
        arrival.isEnough = supply.resume()
      }
      return arrival
    }

    /// `true` if the player waits: for enough, or for sound before the oldest frame.
    var isWaiting: Bool { supply.isFilling || earlier.awaited != nil }

    /// Returns the callback of a waiting reader, once there is enough for it; nil if it need not be woken.
    mutating func takeWake() -> (@Sendable () -> Void)? {
      guard !isWaiting, reader.isWaiting else { return nil }
      reader.isWaiting = false
      return reader.wake
    }

    /// Replaces the reading decoder, as the player was moved.
    mutating func beginReader() {
      reader.number += 1
      supply.continueReading()
    }

    /// Returns the callback for room that the player made; nil if it is not due.
    mutating func takeRoom() -> (@Sendable () -> Void)? {
      switch file.intake {
      case .open: return nil
      case .heldBack: break
      case .full: guard cursor > packets.start else { return nil }
      }
      guard ahead < file.low else { return nil }
      file.intake = .open
      return file.roomListener
    }
  }

  let state: Lock<State>

  /// Creates an empty buffer.
  /// - Parameters:
  ///   - blocks: the size in blocks of 5 KiB.
  ///   - wait: the sound that must be buffered before the player starts; nil for the rule of `PlayerWait`.
  package init(blocks: Int, wait: StreamTime? = nil) {
    let packets = PacketBuffer(blocks: blocks)
    state = Lock(State(packets: packets, cursor: packets.start, wait: PlayerWait(requested: wait)))
  }

  // MARK: The receiving thread

  /// Appends a frame, and wakes the readers when enough is buffered.
  /// - Parameter generation: in a file, the seek generation of the frame; a frame of another one is refused.
  package func append(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, _ discontinuity: PacketBuffer.Discontinuity?,
    generation: Int? = nil
  ) -> Arrival {
    // Called outside of the lock, which is never held across a call.
    let (arrival, wake) = state.withLock { state -> (Arrival, (@Sendable () -> Void)?) in
      if let generation, generation != state.file.seekGeneration {
        return (Arrival(isAccepted: false, isHeldBack: true), nil)
      }
      let arrival = state.append(frame, bytes, discontinuity)
      return (arrival, state.takeWake())
    }
    wake?()
    return arrival
  }

  /// Appends the frames of a run, as `append` does one after another, up to the first refused one.
  /// - Parameter discontinuity: the discontinuity before the first.
  /// - Returns: the number of accepted frames, and `isEnough` of any of them.
  func append(
    _ run: FrameRun, _ discontinuity: PacketBuffer.Discontinuity?
  ) -> (count: Int, isEnough: Bool) {
    let (count, isEnough, wake) = state.withLock { state -> (Int, Bool, (@Sendable () -> Void)?) in
      var (count, isEnough) = (0, false)
      if discontinuity == nil, !state.keepsUnheard, !state.supply.isFilling {
        count = state.packets.pass(run)
      }
      for number in run.numbers.dropFirst(count) {
        let arrival = run.sound.withFrame(number) { state.append($0, $1, count == 0 ? discontinuity : nil) }
        guard arrival.isAccepted else { break }
        count += 1
        isEnough = isEnough || arrival.isEnough
      }
      return (count, isEnough, state.takeWake())
    }
    wake?()
    return (count, isEnough)
  }

  /// Completes the buffer: no frame follows, and the player resumes with the buffered sound.
  /// - Parameter generation: in a file, the seek generation that is complete.
  /// - Returns: `true` if the player may resume now, and could not before.
  @discardableResult
  package func complete(generation: Int? = nil) -> Bool {
    let (isEnough, wake) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
      if let generation, generation != state.file.seekGeneration { return (false, nil) }
      return (state.supply.complete(), state.reader.wake)
    }
    wake?()
    return isEnough
  }

  /// Calls `body` with the state, once it holds the frames of a resting reception.
  func withFrames<Result>(
    _ body: (inout sending State) -> sending Result
  ) -> sending Result {
    catchUp()
    return state.withLock(body)
  }

  // MARK: The player

  /// Returns the next frame for the player; calls `onReadOut` when no frame is left. The frames read may
  /// still be sounding then: the player waits for enough only after `runDry`.
  /// - Parameter reader: the number returned by `beginReading`; a replaced decoder waits for ever.
  package func read(as reader: Int? = nil) -> Reading {
    let (reading, notify) = withFrames { state -> (Reading, (@Sendable () -> Void)?) in
      if let reader, reader != state.reader.number { return (.waiting, nil) }
      if state.isWaiting {
        state.reader.isWaiting = true
        return (.waiting, nil)
      }
      if let packet = state.packets.next(&state.cursor),
        let bytes = state.packets.withBytes(of: packet, { [UInt8]($0) })
      {
        state.supply.continueReading()
        return (.frame(packet, bytes), state.takeRoom())
      }
      if state.supply.isComplete, !state.isFollowed { return (.end, nil) }
      state.reader.isWaiting = true
      return (.waiting, state.supply.readAll() ? state.readOutListener : nil)
    }
    notify?()
    return reading
  }

  /// `true` if another buffer follows when this one is complete and heard; the player then waits.
  package var isFollowed: Bool {
    get { state.withLock { $0.isFollowed } }
    set { state.withLock { $0.isFollowed = newValue } }
  }

  /// Sets the callback for readable frames, on any thread.
  package func onFrames(_ wake: @escaping @Sendable () -> Void) { withFrames { $0.reader.wake = wake } }

  /// Removes the callback for frames.
  package func forgetReader() { state.withLock { $0.reader.wake = nil } }

  /// Sets the callback for a player that has read everything, on the thread that reads.
  package func onReadOut(_ notify: @escaping @Sendable () -> Void) {
    state.withLock { $0.readOutListener = notify }
  }

  /// The number of blocks for a burst, which a new connection sends faster than real time: the most that is
  /// received before it is joined.
  private static let burstBlocks =
    (Stitcher.searchBytes + PacketBuffer.blockSize - 1) / PacketBuffer.blockSize

  /// Protects unheard frames from eviction, or permits it; unheard frames of a file are always protected.
  /// - Parameter forBurst: `true` if the buffer counts as full earlier, by a burst, a quarter of it at most:
  ///   the burst of the next connection then does not overwrite sound that was kept while the player was
  ///   paused.
  package func keepUnheard(_ keeps: Bool, forBurst: Bool = false) {
    withFrames { state in
      let isFile = state.file.high != nil
      state.keepsUnheard = keeps || isFile
      state.reserve = keeps && forBurst && !isFile ? min(Self.burstBlocks, state.packets.size / 4) : 0
    }
  }

  /// Moves the player to a time of the stream, or as near to it as the buffer reaches.
  /// - Returns: the new time of the player.
  package func move(to time: StreamTime) -> StreamTime {
    let (position, notify) = withFrames { state -> (StreamTime, (@Sendable () -> Void)?) in
      state.beginReader()
      state.earlier.awaited = nil
      state.cursor = state.packets.cursor(at: time)
      let position = state.packets.time(at: state.cursor)
      guard state.file.heard != nil else { return (position, nil) }
      let exact = max(position, min(time, state.packets.time(at: state.packets.end)))
      state.file.heard?.start = exact
      state.cursor = state.packets.cursor(state.cursor, back: state.file.preroll)
      return (exact, state.takeRoom())
    }
    notify?()
    return position
  }

  /// Returns the number of the decoder that is to read from here on, until the player is moved.
  package func beginReading() -> Int { withFrames { $0.reader.number } }

  /// Returns the lead of a live server over real time, at most `most`, for which no kept sound is evicted.
  package func liveLead(_ most: StreamTime) -> StreamTime {
    withFrames { state in
      let share = StreamTime(seconds: state.packets.capacity.seconds * 0.75)
      return state.keepsUnheard || share <= .zero ? most : min(most, share)
    }
  }

  /// The limit of the buffer in blocks.
  package var blocks: Int { state.withLock { $0.packets.size } }

  /// The average rate of the last sound in kbit/s; nil during the first seconds.
  package var bitRate: Int? { withFrames { $0.rate.kilobits } }

  /// The times of the stream at which the buffer begins and ends.
  package var range: (start: StreamTime, end: StreamTime) {
    withFrames { state in
      let end = state.packets.time(at: state.packets.end)
      return (state.packets.time(at: state.packets.start), min(end, state.file.heard?.end ?? end))
    }
  }

  /// Returns the Ogg headers that decoders need for a frame; nil for frames without headers.
  package func headers(
    of packet: PacketBuffer.Packet
  ) -> (cursor: PacketBuffer.Cursor, frame: StreamFrame, bytes: [UInt8])? {
    state.withLock { $0.packets.headers(at: packet.cursor) }
  }

  /// Returns the newest frames, `length` in total; all if they are shorter.
  func last(_ length: StreamTime?) -> [(packet: PacketBuffer.Packet, bytes: [UInt8])] {
    withFrames { state in
      var cursor = state.packets.start
      if let length {
        cursor = state.packets.cursor(at: state.packets.time(at: state.packets.end) - length)
      }
      var frames: [(PacketBuffer.Packet, [UInt8])] = []
      while let packet = state.packets.next(&cursor),
        let bytes = state.packets.withBytes(of: packet, { [UInt8]($0) })
      { frames.append((packet, bytes)) }
      return frames
    }
  }

  /// Returns the figures for a player that is heard at `time`.
  package func figures(heardAt time: StreamTime) -> StreamFigures {
    withFrames { state in
      let packets = state.packets
      let cursor = packets.cursor(at: time)
      let ahead = packets.timeShift(at: cursor).seconds
      return StreamFigures(
        size: packets.size, used: packets.used, playing: packets.block(at: cursor), buffered: ahead,
        capacity: packets.capacity.seconds,
        timeShift: max(ahead, (packets.time(at: packets.end) - time).seconds),
        byteOffset: packets.byteOffset(at: cursor))
    }
  }
}
