internal import AudioCore
internal import EventLoop
internal import Synchronization

/// The audio thread's end of a `SinkWriter`. Plain data; valid as long as the writer lives.
struct SinkPort: BitwiseCopyable, Sendable {
  /// The state shared by the audio thread and the writing thread.
  struct State: ~Copyable {
    /// `true` if the writing thread sleeps until its bell rings.
    let isAsleep = Atomic(false)
    /// `true` if the sink is lost.
    let isLost = Atomic(false)
    /// The number of frames between the sink and the ear.
    let delay = Atomic(0)
    /// The number of frames of silence that precede the ring's contents and are not written yet.
    let silence = Atomic(0)
    /// The number of frames that were rendered while the sink was lost.
    let skipped = Atomic(0)
  }

  private let ring: SampleRingWriter
  private let capacity: Int
  private let bell: Int32
  // Sendable: all that it points to is atomic.
  fileprivate nonisolated(unsafe) let state: UnsafeMutablePointer<State>

  fileprivate init(_ ring: SampleRing, _ bell: Bell) {
    self.ring = ring.writer
    capacity = ring.capacity
    self.bell = bell.writing
    state = .allocate(capacity: 1)  // freed in the writer's deinit
    state.initialize(to: State())
  }

  /// `true` if the sink is lost; blocks for it are dropped meanwhile.
  var isLost: Bool { @_noLocks get { state.pointee.isLost.load(ordering: .acquiring) } }

  /// The number of frames for which there is room now.
  var room: Int { @_noLocks get { ring.room } }

  /// The number of frames between the audio thread and the ear.
  var latency: Int { @_noLocks get { capacity &- ring.room &+ state.pointee.delay.load(ordering: .relaxed) } }

  /// Queues a block for which there is room.
  @_noLocks func write(_ block: PCMView) { _ = ring.write(block) }

  /// Records `frames` frames that were rendered and not queued.
  @_noLocks func skip(_ frames: Int) { state.pointee.skipped.add(frames, ordering: .releasing) }

  /// Marks the sink as lost: it does not play the frames that it receives, and the others can't wait.
  @_noLocks func overrun() { state.pointee.isLost.store(true, ordering: .releasing) }

  /// Inserts `frames` frames of silence before the first block; to be called before the first `write`.
  func begin(after frames: Int) { state.pointee.silence.store(frames, ordering: .releasing) }

  /// Wakes the writing thread if it sleeps; to be called after `write`.
  func wake() {
    // Either this sees the flag, or the thread that has set it sees the frames.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if state.pointee.isAsleep.load(ordering: .relaxed) { Bell.ring(bell) }
  }
}

/// The sink of a `SinkWriter`.
enum WriterSink {
  /// A sink without a clock, such as a file.
  case file(any PCMSink)
  /// A sink with a clock of its own, which drains while nothing plays.
  case card(any CardSink)

  /// The card; nil for a file.
  var card: (any CardSink)? { if case .card(let card) = self { card } else { nil } }

  /// Writes frames that follow the last ones.
  func write(_ samples: UnsafeBufferPointer<Float>) throws {
    switch self {
    case .file(let file): try file.write(samples)
    case .card(let card): try card.write(samples)
    }
  }

  /// Writes frames, of which the first has this index in the sound of the house.
  func write(_ samples: UnsafeBufferPointer<Float>, at frame: Int) throws {
    switch self {
    case .file(let file): try file.write(samples)
    case .card(let card): try card.write(samples, at: frame)
    }
  }

  /// Ends the output.
  func finish() throws {
    switch self {
    case .file(let file): try file.finish()
    case .card(let card): try card.finish()
    }
  }
}

/// Writes blocks of the audio thread to one sink, on a thread of its own, which may wait for the sink.
///
/// Unchecked: `thread` belongs to the loop; the state of the writing thread is local to it; the rest is made
/// for several threads.
final class SinkWriter: @unchecked Sendable {
  /// The behaviour after a failure of the sink.
  enum Policy {
    case giveUp
    /// Opens the sink again.
    case openAgain
    /// As `openAgain`, also when it could not be opened at first.
    case insist
  }
  /// The delay between attempts to open a lost sink again.
  static let retryDelay = Backoff(from: .seconds(1), upTo: .seconds(30))

  /// The audio thread's end of the ring.
  let port: SinkPort

  private let ring: SampleRing
  private let block: PCMBlock
  private let bell: Bell
  private let renderer: Waiter
  private let makeSink: @Sendable () throws -> WriterSink
  private let policy: Policy
  private let isFinishing = Atomic(false)
  private var thread: WorkerThread?

  /// Creates a writer to the sink that `makeSink` opens; nothing happens before `start`.
  /// - Parameters:
  ///   - format: the format of the blocks.
  ///   - frames: the capacity of the ring.
  ///   - policy: the behaviour after a failure.
  ///   - renderer: notified when there is room again.
  ///   - makeSink: called on the writing thread.
  init(
    format: AudioFormat, frames: Int, policy: Policy, renderer: Waiter,
    makeSink: @escaping @Sendable () throws -> WriterSink
  ) throws(SpeakerError) {
    ring = SampleRing(frames: frames, channels: format.channels)
    block = PCMBlock(format: format, frames: policy != .giveUp ? format.framesPerBlock : 4800)
    bell = try Bell()
    port = SinkPort(ring, bell)
    self.policy = policy
    self.renderer = renderer
    self.makeSink = makeSink
  }

  deinit {
    port.state.deinitialize(count: 1)
    port.state.deallocate()
  }

