internal import EventLoop
internal import StreamCore

/// The destination of the sound of an HLS stream.
enum HLSSupply: Sendable {
  /// Sound is received as it comes, with a limited lead, or recorded.
  case live
  /// A list that was complete from the start, in the buffer of a player alone.
  case file(HLSFile)

  /// Keeps the failure of a segment while no sound is needed.
  /// - Returns: `false` if sound is needed.
  mutating func stash(_ error: StreamError, _ failure: HLSFailure) -> Bool {
    guard case .file(var file) = self, case .heldBack(let frames, .more) = file.phase else { return false }
    file.phase = .heldBack(frames, then: .lost)
    self = .file(file)
    return true
  }
}

/// A list that is played as a file: the times of its segments, and the frames that wait for room in the
/// buffer.
///
/// The lengths that a list states are rounded, some to whole seconds. After a seek, the time of a segment is
/// that of its own clock relative to the clock of the first segment, if both are of one timeline; else it is
/// the sum of the stated lengths. Either is rounded to a whole number of frames.
struct HLSFile: Sendable {
  enum Phase: Sendable {
    /// Sound is received.
    case flowing
    /// Enough is ahead of the player, and some of the received frames found no room.
    case heldBack([TitledFrame], then: Rest)
    /// All segments have come.
    case complete
  }

  /// The rest of a file that is held back.
  enum Rest: Sendable {
    case more
    /// The current segment was lost meanwhile.
    case lost
    case none
  }

  /// A time of the player, and the segment that may have it.
  struct Target: Sendable, Equatable {
    /// The time of the first frame that decoders need for it.
    let time: Double
    var number: Int
    /// The number of segments that turned out to be others.
    var attempts = 0
  }

  /// The number of frames before a time that decoders need: bit reservoirs, overlaps, and band replication.
  static let preroll = 12
  /// The limit of segments that are tried for one time.
  private static let attemptLimit = 4
  private static let ticksPerSecond = 90_000.0

  /// The duration in seconds, by the list.
  let duration: Double
  var phase = Phase.flowing
  /// The seek generation of the frames.
  private(set) var generation = 0
  /// The target of the last seek, until its segment has come.
  private(set) var target: Target?
  private let sequence: Int
  /// The seconds before each segment, by the list, and the number of its timeline.
  private let starts: [(seconds: Double, timeline: Int)]
  /// The clock of the first segment; nil while it is not known, or if it states none.
  private var clock: Int?
  /// The length of the frames.
  private var frame = StreamTime(samples: 1024, sampleRate: 44_100)

  init(_ media: HLSMedia) {
    (sequence, duration) = (media.sequence, media.duration)
    var (seconds, timeline) = (0.0, 0)
    starts = media.segments.map { segment in
      if segment.isDiscontinuous { timeline += 1 }
      defer { seconds += segment.duration }
      return (seconds, timeline)
    }
  }

  /// `true` while no requests are needed.
  var isHeldBack: Bool { if case .flowing = phase { false } else { true } }

  /// Moves to a time.
  /// - Returns: the number of the segment to receive.
  mutating func seek(to time: StreamTime, generation: Int) -> Int {
    (self.generation, phase) = (generation, .flowing)
    let wanted = max(0, (time - StreamTime(ticks: frame.ticks * Self.preroll)).seconds)
    let target = Target(time: wanted, number: number(at: wanted))
    self.target = target
    return target.number
  }

  private func number(at time: Double) -> Int {
    var (low, high) = (0, starts.count)
    while low + 1 < high {
      let middle = (low + high) / 2
      if starts[middle].seconds <= time { low = middle } else { high = middle }
    }
    return sequence + low
  }

  /// The place of a received segment.
  enum Place: Sendable, Equatable {
    /// The segment follows the last one.
    case next
    /// The first frame of the segment begins the buffer, at a time.
    case begins(StreamTime)
    /// Another segment has the target.
    case other(Int)
  }

  /// Returns the place of a segment.
  /// - Parameters:
  ///   - first: the first frame of the segment.
  ///   - ticks: the time of the frame, in ticks of 90 kHz; nil if the segment states none.
  mutating func place(_ number: Int, _ first: StreamFrame, ticks: Int?) -> Place {
    guard starts.indices.contains(number - sequence) else { return .next }
    frame = first.duration > .zero ? first.duration : frame
    let start = starts[number - sequence]
    guard var target else {
      if number == sequence { clock = clock ?? ticks }
      return .next
    }
    var seconds = start.seconds
    if start.timeline == starts[0].timeline, let clock, let ticks {
      let timed = Self.difference(ticks, clock) / Self.ticksPerSecond
      // A clock that is far off is another clock.
      if abs(timed - seconds) < 2 + seconds / 10 { seconds = timed }
    }
    let corrected = self.number(at: target.time - (seconds - start.seconds))
    let isLate = seconds > target.time + frame.seconds / 2 && number > sequence
    let other = isLate ? min(corrected, number - 1) : corrected > number ? corrected : number
    if other != number, target.attempts < Self.attemptLimit {
      (target.number, target.attempts) = (other, target.attempts + 1)
      self.target = target
      return .other(other)
    }
    self.target = nil
    if number == sequence { return .begins(.zero) }
    let time = StreamTime(seconds: seconds)
    return .begins(StreamTime(ticks: (time.ticks + frame.ticks / 2) / frame.ticks * frame.ticks))
  }

