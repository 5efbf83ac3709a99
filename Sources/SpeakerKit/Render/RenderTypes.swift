internal import AudioCore
internal import Synchronization

/// A command of the loop to the renderer. Plain data: it goes through a ring to the audio thread.
enum RenderCommand: BitwiseCopyable {
  /// Sets a device's mix, and the channel of a multichannel source that it renders; negative for the stereo
  /// pair.
  case mix(device: Int, ChannelMix, channel: Int)
  /// Sets the largest factor by which a device amplifies its sessions, all gains together; negative for none.
  case ceiling(device: Int, Float)
  /// Sets the session that a device renders; -1 for none.
  case session(device: Int, Int)
  /// Sets the session that a device renders over its own, with a mix of its own; -1 for none.
  case overlay(device: Int, session: Int, ChannelMix)
  /// Moves the gain of a device's own session, under the one that it renders over it.
  case duck(device: Int, GainChange)
  /// Replaces the source that a session renders.
  case start(session: Int, RenderSource, paused: Bool)
  /// Moves a session's gain.
  case gain(session: Int, GainChange)
  /// Moves a session's equalizer.
  case equalizer(session: Int, Equalizer.Setting)
  case pause(session: Int)
  case resume(session: Int)
  case stop(session: Int)
  /// Ends the renderer once nothing sounds any more.
  case quit
}

/// A report of the renderer to the loop. Plain data.
enum RenderReport: BitwiseCopyable {
  /// Rendered the last frame of a cue; its end is heard at `heardAt`, in ns of the renderer's clock.
  case ended(session: Int, cue: Int, heardAt: Int64)
  /// Reads nothing more of a cue: its memory may be released.
  case retired(cue: Int)
}

/// The renderer's view of a source. Valid until `RenderReport.retired` names its cue.
struct RenderSource: BitwiseCopyable {
  let cue: Int
  /// Decoded frames, in the session's format.
  let frames: SampleRingReader
  let state: UnsafeMutablePointer<DecodeState>
  /// The index in the source of the ring's first frame.
  let firstFrame: Int
  /// The write end of the decoding thread's bell; -1 without one.
  let bell: Int32
  /// `true` if the first block fades in, as a source that begins in the middle of a wave must.
  let fadesIn: Bool
  /// `true` if frames arrive on the source's own schedule: the renderer does not wait for them.
  let isLive: Bool
}

/// The state shared by the thread that decodes a source and the thread that renders it.
struct DecodeState: ~Copyable {
  /// `true` if no frame will follow those in the ring.
  let isComplete = Atomic(false)
  /// `true` if the decoding thread sleeps until its bell rings.
  let isAsleep = Atomic(false)
  /// The number of frames below which the renderer rings the decoding thread's bell: half the ring.
  let refillBelow: Int

  init(refillBelow: Int) { self.refillBelow = refillBelow }
}

/// The position of a session, written by the thread that renders and read on the loop: a sequence lock of
/// atomics.
///
/// Source: H. Boehm, "Can seqlocks get along with programming language memory models?", MSPC 2012.
struct PositionCell: ~Copyable {
  /// A rendered block of a cue.
  struct Value: BitwiseCopyable {
    var cue: Int
    /// The index in the source of the block's first frame.
    var frame: Int
    /// The number of frames of the source in the block.
    var count: Int
    /// The time at which the block's first frame is heard, in ns of the renderer's clock.
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

  /// Publishes a value; to be called by one thread only.
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

  /// Returns the value published last.
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
