internal import AudioCore
internal import Codecs
internal import EventLoop
internal import Synchronization

/// Decodes one source into a ring, ahead of the renderer.
///
/// Unchecked: `decoder`, `block`, `ring` until `open` has ended, and `failure` belong to the thread that
/// fills, a `DecodeThread` or the loop under virtual time; `failure`, `duration` and `firstFrame` are written
/// before the end of `open` or the end of the source is reported, and read by the loop after that. The ring
/// has an end for each thread. A thread that `giveUp` has abandoned writes nothing more.
final class DecodeAhead: @unchecked Sendable {
  /// Identifies the source within its renderer.
  let cue: Int
  /// The length of the whole source in frames of the session; nil when unknown; set by `open`.
  private(set) var duration: Int?
  /// The failure that ended the source early; nil for a complete one.
  private(set) var failure: (any CodedError)?
  /// The times of the calls in which the thread that fills may be held by a file system.
  let calls = FileCalls()

  private let request: SourceRequest
  /// Stereo ring; `open` replaces it for a source of more channels.
  private var ring: SampleRing
  private let state: UnsafeMutablePointer<DecodeState>
  private var block: PCMBlock
  private var decoder: ConformedDecoder?
  /// `true` for a live source; set by `open`.
  private var isLive = false
  private var mayBeginAgain = false
  private var firstFrame = 0

  /// Creates the decoder of a source, with a ring for `seconds` of sound.
  init(_ request: SourceRequest, cue: Int, format: AudioFormat, seconds: Double = 1.5) {
    self.request = request
    self.cue = cue
    ring = SampleRing(frames: Int(seconds * Double(format.sampleRate)), channels: format.channels)
    block = PCMBlock(format: format)
    state = .allocate(capacity: 1)  // freed in deinit
    state.initialize(to: DecodeState(refillBelow: ring.capacity / 2))
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Returns the renderer's view of the source; call `open` first.
  /// - Parameter bell: write end of the bell of the thread that fills.
  func source(bell: Int32 = -1) -> RenderSource {
    RenderSource(
      cue: cue, frames: ring.reader, state: state, firstFrame: firstFrame, bell: bell,
      fadesIn: firstFrame > 0 || isLive, isLive: isLive)
  }

  /// `true` if no frame will follow those in the ring.
  var isComplete: Bool { state.pointee.isComplete.load(ordering: .acquiring) }

  /// Opens the source and seeks to the requested start.
  /// - Parameter isThreaded: `true` on a thread that may wait for a file to be opened on another one.
  /// - Throws: `AudioError`; `speaker.range` when the start is past the end of the source.
  func open(isThreaded: Bool = false) throws {
    let sound = try openSound(isThreaded)
    if sound.format.channels > block.format.channels {
      let format = AudioFormat(sampleRate: block.format.sampleRate, channels: AudioFormat.surround.channels)
      ring = SampleRing(frames: ring.capacity, channels: format.channels)
      block = PCMBlock(format: format)
    }
    let decoder = try ConformedDecoder(sound, to: block.format)
    duration = decoder.frameCount
    firstFrame = Int((request.start * Double(block.format.sampleRate)).rounded())
    self.decoder = decoder
    // A source sets its own position.
    guard case .file = request.sound else { return }
    if let duration, firstFrame > duration {
      throw SpeakerError(
        .range, "\(request.start) s is past the end of \(request.name)",
        facts: [.init("start", .number(request.start))])
    }
    if firstFrame > 0 { try decoder.seek(toFrame: firstFrame) }
    mayBeginAgain = firstFrame > 0
  }

  private func openSound(_ isThreaded: Bool) throws -> any Decoder {
    switch request.sound {
    case .file(let path):
      guard isThreaded else { return try AudioFile.open(path) }
      guard let decoder = try FileCall({ try AudioFile.open(path) }).wait() else {
        throw AudioError.unanswered(path)
      }
      return decoder
    case .source(let source):
      let decoder = try source.makeDecoder()
      isLive = decoder is any LiveDecoder
      return decoder
    }
  }

  /// Registers `wake`, called on any thread when a live source has more frames; call after `open`, before the
  /// first `fill`.
  func onFrames(_ wake: @escaping @Sendable () -> Void) { decoder?.onFrames(wake) }

  /// Decodes until the ring holds `frames`, or is full, or the source has ended.
  func fill(toFrames frames: Int) {
    while ring.reader.available < frames, fillBlock() {}
  }

  /// Decodes one block.
  /// - Returns: `false` when the ring is full, a live source has no more frames yet, or the source has ended.
  func fillBlock() -> Bool {
    guard !isComplete, ring.writer.room >= block.view.frames else { return false }
    do {
      let count = try calls.call { try decoder?.read(into: block.view.buffer) ?? 0 }
      if isComplete { return false }
      if count > 0 {
        mayBeginAgain = true
        _ = ring.writer.write(block.view.prefix(count))
        return true
      }
      if decoder?.isWaiting == true { return false }
      if request.loops, mayBeginAgain {
        mayBeginAgain = false
        try calls.call { try decoder?.seek(toFrame: 0) }
        return true
      }
      failure = decoder?.shortfall
    } catch {
      if isComplete { return false }
      failure =
        error as? any CodedError ?? SpeakerError(.lost, "can't continue \(request.name): \(error)")
    }
    complete()
    return false
  }

  /// Ends a source whose file has not answered, on the loop, while the thread that fills is held by it.
  /// - Returns: the failure.
  @discardableResult
  func giveUp() -> AudioError {
    let error = AudioError.unanswered(request.name, to: "read")
    if !isComplete {
      failure = error
      complete()
    }
    return error
  }

  /// Marks the ring as complete: no frame will follow.
  func complete() { state.pointee.isComplete.store(true, ordering: .releasing) }

  /// Marks the thread that fills as asleep until its bell rings, or as awake.
  func setAsleep(_ isAsleep: Bool) { state.pointee.isAsleep.store(isAsleep, ordering: .releasing) }
}
