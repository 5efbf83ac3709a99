internal import Codecs
internal import EventLoop

/// Distributes the frames of one reception to the buffer that is played, and to recordings; either may be
/// missing.
///
/// ```swift
/// tee.receive { outlets in
///   for … { outlets.append(frame, bytes, discontinuity) }
/// }
/// ```
/// Frames come on the receiving thread; buffer and recordings come and go on the loop. A recording receives
/// each frame once, whatever the buffer does: frames that a full buffer refuses during a recording are
/// missing in the buffer only.
package final class FrameTee: Sendable {
  /// The destinations of the frames, and the frames of the current read.
  package struct Outlets {
    fileprivate var buffer: StreamBuffer?
    fileprivate var queues: [RecordingQueue] = []
    /// The frames that the recordings have not received yet.
    fileprivate var incoming = RecordingQueue.Batch()
    /// The memory in bytes and frames that a batch reserves: slightly more than the previous read needed.
    fileprivate var usual = (bytes: 0, frames: 0)
    /// The length of the sound received so far.
    fileprivate var time = StreamTime.zero
    /// The length refused by the buffer since it last accepted a frame, gaps included.
    fileprivate var missed = StreamTime.zero
    /// The length of the refused sound alone.
    fileprivate var missedSound = StreamTime.zero
    /// The current title and those of the sound in the buffer, each with the time at which it began.
    fileprivate var titles: [(time: StreamTime, title: StreamTitle)] = []
    /// `true` if titles from the sound apply; `false` while a metadata feed supplies them.
    fileprivate var acceptsTitles = true
    fileprivate var diskRoomListener: (@Sendable () -> Void)?
    /// The headers of Ogg for the frames that come now; nil for frames without.
    fileprivate var headers: (frame: StreamFrame, bytes: [UInt8])?
  }

  /// The player's share in a frame that is distributed to all.
  package enum PlayerPart {
    /// The player receives it like the others.
    case same
    /// The player skips it, or already has it.
    case none
    /// The player receives it, after a discontinuity of its own.
    case behind(PacketBuffer.Discontinuity)
  }

  private let state = Lock(Outlets())

  /// Creates a tee without a buffer and without recordings.
  package init() {}

  // MARK: The receiving thread

  /// Passes the outlets to `body`, which appends the received frames, and then distributes them. `body` must
  /// not call the tee, which is locked.
  package func receive<Result>(_ body: (inout Outlets) -> Result) -> Result {
    withFrames { outlets in
      defer { outlets.handOver() }
      return body(&outlets)
    }
  }

  /// Sets a title from the station for the frames that follow, unless a metadata feed supplies titles.
  package func markFromStation(_ title: StreamTitle) {
    receive { if $0.acceptsTitles { $0.note(title) } }
  }

  // MARK: Any thread

  /// Sets a title that does not come with the sound for the frames that follow.
  package func mark(_ title: StreamTitle) { receive { $0.note(title) } }

  /// Enables or disables titles from the sound.
  package func acceptTitles(_ accepts: Bool) { state.withLock { $0.acceptsTitles = accepts } }

  /// The buffer that is played; nil without one.
  package var buffer: StreamBuffer? { state.withLock { $0.buffer } }

  /// `true` if a player has heard everything in the buffer, and waits for more.
  package var isDry: Bool { buffer?.isDry ?? false }

  /// `true` if there is a recording.
  package var isRecorded: Bool { state.withLock { !$0.queues.isEmpty } }

  /// `true` if there is one recording, and it accepts a file byte for byte.
  package var takesFile: Bool { state.withLock { $0.queues.count == 1 && $0.queues.allSatisfy(\.takesFile) } }

  /// `true` if a recording ends after a certain length of sound: it then receives the frames of a file, not
  /// its bytes.
  package var endsWithin: Bool { state.withLock { $0.queues.contains(where: \.hasLength) } }

  /// Announces to the recordings that the bytes of the current file are not sound.
  package func discardFile() { receive { $0.discardFile() } }

  /// Announces to the recordings that a file begins: its bytes, whose name has the given extension, or its frames for
  /// nil.
  package func beginFile(end: String?) { receive { $0.beginFile(end: end) } }

  /// `true` if all receivers of the sound wait for disks, so that no more may be read meanwhile. A disk that
  /// stopped answering does not stop a player, nor a recording on another disk.
  package var isDiskBehind: Bool {
    state.withLock { state in
      state.buffer == nil && !state.queues.isEmpty && state.queues.allSatisfy(\.isBehind)
    }
  }

  /// Sets the callback for a disk that has drained a queue; called on any thread.
  package func onDiskRoom(_ notify: @escaping @Sendable () -> Void) {
    state.withLock { $0.diskRoomListener = notify }
  }

  /// The title of the current frames.
  package var title: StreamTitle? { state.withLock { $0.titles.last?.title } }

  /// The position of the next frame in the buffer that is played; without one, in all sound received.
  package var end: StreamTime { withFrames { $0.buffer?.range.end ?? $0.time } }

  /// Sends the frames that follow to `buffer`; nil for no buffer.
  package func play(_ buffer: StreamBuffer?) {
    // An unused buffer need not catch up on frames skipped while it rested.
    if buffer == nil, !isRecorded { self.buffer?.rest(nil) }
    withFrames { state in
      (state.buffer, state.missed, state.missedSound) = (buffer, .zero, .zero)
    }
  }

  /// Adds a recording, which begins with the last `back` of the buffer's sound, nil for all of it.
  package func record(_ queue: RecordingQueue, back: StreamTime?) {
    queue.onRoom { [weak self] in self?.diskHasRoom() }
    withFrames { state in
      guard back.map({ $0 > .zero }) ?? true, let buffer = state.buffer else {
        var beginning = RecordingQueue.Batch()
        if let title = state.titles.last?.title { beginning.mark(.title(title)) }
        if let (frame, bytes) = state.headers { bytes.withUnsafeBytes { beginning.append(frame, $0) } }
        queue.append(beginning)
        state.queues.append(queue)
        return
      }
      let packets = buffer.last(back)
      let length = packets.reduce(StreamTime.zero) { $0 + $1.packet.duration }
      queue.awaitBeginning(length)
      var beginning = RecordingQueue.Batch()
      if let (frame, bytes) = packets.first.flatMap({ first in
        buffer.headers(of: first.packet).map { ($0.frame, $0.bytes) }
      }) ?? state.headers {
        bytes.withUnsafeBytes { beginning.append(frame, $0) }
      }
      // Titles are timed by all sound received; the time of the buffer excludes the sound it refused.
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
          queue.append(beginning)
          beginning = RecordingQueue.Batch()
        }
        if case .gap(let seconds)? = packet.discontinuity { beginning.mark(.gap(seconds: seconds)) }
        bytes.withUnsafeBytes { beginning.append(packet.frame, $0) }
        time = time + packet.duration
      }
      if !packets.isEmpty, state.missed > .zero { beginning.mark(.gap(seconds: state.missed.seconds)) }
      for title in titles { beginning.mark(.title(title.title)) }
      queue.append(beginning)
      queue.admitBeginning()
      state.queues.append(queue)
    }
  }

  /// Removes a recording that has ended.
  package func remove(_ queue: RecordingQueue) {
    state.withLock { $0.queues.removeAll { $0 === queue } }
    diskHasRoom()
  }

  /// Calls `body` with the outlets, once the buffer holds the frames of a resting reception.
  private func withFrames<Result>(_ body: (inout sending Outlets) -> sending Result) -> sending Result {
    buffer?.catchUp()
    return state.withLock(body)
  }

  private func diskHasRoom() { state.withLock { $0.diskRoomListener }?() }
}

