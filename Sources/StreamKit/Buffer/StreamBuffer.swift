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
    /// Whether the player waits until `wanted` has come.
    var isFilling = true
    var wanted: StreamTime
    var isComplete = false
    var keepsUnheard = false
    var wakers: [@Sendable () -> Void] = []
    /// A reader found nothing: it is to be woken.
    var hasWaited = false
    /// What the player is told when it runs dry.
    var onDry: (@Sendable () -> Void)?

    var ahead: StreamTime { packets.timeShift(at: cursor) }
  }

  private let state: Lock<State>

  /// - Parameters:
  ///   - blocks: of 5 KiB.
  ///   - wait: what is to come before the player goes on.
  init(blocks: Int, wait: StreamTime) {
    let packets = PacketBuffer(blocks: blocks)
    state = Lock(State(packets: packets, cursor: packets.start, wanted: wait))
  }

  // MARK: The receiving thread

  func append(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, _ discontinuity: PacketBuffer.Discontinuity?
  ) -> Arrival {
    // Called out of the lock, which is never held across a call.
    let (arrival, wakers) = state.withLock { state -> (Arrival, [@Sendable () -> Void]) in
      var arrival = Arrival()
      arrival.start = state.packets.time(at: state.packets.end)
      let kept = state.keepsUnheard ? state.cursor : nil
      arrival.isTaken = state.packets.append(frame, bytes, discontinuity: discontinuity, keeping: kept)
      if state.isFilling, state.ahead >= state.wanted {
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
  func complete() {
    let wakers = state.withLock { state in
      state.isComplete = true
      state.isFilling = false
      return state.wakers
    }
    for waker in wakers { waker() }
  }

  // MARK: The player

  /// The next frame for the player; tells `onDry` when there is none, and waits then until enough has come.
  func read() -> Reading {
    let (reading, told) = state.withLock { state -> (Reading, (@Sendable () -> Void)?) in
      if state.isFilling {
        state.hasWaited = true
        return (.waiting, nil)
      }
      if let packet = state.packets.next(&state.cursor),
        let bytes = state.packets.withBytes(of: packet, { [UInt8]($0) })
      {
        return (.frame(packet, bytes), nil)
      }
      if state.isComplete { return (.end, nil) }
      (state.isFilling, state.hasWaited) = (true, true)
      return (.waiting, state.onDry)
    }
    told?()
    return reading
  }

  /// Has `wake` called, on any thread, when frames have come that can be read.
  func onFrames(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wakers = [wake] } }

  /// Nobody waits for frames any more.
  func forgetWakers() { state.withLock { $0.wakers = [] } }

  /// Has `tell` called, on the thread that reads, when the player runs dry.
  func onDry(_ tell: @escaping @Sendable () -> Void) { state.withLock { $0.onDry = tell } }

  /// Whether what has not been heard may not make room.
  func keepUnheard(_ keeps: Bool) { state.withLock { $0.keepsUnheard = keeps } }

  /// The player stands where this time of the stream is, or as near as the buffer goes.
  /// - Returns: where it stands.
  func move(to time: StreamTime) -> StreamTime {
    state.withLock { state in
      state.cursor = state.packets.cursor(at: time)
      return state.packets.time(at: state.cursor)
    }
  }

  /// Whether the player waits for more.
  var isFilling: Bool { state.withLock { $0.isFilling } }

  /// The player waits until `wanted` has come.
  /// - Returns: whether that is there already.
  func fill(to wanted: StreamTime) -> Bool {
    state.withLock { state in
      state.wanted = wanted
      state.isFilling = !state.isComplete && state.ahead < wanted
      return !state.isFilling
    }
  }

  /// Time of the stream at which what is held begins and ends.
  var range: (start: StreamTime, end: StreamTime) {
    state.withLock { state in
      (state.packets.time(at: state.packets.start), state.packets.time(at: state.packets.end))
    }
  }

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
