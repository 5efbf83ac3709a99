public import EventLoop
internal import Glibc
public import StreamCore

/// The defaults of all recordings: folders, file names, retention and the catalogue.
public struct RecorderSettings: Sendable {
  /// The folder against which relative paths are resolved; nil for the working directory.
  public var folder: String?
  /// The template of files whose recording sets none; nil for `RecordingTemplate.usual`.
  public var template: String?
  /// The age from which recordings are deleted; nil keeps all.
  public var keep: Duration?
  /// The number of bytes that must stay free on a disk.
  public var minimumFree = 0
  /// A prefix of all paths, absolute ones included: the scratch folder of a simulation.
  public var root: String?
  /// The path of the catalogue file; nil for no catalogue.
  public var catalogue: String?

  /// Creates the defaults.
  public init() {}
}

/// Records the streams of an engine: one thread writes all recordings on this machine's disks, one those on
/// each remote mount, which may stop answering, and another one serves the library. Confined to the loop.
///
/// Under virtual time the loop itself does all this work.
public final class Recorder: StreamRecorder {
  /// The defaults of all recordings.
  public let settings: RecorderSettings

  private let log: (String) -> Void
  private let loop: EventLoop
  private let localTime: @Sendable (WallTime) -> LocalTime
  private typealias Worker = (core: RecorderCore, thread: LoopThread?)
  /// The threads that write, by the folder of the remote mount; nil for this machine's disks.
  private var disks: [String?: Worker] = [:]
  /// The thread that reads and repairs files for the library, so that recordings do not wait for it.
  private var reader: Worker?
  private var count = 0
  /// The recordings that have not ended, by number.
  private var active: [Int: Recording] = [:]
  /// The recordings that have not ended, in the order in which they began.
  public var recordings: [Recording] { active.sorted { $0.key < $1.key }.map(\.value) }

  /// Creates a recorder; its threads start with the first work for them.
  /// - Parameters:
  ///   - localTime: returns the local time of the house, for names of files; called on the disk thread.
  ///   - log: receives each message about the disk that the user should see, on the loop.
  public init(
    loop: EventLoop, settings: RecorderSettings = RecorderSettings(),
    localTime: @escaping @Sendable (WallTime) -> LocalTime = { LocalTime($0) },
    log: @escaping (String) -> Void = { _ in }
  ) {
    (self.loop, self.settings, self.localTime, self.log) = (loop, settings, localTime, log)
  }

  deinit { close() }

  /// Returns `template` as an absolute path: `~/` is the home folder, a relative path is resolved
  /// against `folder`, and `root` precedes the result.
  public func absoluteTemplate(_ template: String) -> String {
    guard let root = settings.root else { return RecordingTemplate.absolute(template, from: settings.folder) }
    let template = RecordingTemplate.absolute(template, from: settings.folder ?? "")
    return RecordingTemplate.absolute(String(template.drop { $0 == "/" }), from: root)
  }

  /// The wall-clock time of the loop.
  public var now: WallTime { loop.wallNow }

  /// Starts a recording of `stream`, whose frames the caller sends to the recording's queue.
  /// - Throws: `argument` for a template that can't be read, `loop.thread`, `stream.unsupported` for a file
  ///   of this machine.
  package func begin(
    _ options: RecordingOptions, of stream: any RecordedStream
  ) throws -> Recording {
    guard let address = stream.address else { throw StreamError.isFileHere(stream.shownURL) }
    let template = try RecordingTemplate(options.template)
    let mount = loop.isVirtual ? nil : RemoteMount.of(options.template)
    let core = try awake(mount?.folder)
    if let mount { warnIfSilent(mount) }
    count += 1
    let number = count
    let queue = RecordingQueue(takesFile: options.takesFile, hasLength: options.duration != nil) {
      core.sound($0, of: number)
    }
    let progress = RecordingProgress()
    let recording = Recording(of: stream, queue, progress, loop: loop, on: mount) {
      core.post { $0.finish(number) }
    }
    active[number] = recording
    let this = LoopReference(self)
    let loop = loop
    let source = RecordingFiles.Source(address: address, station: stream.stationName)
    core.post { core in
      let files = RecordingFiles(options, template, source, core)
      let writer = RecordingWriter(queue, files, progress) { event in
        loop.post { this.object?.receive(event, number) }
      }
      core.add(writer, number)
    }
    return recording
  }

