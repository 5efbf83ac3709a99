public import EventLoop

/// An event of a recording.
public enum RecordingEvent: Sendable {
  /// A file has begun.
  case track(path: String, title: String?)
  /// Writing stopped with an error, as the disk is full or the stream does not come; what was written is
  /// kept.
  case stopped(any CodedError)
  /// The recording has ended and is safe on disk.
  case finished(path: String, seconds: Double, bytes: Int)
}

/// A recording of a stream to disk. Confined to the loop.
public final class Recording {
  /// The state of a recording.
  public enum State: String, Sendable {
    case recording
    /// Paused until the disk has room.
    case waiting
    case finished, failed
  }

  /// The current state.
  public private(set) var state = State.recording
  /// The final name of the file that is being written or was written last; the file has it once it is
  /// finished.
  public private(set) var path = ""
  /// The paths of all files, in order: a new one begins when the format changes, and with each title when it
  /// is split.
  public private(set) var paths: [String] = []
  /// Receives each event, on the loop, after the fact.
  public var onEvent: (RecordingEvent) -> Void = { _ in }
  /// The recorded stream.
  public let stream: Stream

  let queue: RecordingQueue
  private let progress: RecordingProgress
  private let loop: EventLoop
  private var beginning: [StartWaiter] = []
  private var ending: [StartWaiter] = []
  private var failure: (any Error)?
  private var hasBegun = false
  /// `true` if `finish` was called.
  private var isEnding = false
  /// Keeps the loop from going idle until the recording is over; nil under virtual time.
  private var hold: Hold?
  /// Requests the end: what has come is written, and the file is closed.
  private let end: () -> Void

  init(
    of stream: Stream, _ queue: RecordingQueue, _ progress: RecordingProgress, loop: EventLoop,
    end: @escaping () -> Void
  ) {
    (self.stream, self.queue, self.progress, self.loop, self.end) = (stream, queue, progress, loop, end)
    hold = loop.isVirtual ? nil : loop.hold("a recording is written")
  }

  /// The seconds of sound on disk, in all files.
  public var seconds: Double { progress.figures.seconds }
  /// The bytes of sound on disk, in all files.
  public var bytes: Int { progress.figures.bytes }
  /// The title that was written last.
  public var title: StreamTitle? { progress.figures.title }
  /// The gaps: positions in seconds of the recording, and approximate lengths in seconds.
  public var gaps: [RecordingEntry.Gap] { progress.figures.gaps }

  /// Ends the recording; returns when it is safe on disk, at once if it has ended already.
  /// - Throws: the error with which the recording failed, a `RecordError` when its end could not be written.
  public func stop() async throws {
    if state == .finished || state == .failed {
      if let failure { throw failure }
      return
    }
    let waiter = StartWaiter()
    ending.append(waiter)
    finish()
    try await withCheckedThrowingContinuation { waiter.wait($0) }
  }

  /// Ends the recording; `finished` is reported when it is safe on disk.
  public func finish() {
    isEnding = true
    queue.close()
    stream.tee?.remove(queue)
    end()
  }

