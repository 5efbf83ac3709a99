/// Interleaved samples somewhere in memory, for the real-time functions.
///
/// A trivial value, so the audio thread passes it around without reference counting. The view owns nothing:
/// it is valid as long as the `PCMBlock` (or other owner) that it points into. Functions of two views need
/// the same number of channels in both, and process the frames of the shorter one only.
public struct PCMView: BitwiseCopyable {
  /// The first sample of the first frame.
  public let samples: UnsafeMutablePointer<Float>
  /// The number of frames that may be accessed.
  public let frames: Int
  /// The number of samples per frame.
  public let channels: Int

  /// Creates a view of `frames` × `channels` samples at `samples`.
  @_noLocks public init(samples: UnsafeMutablePointer<Float>, frames: Int, channels: Int) {
    self.samples = samples
    self.frames = frames
    self.channels = channels
  }

  /// The number of samples in all frames and channels.
  public var count: Int { @_noLocks get { frames &* channels } }

  /// Returns the first `limit` frames, or all if there are fewer.
  @_noLocks public func prefix(_ limit: Int) -> PCMView {
    PCMView(samples: samples, frames: limit < frames ? (limit < 0 ? 0 : limit) : frames, channels: channels)
  }

  /// Returns the frames after the first `skipped` ones; empty if there are fewer.
  @_noLocks public func dropFirst(_ skipped: Int) -> PCMView {
    let start = skipped < frames ? (skipped < 0 ? 0 : skipped) : frames
    return PCMView(samples: samples + start &* channels, frames: frames &- start, channels: channels)
  }

  /// Makes every sample 0.
  @_noLocks public func clear() {
    samples.initialize(repeating: 0, count: count)
  }

  /// Overwrites this view's frames with those of `source`, bit for bit.
  @_noLocks public func copy(from source: PCMView) {
    let shared = source.count < count ? source.count : count
    UnsafeMutableRawPointer(samples)
      .copyMemory(from: source.samples, byteCount: shared &* MemoryLayout<Float>.stride)
  }

  /// Adds the frames of `source` to this view's. Onto silence this is a copy (but −0 becomes 0).
  @_noLocks public func add(_ source: PCMView) {
    let shared = source.count < count ? source.count : count
    let from = source.samples
    var index = 0
    while index < shared {
      samples[index] += from[index]
      index &+= 1
    }
  }

  /// Adds the frames of `source`, times `gain`, to this view's.
  @_noLocks public func add(_ source: PCMView, gain: Float) {
    let shared = source.count < count ? source.count : count
    let from = source.samples
    var index = 0
    while index < shared {
      samples[index] += from[index] * gain
      index &+= 1
    }
  }

  /// Multiplies every sample by `gain`.
  @_noLocks public func scale(by gain: Float) {
    let total = count
    var index = 0
    while index < total {
      samples[index] *= gain
      index &+= 1
    }
  }

  /// The samples as the standard library's buffer, for `Decoder.read` and the like.
  public var buffer: UnsafeMutableBufferPointer<Float> {
    @_noLocks get { UnsafeMutableBufferPointer(start: samples, count: count) }
  }
}

/// Memory for interleaved Float32 samples, allocated once and zeroed.
///
/// Created and released away from the audio thread, which keeps only the `view`. Confined to one thread at a
/// time.
public final class PCMBlock {
  /// The rate and channels of the samples.
  public let format: AudioFormat
  /// The view of all frames; valid as long as the block lives, so its user keeps the block in a variable or
  /// property (`PCMBlock(…).view` is dangling at once).
  public let view: PCMView

  /// Creates a silent block.
  /// - Parameter frames: the capacity in frames; by default one block of 20 ms.
  public init(format: AudioFormat, frames: Int? = nil) {
    let frames = frames ?? format.framesPerBlock
    let count = frames * format.channels
    let samples = UnsafeMutablePointer<Float>.allocate(capacity: max(count, 1))  // freed in deinit
    samples.initialize(repeating: 0, count: max(count, 1))
    self.format = format
    view = PCMView(samples: samples, frames: frames, channels: format.channels)
  }

  deinit { view.samples.deallocate() }
}
