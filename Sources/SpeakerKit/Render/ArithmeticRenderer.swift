internal import AudioCore
internal import Codecs
internal import EventLoop
internal import Glibc

/// Plays without making PCM: under virtual time, when nobody listens, where a source is follows from the clock.
///
/// A file is opened to learn its length, and decoded once where only that tells it; damage in the middle of one
/// whose header tells is not noticed. Confined to the loop.
final class ArithmeticRenderer: Renderer {
  var onEnd: ((_ cue: Int, _ session: SessionID, _ failure: (any CodedError)?) -> Void)?
  var onTrouble: ((_ error: any CodedError, _ device: Int?) -> Void)?

  private struct Playback {
    let cue: Int
    /// Frame of the last frame that plays, plus one; nil for ever.
    let end: Int?
    /// Frame that is heard at `since`.
    var frame: Int
    /// Nil while it stands still.
    var since: Instant?
    var timer: LoopTimer?
    /// What plays by a clock of its own.
    var sound: (any ClockedSound)?
    var flow = SoundFlow.flows
    var isPaused = true
  }

  private let loop: EventLoop
  private let rate: Int
  private let format: AudioFormat
  /// Lengths in frames by path, and what the file was when it was measured.
  private var lengths: [String: (version: FileVersion, length: Int)] = [:]
  private var cues: [Int: (start: Int, end: Int?, sound: (any ClockedSound)?)] = [:]
  private var playbacks: [SessionID: Playback] = [:]
  private var cueCount = 0

  init(loop: EventLoop, format: AudioFormat) {
    self.loop = loop
    self.format = format
    rate = format.sampleRate
  }

  func addDevice(_ name: String) {}
  func setMix(_ mix: ChannelMix, ofDevice device: Int) {}
  func setSession(_ session: SessionID?, ofDevice device: Int) {}

  func setGain(_ decibels: Double, over duration: Duration, of session: SessionID) {}
  func setEqualizer(_ gains: EqualizerGains, of session: SessionID) {}

  func load(_ request: SourceRequest) async throws -> Cue {
    cueCount += 1
    let start = Int((request.start * Double(rate)).rounded())
    let length: Int
    switch request.sound {
    case .file(let path): length = try self.length(of: path)
    case .source(let sound):
      // It ends when whoever made it says so.
      cues[cueCount] = (start, nil, sound as? any ClockedSound)
      return Cue(id: cueCount, duration: nil)
    }
    guard start <= length else {
      throw SpeakerError(
        .range, "\(request.start) s is past the end of \(request.name)",
        facts: [.init("start", .number(request.start))])
    }
    cues[cueCount] = (start, request.loops && length > 0 ? nil : length, nil)
    return Cue(id: cueCount, duration: length)
  }

  func discard(_ cue: Cue) { cues[cue.id] = nil }

  func start(_ cue: Cue, in session: SessionID, paused: Bool) {
    guard let (start, end, sound) = cues.removeValue(forKey: cue.id) else { return }
    playbacks[session]?.timer?.cancel()
    playbacks[session] = Playback(cue: cue.id, end: end, frame: start, sound: sound)
    if let sound {
      playbacks[session]?.flow = .waits
      playbacks[session]?.isPaused = paused
      sound.play(byClock: { [weak self] in self?.follow($0, cue.id, of: session) }, paused: paused)
    }
    if !paused { resume(session) }
  }

  func pause(_ session: SessionID) {
    stand(session)
    playbacks[session]?.isPaused = true
    playbacks[session]?.sound?.pause(true)
  }

  func resume(_ session: SessionID) {
    playbacks[session]?.isPaused = false
    playbacks[session]?.sound?.pause(false)
    goOn(session)
  }

  /// What plays by a clock of its own tells.
  private func follow(_ flow: SoundFlow, _ cue: Int, of session: SessionID) {
    guard playbacks[session]?.cue == cue else { return }
    stand(session)
    playbacks[session]?.flow = flow
    switch flow {
    case .flows: goOn(session)
    case .waits: break
    case .ended: loop.next { [weak self] in self?.end(cue, of: session) }
    }
  }

  private func stand(_ session: SessionID) {
    let position = position(of: session)
    playbacks[session]?.timer?.cancel()
    playbacks[session]?.frame = position
    playbacks[session]?.since = nil
  }

  private func goOn(_ session: SessionID) {
    guard let playback = playbacks[session], playback.since == nil, playback.flow == .flows,
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

  private func end(_ cue: Int, of session: SessionID) {
    guard playbacks[session]?.cue == cue else { return }
    playbacks[session]?.since = nil
    onEnd?(cue, session, nil)
  }

  func stop(_ session: SessionID) {
    playbacks.removeValue(forKey: session)?.timer?.cancel()
  }

  func position(of session: SessionID) -> Int {
    guard let playback = playbacks[session] else { return 0 }
    guard let since = playback.since else { return playback.frame }
    let heard = FrameTime.frames(in: since.duration(to: loop.now).nanoseconds, at: Int64(rate))
    return min(playback.end ?? .max, playback.frame + Int(heard))
  }

  func close() async {
    onEnd = nil
    onTrouble = nil
    for session in playbacks.keys.sorted() { stop(session) }
  }

  private func length(of path: String) throws -> Int {
    let version = FileVersion(path: path)
    if let known = lengths[path], known.version == version { return known.length }
    let length = try measure(path)
    lengths[path] = (version, length)
    return length
  }

  /// Length of the file at `path` in frames.
  private func measure(_ path: String) throws -> Int {
    let decoder = try ConformedDecoder(AudioFile.open(path), to: format)
    if let length = decoder.frameCount { return length }
    let block = PCMBlock(format: format, frames: 4096)
    var length = 0
    while true {
      let count = try decoder.read(into: block.view.buffer)
      if count == 0 { return length }
      length += count
    }
  }
}

/// What tells a file from another one that took its place under the same path.
private struct FileVersion: Equatable {
  private let inode: UInt
  private let size: Int
  private let changed: [Int]

  init(path: String) {
    var status = stat()
    _ = stat(path, &status)
    inode = status.st_ino
    size = Int(status.st_size)
    changed = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
  }
}
