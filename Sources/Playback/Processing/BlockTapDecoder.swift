internal import AudioCore
internal import EventLoop

/// The stage of a script's tap: blocks of 40 ms go to the loop and return, up to three at a time, while the
/// player has plenty of sound.
///
/// A block that does not return in time is delivered unchanged, and so are the blocks after it, at the pace
/// of playback, until the loop responds. Where a changed block meets an unchanged one, it fades there into
/// the unchanged sound.
final class BlockTapDecoder: TapDecoder {
  /// The time limits for blocks on the loop: a player has decoded 1.5 s ahead, and reads again when half of
  /// it is left.
  struct Deadline {
    /// The limit from the first read after a pause.
    var limit = Duration.milliseconds(250)
    /// The limit from the latest read, for a reader that received more than was played meanwhile.
    var most = Duration.milliseconds(500)
    /// The pause between reads after which a reader has plenty of sound again.
    var idle = Duration.milliseconds(100)
    var now: () -> SuspendingClock.Instant = { SuspendingClock.now }
  }

  let number: Int
  var upstream: any Decoder
  private(set) var format: AudioFormat
  private(set) var isWaiting = false
  private(set) var exceedsUnity = false

  /// A block of the queue, and the sound that is delivered for it.
  private struct Entry {
    enum Outcome {
      /// The loop receives the block only after the overrun.
      case held
      /// The loop holds the block.
      case out
      case changed, unchanged
    }

    let block: TapBlock
    var outcome: Outcome

    /// `true` if the sound to deliver is known.
    var isSettled: Bool { outcome == .changed || outcome == .unchanged }
    /// The sound to deliver.
    var sound: PCMView { outcome == .changed ? block.view : block.original }
  }

  private let port: TapPort
  private let round: ReadRound
  /// `true` for the first stage of its kind in the row, by which blocks enter.
  var isFirst = false
  private let deadline: Deadline?
  private let overrun = TapOverrun()
  /// The deadline of the first block in the queue, which is delivered by then in any case.
  private var due: SuspendingClock.Instant?
  private var lastRead: SuspendingClock.Instant?
  /// The answers of the tap.
  private enum Tap {
    case answering
    /// Blocks bypass the loop, as one was late.
    case late
    /// The tap was removed; what it has changed is still delivered.
    case removed
  }
  private var tap = Tap.answering

  /// The sound of `upstream`.
  private enum Input {
    case open
    /// The upstream had nothing more in a round.
    case empty(round: Int)
    case ended
    case failed(any Error)
  }
  private var input = Input.open

  private var queue: [Entry] = []
  private var filling: TapBlock?
  private var spare: [TapBlock] = []
  private var reportedFormat: AudioFormat?
  /// The number of delivered frames of the first block.
  private var delivered = 0
  /// `true` if the last delivered sound was that of the tap.
  private var isWet = false

  /// Creates a stage after `upstream`.
  /// - Parameters:
  ///   - round: the read that the stages of a decoder share.
  ///   - deadline: the time limits for blocks; nil for no limits.
  init(_ port: TapPort, upstream: any Decoder, round: ReadRound, deadline: Deadline?) {
    self.port = port
    self.round = round
    self.upstream = upstream
    self.deadline = deadline
    number = port.number
    format = upstream.format
  }

  private var isRemoved: Bool { tap == .removed }
  private var hasEnded: Bool {
    switch input {
    case .open, .empty: false
    case .ended, .failed: true
    }
  }

  var isDone: Bool { isRemoved && queue.isEmpty && filling == nil }

  func remove() {
    tap = .removed
    for index in queue.indices where !queue[index].isSettled { letGo(index) }
  }

  func seek(toFrame frame: Int) throws {
    try upstream.seek(toFrame: frame)
    for index in queue.indices where !queue[index].isSettled { letGo(index) }
    round.blocks -= queue.count
    (queue, filling, due) = ([], nil, nil)
    (delivered, isWet, input) = (0, false, .open)
  }