  private func receive(_ event: WriterEvent, _ number: Int) {
    let recording = active[number]
    if event.isLast { active[number] = nil }
    recording?.receive(event)
  }

  /// Runs `work` with the library of recordings, on a thread that may wait for disks, and returns its result.
  /// - Throws: the error of `work`; `record.write` without a catalogue; `loop.thread`.
  public func withLibrary<Result: Sendable>(
    _ work: @escaping @Sendable (RecordingLibrary) throws -> Result
  ) async throws -> Result {
    let (core, reader) = (try awake(), try awakeReader())
    let loop = loop
    let hold = loop.hold("the catalogue of recordings is read")
    return try await withCheckedThrowingContinuation { continuation in
      // Queued after the pending work of the disk thread, so that recordings that have ended are in the
      // catalogue.
      core.post { _ in
        reader.post { reader in
          let result = Swift.Result { try work(try reader.library()) }
          loop.post {
            hold.release()
            continuation.resume(with: result)
          }
        }
      }
    }
  }

  /// Returns the core of a disk thread, which the first call starts.
  /// - Parameter mount: the folder of the remote mount; nil for this machine's disks.
  @discardableResult
  private func awake(_ mount: String? = nil) throws -> RecorderCore {
    if let disk = disks[mount] { return disk.core }
    let new = try core(on: "disk", mount)
    disks[mount] = new
    let (loop, this) = (loop, LoopReference(self))
    new.core.post { core in
      let mounts = core.begin()
      guard mount == nil, !mounts.isEmpty else { return }
      loop.post {
        guard let this = this.object, this.disks[nil] != nil else { return }  // closed meanwhile
        for mount in mounts { _ = try? this.awake(mount) }
      }
    }
    return new.core
  }

  /// Logs a mount that does not answer: received sound waits in memory meanwhile.
  private func warnIfSilent(_ mount: RemoteMount) {
    loop.start { [weak self, loop] in
      let answer = try? await loop.callFiles { access(mount.folder, F_OK) }
      guard answer == nil else { return }
      self?.log("\(FileDeadline.silence(of: mount.folder).cause): recordings there wait in memory")
    }
  }

  /// Returns the core of the library's thread, which the first call starts.
  private func awakeReader() throws -> RecorderCore {
    if loop.isVirtual { return try awake() }
    if let reader { return reader.core }
    let new = try core(on: "library")
    reader = new
    return new.core
  }

  /// Creates a core on a new thread with that name, or on the loop under virtual time.
  private func core(on name: String, _ mount: String? = nil) throws -> Worker {
    let thread = loop.isVirtual ? nil : try LoopThread(name: name)
    let log: @Sendable (String) -> Void = { [loop, this = LoopReference(self)] line in
      loop.post { this.object?.log(line) }
    }
    let core = RecorderCore(
      loop: thread?.loop ?? loop, settings: settings, mount: mount, localTime: localTime, log: log)
    return (core, thread)
  }

  /// Ends all recordings and all threads; returns when everything is safe on disk, or the time limit of a
  /// mount that does not answer has passed. Called at the end of an engine, after its streams have ended.
  public func close() {
    let (disks, reader) = (disks, reader)
    (self.disks, self.reader) = ([:], nil)
    for (core, thread) in disks.values {
      if thread == nil { core.finishAll() } else { core.post { $0.finishAll() } }
    }
    let ends = disks.compactMap { mount, worker in
      mount.flatMap { mount in
        worker.thread.flatMap { thread in (try? FileCall { thread.close() }).map { (mount, $0) } }
      }
    }
    disks[nil]?.thread?.close()
    reader?.thread?.close()
    let start = ContinuousClock.now
    for (mount, end) in ends {
      let left = FileDeadline.limit - start.duration(to: .now)
      let answer: Void? = try? end.wait(atMost: max(left, .milliseconds(1)))
      if answer == nil {
        log("\(FileDeadline.silence(of: mount).cause): the last sound of recordings there is not written")
      }
    }
  }
}
