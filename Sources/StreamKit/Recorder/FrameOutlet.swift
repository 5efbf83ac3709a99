internal import EventLoop

/// Where the frames of one reception go: to the buffer that is played, and to recordings; either may be missing.
///
/// ```swift
/// outlet.receive { intake in
///   for … { intake.append(frame, bytes, discontinuity) }
/// }
/// ```
/// Frames come on the receiving thread; buffer and recordings come and go on the loop. A recording gets each frame once,
/// whatever becomes of the buffer: what a full buffer refuses while a recording goes on is missing in the buffer only.
final class FrameOutlet: Sendable {
  /// Takes what comes in one go.
  struct Intake {
    fileprivate var buffer: StreamBuffer?
    fileprivate var feeds: [RecordingFeed] = []
    /// What the recordings have not got yet.
    fileprivate var incoming = RecordingFeed.Batch()
    /// Bytes and frames that came in one go: a batch takes so much memory at once.
    fileprivate var usual = (bytes: 0, frames: 0)
    /// Sound that has come.
    fileprivate var time = StreamTime.zero
    /// What the buffer refused since it took the last frame.
    fileprivate var missed = StreamTime.zero
    /// The sound in that.
    fileprivate var missedSound = StreamTime.zero
    /// The title that sounds now, and those of what the buffer holds, each with when it began.
    fileprivate var titles: [(time: StreamTime, title: StreamTitle)] = []
    /// Whether titles that come with the sound count: not while a feed tells them.
    fileprivate var takesTitles = true
    fileprivate var onDiskRoom: (@Sendable () -> Void)?
  }

  private let state = Lock(Intake())

  // MARK: The receiving thread

  /// Has `body` put in what has come. It must not ask the outlet for anything.
  func receive<Result>(_ body: (inout Intake) -> Result) -> Result {
    state.withLock { intake in
      defer { intake.handOver() }
      return body(&intake)
    }
  }

  /// A title of the frames that follow.
  func markFromStation(_ title: StreamTitle) {
    receive { if $0.takesTitles { $0.note(title) } }
  }

  // MARK: Any thread

  /// A title that does not come with the sound: what comes next has it.
  func mark(_ title: StreamTitle) { receive { $0.note(title) } }

  /// Whether titles that come with the sound count.
  func takeTitles(_ takes: Bool) { state.withLock { $0.takesTitles = takes } }

  /// The buffer that is played.
  var buffer: StreamBuffer? { state.withLock { $0.buffer } }

  /// Whether something is recorded.
  var isRecorded: Bool { state.withLock { !$0.feeds.isEmpty } }

  /// True if all that is recorded, one recording, may be a file that is recorded as it is.
  var takesFile: Bool { state.withLock { $0.feeds.count == 1 && $0.feeds.allSatisfy(\.takesFile) } }

  /// Begins a file, whose bytes come, and whose name ends so.
  func beginFile(end: String) { state.withLock { for feed in $0.feeds { feed.fileEnd = end } } }

  /// True if what is recorded waits for a disk: no more is to be read meanwhile.
  var isDiskBehind: Bool { state.withLock { $0.feeds.contains { $0.isBehind } } }

