internal import AudioCore
internal import Synchronization

/// What the loop asks of the renderer. Plain data: it goes through a ring to the audio thread.
enum RenderCommand: BitwiseCopyable {
  /// The mix of a device, and the channel of a multichannel source that it renders; negative for the stereo pair.
  case mix(device: Int, ChannelMix, channel: Int)
  /// Which session a device renders; -1 for none.
  case session(device: Int, Int)
  /// A source takes the place of what a session renders.
  case start(session: Int, RenderSource, paused: Bool)
  /// A session's gain goes elsewhere.
  case gain(session: Int, GainChange)
  /// A session's equalizer goes elsewhere.
  case equalizer(session: Int, Equalizer.Setting)
  case pause(session: Int)
  case resume(session: Int)
  case stop(session: Int)
  /// Renders what still fades, then ends.
  case quit
}

/// What the renderer tells the loop. Plain data.
enum RenderReport: BitwiseCopyable {
  /// The last frame of a cue was rendered; it will have been heard at `heardAt` (see `BlockTime`).
  case ended(session: Int, cue: Int, heardAt: Int64)
  /// Nothing of a cue will be read any more: its memory may go.
  case retired(cue: Int)
}

/// A source as the renderer sees it. Valid until `RenderReport.retired` tells its cue.
struct RenderSource: BitwiseCopyable {
  let cue: Int
  /// Decoded frames, in the session's format.
  let frames: SampleRingReader
  let state: UnsafeMutablePointer<FeedState>
  /// Frame of the source with which the ring begins.
  let firstFrame: Int
  /// Writing end of the decoding thread's bell; -1 when it has none.
  let bell: Int32
  /// Whether it rises over its first block, as what begins in the middle of a wave must.
  let fadesIn: Bool
  /// Whether frames come when they come: nobody waits for them.
  let isLive: Bool
}

/// What the thread that decodes a source and the thread that renders it tell each other.
struct FeedState: ~Copyable {
  /// True when no frame will follow those in the ring.
  let isComplete = Atomic(false)
  /// Whether the decoding thread sleeps until its bell rings.
  let isAsleep = Atomic(false)
  /// Frames of a ring that is half empty: time to ring.
  let refillBelow: Int

  init(refillBelow: Int) { self.refillBelow = refillBelow }
}

/// Where a session is, written by the thread that renders, read on the loop: a sequence lock of atomics.
///
/// Source: H. Boehm, "Can seqlocks get along with programming language memory models?", MSPC 2012.
struct PositionCell: ~Copyable {
  /// One rendered block of a cue.
  struct Value: BitwiseCopyable {
    var cue: Int
    /// Frame of the source with which the block begins.
    var frame: Int
    /// Frames of the source in the block.
    var count: Int
    /// When the block's first frame is heard, in nanoseconds of the renderer's clock.
    var heardAt: Int64

    @_noLocks init(cue: Int, frame: Int, count: Int, heardAt: Int64) {
      self.cue = cue
      self.frame = frame
      self.count = count
      self.heardAt = heardAt
    }
  }

  private let version = Atomic<Int>(0)
  private let cue = Atomic<Int>(0)
  private let frame = Atomic<Int>(0)
  private let count = Atomic<Int>(0)
  private let heardAt = Atomic<Int64>(0)

  /// One thread only.
  @_noLocks func publish(_ value: Value) {
    let next = version.load(ordering: .relaxed) &+ 1
    version.store(next, ordering: .relaxed)
    atomicMemoryFence(ordering: .releasing)
    cue.store(value.cue, ordering: .relaxed)
    frame.store(value.frame, ordering: .relaxed)
    count.store(value.count, ordering: .relaxed)
    heardAt.store(value.heardAt, ordering: .relaxed)
    version.store(next &+ 1, ordering: .releasing)
  }

  /// The value published last.
  func read() -> Value {
    while true {
      let before = version.load(ordering: .acquiring)
      let value = Value(
        cue: cue.load(ordering: .relaxed), frame: frame.load(ordering: .relaxed),
        count: count.load(ordering: .relaxed), heardAt: heardAt.load(ordering: .relaxed))
      atomicMemoryFence(ordering: .acquiring)
      if before & 1 == 0, version.load(ordering: .relaxed) == before { return value }
    }
  }
}
