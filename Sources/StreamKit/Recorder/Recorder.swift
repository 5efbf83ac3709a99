public import EventLoop

/// Where recordings go, unless they say otherwise.
public struct RecorderSettings: Sendable {
  /// Where relative paths begin; nil for the working directory.
  public var folder: String?
  /// The template of a file without a given name; nil for `RecordingTemplate.usual`.
  public var template: String?
  /// Recordings that are older are removed; nil keeps all.
  public var keep: Duration?
  /// Bytes that stay free on a disk.
  public var minimumFree = 0
  /// What stands in front of all paths, also absolute ones: the scratch folder of a simulation.
  public var root: String?
  /// The file of the catalogue; nil for none that outlives the process.
  public var catalogue: String?

  /// The defaults.
  public init() {}
}

/// Records the streams of an engine: one thread writes all of them, and another one looks after what is recorded.
/// Confined to the loop.
///
/// Under virtual time the loop itself writes.
public final class Recorder {
  /// Where recordings go.
  public let settings: RecorderSettings
  /// Told what a person should know of the disk, on the loop.
  public var onLog: (String) -> Void = { _ in }

  private let loop: EventLoop
  private let localTime: @Sendable (WallTime) -> LocalTime
  private var disk: (core: RecorderCore, thread: LoopThread?)?
  /// Reads and mends files for who asks: recordings don't wait for that.
  private var reader: (core: RecorderCore, thread: LoopThread?)?
  private var count = 0
  /// Those that are not over.
  private var active: [Int: Recording] = [:]

  /// A recorder; its thread begins with what it has to do first.
  /// - Parameter localTime: what the clocks of the house show, for names of files; called on the disk thread.
  public init(
    loop: EventLoop, settings: RecorderSettings = RecorderSettings(),
    localTime: @escaping @Sendable (WallTime) -> LocalTime = { LocalTime($0) }
  ) {
    (self.loop, self.settings, self.localTime) = (loop, settings, localTime)
  }

  deinit { close() }

  /// Where a recording goes that is called `given`: a template from the root on. `~/` is the home folder, and relative
  /// paths begin in `folder`.
  public func place(_ given: String) -> String {
    guard let root = settings.root else { return RecordingTemplate.absolute(given, from: settings.folder) }
    let template = RecordingTemplate.absolute(given, from: settings.folder ?? "")
    return RecordingTemplate.absolute(String(template.drop { $0 == "/" }), from: root)
  }

  /// The time of the house.
  public var now: WallTime { loop.wallNow }

  /// Begins to write what `stream` gives to the recording's feed.
  /// - Throws: `argument` for a template that can't be read, `loop.thread`.
  func begin(_ options: RecordingOptions, of stream: Stream) throws -> Recording {
    let template = try RecordingTemplate(options.template)
    let core = try awake()
    count += 1
    let number = count
    let feed = RecordingFeed(takesFile: options.takesFile) { core.post { $0.hurry(number) } }
    let progress = RecordingProgress()
    let recording = Recording(of: stream, feed, progress, loop: loop) { core.post { $0.finish(number) } }
    active[number] = recording
    let this = LoopReference(self)
    let loop = loop
    let source = RecordingPlan.Source(url: stream.url, station: stream.stationName)
    core.post { core in
      let plan = RecordingPlan(options, template, source, core)
      let writer = RecordingWriter(feed, plan, progress) { news in
        loop.post { this.object?.take(news, number) }
      }
      core.add(writer, number)
    }
    return recording
  }

  private func take(_ news: WriterNews, _ number: Int) {
    let recording = active[number]
    if news.isLast { active[number] = nil }
    recording?.take(news)
  }

  /// Does `work` with the library of recordings, where disks may take their time. Returns what it returns.
  /// - Throws: what it throws; `record.write` when there is no catalogue.
  public func withLibrary<Result: Sendable>(
    _ work: @escaping @Sendable (RecordingLibrary) throws -> Result
  ) async throws -> Result {
    let (core, reader) = (try awake(), try awakeReader())
    let loop = loop
    let hold = loop.hold("the catalogue of recordings is read")
    return try await withCheckedThrowingContinuation { continuation in
      // Behind what the disk thread has to do by now, so that what has ended is in the catalogue.
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

  /// The disk thread, which begins now if it has not yet.
  private func awake() throws -> RecorderCore {
    if let disk { return disk.core }
    let new = try core(on: "disk")
    new.core.post { $0.begin() }
    disk = new
    return new.core
  }

  /// The thread of the library.
  private func awakeReader() throws -> RecorderCore {
    if loop.isVirtual { return try awake() }
    if let reader { return reader.core }
    let new = try core(on: "library")
    reader = new
    return new.core
  }

  /// What works on a thread of that name, or on the loop under virtual time.
  private func core(on name: String) throws -> (core: RecorderCore, thread: LoopThread?) {
    let thread = loop.isVirtual ? nil : try LoopThread(name: name)
    let log: @Sendable (String) -> Void = { [loop, this = LoopReference(self)] line in
      loop.post { this.object?.onLog(line) }
    }
    let core = RecorderCore(loop: thread?.loop ?? loop, settings: settings, localTime: localTime, log: log)
    return (core, thread)
  }

  /// Ends all recordings, and the threads; returns when all is safe on disk. For the end of an engine, after that of its
  /// streams.
  public func close() {
    guard let (core, thread) = disk else { return }
    let reader = reader
    (disk, self.reader) = (nil, nil)
    guard let thread else { return core.finishAll() }
    core.post { $0.finishAll() }
    thread.close()
    reader?.thread?.close()
  }
}