  /// Returns the ticks from one time to another, of 33 bits.
  private static func difference(_ time: Int, _ earlier: Int) -> Double {
    let period = 1 << 33
    return Double(((time - earlier) % period + period) % period)
  }
}

extension HLSReception {
  /// Plays a complete list as a file; if it is recorded too, it is received like a station.
  func beginFile(_ media: HLSMedia) {
    // Files that a playlist lists are played or recorded in turn.
    let rest = connection.candidates
    guard let buffer = outlet.tee.buffer, !outlet.tee.isRecorded else {
      outlet.report(.file(FileFacts(duration: media.duration)))
      if !rest.isEmpty { outlet.report(.programme(rest)) }
      return
    }
    supply = .file(HLSFile(media))
    let lead = StreamTime(seconds: min(30, 2 * media.targetDuration))
    let (options, loop, reception) = (connection.options, connection.loop, LoopReference(self))
    buffer.holdBack(above: max(options.fileLead, lead), wanted: options.fileWait) {
      loop.post { reception.object?.roomCame() }
    }
    buffer.begin(at: .zero, preroll: HLSFile.preroll, generation: 0)
    outlet.report(.file(FileFacts(canSeek: true, duration: media.duration)))
    guard !rest.isEmpty else { return }
    buffer.isFollowed = true
    outlet.report(.programme(rest))
  }

  func seek(to time: StreamTime, generation: Int) {
    guard case .file(var file) = supply else { return }
    let number = file.seek(to: time, generation: generation)
    supply = .file(file)
    outlet.discontinuity = nil
    move(to: number)
  }

  private func move(to number: Int) {
    fetch.cancel()
    sound.restart()
    segment = nil
    // It was silent only because nothing was requested.
    connection.keepAlive()
    perform(follower.seek(to: number, at: connection.now))
  }

  /// Appends a frame of a file to the buffer, or keeps it until there is room.
  /// - Returns: `false` if the rest of its segment is not needed.
  func append(
    _ new: TitledFrame, _ bytes: UnsafeRawBufferPointer, to file: HLSFile,
    into outlets: inout FrameTee.Outlets
  ) -> Bool {
    var file = file
    defer { supply = .file(file) }
    if segment?.isAtStart == true, let number = segment?.piece.segment.sequence, let buffer = outlets.player {
      switch file.place(number, new.frame, ticks: segment?.ticks) {
      case .next: break
      case .begins(let time): buffer.begin(at: time, preroll: HLSFile.preroll, generation: file.generation)
      case .other(let number):
        // Outside of the lock.
        connection.loop.after(.zero) { [weak self, generation = file.generation] in
          guard let self, case .file(let now) = supply, now.generation == generation,
            now.target?.number == number
          else { return }
          move(to: number)
        }
        return false
      }
    } else if file.target != nil {
      return false
    }
    if case .heldBack(let waiting, let rest) = file.phase, !waiting.isEmpty {
      file.phase = .heldBack(waiting + [new], then: rest)
      return true
    }
    let arrival = outlet.append(
      new.frame, bytes, title: new.title, generation: file.generation, into: &outlets)
    if !arrival.isAccepted {
      file.phase = .heldBack([new], then: .more)
    } else if arrival.isHeldBack {
      file.phase = .heldBack([], then: .more)
    }
    return true
  }

  /// Receives the event that the buffer has room for frames that are held back.
  func roomCame() {
    guard case .file(var file) = supply, case .heldBack(let frames, let rest) = file.phase,
      !connection.isStopped
    else { return }
    var accepted = 0
    var isHeldBack = false
    outlet.tee.receive { outlets in
      for frame in frames where !isHeldBack {
        let arrival = frame.bytes.withUnsafeBytes {
          outlet.append(
            frame.frame, $0, title: frame.title, generation: file.generation, into: &outlets)
        }
        if arrival.isAccepted { accepted += 1 }
        isHeldBack = arrival.isHeldBack || !arrival.isAccepted
      }
    }
    file.phase = isHeldBack ? .heldBack(Array(frames.dropFirst(accepted)), then: rest) : .flowing
    supply = .file(file)
    guard !isHeldBack else { return }
    // It was silent only because nothing was requested.
    connection.keepAlive()
    switch rest {
    case .none: completeFile(file)
    case .lost: perform(follower.segmentInterrupted(received: receivedSeconds, at: connection.now))
    case .more: resume()
    }
  }

  /// Completes the file: all its segments have come.
  func complete(_ file: HLSFile) {
    if case .heldBack(let frames, _) = file.phase, !frames.isEmpty {
      var file = file
      file.phase = .heldBack(frames, then: .none)
      supply = .file(file)
    } else {
      completeFile(file)
    }
  }

  private func completeFile(_ file: HLSFile) {
    var file = file
    file.phase = .complete
    supply = .file(file)
    if outlet.tee.buffer?.complete(generation: file.generation) == true { outlet.report(.buffered) }
    outlet.report(.heldBack)
    connection.arm()
  }
}
