internal import EventLoop

/// Buffers that a file fills: frames are held back while enough is ahead of the player, and a seek starts
/// anew.
extension StreamBuffer {
  /// The audible range of a file: without the preroll of decoders and the padding of the last frame.
  package struct Heard: Equatable {
    package var start: StreamTime
    package var end: StreamTime?
  }

  /// The acceptance of frames of a file.
  enum Intake {
    case open
    /// Enough is ahead of the player: frames are held back until some of it has been read.
    case heldBack
    /// The last frame did not fit: there is room once the oldest has been heard, too.
    case full

    /// Applies the result of an appended frame; the state ends only when there is room for more.
    /// - Parameter isHigh: `true` if enough is ahead of the player.
    mutating func appended(isAccepted: Bool, isHigh: Bool) {
      if !isAccepted {
        self = .full
      } else if isHigh || self == .full {
        self = .heldBack
      }
    }
  }

  /// The state of a buffer that a file fills.
  struct FileState {
    /// The seek generation whose frames are accepted.
    var seekGeneration = 0
    var heard: Heard?
    /// The number of frames before a target that decoders need.
    var preroll = 0
    /// The sound ahead of the player above which frames are held back; they are accepted again below `low`.
    var high: StreamTime?
    var low = StreamTime.zero
    var intake = Intake.open
    var roomListener: (@Sendable () -> Void)?
  }

  /// Fills the buffer from a file: nothing unheard is evicted, and frames beyond `limit` ahead of the player
  /// are held back.
  /// - Parameters:
  ///   - wanted: the sound that must be buffered before the player starts.
  ///   - room: called on the reading thread when frames that were held back may be appended.
  package func holdBack(above limit: StreamTime, wanted: StreamTime, _ room: @escaping @Sendable () -> Void) {
    withFrames { state in
      (state.keepsUnheard, state.reserve, state.wait.requested) = (true, 0, wanted)
      state.file.high = limit
      // A step keeps reception from pausing at every frame.
      let step = min(StreamTime(seconds: 0.5), StreamTime(ticks: limit.ticks / 2))
      (state.file.low, state.file.roomListener) = (max(limit - step, StreamTime(ticks: 1)), room)
    }
  }

  /// Moves the player to `time`, which it reached without reading.
  package func pass(to time: StreamTime) {
    let notify = withFrames { state in
      state.cursor = state.packets.cursor(at: time)
      return state.takeRoom()
    }
    notify?()
  }

  /// The sound ahead of the player below which frames are accepted again; nil while none are held back.
  package var heldBackUntil: StreamTime? { state.withLock { $0.file.intake == .open ? nil : $0.file.low } }

  /// Removes all frames; the player waits at `time` until `wanted` is buffered.
  /// - Returns: the seek generation of the frames that follow.
  package func beginSeek(to time: StreamTime, wanted: StreamTime) -> Int {
    withFrames { state in
      state.packets.removeAll(thenAt: time)
      state.cursor = state.packets.end
      state.beginReader()
      (state.supply, state.wait.requested, state.file.intake) = (.filling, wanted, .open)
      state.file.heard?.start = time
      state.file.seekGeneration += 1
      return state.file.seekGeneration
    }
  }

  /// Sets the time of the first frame, and the number of frames that decoders need before a target. Does
  /// nothing once frames have come, or for another seek generation.
  package func begin(at time: StreamTime, preroll: Int, generation: Int) {
    withFrames { state in
      guard generation == state.file.seekGeneration, state.packets.count == 0 else { return }
      state.packets.removeAll(thenAt: time)
      state.cursor = state.packets.end
      state.file.preroll = preroll
      if state.file.heard == nil { state.file.heard = Heard(start: .zero, end: nil) }
    }
  }

  /// The audible range; nil for all sound.
  package var heard: Heard? { state.withLock { $0.file.heard } }

  /// Sets the end of the audible range.
  package func setEnd(_ end: StreamTime?) { withFrames { $0.file.heard?.end = end } }
}