  /// Starts the thread, which opens the sink.
  /// - Parameters:
  ///   - onOpened: called on the writing thread with nil, or with the failure, after which the thread ends unless
  ///     it insists.
  ///   - onTrouble: called on the writing thread, once each time the sink is lost.
  ///   - onReturn: called on the writing thread, each time a lost sink was opened again.
  ///   - onEnd: called on the writing thread as its last act.
  func start(
    onOpened: @escaping @Sendable ((any CodedError)?) -> Void,
    onTrouble: @escaping @Sendable (any CodedError) -> Void,
    onReturn: @escaping @Sendable () -> Void = {}, onEnd: @escaping @Sendable () -> Void
  ) throws(SpeakerError) {
    thread = try WorkerThread { [self] in
      do {
        let sink = try makeSink()
        onOpened(nil)
        run(sink, onTrouble, onReturn)
      } catch {
        port.state.pointee.isLost.store(true, ordering: .releasing)
        renderer.notify()
        onOpened(Self.coded(error))
        if policy == .insist { run(nil, onTrouble, onReturn) }
      }
      onEnd()
    }
  }

  /// Asks the thread to write the rest of the ring, finish the sink and end; returns at once.
  func finish() {
    isFinishing.store(true, ordering: .releasing)
    bell.ring()
  }

  /// Attempts to open a lost sink at once.
  func retry() { if port.isLost { bell.ring() } }

  /// Waits for the end of the thread, announced by `onEnd`.
  func join() { thread?.join() }

  /// The state of the sink, on the writing thread.
  private enum Output {
    /// The sink is open; `isAtRest` for a card that has drained, or has received nothing yet.
    case open(WriterSink, isAtRest: Bool)
    /// The sink is lost, and opened again; a card that had stopped has to play first.
    case lost(hasStalled: Bool)
    /// The sink is lost for good: the policy gives it up, or it does not fit the house.
    case gone

    var sink: WriterSink? { if case .open(let sink, _) = self { sink } else { nil } }

    /// Returns the state after `error`.
    func failed(_ error: any Error, _ policy: Policy) -> Output {
      if policy == .giveUp || (error as? AudioError)?.kind == .unsupported { return .gone }
      switch self {
      case .open(let sink, _): return .lost(hasStalled: sink.card?.hasStalled ?? false)
      case .lost, .gone: return self
      }
    }
  }

  private func run(
    _ first: WriterSink?, _ onTrouble: @Sendable (any CodedError) -> Void, _ onReturn: @Sendable () -> Void
  ) {
    var output = first.map { Output.open($0, isAtRest: true) } ?? .lost(hasStalled: false)
    var framesRead = 0
    var retry = Self.retryDelay
    while true {
      // Read before the ring: from then on no block is added.
      let isLast = isFinishing.load(ordering: .acquiring)
      let count = ring.reader.read(into: block.view)
      do {
        // Read after the ring: silence before its first frames is known by then.
        try writeSilence(to: output.sink)
        if count > 0 {
          let samples = UnsafeBufferPointer(
            rebasing: block.view.buffer.prefix(count * block.view.channels))
          // Frames are skipped only before those in the ring, since it was empty when the sink returned.
          let index = framesRead + port.state.pointee.skipped.load(ordering: .acquiring)
          framesRead += count
          if let sink = output.sink {
            try sink.write(samples, at: index)
            output = .open(sink, isAtRest: false)
            if let card = sink.card { port.state.pointee.delay.store(card.delay, ordering: .relaxed) }
          }
          renderer.notify()
          continue
        }
        if isLast { break }
        switch output {
        case .open(let sink, _) where port.isLost:
          // The sink did not keep up; it continues with the frames that come now.
          sink.card?.rejoin()
          port.state.pointee.isLost.store(false, ordering: .releasing)
        case .open(.card(let card), isAtRest: false):
          // A pause of the renderer, or the end: after a moment, the card drains.
          sleep(for: card.restDelay)
          if ring.reader.available == 0 {
            try card.rest()
            output = .open(.card(card), isAtRest: true)
            port.state.pointee.delay.store(0, ordering: .relaxed)
          }
        case .lost(let hasStalled):
          sleep(for: retry.next())
          if !isFinishing.load(ordering: .acquiring) {
            let sink = try makeSink()
            if hasStalled { try sink.card?.check() }
            output = .open(sink, isAtRest: true)
            retry.reset()
            port.state.pointee.isLost.store(false, ordering: .releasing)
            onReturn()
          }
        case .open, .gone: sleep(for: nil)
        }
      } catch {
        if output.sink != nil { onTrouble(Self.coded(error)) }
        output = output.failed(error, policy)
        port.state.pointee.isLost.store(true, ordering: .releasing)
        renderer.notify()
      }
    }
    do { try output.sink?.finish() } catch { onTrouble(Self.coded(error)) }
  }

  /// Writes the initial silence of a sink that was added late.
  private func writeSilence(to sink: WriterSink?) throws {
    var missing = port.state.pointee.silence.exchange(0, ordering: .acquiring)
    guard missing > 0, let sink else { return }
    let silence = PCMBlock(format: block.format, frames: 4800)
    while missing > 0 {
      let part = silence.view.prefix(missing)
      try sink.write(UnsafeBufferPointer(part.buffer))
      missing -= part.frames
    }
  }

  /// Sleeps until the bell rings or the time has passed; nil waits without a limit.
  private func sleep(for time: Duration?) {
    port.state.pointee.isAsleep.store(true, ordering: .relaxed)
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if ring.reader.available == 0 && !isFinishing.load(ordering: .acquiring) {
      bell.wait(milliseconds: time.map { Int32(clamping: $0.inMilliseconds) })
    }
    port.state.pointee.isAsleep.store(false, ordering: .relaxed)
  }

  private static func coded(_ error: any Error) -> any CodedError {
    (error as? any CodedError) ?? SpeakerError(.lost, "an output failed: \(error)")
  }
}