extension FrameTee.Outlets {
  private static let titleLimit = 256

  /// The buffer that is played; nil without one.
  package var player: StreamBuffer? { buffer }

  /// Appends a frame for the player alone.
  package mutating func play(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, _ discontinuity: PacketBuffer.Discontinuity?
  ) -> StreamBuffer.Arrival {
    buffer?.append(frame, bytes, discontinuity) ?? StreamBuffer.Arrival()
  }

  /// Appends a frame; a new `title` begins with it.
  /// - Parameters:
  ///   - generation: in a file, the seek generation of the frame.
  ///   - player: the player's share in it.
  package mutating func append(
    _ frame: StreamFrame, _ bytes: UnsafeRawBufferPointer, _ discontinuity: PacketBuffer.Discontinuity?,
    title: StreamTitle? = nil, generation: Int? = nil, player: FrameTee.PlayerPart = .same
  ) -> StreamBuffer.Arrival {
    if let title, acceptsTitles { note(title) }
    if frame.isHeaders {
      headers = (frame, [UInt8](bytes))
    } else if !frame.codec.isOgg {
      headers = nil
    }
    var gap: Double?
    if case .gap(let seconds)? = discontinuity { gap = seconds }
    if !queues.isEmpty { record(frame, bytes, gap: gap) }
    defer { time = time + frame.duration }
    guard let buffer else { return StreamBuffer.Arrival(start: time) }
    var between = missed > .zero ? .gap(seconds: missed.seconds + (gap ?? 0)) : discontinuity
    switch player {
    case .same: break
    case .none: return StreamBuffer.Arrival(start: time)
    case .behind(let other): between = other
    }
    var arrival = buffer.append(frame, bytes, between, generation: generation)
    if arrival.isAccepted {
      (missed, missedSound) = (.zero, .zero)
    } else if !queues.isEmpty {
      missed = missed + StreamTime(seconds: gap ?? 0) + frame.duration
      missedSound = missedSound + frame.duration
      arrival.isAccepted = true
    }
    return arrival
  }

