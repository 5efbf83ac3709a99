internal import EventLoop

/// Where the frames of one reception go: to the buffer that is played, and to recordings; either may be missing.
///
/// Frames come on the receiving thread; buffer and recordings come and go on the loop. A recording gets each frame once,
/// whatever becomes of the buffer: what a full buffer refuses while a recording goes on is missing in the buffer only.
final class FrameOutlet: Sendable {
  private struct State {
    var buffer: StreamBuffer?
    var feeds: [RecordingFeed] = []
    /// Sound that has come.
    var time = StreamTime.zero
    /// What the buffer refused since it took the last frame.
    var missed = StreamTime.zero
    /// The sound in that.
    var missedSound = StreamTime.zero
    /// The title that sounds now, and those of what the buffer holds, each with when it began.
    var titles: [(time: StreamTime, title: StreamTitle)] = []
    /// Whether titles that come with the sound count: not while a feed tells them.
    var takesTitles = true
  }

  private let state = Lock(State())
  private static let titleLimit = 256

  // MARK: The receiving thread

  /// Takes a frame, which `title` begins with, if there is a new one.
  func append(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, _ discontinuity: PacketBuffer.Discontinuity?,
    title: StreamTitle? = nil
  ) -> StreamBuffer.Arrival {
    state.withLock { state in
      if let title, state.takesTitles { Self.note(title, in: &state) }
      var gap: Double?
      if case .gap(let seconds)? = discontinuity { gap = seconds }
      for feed in state.feeds { feed.append(frame, bytes, gap: gap) }
      defer { state.time = state.time + frame.duration }
      guard let buffer = state.buffer else {
        return StreamBuffer.Arrival(start: state.time)
      }
      let between =
        state.missed > .zero ? .gap(seconds: state.missed.seconds + (gap ?? 0)) : discontinuity
      var arrival = buffer.append(frame, bytes, between)
      if arrival.isTaken {
        (state.missed, state.missedSound) = (.zero, .zero)
      } else if !state.feeds.isEmpty {
        state.missed = state.missed + StreamTime(seconds: gap ?? 0) + frame.duration
        state.missedSound = state.missedSound + frame.duration
        arrival.isTaken = true
      }
      return arrival
    }
  }

  private static func note(_ title: StreamTitle, in state: inout State) {
    guard state.titles.last?.title != title else { return }
    for feed in state.feeds { feed.mark(title) }
    state.titles.append((state.time, title))
    if let held = state.buffer?.range {
      let start = state.time - min(state.time, held.end - held.start)
      while state.titles.count > 1, state.titles[1].time <= start { state.titles.removeFirst() }
    } else {
      state.titles.removeFirst(state.titles.count - 1)
    }
    if state.titles.count > titleLimit { state.titles.removeFirst() }
  }

  /// A title of the frames that follow.
  func markFromStation(_ title: StreamTitle) {
    state.withLock { if $0.takesTitles { Self.note(title, in: &$0) } }
  }

  // MARK: Any thread

  /// A title that does not come with the sound: what comes next has it.
  func mark(_ title: StreamTitle) { state.withLock { Self.note(title, in: &$0) } }

  /// Whether titles that come with the sound count.
  func takeTitles(_ takes: Bool) { state.withLock { $0.takesTitles = takes } }

  /// The buffer that is played.
  var buffer: StreamBuffer? { state.withLock { $0.buffer } }

  /// Whether something is recorded.
  var isRecorded: Bool { state.withLock { !$0.feeds.isEmpty } }

  /// The title of what comes now.
  var title: StreamTitle? { state.withLock { $0.titles.last?.title } }

  /// Where what comes next stands in the buffer that is played.
  var end: StreamTime { state.withLock { $0.buffer?.range.end ?? $0.time } }

  /// What comes from now on is played from `buffer`; nil for none.
  func play(_ buffer: StreamBuffer?) {
    state.withLock { state in
      (state.buffer, state.missed, state.missedSound) = (buffer, .zero, .zero)
    }
  }

  /// Has what comes recorded, and what the buffer has of the `back` seconds before.
  func record(_ feed: RecordingFeed, back: StreamTime) {
    state.withLock { state in
      guard back > .zero, let buffer = state.buffer else {
        if let title = state.titles.last?.title { feed.mark(title) }
        state.feeds.append(feed)
        return
      }
      let packets = buffer.last(back)
      let length = packets.reduce(StreamTime.zero) { $0 + $1.packet.duration }
      feed.awaitBeginning(length)
      // Titles go by the time of what came; that of the buffer leaves out what it refused.
      var time = state.time - state.missedSound - length
      var titles = state.titles[...]
      while titles.count > 1, let following = titles.dropFirst().first, following.time <= time {
        titles.removeFirst()
      }
      for (packet, bytes) in packets {
        while let title = titles.first, title.time <= time {
          feed.mark(title.title)
          titles.removeFirst()
        }
        var gap: Double?
        if case .gap(let seconds)? = packet.discontinuity { gap = seconds }
        bytes.withUnsafeBytes { feed.append(packet.frame, $0, gap: gap) }
        time = time + packet.duration
      }
      if !packets.isEmpty, state.missed > .zero { feed.miss(state.missed.seconds) }
      for title in titles { feed.mark(title.title) }
      feed.admitBeginning()
      state.feeds.append(feed)
    }
  }

  /// The recording is over.
  func remove(_ feed: RecordingFeed) { state.withLock { $0.feeds.removeAll { $0 === feed } } }
}