  // MARK: Delivery

  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    settle()
    fill()
    guard let first = queue.first else {
      due = nil
      isWaiting = !hasEnded && !isRemoved
      if case .failed(let error) = input { throw error }
      // A removed tap does not hold up the sound.
      return isRemoved && !hasEnded ? try pass(into: buffer) : 0
    }
    isWaiting = !isReady(first)
    guard !isWaiting, let samples = buffer.baseAddress else { return 0 }
    exceedsUnity = first.outcome == .changed
    if delivered == 0 { mix(first) }
    format = first.block.format
    let source = first.sound.dropFirst(delivered)
    let count = min(source.frames, buffer.count / format.channels)
    PCMView(samples: samples, frames: count, channels: format.channels).copy(from: source)
    delivered += count
    if delivered == first.block.frames { finish(first.block) }
    return count
  }

  /// Returns `true` if the output of the first block is known: a changed block fades according to the next
  /// one.
  private func isReady(_ first: Entry) -> Bool {
    switch first.outcome {
    case .held, .out: false
    case .unchanged: true
    case .changed: queue.count > 1 ? queue[1].isSettled : hasEnded
    }
  }

  /// Fades a changed block in from its unchanged sound, and out into it.
  private func mix(_ first: Entry) {
    let endsWet = first.outcome == .changed && (queue.count == 1 || queue[1].outcome == .changed)
    defer { isWet = endsWet }
    guard first.outcome == .changed else { return }
    let (dry, wet) = (first.block.original, first.block.view)
    let fade = min(first.block.format.framesPerBlock, wet.frames / 2)
    for step in 0..<fade {
      let share = Float(step + 1) / Float(fade + 1)
      if !isWet { Self.blend(step, dry, wet, share) }
      if !endsWet { Self.blend(wet.frames - 1 - step, dry, wet, share) }
    }
  }

  private static func blend(_ frame: Int, _ dry: PCMView, _ wet: PCMView, _ share: Float) {
    for index in (frame * wet.channels)..<((frame + 1) * wet.channels) {
      wet.samples[index] = dry.samples[index] * (1 - share) + wet.samples[index] * share
    }
  }

  private func finish(_ block: TapBlock) {
    queue.removeFirst()
    round.blocks -= 1
    delivered = 0
    due? += block.duration
    if spare.count < 4, block.reset() { spare.append(block) }
  }

  private func pass(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    exceedsUnity = false
    let count = try upstream.read(into: buffer)
    format = upstream.format
    isWaiting = upstream.isStillWaiting
    return count
  }

  // MARK: The loop's answers

  /// Applies the blocks that returned, and delivers the blocks that are due.
  private func settle() {
    let now = deadline?.now()
    if let now, let deadline {
      if due == nil || lastRead.map({ $0.duration(to: now) > deadline.idle }) ?? true {
        due = now + deadline.limit
      }
      due = due.map { min($0, now + deadline.most) }
      if tap == .late, !overrun.isOn {
        tap = .answering
        due? += deadline.limit
      }
      lastRead = now
    }
    var moment = due
    for index in queue.indices {
      defer { moment? += queue[index].block.duration }
      switch queue[index].outcome {
      case .held: if !overrun.isOn { send(index) }
      case .out: adoptFate(of: index)
      case .changed, .unchanged: continue
      }
      guard !queue[index].isSettled, let now, let time = moment, now >= time else { continue }
      letGo(index)
      guard queue[index].outcome == .unchanged, overrun.add(queue[index].block.duration) else { continue }
      port.report(overrun)
      // The blocks after it are due a little earlier, so that the loop has some when it responds again.
      tap = .late
      if let limit = deadline?.limit {
        due? -= limit
        moment? -= limit
      }
    }
  }

  /// Delivers the block unchanged, unless it has returned at this moment.
  private func letGo(_ index: Int) {
    if queue[index].outcome == .held || queue[index].block.abandon() {
      queue[index].outcome = .unchanged
    } else {
      adoptFate(of: index)
    }
  }

  /// Applies the outcome of a block that the loop has received.
  private func adoptFate(of index: Int) {
    switch queue[index].block.fate {
    case .out: break
    case .changed: queue[index].outcome = .changed
    case .unchanged: queue[index].outcome = .unchanged
    }
  }

  private func send(_ index: Int) {
    queue[index].outcome = .out
    queue[index].block.offer()
    port.offer(queue[index].block)
  }

  // MARK: Reading

  private func fill() {
    if isRemoved { enqueue() }
    // A changed block fades into the next, also into the first after a removal.
    if queue.count == 1, queue[0].outcome == .changed { round.isNeeded = true }
    if case .empty(round.number) = input { return }
    while queue.count < 3, !hasEnded, !isRemoved || queue.last?.outcome == .changed,
      !isFirst || round.hasRoom, readBlock()
    {}
  }

  /// Reads sound into the block that is being filled.
  /// - Returns: `true` if more can be read now.
  private func readBlock() -> Bool {
    let block = filling ?? makeBlock(upstream.format)
    filling = block
    let length = 2 * block.format.framesPerBlock
    // A smaller room might not hold one frame of each format.
    let room = block.came.view.dropFirst(block.frames).prefix(max(256, length - block.frames))
    let count: Int
    do {
      count = try upstream.read(into: room.buffer)
      input = count > 0 ? .open : upstream.isStillWaiting ? .empty(round: round.number) : .ended
    } catch {
      (count, input) = (0, .failed(error))
    }
    guard count > 0 else {
      if hasEnded { enqueue() }
      return false
    }
    if upstream.format == block.format {
      block.frames += count
    } else {
      enqueue()
      let next = makeBlock(upstream.format, atLeast: count)
      next.frames = count
      next.original.copy(
        from: PCMView(samples: room.samples, frames: count, channels: next.format.channels))
      filling = next
    }
    if isRemoved || (filling?.frames ?? 0) >= length { enqueue() }
    return true
  }

  private func makeBlock(_ format: AudioFormat, atLeast frames: Int = 0) -> TapBlock {
    spare.removeAll { $0.format != format }
    if frames == 0, let block = spare.popLast() { return block }
    let port = port
    return TapBlock(format: format, frames: max(frames, 2 * format.framesPerBlock) + 256) { port.wake() }
  }

  /// Appends the filled block to the queue, and sends it to the loop.
  private func enqueue() {
    guard let block = filling, block.frames > 0 else { return filling = nil }
    filling = nil
    queue.append(Entry(block: block, outcome: isRemoved ? .unchanged : .held))
    round.blocks += 1
    if block.format != reportedFormat {
      reportedFormat = block.format
      port.report(block.format)
    }
    if !isRemoved, !overrun.isOn { send(queue.count - 1) }
  }
}
