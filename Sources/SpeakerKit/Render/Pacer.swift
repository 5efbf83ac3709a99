/// When the next block is rendered. Knows no clock and no thread; times are nanoseconds of one that never goes
/// back.
struct Pacer {
  /// What sets the pace.
  enum Mode: Equatable {
    /// A block is due when the one before has been heard: for outputs without a clock of their own.
    case clock
    /// The same, some blocks at a time: for no outputs at all, where nobody hears that a command comes a little late.
    case unheard
    /// A block is due when the output has room: its own clock drains it, `latency` behind.
    case room
  }

  /// What to do now.
  enum Step: Equatable {
    /// Render a block whose first frame is heard at that time.
    case render(heardAt: Int64)
    /// Nothing is due before that time.
    case wait(until: Int64)
    /// A block is due; an output has no room, or a source no frames.
    case waitForRoom
  }

  /// Later than this the clock is not caught up with but set anew.
  static let greatestLateness: Int64 = 200_000_000
  /// An output that takes everything at once (a null device behind a sound card's name) is not fed faster than
  /// this many blocks ahead, and then two per cent faster than the clock, which no real card's drift reaches.
  static let greatestLead: Int64 = 8
  /// What is rendered at a time when nobody hears it: waking up for a block costs more than the block.
  static let unheardBatch: Int64 = 200_000_000

  private let sampleRate: Int64
  private var mode = Mode.clock
  /// When the first frame since `anchor` was set is or was heard; nil when nothing runs.
  private var anchor: Int64?
  private var framesSinceAnchor: Int64 = 0
  /// In mode `unheard`: blocks that are due before this time are rendered at once.
  private var batchEnd: Int64 = .min
  /// In mode `room`: nothing before this time.
  private var earliest: Int64 = .min

  init(sampleRate: Int) { self.sampleRate = Int64(sampleRate) }

  /// - Parameters:
  ///   - isReady: outputs have room and sources have frames.
  ///   - latency: frames between the renderer and the ear, in mode `room`.
  mutating func next(now: Int64, mode: Mode, isReady: Bool, latency: Int) -> Step {
    if mode != self.mode {
      self.mode = mode
      stop()
    }
    switch mode {
    case .clock, .unheard:
      let start = anchor ?? now
      var due = start + FrameTime.nanoseconds(of: framesSinceAnchor, at: sampleRate)
      if anchor == nil || now - due > Self.greatestLateness {
        anchor = now
        framesSinceAnchor = 0
        due = now
      }
      if now < due, due >= batchEnd { return .wait(until: due) }
      if mode == .unheard, due >= batchEnd { batchEnd = due + Self.unheardBatch }
      return isReady ? .render(heardAt: due) : .waitForRoom
    case .room:
      if !isReady { return .waitForRoom }
      if now < earliest { return .wait(until: earliest) }
      return .render(heardAt: now + FrameTime.nanoseconds(of: Int64(latency), at: sampleRate))
    }
  }

  /// A block of `frames` was rendered.
  mutating func rendered(frames: Int, now: Int64) {
    framesSinceAnchor += Int64(frames)
    let length = FrameTime.nanoseconds(of: Int64(frames), at: sampleRate)
    earliest = max(earliest, now - Self.greatestLead * 20_000_000) + length * 98 / 100
  }

  /// Nothing sounds: the next block, whenever it comes, starts anew.
  mutating func stop() {
    anchor = nil
    batchEnd = .min
    framesSinceAnchor = 0
  }
}
