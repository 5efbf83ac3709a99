internal import AudioCore
internal import EventLoop

/// Renders in real time: an audio thread, a thread per decoding source, one per sink.
///
/// Confined to the loop. The audio thread is created with the first source; earlier commands are applied at
/// once.
final class ThreadedStage: RenderStage {
  weak var observer: (any StageObserver)?
  var now: Int64 { monotonicNanoseconds() }

  private let loop: EventLoop
  private let audio: AudioThread
  private let core: RenderCore
  /// Creates the writer of one more device; nil where devices share an output or have none.
  private let makeWriter: ((_ name: String) throws -> SinkWriter)?
  /// Writers in the order of the devices, or the one that they share.
  private var outputs: [Output]
  private let reportWatch: FDWatch
  private var phase = Phase.atRest
  /// The sources by their cues.
  private var decoders: [Int: Decoding] = [:]
  private let this: LoopReference<ThreadedStage>

  /// A state of the audio thread.
  private enum Phase {
    /// Not started, or ended: commands are applied at once.
    case atRest
    case running(WorkerThread)
    /// The house closes; the thread is nil once it has ended.
    case closing(WorkerThread?, CheckedContinuation<Void, Never>)

    var thread: WorkerThread? {
      switch self {
      case .atRest: nil
      case .running(let thread): thread
      case .closing(let thread, _): thread
      }
    }
  }

  /// A writer, and whether its thread runs.
  private struct Output {
    let writer: SinkWriter
    var isRunning = false
  }

  /// A source and its thread.
  private enum Decoding {
    /// The thread decodes.
    case running(DecodeThread)
    /// All is decoded, and waits to be rendered.
    case decoded(DecodeThread)
    /// The source is closed; its thread ends.
    case closing(DecodeThread)

    var thread: DecodeThread {
      switch self {
      case .running(let thread), .decoded(let thread), .closing(let thread): thread
      }
    }
  }

  init(
    loop: EventLoop, memory: RenderMemory, outputs: Outputs, format: AudioFormat,
    makeWriter: ((_ name: String) throws -> SinkWriter)? = nil
  ) throws {
    self.loop = loop
    self.makeWriter = makeWriter
    self.outputs = outputs.writers.map { Output(writer: $0) }
    core = memory.core
    let bell = try Bell()
    audio = AudioThread(memory: memory, outputs: outputs, format: format, reportBell: bell)
    let this = LoopReference<ThreadedStage>()
    self.this = this
    reportWatch = try loop.watch(bell.descriptor, for: .readable, keepsAlive: false) { _ in
      bell.silence()
      this.object?.observer?.drainReports()
    }
    this.object = self
  }

  deinit {
    // A house that was released without being closed: playback ends here.
    reportWatch.cancel()
    let thread = phase.thread
    guard thread != nil || !decoders.isEmpty || outputs.contains(where: \.isRunning) else { return }
    for session in core.sessions.indices { send(.stop(session: session)) }
    send(.quit)
    for decoder in decoders.values { decoder.thread.cancel() }
    thread?.join()
    for decoder in decoders.values { decoder.thread.join() }
    for output in outputs { output.writer.finish() }
    for output in outputs { output.writer.join() }
  }

  func prepare() throws {
    guard phase.thread == nil else { return }
    for index in outputs.indices { try start(at: index) }
    let audio = audio
    let ended = ending { $0.audioEnded() }
    phase = .running(
      try WorkerThread(isRealTime: true) {
        audio.run()
        ended()
      })
  }

  /// Adds the output of a later speaker. Its file is opened on a thread of its own; a failure of that is
  /// reported as trouble of the device.
  func addDevice(_ name: String) throws {
    guard let makeWriter else { return }
    let writer = try makeWriter(name)
    outputs.append(Output(writer: writer))
    if phase.thread != nil {
      do { try start(at: outputs.count - 1) } catch {
        outputs.removeLast()
        throw error
      }
    }
    // The ring has room for all devices that can be added.
    _ = audio.arrivals.producer.push(writer.port)
    audio.waiter.bell.ring()
  }

  func send(_ command: RenderCommand) {
    guard phase.thread != nil else {
      _ = core.apply(command)
      observer?.drainReports()
      return
    }
    while !audio.commands.producer.push(command) {
      // A thousand commands within one block: the audio thread drains them at its next.
      audio.waiter.bell.ring()
      sleepUntil(monotonicNanoseconds: monotonicNanoseconds() + 1_000_000)
    }
    audio.waiter.bell.ring()
  }