  /// Returns when the first frame is on disk.
  func begun() async throws {
    if hasBegun { return }
    let waiter = StartWaiter()
    beginning.append(waiter)
    let (this, reference) = (LoopReference(self), LoopReference(waiter))
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter.wait($0) }
    } onCancel: { [loop] in
      loop.post { if let waiter = reference.object { this.object?.giveUp(waiter) } }
    }
  }

  private func giveUp(_ waiter: StartWaiter) {
    guard !hasBegun, let index = beginning.firstIndex(where: { $0 === waiter }) else { return }
    beginning.remove(at: index)
    finish()
    waiter.end(.failure(CancellationError()))
  }

  /// Waits for the end of the recording; returns at once after it. The recording goes on when the task is cancelled.
  /// - Throws: `CancellationError`, or the failure that ended it.
  public func ended() async throws {
    if state == .finished || state == .failed {
      if let failure { throw failure }
      return
    }
    let waiter = StartWaiter()
    ending.append(waiter)
    let (this, reference) = (LoopReference(self), LoopReference(waiter))
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter.wait($0) }
    } onCancel: { [loop] in
      loop.post {
        guard let waiter = reference.object, let this = this.object,
          let index = this.ending.firstIndex(where: { $0 === waiter })
        else { return }
        this.ending.remove(at: index)
        waiter.end(.failure(CancellationError()))
      }
    }
  }

  /// Ends the recording with an error, as the stream does not come, or no longer; what was written is kept.
  func fail(_ error: any Error) {
    if state == .recording || state == .waiting { failure = failure ?? error }
    finish()
  }

  /// Applies a report of the disk thread.
  func receive(_ event: WriterEvent) {
    switch event {
    case .began(let path):
      follow(path)
      hasBegun = true
      end(&beginning, .success(()))
    case .closed(let part, let path):
      guard let index = paths.lastIndex(of: part) else { break }
      if let path { paths[index] = path } else { paths.remove(at: index) }
      if self.path == part { self.path = path ?? paths.last ?? part }
    case .track(let path, let title):
      follow(path)
      state = .recording
      onEvent(.track(path: path, title: title))
    case .stopped(let error, let resumes):
      state = resumes ? .waiting : .failed
      failure = resumes ? nil : error
      if !resumes { leave() }
      onEvent(.stopped(error))
      if !resumes { settle(.failure(error)) }
    case .finished(let path):
      if let path { self.path = path }
      // Ended by its own schedule before the first frame.
      if failure == nil, !hasBegun, !isEnding { failure = StreamError.silent(stream.url) }
      state = failure == nil ? .finished : .failed
      leave()
      if hasBegun { onEvent(outcome(failure)) }
      settle(failure.map { .failure($0) } ?? .success(()))
    }
  }

  /// Notes the path of the file that is written now.
  private func follow(_ path: String) {
    self.path = path
    if paths.last != path { paths.append(path) }
  }

  /// Returns the event of the end: `stopped` after a failure, so that callers who wait for the end see it.
  private func outcome(_ failure: (any Error)?) -> RecordingEvent {
    guard let failure else { return .finished(path: path, seconds: seconds, bytes: bytes) }
    return .stopped(failure as? any CodedError ?? RecordError(.write, "\(failure)"))
  }

  private func leave() {
    queue.close()
    stream.tee?.remove(queue)
    stream.left(self)
  }

  private func settle(_ result: Result<Void, any Error>) {
    hold = nil
    end(&beginning, hasBegun ? .success(()) : result.flatMap { .failure(CancellationError()) })
    end(&ending, result)
  }

  private func end(_ waiters: inout [StartWaiter], _ result: Result<Void, any Error>) {
    let all = waiters
    waiters = []
    for waiter in all { waiter.end(result) }
  }
}

/// The progress of a recording: written on the disk thread, read on the loop.
final class RecordingProgress: Sendable {
  struct Figures: Sendable {
    var seconds = 0.0
    var bytes = 0
    var title: StreamTitle?
    var gaps: [RecordingEntry.Gap] = []
  }

  private let state = Lock(Figures())
  var figures: Figures { state.withLock { $0 } }
  func update(_ body: (inout Figures) -> Void) { state.withLock { body(&$0) } }
}

/// A report of the disk thread about a recording.
enum WriterEvent: Sendable {
  /// The first frame is on disk.
  case began(path: String)
  case track(path: String, title: String?)
  /// A file has ended under another name than was reported; nil when it was removed.
  case closed(String, as: String?)
  case stopped(RecordError, resumes: Bool)
  /// The end: every file is closed, and no report follows; the path is nil when nothing was written.
  case finished(path: String?)

  /// `true` if no report follows.
  var isLast: Bool {
    switch self {
    case .began, .track, .closed, .stopped(_, resumes: true): false
    case .stopped(_, resumes: false), .finished: true
    }
  }
}
