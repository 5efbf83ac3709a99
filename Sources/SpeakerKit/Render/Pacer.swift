/// The times of outputs that play later than they receive, such as the streams of a server. In nanoseconds.
struct StreamTiming: Equatable, Sendable {
  /// The time that blocks are rendered before they are due.
  let lead: Int64
  /// The time between the moment at which a block is due and that at which it is heard.
  let delay: Int64

  /// Outputs that play each block when it is due.
  static let immediate = StreamTiming(lead: 0, delay: 0)
}

/// Decides when the next block is rendered. Has no clock and no thread; times are nanoseconds of a monotonic
/// clock.
struct Pacer {
  /// The source of the pace.
  enum Mode: Equatable {
    /// A block is due when the one before has been heard: for outputs without a clock of their own.
    case clock
    /// As `clock`, but several blocks at a time: without outputs, a late command is not audible.
    case unheard
    /// A block is due when the output has room: its own clock drains it, `latency` later.
    case room
  }

  /// The next action of the caller.
  enum Step: Equatable {
    /// Render a block whose first frame is heard at `heardAt`.
    case render(heardAt: Int64)
    /// Wait: nothing is due before `until`.
    case wait(until: Int64)
    /// A block is due; an output has no room, or a source no frames.
    case waitForRoom
  }

  /// The lateness in ns above which blocks are not caught up with and `anchor` is set anew.
  static let greatestLateness: Int64 = 200_000_000
  /// The maximum number of blocks ahead of the clock in mode `room`, for an output that accepts everything at
  /// once (a null device under a sound card's name); beyond it, rendering runs two per cent faster than the
  /// clock, which no real card's drift reaches.
  static let greatestLead: Int64 = 8
  /// The duration in ns rendered per wake-up without outputs: waking up for a block costs more than the
  /// block.
  static let unheardBatch: Int64 = 200_000_000

  /// The length in ns of the blocks of a server.
  private static let serverBlock: Int64 = 20_000_000

  private let sampleRate: Int64
  private let timing: StreamTiming
  /// The lateness in ns above which `anchor` is set anew. A server that waits for a block longer than one
  /// lasts plays it where it was expected, and counts anew from the next one.
  private let toleratedLateness: Int64
  /// The time in ns between the moment at which `anchor` is set anew and the earlier one at which the late
  /// block was expected.
  private let lostLength: Int64
  private var mode = Mode.clock
  /// The time at which the first frame of the current run is or was heard; nil when nothing runs.
  private var anchor: Int64?
  private var framesSinceAnchor: Int64 = 0
  /// The end of the current batch in mode `unheard`: blocks that are due before it are rendered at once.
  private var batchEnd: Int64 = .min
  /// The earliest time of the next block in mode `room`.
  private var earliest: Int64 = .min

  /// - Parameter timing: the times of outputs that play later than they receive; for mode `clock`.
  init(sampleRate: Int, timing: StreamTiming = .immediate) {
    self.sampleRate = Int64(sampleRate)
    self.timing = timing
    toleratedLateness = timing == .immediate ? Self.greatestLateness : Self.serverBlock
    lostLength = timing == .immediate ? 0 : Self.serverBlock
  }

  /// Returns the next action.
  /// - Parameters:
  ///   - now: the current time in ns.
  ///   - mode: the source of the pace; a change of mode starts anew.
  ///   - isReady: `true` if outputs have room and sources have frames.
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
      if anchor == nil || now - due > toleratedLateness {
        due = anchor == nil ? now : now - lostLength
        anchor = due
        framesSinceAnchor = 0
      }
      if now < due - timing.lead, due >= batchEnd { return .wait(until: due - timing.lead) }
      if mode == .unheard, due >= batchEnd { batchEnd = due + Self.unheardBatch }
      return isReady ? .render(heardAt: due + timing.delay) : .waitForRoom
    case .room:
      if !isReady { return .waitForRoom }
      if now < earliest { return .wait(until: earliest) }
      return .render(heardAt: now + FrameTime.nanoseconds(of: Int64(latency), at: sampleRate))
    }
  }

  /// Records that a block of `frames` was rendered at `now`.
  mutating func rendered(frames: Int, now: Int64) {
    framesSinceAnchor += Int64(frames)
    let length = FrameTime.nanoseconds(of: Int64(frames), at: sampleRate)
    earliest = max(earliest, now - Self.greatestLead * 20_000_000) + length * 98 / 100
  }

  /// Ends the run: the next block starts a new one, whenever it is due.
  mutating func stop() {
    anchor = nil
    batchEnd = .min
    framesSinceAnchor = 0
  }
}
