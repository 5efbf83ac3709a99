public import EventLoop
public import StreamCore

/// An event of a recording.
public enum RecordingEvent: Sendable {
  /// A file has begun.
  case track(path: String, title: String?)
  /// The recording continues a file after a gap of about `gap` seconds, 0 without one. `overlap` is the
  /// number of repeated frames, which are left out; nil if the sound does not join that of the file exactly.
  case continued(path: String, gap: Double, overlap: Int?)
  /// Writing stopped with an error, as the disk is full or the stream does not come; written sound is kept.
  case stopped(any CodedError)
  /// The recording has ended and is safe on disk.
  case finished(path: String, seconds: Double, bytes: Int)
}

/// A recording of a stream to disk. Confined to the loop.
public final class Recording: StreamRecording {
  /// The state of a recording.
  public enum State: String, Sendable {
    case recording
    /// Paused until the disk has room.
    case waiting
    case finished, failed
  }

  /// The current state.
  public var state: State { machine.state }
  /// The final name of the current or the last file; the file has it once it is finished.
  public private(set) var path = ""
  /// The paths of all files, in order: a new file begins when the format changes, and with each title if the
  /// recording is split.
  public private(set) var paths: [String] = []
  /// The recorded stream.
  package let stream: any RecordedStream

  package let queue: RecordingQueue
  private let progress: RecordingProgress
  private let loop: EventLoop
  private var machine = RecordingMachine()
  private var listeners = Listeners<(RecordingEvent) -> Void>()
  /// Calls that wait for the first frame on disk.
  private let beginning = PendingCalls<Void>()
  /// The calls that wait for the end.
  private let ending = PendingCalls<Void>()
  /// Keeps the loop from going idle until the recording has ended; nil under virtual time.
  private var hold: Hold?
  /// Requests the end: received sound is written, and the file is closed.
  private let end: () -> Void
  /// The remote mount that holds the file; nil for a file on this machine's disks.
  private let mount: RemoteMount?

  init(
    of stream: any RecordedStream, _ queue: RecordingQueue, _ progress: RecordingProgress, loop: EventLoop,
    on mount: RemoteMount? = nil,
    end: @escaping () -> Void
  ) {
    (self.stream, self.queue, self.progress, self.loop) = (stream, queue, progress, loop)
    (self.mount, self.end) = (mount, end)
    hold = loop.isVirtual ? nil : loop.hold("a recording is written")
  }

  /// The seconds of sound on disk, in all files.
  public var seconds: Double { progress.figures.seconds }
  /// The bytes of sound on disk, in all files.
  public var bytes: Int { progress.figures.bytes }
  /// The last written title.
  public var title: StreamTitle? { progress.figures.title }
  /// The gaps: positions in seconds of the recording, and approximate lengths in seconds.
  public var gaps: [RecordingEntry.Gap] { progress.figures.gaps }

  /// Ends the recording; returns when it is safe on disk, at once if it has already ended.
  /// - Throws: the error with which the recording failed; a `RecordError` if its end could not be written.
  public func stop() async throws {
    finish()
    // A cancelled task waits too: the caller relies on a whole file.
    try await waitForEnd { _ in }
  }

  /// Ends the recording; `finished` is reported when it is safe on disk.
  public func finish() { perform(machine.finish()) }

  /// Returns when the first frame is on disk. If the task is cancelled before, the recording ends.
  package func begun() async throws {
    if let result = machine.beginning { return try result.get() }
    try await beginning.wait(on: loop) { [weak self] call in
      call.settle(.failure(CancellationError()))
      self?.finish()
    }
  }

  /// Waits for the end of the recording; returns at once after it. If the task is cancelled, the recording
  /// continues.
  /// - Throws: `CancellationError`, or the failure that ended it.
  public func ended() async throws { try await waitForEnd() }

  /// Calls `listener` with each event, on the loop, after the fact.
  public func onEvent(_ listener: @escaping (RecordingEvent) -> Void) { _ = listeners.add(listener) }

  private func emit(_ event: RecordingEvent) { for listener in listeners.all { listener(event) } }

  private func waitForEnd(onCancel: ((PendingCall<Void?>) -> Void)? = nil) async throws {
    if let result = machine.result { return try result.get() }
    try await ending.wait(on: loop, onCancel: onCancel)
  }

  /// Ends the recording with an error, as the stream does not come, or no longer; written sound is kept.
  package func fail(_ error: any Error) { perform(machine.fail(error)) }

  /// Applies a report of the disk thread.
  func receive(_ event: WriterEvent) {
    switch event {
    case .began(let path):
      follow(path)
      perform(machine.began())
    case .closed(let part, let path):
      guard let index = paths.lastIndex(of: part) else { break }
      if let path { paths[index] = path } else { paths.remove(at: index) }
      if self.path == part { self.path = path ?? paths.last ?? part }
    case .track(let path, let title):
      follow(path)
      machine.continued()
      emit(.track(path: path, title: title))
    case .continued(let path, let gap, let overlap):
      emit(.continued(path: path, gap: gap, overlap: overlap))
    case .stopped(let error, resumes: true):
      machine.paused()
      emit(.stopped(error))
    case .stopped(let error, resumes: false): perform(machine.stopped(error))
    case .finished(let path):
      if let path { self.path = path }
      perform(machine.finished(silence: StreamError.silent(stream.shownURL)))
    }
  }

  private func perform(_ actions: [RecordingMachine.Action]) {
    for action in actions {
      switch action {
      case .detach:
        queue.close()
        stream.detach(queue)
      case .requestEnd:
        end()
        awaitMount()
      case .leaveStream: stream.left(self)
      case .reportStopped(let error):
        emit(.stopped(error as? any CodedError ?? RecordError(.write, "\(error)")))
      case .reportFinished: emit(.finished(path: path, seconds: seconds, bytes: bytes))
      case .endBeginning(let result): beginning.settle(result)
      case .endEnding(let result):
        hold = nil
        ending.settle(result)
      }
    }
  }

  /// The time in which a remote mount must end a recording: a file that was appended to may be copied.
  private static let mountLimit = FileDeadline.limit * 6

  /// Ends a recording on a remote mount that does not answer.
  private func awaitMount() {
    guard let mount else { return }
    loop.after(Self.mountLimit) { [weak self] in
      guard let self, machine.result == nil else { return }
      let (cause, hint) = FileDeadline.silence(of: mount.folder, within: Self.mountLimit)
      perform(machine.stopped(RecordError(.write, "\(path) is not written whole: \(cause)", hint: hint)))
    }
  }

  /// Notes the path of the file that is written now.
  private func follow(_ path: String) {
    self.path = path
    if paths.last != path { paths.append(path) }
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
  /// The first file continues another one, see `RecordingEvent.continued`.
  case continued(path: String, gap: Double, overlap: Int?)
  /// A file has ended under another name than reported; nil if it was removed.
  case closed(String, as: String?)
  case stopped(RecordError, resumes: Bool)
  /// The end: every file is closed, and no report follows; the path is nil if nothing was written.
  case finished(path: String?)

  /// `true` if no report follows.
  var isLast: Bool {
    switch self {
    case .began, .track, .continued, .closed, .stopped(_, resumes: true): false
    case .stopped(_, resumes: false), .finished: true
    }
  }
}
