internal import AudioCore
internal import EventLoop

/// The sound of a queue from one position on, without an end of its own between the files.
///
/// Each command that leads to another position makes a new passage. Unchecked: `makeDecoder` may be called on
/// any thread, and uses only state that is immutable or under a lock; all else belongs to the loop.
final class QueuePassage: ClockedSound, @unchecked Sendable {
  /// The state of the queue at which it begins, and the position in that file in seconds.
  private let begin: (machine: QueueMachine, seconds: Double)
  /// `true` if it continues the file that was heard before.
  let isSeek: Bool
  private let format: AudioFormat
  private let lengths: FileLengths
  private let loop: EventLoop
  private let session: LoopReference<Session>
  /// Turns that have been decoded and not been heard.
  private let turns = Lock<[QueueTurn]>([])

  /// The state of the queue that is heard.
  private(set) var machine: QueueMachine
  /// The frame of the session at which the current file began.
  private(set) var frame = 0
  /// The length of the current file in frames of the session; nil when unknown.
  private(set) var length: Int?
  /// `true` if no turn has been heard.
  private var isNew = true

  /// The clock of a passage that is played without a decoder.
  private struct Clock {
    let walk: QueueDecoder
    var report: (SoundFlow) -> Void = { _ in }
    /// The failure with which the queue ends.
    var failure: (any CodedError)?
  }
  private var clock: Clock?

  /// Begins `seconds` into the current file of `machine`.
  init(
    _ machine: QueueMachine, at seconds: Double = 0, isSeek: Bool = false, length: Int? = nil,
    of session: Session
  ) {
    begin = (machine, seconds)
    (self.machine, self.isSeek, self.length) = (machine, isSeek, length)
    (format, lengths, loop) = (session.format, session.fileLengths, session.loop)
    self.session = LoopReference(session)
  }

  /// Creates a passage that has not been played, from the same position on.
  init(copy other: QueuePassage) {
    begin = other.begin
    (machine, isSeek) = (other.begin.machine, false)
    (format, lengths, loop, session) = (other.format, other.lengths, other.loop, other.session)
  }

  /// Opens the first file that can be read.
  func makeDecoder() throws -> any Decoder {
    let (loop, session) = (loop, session)
    return try makeWalk(.decoded(ahead: !loop.isVirtual)) { loop.post { session.object?.applyTurns() } }
  }

  private func makeWalk(_ files: QueueFiles, _ onTurn: @escaping @Sendable () -> Void) throws -> QueueDecoder
  {
    let turns = turns
    return try QueueDecoder(begin.machine, start: begin.seconds, to: format, from: files) { turn in
      turns.withLock { $0.append(turn) }
      onTurn()
    }
  }

  /// Returns the next turn that has been decoded; removes it if it is heard by `frame`.
  func nextTurn(heard frame: Int) -> (turn: QueueTurn, isHeard: Bool)? {
    turns.withLock { turns -> (turn: QueueTurn, isHeard: Bool)? in
      guard let turn = turns.first else { return nil }
      let isHeard = turn.frame <= frame
      if isHeard { turns.removeFirst() }
      return (turn, isHeard)
    }
  }

  /// Adopts a turn that is heard.
  /// - Returns: `true` if another file begins; `false` at the end, and when a seek continues the same file.
  func adopt(_ turn: QueueTurn) -> Bool {
    guard turn.machine.entry != nil else {
      clock?.report(.ended(failure: clock?.failure))
      return false
    }
    let continues = isNew && isSeek && turn.machine == machine
    isNew = false
    (machine, frame, length) = (turn.machine, turn.frame, turn.length)
    do { try clock?.walk.passFile() } catch { clock?.failure = error as? any CodedError }
    return !continues
  }

  func prepareClock() throws { clock = Clock(walk: try makeWalk(.measured(lengths)) {}) }

  func play(byClock report: @escaping (SoundFlow) -> Void, paused: Bool) {
    clock?.report = report
    report(.flows)
  }

  /// Does nothing: the clock is the position of the session.
  func pause(_ isPaused: Bool) {}
}
