internal import Database
public import EventLoop

/// The recordings that there are and were: rows in a SQLite file. Confined to the thread that uses it; every other
/// thread and process opens the file anew.
///
/// Recordings go on whatever happens to it: a damaged file is set aside, and one that was moved or removed is begun
/// again; `update` then enters what is open into the new one.
public final class Catalogue {
  /// Which recordings are wanted: those that all of it is true of.
  public struct Filter: Sendable, Equatable {
    /// What the station's name contains, in capitals or not.
    public var station: String?
    /// What one of the titles contains, in capitals or not.
    public var title: String?
    /// Begun at that time or later.
    public var since: WallTime?
    /// Begun before that time.
    public var until: WallTime?
    /// In that state.
    public var state: RecordingEntry.State?
    /// Belonging to that job.
    public var job: String?
    /// At most so many of them, the latest.
    public var limit: Int?

    /// All of them, unless something is asked for.
    public init(
      station: String? = nil, title: String? = nil, since: WallTime? = nil, until: WallTime? = nil,
      state: RecordingEntry.State? = nil, job: String? = nil, limit: Int? = nil
    ) {
      (self.station, self.title, self.since, self.until) = (station, title, since, until)
      (self.state, self.job, self.limit) = (state, job, limit)
    }
  }

  /// Where its file is.
  public let path: String
  private let log: (String) -> Void
  private var table: CatalogueTable
  /// What the file knows of the recordings that are open, so that only what is new is written.
  private var written: [Int64: RecordingEntry] = [:]

  /// Opens the catalogue at `path`, or begins one.
  /// - Parameter log: told what a person should know, in one line: that a damaged file was set aside.
  /// - Throws: `database.newer`, `database.busy`, `database.full`, `database.unavailable`.
  public init(path: String, log: @escaping (String) -> Void = { _ in }) throws {
    self.path = path
    self.log = log
    let opened = try Database.openOrRenew(path: path, migrations: CatalogueTable.migrations)
    table = CatalogueTable(opened.database)
    if let place = opened.setAside { tell(place) }
  }

  // MARK: Writing

  /// Enters a new recording, and gives it its number. Done when it returns: the file is made after that.
  public func insert(_ entry: inout RecordingEntry) throws {
    entry.id = Int64.random(in: 1...CatalogueTable.lastID)
    let new = entry
    try perform { try $0.transaction { try $0.save(new, over: nil) } }
    note(new)
  }

  /// Writes what is new of these recordings, in one transaction; enters those that it does not know.
  ///
  /// Cheap enough for a thousand that are open, twice a second: nothing is written of one that stands still, two
  /// numbers of one that grows, and of the gaps and titles those that came.
  public func update(_ entries: [RecordingEntry]) throws {
    try perform { table in
      let changed = entries.filter { written[$0.id] != $0 }
      precondition(changed.allSatisfy { $0.id != 0 }, "insert a recording before it is updated")
      if changed.isEmpty { return }
      // What a joining changes can't be found out again from the files, so a power cut must not take it.
      let durable = changed.contains { $0.joinBase != nil && written[$0.id]?.state != $0.state }
      try table.transaction(durable: durable) { table in
        for entry in changed { try table.save(entry, over: written[entry.id]) }
      }
    }
    for entry in entries { note(entry) }
  }

  /// Lets the row go; the file stays.
  public func remove(_ id: Int64) throws {
    try perform { try $0.remove(id) }
    written[id] = nil
  }

  /// Enters that `entry` is joined: its row and that of the file that it continued become one, in one transaction.
  /// - Parameter earlier: what stood in the file before, as it was found there; nil to believe the catalogue.
  /// - Returns: the one row, in the state that `entry` has.
  @discardableResult
  public func join(
    _ entry: RecordingEntry, earlier: (samples: Int, bytes: Int)? = nil
  ) throws -> RecordingEntry {
    let whole = try perform { table in
      try table.transaction(durable: true) { table in
        let known = try table.entries(
          "path = ? AND id <> ? AND part IS NULL", [.text(entry.path), .int(entry.id)])
        var before = known.first
        if let earlier {
          before = before ?? entry.withSound(samples: 0, bytes: 0)
          before?.samples = earlier.samples
          before?.bytes = earlier.bytes
        }
        let whole = before.map { entry.continuing($0) } ?? entry
        for row in known { try table.remove(row.id) }
        try table.save(whole, over: nil)
        return whole
      }
    }
    note(whole)
    return whole
  }

  // MARK: Reading

  /// The recording whose file is, or will be, at `path`; one that is complete before one that will continue it.
  public func entry(path: String) throws -> RecordingEntry? {
    try perform {
      try $0.entries("path = ? ORDER BY part IS NOT NULL, start DESC LIMIT 1", [.text(path)]).first
    }
  }

  /// The recording of that number.
  public func entry(id: Int64) throws -> RecordingEntry? {
    try perform { try $0.entries("id = ?", [.int(id)]).first }
  }

  /// Those that the filter lets through, the latest first.
  public func entries(matching filter: Filter = .init()) throws -> [RecordingEntry] {
    try perform { try $0.entries(matching: filter) }
  }

  /// Those that are not at their end, as far as their rows tell: being recorded by some process, or left behind by one.
  public func openEntries() throws -> [RecordingEntry] {
    try perform {
      try $0.entries("part IS NOT NULL OR state IN ('recording', 'joining') ORDER BY start, path", [])
    }
  }

  // MARK: Whatever happens to the file

  /// Does `work` with the table. When the file turns out to be damaged or gone, once more with a new one.
  private func perform<Result>(_ work: (CatalogueTable) throws -> Result) throws -> Result {
    if table.database.hasMoved { try renew() }
    do {
      return try work(table)
    } catch let error as DatabaseError where error.kind == .damaged {
      try renew()
    }
    return try work(table)
  }

  private func renew() throws {
    let renewed = try table.database.renewed(migrations: CatalogueTable.migrations)
    table = CatalogueTable(renewed.database)
    // The new file knows none of them.
    written = [:]
    if let place = renewed.setAside { tell(place) }
  }

  private func tell(_ place: String) {
    log("the catalogue of recordings was damaged and is now \(place.onOneLine); a new one begins")
  }

  private func note(_ entry: RecordingEntry) {
    let isOpen = entry.state == .recording || entry.state == .joining
    written[entry.id] = isOpen ? entry : nil
  }
}