  func open(_ ahead: DecodeAhead) async throws -> RenderSource {
    let hold = loop.hold("a source is opened")
    defer { hold.release() }
    do {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        do {
          let loop = loop
          let ended = ending { $0.decodingEnded(ahead.cue) }
          let thread = try DecodeThread(ahead, on: loop, renderer: audio.waiter) { error in
            loop.post {
              if let error { continuation.resume(throwing: error) } else { continuation.resume() }
            }
          } onEnd: {
            ended()
          }
          decoders[ahead.cue] = .running(thread)
        } catch { continuation.resume(throwing: error) }
      }
    } catch {
      // A source that can't be opened has no other owner that closes it.
      close(cue: ahead.cue)
      throw error
    }
    return decoders[ahead.cue]?.thread.source ?? ahead.source()
  }

  func close(cue: Int) {
    switch decoders[cue] {
    case .running(let thread):
      decoders[cue] = .closing(thread)
      thread.cancel()
    case .decoded(let thread):
      decoders[cue] = nil
      thread.join()
    case .closing, nil: break
    }
  }

  func close() async {
    let hold = loop.hold("a house closes")
    defer { hold.release() }
    if phase.thread != nil { send(.quit) }
    await withCheckedContinuation { continuation in
      phase = .closing(phase.thread, continuation)
      finishClosing()
    }
    reportWatch.cancel()
  }

  /// Continues closing, in the order audio thread, sources and writers.
  private func finishClosing() {
    guard case .closing(nil, let continuation) = phase else { return }
    for cue in decoders.keys.sorted() { close(cue: cue) }
    for output in outputs { output.writer.finish() }
    guard decoders.isEmpty, !outputs.contains(where: \.isRunning) else { return }
    phase = .atRest
    continuation.resume()
  }

  /// Opens a card of the house, the only one unless an index is given, before anything plays.
  /// - Throws: `audio.no_output`.
  func openCard(at index: Int = 0) async throws {
    let hold = loop.hold("a sound card is opened")
    defer { hold.release() }
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      do {
        let loop = loop
        try start(at: index) { error in
          loop.post {
            if let error { continuation.resume(throwing: error) } else { continuation.resume() }
          }
        }
      } catch { continuation.resume(throwing: error) }
    }
  }

  /// Starts the thread of a writer, unless it runs; reports a failure to open to the observer.
  private func start(at index: Int) throws {
    let report = reporting(index)
    try start(at: index) { error in if let error { report(error) } }
  }

  /// Starts the thread of a writer, unless it runs, and calls `onOpened` on it.
  private func start(at index: Int, onOpened: @escaping @Sendable ((any CodedError)?) -> Void) throws {
    guard !outputs[index].isRunning else { return }
    outputs[index].isRunning = true
    let ended = ending { $0.writerEnded(index) }
    let (loop, this) = (loop, this)
    let returned: @Sendable () -> Void = {
      loop.post { this.object?.observer?.receive(.card(index, loss: nil)) }
    }
    do {
      try outputs[index].writer.start(
        onOpened: onOpened, onTrouble: reporting(index), onReturn: returned, onEnd: ended)
    } catch {
      outputs[index].isRunning = false
      throw error
    }
  }

  /// Returns the callback with which a writer reports a lost sink; callable on any thread.
  private func reporting(_ index: Int) -> @Sendable (any CodedError) -> Void {
    let (loop, this) = (loop, this)
    var device: Int?
    if makeWriter != nil { device = index }
    return { [device] error in
      loop.post {
        let observer = this.object?.observer
        observer?.receive(.trouble(error, device: device))
        if device == nil { observer?.receive(.card(index, loss: error.message)) }
      }
    }
  }

  private func audioEnded() {
    phase.thread?.join()
    switch phase {
    case .closing(_, let continuation): phase = .closing(nil, continuation)
    case .running, .atRest: phase = .atRest
    }
    observer?.drainReports()
    finishClosing()
  }

  private func decodingEnded(_ cue: Int) {
    switch decoders[cue] {
    case .running(let thread): decoders[cue] = .decoded(thread)
    case .closing(let thread):
      decoders[cue] = nil
      thread.join()
    case .decoded, nil: break
    }
    finishClosing()
  }

  private func writerEnded(_ index: Int) {
    outputs[index].writer.join()
    outputs[index].isRunning = false
    finishClosing()
  }

  /// Returns the callback with which a thread ends: runs `body` on the loop.
  private func ending(_ body: @escaping @Sendable (ThreadedStage) -> Void) -> @Sendable () -> Void {
    let (loop, this) = (loop, this)
    return {
      loop.post { if let stage = this.object { body(stage) } }
    }
  }
}
