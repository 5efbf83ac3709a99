public import EventLoop

/// What happens to a recording.
public enum RecordingEvent: Sendable {
  /// A file has begun.
  case track(path: String, title: String?)
  /// It can't go on, as the disk takes no more or the stream does not come; what was written is kept.
  case stopped(any CodedError)
  /// It is over, and safe on disk.
  case finished(path: String, seconds: Double, bytes: Int)
}

/// What of a stream is written to disk. Confined to the loop.
public final class Recording {
  /// What it does.
  public enum State: String, Sendable {
    case recording
    /// For room on the disk.
    case waiting
    case finished, failed
  }

  /// What it does.
  public private(set) var state = State.recording
  /// The file that is written, or was last: its final name, which it has once it is finished.
  public private(set) var path = ""
  /// All its files, in order: a new one begins when the format changes, and with each title when it is split.
  public private(set) var paths: [String] = []
  /// Told of everything, on the loop, when it has happened.
  public var onEvent: (RecordingEvent) -> Void = { _ in }
  /// The stream it is of.
  public let stream: Stream

  let feed: RecordingFeed
  private let progress: RecordingProgress
  private let loop: EventLoop
  private var beginning: [StartWaiter] = []
  private var ending: [StartWaiter] = []
  private var failure: (any Error)?
  private var hasBegun = false
  /// Somebody wants its end.
  private var isEnding = false
  /// What is written is waited for.
  private var hold: Hold?
  /// Has what has come written, and closes the file.
  private let end: () -> Void

  init(
    of stream: Stream, _ feed: RecordingFeed, _ progress: RecordingProgress, loop: EventLoop,
    end: @escaping () -> Void
  ) {
    (self.stream, self.feed, self.progress, self.loop, self.end) = (stream, feed, progress, loop, end)
    hold = loop.isVirtual ? nil : loop.hold("a recording is written")
  }

  /// Seconds that are on disk, in all files.
  public var seconds: Double { progress.figures.seconds }
  /// Bytes of sound that are on disk, in all files.
  public var bytes: Int { progress.figures.bytes }
  /// The title that was written last.
  public var title: StreamTitle? { progress.figures.title }
  /// What is missing: where, in seconds of the recording, and about how many seconds.
  public var gaps: [RecordingEntry.Gap] { progress.figures.gaps }

  /// Ends it; returns when it is safe on disk, at once when it is already.
  /// - Throws: `RecordError` when its end could not be written.
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

  /// Ends it; `finished` is told when it is safe on disk.
  public func finish() {
    isEnding = true
    feed.close()
    stream.outlet?.remove(feed)
    end()
  }

  /// Returns when the first of it is on disk.
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

  /// Returns when it is over, at once when it is already. It goes on when the waiting task is cancelled.
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

  /// The stream does not come, or comes no more: what was written is kept.
  func fail(_ error: any Error) {
    if state == .recording || state == .waiting { failure = failure ?? error }
    finish()
  }

  /// Takes what the disk tells.
  func take(_ news: WriterNews) {
    switch news {
    case .began(let path):
      follow(path)
      hasBegun = true
      end(&beginning, .success(()))
    case .closed(let told, let path):
      guard let index = paths.lastIndex(of: told) else { break }
      if let path { paths[index] = path } else { paths.remove(at: index) }
      if self.path == told { self.path = path ?? paths.last ?? told }
    case .track(let path, let title):
      follow(path)
      state = .recording
      onEvent(.track(path: path, title: title))
    case .stopped(let error, let goesOn):
      state = goesOn ? .waiting : .failed
      failure = goesOn ? nil : error
      if !goesOn { leave() }
      onEvent(.stopped(error))
      if !goesOn { settle(.failure(error)) }
    case .finished(let path):
      if let path { self.path = path }
      // Nobody ended it, and yet nothing came: its time was over before.
      if failure == nil, !hasBegun, !isEnding { failure = StreamError.silent(StreamURL.shown(stream.url)) }
      state = failure == nil ? .finished : .failed
      leave()
      if hasBegun { onEvent(outcome(failure)) }
      settle(failure.map { .failure($0) } ?? .success(()))
    }
  }

  /// What is written now.
  private func follow(_ path: String) {
    self.path = path
    if paths.last != path { paths.append(path) }
  }

  /// What its end is told as: who waits for it has to know that it did not go as it should.
  private func outcome(_ failure: (any Error)?) -> RecordingEvent {
    guard let failure else { return .finished(path: path, seconds: seconds, bytes: bytes) }
    return .stopped(failure as? any CodedError ?? RecordError(.write, "\(failure)"))
  }

  private func leave() {
    feed.close()
    stream.outlet?.remove(feed)
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

/// How far a recording is: written on the disk thread, read on the loop.
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

/// What the disk thread tells of a recording.
enum WriterNews: Sendable {
  /// The first frame is on disk.
  case began(path: String)
  case track(path: String, title: String?)
  /// A file has ended, and is called something else than was told; nil when it was removed.
  case closed(String, as: String?)
  case stopped(RecordError, goesOn: Bool)
  /// Closed; nothing follows. nil when nothing was written.
  case finished(path: String?)

  /// Whether nothing follows.
  var isLast: Bool {
    switch self {
    case .began, .track, .closed, .stopped(_, goesOn: true): false
    case .stopped(_, goesOn: false), .finished: true
    }
  }
}
