internal import Database
internal import EventLoop
internal import Glibc
internal import StreamCore

/// The work of a disk thread: writes all recordings of its disks as their sound comes, and keeps the
/// catalogue.
///
/// Unchecked: confined to its loop, which is that of a disk thread or of the library's thread, or the
/// engine's under virtual time; `post` and `sound` may be called on any thread.
final class RecorderCore: @unchecked Sendable {
  /// The shortest interval between two writes of a recording, except in its first second: sound of this
  /// length is lost if the process is killed, while the network thread passes sound on as it arrives. If it
  /// reads at longer intervals, a write follows each read.
  static let writeInterval = Duration.milliseconds(500)
  /// The longest interval between two ticks, in which all recordings are checked.
  static let tick = Duration.seconds(1)
  /// The time in which the sound of many recordings is written together, and the number from which on they
  /// are many.
  static let (grain, many) = (Duration.milliseconds(25), 8)
  /// The interval at which the rows of growing recordings are updated; recovery after a kill measures the
  /// file anyway.
  static let rowInterval = Duration.seconds(5)
  /// The interval of syncs: sound of this length is lost in a power cut.
  static let syncInterval = Duration.seconds(10)

  let loop: EventLoop
  let log: (String) -> Void
  private let settings: RecorderSettings
  /// The folder of the remote mount that holds the files; nil for files on this machine's disks.
  private let mount: String?
  private let localTime: (WallTime) -> LocalTime
  private var writers: [(number: Int, writer: RecordingWriter)] = []
  /// The timer of the next tick, and its moment.
  private var timer: (timer: LoopTimer, due: Instant)?
  private var lastTick = Instant.start
  /// The recordings that have received sound, which is written in a moment.
  private let arrivals = Lock<[Int]>([])
  /// `true` if a recording began since the last sync.
  private var hasNewWriters = false
  private var (lastSync, lastRows) = (Instant.start, Instant.start)
  /// The interval at which expired recordings are searched for.
  private static let expiryInterval = Duration.seconds(3600)
  private var lastExpiry = Instant.start
  private var catalogue: Catalogue?
  /// The walks of files that recordings were appended to.
  var walkedFiles = WalkedFiles()
  /// Rows of growing recordings that are not written yet.
  private var rows: [RecordingEntry] = []
  /// The problems that were logged and still last.
  private var reported: Set<Trouble> = []
  enum Trouble: String {
    case catalogue = "the catalogue of recordings can't be kept"
    case expiry = "recordings that are too old can't be deleted"
    case tags = "recordings get no tags"
  }

  init(
    loop: EventLoop, settings: RecorderSettings, mount: String? = nil,
    localTime: @escaping @Sendable (WallTime) -> LocalTime, log: @escaping @Sendable (String) -> Void
  ) {
    (self.loop, self.settings, self.mount) = (loop, settings, mount)
    (self.localTime, self.log) = (localTime, log)
  }

  /// Runs `work` on the core's own loop.
  func post(_ work: @escaping @Sendable (RecorderCore) -> Void) { loop.post { work(self) } }

  func localTime(_ time: WallTime) -> LocalTime { localTime(time) }

  /// Recovers abandoned recordings of an earlier process on its disks, then deletes expired recordings.
  /// - Returns: the folders of the remote mounts that hold recordings of the catalogue.
  @discardableResult
  func begin() -> [String] {
    guard let path = settings.catalogue, access(path, F_OK) == 0 else {
      lastExpiry = loop.now
      return []
    }
    var mounts: [String] = []
    with { catalogue in
      let library = RecordingLibrary(catalogue: catalogue)
      for recovered in try library.recover(now: loop.wallNow, where: isHere) { log("\(recovered)") }
      if !loop.isVirtual {
        mounts = RemoteMount.holding(try catalogue.entries().map(\.path)).map(\.mount.folder)
      }
    }
    expire()
    return mounts
  }

  /// Returns `true` for a file on the disks of this core: calls for other disks might never return.
  private func isHere(_ path: String) -> Bool { loop.isVirtual || RemoteMount.of(path)?.folder == mount }

