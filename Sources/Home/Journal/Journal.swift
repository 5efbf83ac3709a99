public import EventLoop

/// The journal of the house: its changes with their causes, the latest in memory, all of the last days in a
/// file; it also reports other events to its listeners. Confined to the loop.
///
/// The first 200 bytes of each text are kept, and 255 of a name. Memory: a ring of `capacity` entries, or
/// fewer entries with long texts.
public final class Journal {
  /// The most entries in memory.
  public static var capacity: Int { JournalRing.capacity }
  /// The time for which changes wait to be written: including the writing, a killed process loses the changes
  /// of one second at most.
  private static let delay = Duration.milliseconds(400)

  /// Returns the cause of the script's routine that runs now, or that has started the present task; nil
  /// without one.
  public var routine: () -> Cause? = { nil }
  /// The cause of the event that is delivered to listeners now; nil without an event, or a known cause.
  public internal(set) var delivered: Cause?
  /// The cause of the event of a job that is delivered now: its run, or its schedule.
  public internal(set) var jobEvent: Cause?
  /// The archive in a file; nil without one.
  public let archive: JournalArchive?

  let loop: EventLoop
  /// The moment at which the journal began.
  let began: WallTime
  private var ring = JournalRing()
  private var listeners = Listeners<(JournalEntry) -> Void>()
  private var unsaved: [Int] = []
  private var timer: LoopTimer?
  var origins = JournalOrigins()
  var emitted = EmittedEvents()
  /// The moment at which the house was opened for the last time.
  public internal(set) var houseBegan: WallTime
  /// The cause of the task that has emitted the event that is delivered now; nil without one. Not for levels,
  /// which have the causes of their commands.
  var emitter: Cause? { emitted.current?.cause }
  var jobs = JobOrigins()

  /// A journal without entries.
  /// - Parameter archive: keeps the entries, also those of earlier processes; nil for memory alone.
  public init(loop: EventLoop, archive: JournalArchive? = nil) {
    (self.loop, self.archive, began, houseBegan) = (loop, archive, loop.wallNow, loop.wallNow)
  }

  /// The cause of a command that is given now; nil when nothing is known about it.
  public var current: Cause? { routine() ?? Cause.current }

  /// Runs `body`, whose commands a person gives at `door`, such as `ctl`.
  public func asPerson<Result>(at door: String, _ body: () throws -> Result) rethrows -> Result {
    try with(Cause(.person, door, at: loop.wallNow), body)
  }

  /// Runs `body`, whose commands another controller gives, such as Home Assistant, by a message in words.
  public func asController<Result>(
    _ name: String, by message: String, _ body: () throws -> Result
  ) rethrows -> Result {
    try with(Cause(.controller, name, detail: message, at: loop.wallNow), body)
  }

  private func with<Result>(_ cause: Cause, _ body: () throws -> Result) rethrows -> Result {
    try Cause.$current.withValue(cause, operation: body)
  }

  /// Calls `body` with each entry, with its full texts, when it is recorded or reported, before the listeners
  /// of scripts are called. The entry of a gain that changes over time is passed again at its end. Steps of
  /// levels are not repeated.
  public func listen(_ body: @escaping (JournalEntry) -> Void) { _ = listeners.add(body) }

  private func publish(_ entry: JournalEntry) { for listener in listeners.all { listener(entry) } }

  /// Records a change, or adds it as a step to an earlier one that it continues.
  /// - Parameters:
  ///   - speakers: the ids of the speakers that it concerns; not evaluated for a step.
  ///   - cause: the cause; nil if it is not known.
  ///   - earlier: the number of the change that it may continue; by default, a refusal may continue the
  ///     latest one.
  /// - Returns: the number of the change.
  @discardableResult
  public func record(
    _ kind: JournalEntry.Kind, of subject: JournalEntry.Subject, _ name: String,
    speakers: @autoclosure () -> [String] = [], from: JournalEntry.Value = .none,
    to: JournalEntry.Value = .none, detail: String? = nil, facts: [JournalEntry.Fact] = [], cause: Cause?,
    after earlier: Int? = nil, session: Int? = nil
  ) -> Int {
    let kept = (
      name: name.cut(to: longestName), from: from.excerpt, to: to.excerpt, detail: detail?.excerpt
    )
    let (now, earlier) = (loop.wallNow, earlier ?? (kind == .refused ? ring.refusal(kept.name) : nil))
    if let cause, let earlier,
      ring.extend(earlier, kept.name, to: kept.to, detail: kept.detail, cause: cause, at: now)
    {
      if archive != nil { save(earlier) }
      return earlier
    }
    let (number, speakers) = (ring.last + 1, speakers())
    ring.append(
      JournalEntry(
        kind, of: subject, kept.name, at: now, number: number, speakers: speakers, from: kept.from,
        to: kept.to, detail: kept.detail, facts: facts.isEmpty ? facts : facts.map(\.excerpt), cause: cause,
        session: session))
    if archive != nil { save(number) }
    if listeners.count > 0 {
      publish(
        JournalEntry(
          kind, of: subject, name, at: now, number: number, speakers: speakers, from: from, to: to,
          detail: detail, facts: facts, cause: cause, session: session))
    }
    return number
  }

  /// Reports an entry that is not kept to the listeners.
  public func report(
    _ kind: JournalEntry.Kind, of subject: JournalEntry.Subject = .house, _ name: String = "",
    speakers: @autoclosure () -> [String] = [], to: JournalEntry.Value = .none,
    detail: @autoclosure () -> String? = nil, facts: @autoclosure () -> [JournalEntry.Fact] = [],
    session: Int? = nil
  ) {
    guard listeners.count > 0 else { return }
    publish(
      JournalEntry(
        kind, of: subject, name, at: loop.wallNow, speakers: speakers(), to: to, detail: detail(),
        facts: facts(), cause: delivered ?? current, session: session))
  }

  /// Replaces the values of a change, also of one that is no longer in memory, by its final ones.
  func amend(_ change: JournalEntry, to: JournalEntry.Value, facts: [JournalEntry.Fact]) {
    if ring.amend(change.number, to: to, facts: facts), archive != nil { save(change.number) }
    var entry = change
    (entry.to, entry.facts) = (to, facts)
    publish(entry)
  }

  /// The entries in memory, the oldest first.
  public var recent: [JournalEntry] { ring.all }

  /// Returns the entry with a number; nil for one that is no longer in memory.
  func recent(_ number: Int) -> JournalEntry? { ring[number] }

  /// Returns the latest entries that a filter selects, also those of earlier processes, the oldest first.
  public func history(_ filter: JournalFilter) -> [JournalEntry] {
    var found: [JournalEntry] = []
    for entry in recent.reversed() where filter.selects(entry) {
      found.append(entry)
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

  /// Hands the unsaved changes to the archive, which writes them on a thread.
  private func flush() {
    timer?.cancel()
    timer = nil
    guard let archive, !unsaved.isEmpty else { return }
    let numbers = Set(unsaved).sorted()
    unsaved = []
    archive.keep(numbers.compactMap { ring[$0] })
  }

  /// Hands the unsaved changes to the archive, and closes that for reading.
  public func close() {
    flush()
    archive?.close()
  }
}
