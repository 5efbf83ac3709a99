internal import AudioCore
internal import Codecs
internal import EventLoop
internal import Synchronization

/// Decodes one source into a ring, ahead of whoever renders it.
///
/// Unchecked: `decoder`, `block`, `ring` until `open` has ended, and `failure` belong to the thread that fills, a `FeedThread` or the loop under
/// virtual time; `failure`, `duration` and `firstFrame` are written before the end of `open` or the end of the
/// source is told, and read by the loop after that. The ring has an end for each thread.
final class SourceFeed: @unchecked Sendable {
  /// Tells this feed from all others of its renderer.
  let cue: Int
  /// Length of the whole source in frames of the session, nil when it can't be known; set by `open`.
  private(set) var duration: Int?
  /// Why the source is shorter than it should be.
  private(set) var failure: (any CodedError)?

  private let request: SourceRequest
  /// Stereo; `open` makes another one for a source of more channels.
  private var ring: SampleRing
  private let state: UnsafeMutablePointer<FeedState>
  private var block: PCMBlock
  private var decoder: ConformedDecoder?
  /// Whether frames come when they come; set by `open`.
  private var isLive = false
  private var mayBeginAgain = false
  private var firstFrame = 0

  /// A feed with room for `seconds` of sound.
  init(_ request: SourceRequest, cue: Int, format: AudioFormat, seconds: Double = 1.5) {
    self.request = request
    self.cue = cue
    ring = SampleRing(frames: Int(seconds * Double(format.sampleRate)), channels: format.channels)
    block = PCMBlock(format: format)
    state = .allocate(capacity: 1)  // freed in deinit
    state.initialize(to: FeedState(refillBelow: ring.capacity / 2))
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// What the renderer needs; `open` comes first.
  /// - Parameter bell: writing end of the bell of the thread that fills.
  func source(bell: Int32 = -1) -> RenderSource {
    RenderSource(
      cue: cue, frames: ring.reader, state: state, firstFrame: firstFrame, bell: bell,
      fadesIn: firstFrame > 0 || isLive, isLive: isLive)
  }

  /// Whether no frame will follow those in the ring.
  var isComplete: Bool { state.pointee.isComplete.load(ordering: .acquiring) }

  /// Opens the source and goes to where it begins.
  /// - Throws: `AudioError`; `speaker.range` when it begins past its end.
  func open() throws {
    let sound = try openSound()
    if sound.format.channels > block.format.channels {
      let format = AudioFormat(sampleRate: block.format.sampleRate, channels: AudioFormat.surround.channels)
      ring = SampleRing(frames: ring.capacity, channels: format.channels)
      block = PCMBlock(format: format)
    }
    let decoder = try ConformedDecoder(sound, to: block.format)
    duration = decoder.frameCount
    firstFrame = Int((request.start * Double(block.format.sampleRate)).rounded())
    self.decoder = decoder
    // A source is where it wants to be.
    guard case .file = request.sound else { return }
    if let duration, firstFrame > duration {
      throw SpeakerError(
        .range, "\(request.start) s is past the end of \(request.name)",
        facts: [.init("start", .number(request.start))])
    }
    if firstFrame > 0 { try decoder.seek(toFrame: firstFrame) }
    mayBeginAgain = firstFrame > 0
  }

  private func openSound() throws -> any Decoder {
    switch request.sound {
    case .file(let path): return try AudioFile.open(path)
    case .source(let source):
      let decoder = try source.makeDecoder()
      isLive = decoder is any LiveDecoder
      return decoder
    }
  }

  /// Has `wake` called on any thread when a live source has more; after `open`, before the first `fill`.
  func onFrames(_ wake: @escaping @Sendable () -> Void) { decoder?.onFrames(wake) }

  /// Decodes until the ring holds `frames`, or is full, or the source has ended.
  func fill(toFrames frames: Int) {
    while ring.reader.available < frames, fillBlock() {}
  }

  /// Decodes one block.
  /// - Returns: false when the ring is full, a live source has no more yet, or the source has ended.
  func fillBlock() -> Bool {
    guard !isComplete, ring.writer.room >= block.view.frames else { return false }
    do {
      let count = try decoder?.read(into: block.view.buffer) ?? 0
      if count > 0 {
        mayBeginAgain = true
        _ = ring.writer.write(block.view.prefix(count))
        return true
      }
      if decoder?.isWaiting == true { return false }
      if request.loops, mayBeginAgain {
        mayBeginAgain = false
        try decoder?.seek(toFrame: 0)
        return true
      }
      failure = decoder?.shortfall
    } catch let error as any CodedError {
      failure = error
    } catch {
      failure = SpeakerError(.lost, "cannot go on with \(request.name): \(error)")
    }
    complete()
    return false
  }

  /// No frame follows any more.
  func complete() { state.pointee.isComplete.store(true, ordering: .releasing) }

  /// The thread that fills goes to sleep until its bell rings, or is awake again.
  func setAsleep(_ isAsleep: Bool) { state.pointee.isAsleep.store(isAsleep, ordering: .releasing) }
}
