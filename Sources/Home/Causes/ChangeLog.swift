public import EventLoop

/// The changes of the house with their causes: the latest in memory, all of some time in a file. Confined to the loop.
///
/// Of each text the first 200 bytes are kept, of a name 255. Memory: a ring of `capacity` changes, which holds fewer where
/// their texts are long.
public final class ChangeLog {
  /// The most changes in memory.
  public static var capacity: Int { ChangeRing.capacity }
  /// The time for which changes wait to be written: with the writing, a process that is killed loses those of the last
  /// second at most.
  private static let delay = Duration.milliseconds(400)

  /// Returns the cause of the routine of a script that runs now, or that has started the task that runs; nil for none.
  public var routine: () -> Cause? = { nil }
  /// Receives each change when it is recorded, not its later steps.
  public var onChange: (Change) -> Void = { _ in }
  /// Receives a line for the log.
  public var onLog: (String) -> Void = { _ in }
  /// The cause of the event that is delivered to listeners now; nil for none, or one that nothing is known about.
  public internal(set) var delivered: Cause?
  /// The cause of the event of a job that is delivered now: its run, or its schedule.
  public internal(set) var jobEvent: Cause?
  /// The file; nil for none.
  public let archive: ChangeArchive?

  let loop: EventLoop
  /// The moment at which the log began.
  let began: WallTime
  private var ring = ChangeRing()
  private var unsaved: [Int] = []
  private var timer: LoopTimer?
  var origins = ChangeOrigins()
  var emitted = EmittedEvents()
  /// The moment at which the house that is open was opened, or was the last time.
  public internal(set) var houseBegan: WallTime
  /// The cause of the task that has emitted the event that is delivered now; nil for none. Not for levels, which have the
  /// causes of their commands.
  var emitter: Cause? { emitted.current?.cause }
  var jobs = JobOrigins()

  /// A log without changes.
  /// - Parameter archive: keeps the changes, also of processes before; nil for memory alone.
  public init(loop: EventLoop, archive: ChangeArchive? = nil) {
    (self.loop, self.archive, began, houseBegan) = (loop, archive, loop.wallNow, loop.wallNow)
    archive?.onFailure = { [weak self] in self?.onLog($0) }
  }

  /// The cause of a command that is given now; nil when nothing is known about it.
  public var current: Cause? { routine() ?? Cause.current }

  /// Runs `body`, which tells others of something that a cause has led to.
  public func delivering(_ cause: Cause?, _ body: () -> Void) {
    delivered = cause
    body()
    delivered = nil
  }

  /// Runs `body`, whose commands a person gives through a door: `ctl`.
  public func asPerson<Result>(at door: String, _ body: () throws -> Result) rethrows -> Result {
    try Cause.$current.withValue(Cause(.person, door, at: loop.wallNow), operation: body)
  }

  /// Records a change, or adds it as a step to an earlier one that it continues.
  /// - Parameters:
  ///   - speakers: the ids of the speakers that it concerns; not asked for with a step.
  ///   - cause: the cause; nil for none that is known.
  ///   - earlier: the number of the change that it may continue, by default that of the latest refusal for a refusal.
  /// - Returns: the number of the change.
  @discardableResult
  public func record(
    _ kind: Change.Kind, of subject: Change.Subject, _ name: String,
    speakers: @autoclosure () -> [String] = [], from: Change.Value = .none, to: Change.Value = .none,
    detail: String? = nil, cause: Cause?, after earlier: Int? = nil
  ) -> Int {
    let (name, from, to, detail) = (name.cut(to: longestName), from.excerpt, to.excerpt, detail?.excerpt)
    let (now, earlier) = (loop.wallNow, earlier ?? (kind == .refused ? ring.refusal(name) : nil))
    if let cause, let earlier, ring.extend(earlier, name, to: to, detail: detail, cause: cause, at: now) {
      if archive != nil { save(earlier) }
      return earlier
    }
    let change = Change(
      number: ring.last + 1, at: now, until: now, kind: kind, subject: subject, name: name,
      speakers: speakers(), from: from, to: to, detail: detail, cause: cause)
    ring.append(change)
    if archive != nil { save(change.number) }
    onChange(change)
    return change.number
  }

  /// The changes in memory, the oldest first.
  public var recent: [Change] { ring.all }

  /// Returns the latest changes that a filter selects, those of processes before too, the oldest first.
  public func history(_ filter: ChangeFilter) -> [Change] {
    var found: [Change] = []
    for change in recent.reversed() where filter.selects(change) {
      found.append(change)
      if found.count == filter.limit { break }
    }
    found.reverse()
    guard let archive, found.count < filter.limit else { return found }
    if let first = recent.first, let since = filter.since, first.number > 1, first.at < since { return found }
    flush()
    return archive.changes(filter, before: recent.first?.number, limit: filter.limit - found.count) + found
  }

  // MARK: The archive

  private func save(_ number: Int) {
    if unsaved.last != number { unsaved.append(number) }
    guard timer == nil else { return }
    timer = loop.after(Self.delay, keepsAlive: false) { [weak self] in self?.flush() }
  }

  /// Hands the changes that are not kept yet to the thread of the archive.
  private func flush() {
    timer?.cancel()
    timer = nil
    guard let archive, !unsaved.isEmpty else { return }
    let numbers = Set(unsaved).sorted()
    unsaved = []
    archive.keep(numbers.compactMap { ring[$0] })
  }

  /// Keeps what is not kept yet, and ends the thread of the archive.
  public func close() {
    flush()
    archive?.close()
  }
}
