internal import AudioCore
internal import EventLoop

/// Plays a stream that no session plays, for its taps and its meter: decodes it at the pace of the loop's clock, a
/// little ahead, and lets the sound go. Confined to the loop.
final class SilentPlayer {
  private let loop: EventLoop
  private let makeDecoder: () -> any LiveDecoder
  private let onEnd: ((any Error)?) -> Void
  private let block = PCMBlock(format: .session, frames: 2048)
  private var decoder: (any LiveDecoder)?
  private var timer: LoopTimer?
  private var isReading = false
  /// Seconds that were decoded since the decoder began, and heard until `since`.
  private var given = 0.0
  private var before = 0.0
  private var since: Instant?

  /// - Parameter onEnd: called when its sound can't be decoded, nothing more is then; with nil when all was heard.
  init(
    loop: EventLoop, makeDecoder: @escaping () -> any LiveDecoder, onEnd: @escaping ((any Error)?) -> Void
  ) {
    self.loop = loop
    self.makeDecoder = makeDecoder
    self.onEnd = onEnd
  }

  deinit { timer?.cancel() }

  /// Seconds of the decoder's sound that would have been heard.
  var heard: Double {
    guard let since else { return before }
    return max(before, min(given, before + since.duration(to: loop.now).inSeconds))
  }

  func goOn() {
    guard since == nil else { return }
    since = loop.now
    read()
  }

  func standStill() {
    before = heard
    since = nil
    timer?.cancel()
  }

  /// The stream has leapt: what is decoded from now on is from there.
  func moved() {
    (given, before) = (0, 0)
    decoder = nil
    // Made at once: it knows where it stands.
    _ = begin()
    guard since != nil else { return }
    since = loop.now
    read()
  }

  /// Decodes up to 200 ms ahead.
  private func read() {
    // Reading tells of a stream that ran dry, who may come back here.
    guard let since, !isReading else { return }
    isReading = true
    defer { isReading = false }
    let decoder = decoder ?? begin()
    let wanted = before + since.duration(to: loop.now).inSeconds + 0.2
    do {
      while given < wanted {
        let count = try decoder.read(into: block.view.buffer)
        guard count > 0 else {
          guard decoder.isWaiting else { return waitForEnd() }
          break
        }
        given += Double(count) / Double(decoder.format.sampleRate)
      }
    } catch {
      standStill()
      return onEnd(error)
    }
    timer?.cancel()
    timer = loop.after(.milliseconds(50)) { [weak self] in self?.read() }
  }

  /// All is decoded; it is through when that has been heard.
  private func waitForEnd() {
    timer?.cancel()
    let left = max(0, given - heard)
    timer = loop.after(Duration(inSeconds: left)) { [weak self] in
      guard let self, since != nil else { return }
      if given - heard > 0.001 { waitForEnd() } else { onEnd(nil) }
    }
  }

  private func begin() -> any LiveDecoder {
    let new = makeDecoder()
    decoder = new
    let this = LoopReference(self)
    let loop = loop
    // Blocks that taps give back come here; sound that comes is looked for at the next turn.
    new.onFrames { loop.post { this.object?.read() } }
    return new
  }
}