  /// Appends the frames of a run, up to the first refused one.
  /// - Returns: the number of accepted frames, and `isEnough` of any of them.
  package mutating func append(
    _ run: FrameRun, _ discontinuity: PacketBuffer.Discontinuity?
  ) -> (count: Int, isEnough: Bool) {
    if queues.isEmpty, missed == .zero, let buffer {
      let (count, isEnough) = buffer.append(run, discontinuity)
      let numbers = run.numbers.prefix(count)
      time = time + FrameRun(sound: run.sound, numbers: numbers.startIndex..<numbers.endIndex).duration
      return (count, isEnough)
    }
    if buffer == nil, discontinuity == nil {
      for number in run.numbers { run.sound.withFrame(number) { record($0, $1, gap: nil) } }
      time = time + run.duration
      return (run.numbers.count, false)
    }
    var (count, isEnough) = (0, false)
    for number in run.numbers {
      let arrival = run.sound.withFrame(number) { append($0, $1, count == 0 ? discontinuity : nil) }
      guard arrival.isAccepted else { break }
      count += 1
      isEnough = isEnough || arrival.isEnough
    }
    return (count, isEnough)
  }

  fileprivate mutating func beginFile(end: String?) {
    if !queues.isEmpty { incoming.mark(.file(end: end)) }
  }

  fileprivate mutating func discardFile() {
    if !queues.isEmpty { incoming.mark(.discard) }
  }

  /// Appends bytes of a file, for recordings only.
  package mutating func append(_ bytes: UnsafeRawBufferPointer, at offset: Int, of format: StreamFormat) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = rest.prefix(RecordingQueue.Batch.limit)
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

  /// Distributes the pending frames to the recordings.
  fileprivate mutating func handOver() {
    guard !incoming.isEmpty else { return }
    for queue in queues { queue.append(incoming) }
    // Reads differ a little in size.
    let (bytes, frames) = (incoming.bytes.count, incoming.frames.count)
    usual = (min(bytes + bytes / 8, RecordingQueue.Batch.limit), frames + frames / 8)
    incoming = RecordingQueue.Batch()
  }

  /// Sets the title of the frames that follow.
  fileprivate mutating func note(_ title: StreamTitle) {
    guard titles.last?.title != title else { return }
    if !queues.isEmpty { incoming.mark(.title(title)) }
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
