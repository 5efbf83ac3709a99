internal import AudioCore
internal import EventLoop
internal import StreamCore

/// Plays a stream that no session plays, for its taps and its meter: decodes it at the pace of the loop's
/// clock, a little ahead, and drops the sound. Confined to the loop.
final class SilentPlayer {
  private let loop: EventLoop
  private let makeDecoder: () -> any LiveDecoder
  private let onEnd: ((any Error)?) -> Void
  private let block = PCMBlock(format: .session, frames: 2048)
  private var decoder: (any LiveDecoder)?
  private var timer: LoopTimer?
  private var isReading = false
  /// The seconds decoded since the decoder began, and the seconds heard until `since`.
  private var decoded = 0.0
  private var before = 0.0
  private var since: Instant?

  /// - Parameter onEnd: receives the failure of the decoder, which ends the player, or nil after all sound
  ///   was heard.
  init(
    loop: EventLoop, makeDecoder: @escaping () -> any LiveDecoder, onEnd: @escaping ((any Error)?) -> Void
  ) {
    self.loop = loop
    self.makeDecoder = makeDecoder
    self.onEnd = onEnd
  }

  deinit { timer?.cancel() }

  /// The seconds of the decoder's sound that would have been heard.
  var heard: Double {
    guard let since else { return before }
    return max(before, min(decoded, before + since.duration(to: loop.now).inSeconds))
  }

  func run() {
    guard since == nil else { return }
    since = loop.now
    read()
  }

  func halt() {
    before = heard
    since = nil
    timer?.cancel()
  }

  /// Begins a new decoder, as the position has been moved.
  func moved() {
    (decoded, before) = (0, 0)
    decoder = nil
    // Created at once: its position is the present one.
    _ = begin()
    guard since != nil else { return }
    since = loop.now
    read()
  }

  /// Decodes up to 200 ms ahead.
  private func read() {
    // Reading may report that the stream ran dry, which may call this again.
    guard let since, !isReading else { return }
    isReading = true
    defer { isReading = false }
    let decoder = decoder ?? begin()
    let wanted = before + since.duration(to: loop.now).inSeconds + 0.2
    do {
      while decoded < wanted {
        let count = try decoder.read(into: block.view.buffer)
        guard count > 0 else {
          guard decoder.isWaiting else { return waitForEnd() }
          break
        }
        decoded += Double(count) / Double(decoder.format.sampleRate)
      }
    } catch {
      halt()
      return onEnd(error)
    }
    timer?.cancel()
    timer = loop.after(.milliseconds(50)) { [weak self] in self?.read() }
  }

  /// Waits until all decoded sound has been heard.
  private func waitForEnd() {
    timer?.cancel()
    let left = max(0, decoded - heard)
    timer = loop.after(Duration(inSeconds: left)) { [weak self] in
      guard let self, since != nil else { return }
      if decoded - heard > 0.001 { waitForEnd() } else { onEnd(nil) }
    }
  }

  private func begin() -> any LiveDecoder {
    let new = makeDecoder()
    decoder = new
    let this = LoopReference(self)
    let loop = loop
    // Taps return blocks in here; new sound is read at the next turn, once for all blocks of this turn.
    let isPosted = Lock(false)
    new.onFrames {
      let isFirst = isPosted.withLock { isPosted in
        defer { isPosted = true }
        return !isPosted
      }
      guard isFirst else { return }
      loop.post {
        isPosted.withLock { $0 = false }
        this.object?.read()
      }
    }
    return new
  }
}

/// The sound of a stream that no session plays, for a meter or a tap.
extension Stream {
  /// Decodes the sound though no session plays it.
  func playSilently() {
    guard let buffer else { return }
    let reference = SilentReference()
    let playback = makePlayback(
      of: buffer, heard: { reference.player?.heard ?? 0 }, moved: { reference.player?.moved() })
    let player = SilentPlayer(loop: loop, makeDecoder: { playback.makeLiveDecoder() }) {
      [unowned self] error in
      guard let error else { return wasHeard() }
      leaveSilently()
      sound.isBroken = true
      emit(.failed(error as? StreamError ?? StreamError(.content, "its sound can't be decoded: \(error)")))
      run()
    }
    reference.player = player
    listener = listener.metered(by: Listener.Meter(player: player, playback: playback))
  }

  private func leaveSilently() {
    guard listener.meter != nil else { return }
    halt()
    listener = listener.metered(by: nil)
    buffer?.forgetReader()
    _ = buffer?.move(to: clock.start)
  }

  /// Begins or ends the meter, as the first tap was added or the last one removed.
  func soundIsUsed() {
    guard machine.hasPosition, sound.isUsed ? listener.playback == nil : listener.meter != nil else { return }
    if sound.isUsed { halt() } else { leaveSilently() }
    if status == .playing { run() }
  }

  /// Returns the levels of the sound being heard; nil if there is no sound.
  func heardLevels() -> MeterReading? { machine.isPlaying ? listener.playback?.levels : nil }
}

/// A reference to a silent player for closures that are created before it.
private final class SilentReference { weak var player: SilentPlayer? }
