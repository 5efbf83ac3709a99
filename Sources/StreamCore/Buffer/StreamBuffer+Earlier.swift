internal import EventLoop

/// Sound before the oldest frame, which the server of a live stream still has.
extension StreamBuffer {
  /// The sound before the oldest frame.
  struct EarlierState {
    /// The length of the sound that the server has before the oldest frame.
    var reach = StreamTime.zero
    /// The least distance of a player from the newest sound: the sound to play while the next is fetched.
    var lead = StreamTime.zero
    /// The time for which the player waits; nil while it plays buffered sound.
    var awaited: StreamTime?
  }

  /// The share of the buffer up to which earlier sound is fetched: new sound needs room, too.
  private static let share = 0.75

  /// The limit in blocks.
  package var size: Int { state.withLock { $0.packets.size } }

  /// Sets the length of the sound that the server has before the oldest frame, and the distance from the
  /// newest at which the server lets players begin.
  package func setEarlier(_ reach: StreamTime, lead: StreamTime) {
    state.withLock { ($0.earlier.reach, $0.earlier.lead) = (reach, lead) }
  }

  /// The seconds of sound that the player has not read; nil while it is paused, and consumes nothing.
  package var secondsAhead: Double? { withFrames { $0.keepsUnheard ? nil : $0.ahead.seconds } }

  /// The time nearest to the newest sound at which a player does not run dry before more comes.
  package var live: StreamTime {
    withFrames { state in
      state.packets.time(at: state.packets.end) - max(state.wait.time, state.earlier.lead)
    }
  }

  /// The least time to which the player can be moved: that of the oldest sound on the server, as far as the
  /// buffer has room for it, else that of the oldest frame.
  package var earliest: StreamTime { withFrames { $0.earliest } }

  /// Makes the player wait for sound before the oldest frame.
  /// - Returns: the time of that sound, not below `earliest`; nil if the buffer holds it, or the server has
  ///   no earlier sound.
  package func awaitEarlier(from time: StreamTime) -> StreamTime? {
    withFrames { state in
      let target = max(time, state.earliest)
      guard target < state.packets.time(at: state.packets.start) else { return nil }
      state.earlier.awaited = target
      state.beginReader()
      return target
    }
  }

  /// The time for which the player waits; nil while it plays buffered sound.
  package var awaited: StreamTime? { state.withLock { $0.earlier.awaited } }

  /// Returns the hashes of the oldest frames.
  package func oldest(frames: Int) -> [UInt64] {
    state.withLock { state in
      var cursor = state.packets.start
      return (0..<frames).compactMap { _ in state.packets.next(&cursor)?.frame.hash }
    }
  }

  /// Inserts frames before the oldest one, whose time is `start`.
  /// - Returns: `false` if the oldest frame is another one by now, and nothing was inserted.
  package func prepend(_ frames: ArraySlice<TitledFrame>, before start: StreamTime) -> Bool {
    withFrames { state in
      guard state.packets.count > 0, state.packets.time(at: state.packets.start) == start else {
        return false
      }
      state.packets.prepend(frames.map { ($0.frame, $0.bytes) })
      if state.ahead >= state.wait.time { _ = state.supply.resume() }
      return true
    }
  }
}

extension StreamBuffer.State {
  fileprivate var earliest: StreamTime {
    let start = packets.time(at: packets.start)
    let room = StreamTime(seconds: packets.capacity.seconds * StreamBuffer.share) - packets.duration
    return start - max(.zero, min(earlier.reach, room))
  }
}
