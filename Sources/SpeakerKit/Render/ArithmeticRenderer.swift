internal import AudioCore
internal import Codecs
internal import EventLoop

/// Computes playback without making PCM: under virtual time, when no output is heard, the position in a
/// source follows from the clock.
///
/// Opens a file for its length, and decodes it once where only that gives the length. A file that is shorter
/// than its header states ends with that failure; other damage inside it is not noticed. Confined to the
/// loop.
final class ArithmeticRenderer: Renderer {
  weak var observer: (any RenderObserver)?

  private struct Playback {
    let cue: Int
    /// The index after the last frame that plays; nil without an end.
    let end: Int?
    /// The failure reported at `end`; nil for a complete source.
    var failure: (any CodedError)?
    /// The frame heard at `since`, or the position while nothing flows.
    var frame: Int
    /// The time at which `frame` was heard; nil while the position does not move.
    var since: Instant?
    var timer: LoopTimer?
    /// The source with a clock of its own, if it is one.
    var sound: (any ClockedSound)?
    var flow = SoundFlow.flows
    var isPaused = true
  }

  private let loop: EventLoop
  private let rate: Int
  private struct LoadedCue {
    let start: Int
    var end: Int?
    var failure: (any CodedError)?
    var sound: (any ClockedSound)?
  }

  private let lengths: FileLengths
  private var cues: [Int: LoadedCue] = [:]
  private var playbacks: [DriverStream: Playback] = [:]
  private var cueCount = 0

  init(loop: EventLoop, format: AudioFormat) {
    self.loop = loop
    lengths = FileLengths(format: format)
    rate = format.sampleRate
  }

  func addDevice(_ name: String) {}
  func setCeiling(_ gain: Float?, ofDevice device: Int) {}
  func setMix(_ mix: ChannelMix, channel: Int?, ofDevice device: Int) {}
  func setSession(_ session: DriverStream?, ofDevice device: Int) {}
  func setOverlay(_ session: DriverStream?, _ mix: ChannelMix, ofDevice device: Int) {}
  func setDuck(_ decibels: Double, over duration: Duration, ofDevice device: Int) {}

  func setGain(_ decibels: Double, over duration: Duration, of session: DriverStream) {}
  func setEqualizer(_ gains: EqualizerGains, of session: DriverStream) {}

  func load(_ request: SourceRequest) async throws -> Cue {
    cueCount += 1
    let start = Int((request.start * Double(rate)).rounded())
    let file: FileLengths.Length
    switch request.sound {
    case .file(let path): file = try lengths.length(of: path)
    case .source(let sound):
      try (sound as? any ClockedSound)?.prepareClock()
      // Ends when the source reports `ended`.
      cues[cueCount] = LoadedCue(start: start, sound: sound as? any ClockedSound)
      return Cue(id: cueCount, duration: nil)
    }
    let frames = Resampler.length(of: file.frames, from: file.sampleRate, to: rate)
    guard start <= frames else {
      throw SpeakerError(
        .range, "\(request.start) s is past the end of \(request.name)",
        facts: [.init("start", .number(request.start))])
    }
    let isEndless = request.loops && frames > 0
    cues[cueCount] = LoadedCue(start: start, end: isEndless ? nil : frames, failure: file.shortfall)
    return Cue(id: cueCount, duration: frames)
  }

  func discard(_ cue: Cue) { cues[cue.id] = nil }

  func start(_ cue: Cue, in session: DriverStream, paused: Bool) {
    guard let loaded = cues.removeValue(forKey: cue.id) else { return }
    playbacks[session]?.timer?.cancel()
    playbacks[session] = Playback(
      cue: cue.id, end: loaded.end, failure: loaded.failure, frame: loaded.start, sound: loaded.sound)
    if let sound = loaded.sound {
      playbacks[session]?.flow = .waits
      playbacks[session]?.isPaused = paused
      sound.play(byClock: { [weak self] in self?.follow($0, cue.id, of: session) }, paused: paused)
    }
    if !paused { resume(session) }
  }

  func pause(_ session: DriverStream) {
    haltClock(session)
    playbacks[session]?.isPaused = true
    playbacks[session]?.sound?.pause(true)
  }

  func resume(_ session: DriverStream) {
    playbacks[session]?.isPaused = false
    playbacks[session]?.sound?.pause(false)
    runClock(session)
  }

  /// Applies a change of flow that a source with its own clock reported.
  private func follow(_ flow: SoundFlow, _ cue: Int, of session: DriverStream) {
    guard playbacks[session]?.cue == cue else { return }
    haltClock(session)
    playbacks[session]?.flow = flow
    switch flow {
    case .flows: runClock(session)
    case .waits: break
    case .ended(let failure):
      playbacks[session]?.failure = failure
      loop.next { [weak self] in self?.end(cue, of: session) }
    }
  }

  private func haltClock(_ session: DriverStream) {
    let position = position(of: session)
    playbacks[session]?.timer?.cancel()
    playbacks[session]?.frame = position
    playbacks[session]?.since = nil
  }

  private func runClock(_ session: DriverStream) {
    guard let playback = playbacks[session], playback.since == nil, case .flows = playback.flow,
      !playback.isPaused
    else { return }
    playbacks[session]?.since = loop.now
    guard let end = playback.end else { return }
    let length = FrameTime.nanoseconds(of: Int64(end - playback.frame), at: Int64(rate))
    playbacks[session]?.timer = loop.after(.nanoseconds(length)) { [weak self] in
      guard let self, playbacks[session]?.cue == playback.cue else { return }
      playbacks[session]?.frame = end
      self.end(playback.cue, of: session)
    }
  }

  private func end(_ cue: Int, of session: DriverStream) {
    guard let playback = playbacks[session], playback.cue == cue else { return }
    playbacks[session]?.since = nil
    observer?.receive(.ended(cue: cue, session: session, failure: playback.failure))
  }

  func stop(_ session: DriverStream) {
    playbacks.removeValue(forKey: session)?.timer?.cancel()
  }

  func position(of session: DriverStream) -> Int {
    guard let playback = playbacks[session] else { return 0 }
    guard let since = playback.since else { return playback.frame }
    let heard = FrameTime.frames(in: since.duration(to: loop.now).nanoseconds, at: Int64(rate))
    return min(playback.end ?? .max, playback.frame + Int(heard))
  }

  func close() async {
    observer = nil
    for session in playbacks.keys.sorted() { stop(session) }
  }
}