  /// Has `tell` called, on any thread, when a disk has taken what waited for it.
  func onDiskRoom(_ tell: @escaping @Sendable () -> Void) { state.withLock { $0.onDiskRoom = tell } }

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
    feed.onRoom { [weak self] in self?.diskHasRoom() }
    state.withLock { state in
      guard back > .zero, let buffer = state.buffer else {
        var beginning = RecordingFeed.Batch()
        if let title = state.titles.last?.title { beginning.mark(.title(title)) }
        feed.append(beginning)
        state.feeds.append(feed)
        return
      }
      let packets = buffer.last(back)
      let length = packets.reduce(StreamTime.zero) { $0 + $1.packet.duration }
      feed.awaitBeginning(length)
      var beginning = RecordingFeed.Batch()
      // Titles go by the time of what came; that of the buffer leaves out what it refused.
      var time = state.time - state.missedSound - length
      var titles = state.titles[...]
      while titles.count > 1, let following = titles.dropFirst().first, following.time <= time {
        titles.removeFirst()
      }
      for (packet, bytes) in packets {
        while let title = titles.first, title.time <= time {
          beginning.mark(.title(title.title))
          titles.removeFirst()
        }
        if beginning.isFull(for: bytes.count) {
          feed.append(beginning)
          beginning = RecordingFeed.Batch()
        }
        if case .gap(let seconds)? = packet.discontinuity { beginning.mark(.gap(seconds: seconds)) }
        bytes.withUnsafeBytes { beginning.append(packet.frame, $0) }
        time = time + packet.duration
      }
      if !packets.isEmpty, state.missed > .zero { beginning.mark(.gap(seconds: state.missed.seconds)) }
      for title in titles { beginning.mark(.title(title.title)) }
      feed.append(beginning)
      feed.admitBeginning()
      state.feeds.append(feed)
    }
  }

  /// The recording is over.
  func remove(_ feed: RecordingFeed) {
    state.withLock { $0.feeds.removeAll { $0 === feed } }
    diskHasRoom()
  }

  private func diskHasRoom() { state.withLock { $0.onDiskRoom }?() }
}

extension FrameOutlet.Intake {
  private static let titleLimit = 256

  /// Takes a frame, which `title` begins with, if there is a new one.
  mutating func append(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, _ discontinuity: PacketBuffer.Discontinuity?,
    title: StreamTitle? = nil
  ) -> StreamBuffer.Arrival {
    if let title, takesTitles { note(title) }
    var gap: Double?
    if case .gap(let seconds)? = discontinuity { gap = seconds }
    if !feeds.isEmpty { record(frame, bytes, gap: gap) }
    defer { time = time + frame.duration }
    guard let buffer else { return StreamBuffer.Arrival(start: time) }
    let between = missed > .zero ? .gap(seconds: missed.seconds + (gap ?? 0)) : discontinuity
    var arrival = buffer.append(frame, bytes, between)
    if arrival.isTaken {
      (missed, missedSound) = (.zero, .zero)
    } else if !feeds.isEmpty {
      missed = missed + StreamTime(seconds: gap ?? 0) + frame.duration
      missedSound = missedSound + frame.duration
      arrival.isTaken = true
    }
    return arrival
  }

  /// Takes bytes of a file, for recordings only.
  mutating func append(_ bytes: UnsafeRawBufferPointer, at offset: Int, of format: StreamFormat) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = rest.prefix(RecordingFeed.Batch.limit)
      let frame = StreamFrame(
        offset: offset + part.startIndex, length: part.count, hash: 0, format: format)
      record(frame, UnsafeRawBufferPointer(rebasing: part), gap: nil)
      rest = rest.dropFirst(part.count)
    }
  }

  private mutating func record(_ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, gap: Double?) {
    if incoming.isFull(for: bytes.count) { handOver() }
    if incoming.frames.isEmpty { incoming.reserve(bytes: usual.bytes, frames: usual.frames) }
    if let gap { incoming.mark(.gap(seconds: gap)) }
    incoming.append(frame, bytes)
  }

  /// What has come goes to the recordings.
  fileprivate mutating func handOver() {
    guard !incoming.isEmpty else { return }
    for feed in feeds { feed.append(incoming) }
    // A read is not quite like the other.
    let (bytes, frames) = (incoming.bytes.count, incoming.frames.count)
    usual = (min(bytes + bytes / 8, RecordingFeed.Batch.limit), frames + frames / 8)
    incoming = RecordingFeed.Batch()
  }

  /// What comes next has that title.
  fileprivate mutating func note(_ title: StreamTitle) {
    guard titles.last?.title != title else { return }
    if !feeds.isEmpty { incoming.mark(.title(title)) }
    titles.append((time, title))
    if let held = buffer?.range {
      let start = time - min(time, held.end - held.start)
      while titles.count > 1, titles[1].time <= start { titles.removeFirst() }
    } else {
      titles.removeFirst(titles.count - 1)
    }
    if titles.count > Self.titleLimit { titles.removeFirst() }
  }
}