  private func expire() {
    lastExpiry = loop.now
    guard let keep = settings.keep else { return }
    with { catalogue in
      do {
        try RecordingLibrary(catalogue: catalogue).expire(keep: keep, now: loop.wallNow, where: isHere)
        reported.remove(.expiry)
      } catch let error as RecordError {
        report(.expiry, error)
      }
    }
  }

  private func expireIfDue() {
    if lastExpiry.duration(to: loop.now) >= Self.expiryInterval { expire() }
  }

  /// `true` if all files are in the scratch folder of a simulation: none of them outlives the process.
  var isScratch: Bool { settings.root != nil }

  /// Returns the library of recordings.
  /// - Throws: `record.write` without a catalogue.
  func library() throws -> RecordingLibrary {
    writeRows()
    guard let catalogue = try openCatalogue() else {
      throw RecordError(.write, "there is no catalogue of recordings here")
    }
    return RecordingLibrary(catalogue: catalogue)
  }

  // MARK: Recordings

  /// Adds a writer, whose number is higher than all before; every tick checks it from now on.
  func add(_ writer: RecordingWriter, _ number: Int) {
    writers.append((number, writer))
    hasNewWriters = true
    arm(at: loop.now.advanced(by: Self.writeInterval))
    expireIfDue()
  }

  /// Writes the sound that a recording has received. Any thread.
  func sound(_ arrival: RecordingQueue.Arrival, of number: Int) {
    if case .burst = arrival {
      return post { core in core.index(of: number).map { core.write(core.writers[$0].writer) } }
    }
    let isFirst = arrivals.withLock { numbers in
      defer { numbers.append(number) }
      return numbers.isEmpty
    }
    guard isFirst else { return }
    // The network thread serves recordings in turns: with many of them this thread would wake for each.
    post { core in
      guard core.writers.count > Self.many else { return core.writeArrivals() }
      core.loop.after(Self.grain) { [weak core] in core?.writeArrivals() }
    }
  }

  private func writeArrivals() {
    let numbers = arrivals.withLock { numbers in
      defer { numbers = [] }
      return numbers
    }
    // A tick that is due soon is made now, so that the thread wakes once for both.
    if lastTick.duration(to: loop.now) >= Self.writeInterval { return run() }
    for number in numbers {
      guard let index = index(of: number) else { continue }
      let writer = writers[index].writer
      let due = writer.nextWrite(at: loop.now, every: Self.writeInterval)
      if due <= loop.now { write(writer) } else { arm(at: due) }
    }
  }

  private func write(_ writer: RecordingWriter) {
    writer.tick(at: loop.now, loop.wallNow)
    writer.titleDeadline.map { arm(at: $0) }
    if writer.hasEnded || writer.hasChanged { arm(at: lastTick.advanced(by: Self.writeInterval)) }
  }

  /// Returns the index of a recording in `writers`, which are in the order of their numbers.
  private func index(of number: Int) -> Int? {
    var (low, high) = (0, writers.count)
    while low < high {
      let middle = (low + high) / 2
      if writers[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low < writers.count && writers[low].number == number ? low : nil
  }

  /// Ends the recording with that number.
  func finish(_ number: Int) {
    guard let index = index(of: number) else { return }
    let writer = writers.remove(at: index).writer
    writer.finish(at: loop.now, loop.wallNow)
  }

  /// Ends all recordings.
  func finishAll() {
    for (_, writer) in writers { writer.finish(at: loop.now, loop.wallNow) }
    writers = []
    disarm()
  }

  /// Sets the next tick to `due`, unless it comes earlier.
  private func arm(at due: Instant) {
    guard !writers.isEmpty, timer.map({ $0.due > due }) ?? true else { return }
    disarm()
    timer = (loop.after(loop.now.duration(to: due)) { [weak self] in self?.run() }, due)
  }

  private func disarm() {
    timer?.timer.cancel()
    timer = nil
  }

  private func run() {
    disarm()
    let (now, wall) = (loop.now, loop.wallNow)
    lastTick = now
    for (_, writer) in writers { writer.tick(at: now, wall) }
    writers.removeAll { $0.writer.hasEnded }
    if lastRows.duration(to: loop.now) >= Self.rowInterval || writers.contains(where: \.writer.hasChanged) {
      keepRows()
    }
    if lastSync.duration(to: loop.now) >= Self.syncInterval { sync() }
    expireIfDue()
    arm(at: now.advanced(by: Self.tick))
    for (_, writer) in writers { writer.titleDeadline.map { arm(at: $0) } }
  }

  /// Syncs the file systems of all open recordings; under virtual time none, as their files do not outlive
  /// the process.
  private func sync() {
    lastSync = loop.now
    var done: Set<UInt64> = []
    let parts = loop.isVirtual ? [] : writers.compactMap(\.writer.anyPart)
    for part in parts where done.insert(part.fileSystem).inserted {
      do throws(RecordError) { try part.syncFileSystem() } catch { log("\(error)") }
    }
    if loop.isVirtual { return }
    for (_, writer) in writers { writer.anyPart?.releaseMemory() }
    // The start of a stream needs more memory than its later sound.
    if hasNewWriters { LinuxMemory.giveBackFree() }
    hasNewWriters = false
  }

  // MARK: The catalogue

  /// Returns the catalogue, which the first call opens; nil if none is configured, which harms no recording.
  func openCatalogue() throws -> Catalogue? {
    if let catalogue { return catalogue }
    guard let path = settings.catalogue else { return nil }
    let new = try Catalogue(path: path, log: log)
    catalogue = new
    return new
  }

  /// Runs `work` with the catalogue; logs a failure once, until a later call succeeds.
  private func with(_ work: (Catalogue) throws -> Void) {
    do {
      guard let catalogue = try openCatalogue() else { return }
      try work(catalogue)
      reported.remove(.catalogue)
    } catch {
      report(.catalogue, error)
    }
  }

  /// Logs a problem once while it lasts.
  func report(_ trouble: Trouble, _ error: any Error) {
    if reported.insert(trouble).inserted { log("\(trouble.rawValue): \(error)") }
  }

  /// Recovers an abandoned part whose name is needed, unless a process holds it; works without a catalogue
  /// too.
  func settle(part: String) {
    guard access(part, F_OK) == 0 else { return }
    for catalogue in [try? openCatalogue(), try? Catalogue(path: Database.inMemory)].compactMap({ $0 }) {
      do {
        let library = RecordingLibrary(catalogue: catalogue)
        if let done = try library.settle(part: part, now: loop.wallNow) { log("\(done)") }
        return
      } catch let error as RecordError {
        return log("\(error)")
      } catch { report(.catalogue, error) }
    }
  }

  /// Returns the time at which the last sound of the recording at `path` came; without a row, that of the
  /// last change of the file; nil without a file.
  func end(of path: String) -> WallTime? {
    let row = try? openCatalogue()?.entry(path: path)
    return row.map(\.end) ?? LinuxFiles.modificationTime(of: path)
  }

  func enter(_ entry: inout RecordingEntry) {
    var new = entry
    with { try $0.insert(&new) }
    // An entry needs a number even without a catalogue: one may be opened later.
    if new.id == 0 { new.id = Int64.random(in: 1...CatalogueTable.lastID) }
    entry = new
  }

  func forget(_ entry: RecordingEntry) {
    forgetRow(of: entry)
    with { try $0.remove(entry.id) }
  }

  /// Updates the rows of all open recordings in one transaction.
  private func keepRows() {
    lastRows = loop.now
    rows = writers.flatMap(\.writer.entries)
    for (_, writer) in writers { writer.hasChanged = false }
    // Rows of a scratch folder are written only when the library is requested.
    if !isScratch { writeRows() }
  }

  private func writeRows() {
    let entries = rows
    rows = []
    if !entries.isEmpty { with { try $0.update(entries) } }
  }

  /// Forgets unwritten rows, as newer ones of the same recordings are written.
  private func forgetRow(of entry: RecordingEntry) { rows.removeAll { $0.id == entry.id } }

  func update(_ entry: RecordingEntry) {
    forgetRow(of: entry)
    with { try $0.update([entry]) }
  }

  /// Joins the rows of `entry` and of the file that it was appended to, whose length was `earlier`.
  /// - Returns: the single row.
  func join(_ entry: RecordingEntry, _ earlier: (samples: Int, bytes: Int)) -> RecordingEntry {
    var whole = entry
    forgetRow(of: entry)
    with { whole = try $0.join(entry, earlier: earlier) }
    return whole
  }
}
