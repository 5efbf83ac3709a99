internal import Database
public import EventLoop

/// The past and present recordings: rows in a SQLite file. Confined to the thread that uses it; every other
/// thread and process opens the file anew.
///
/// Recordings continue whatever happens to the file: a damaged one is set aside, and one that was moved or
/// removed is created again; `update` then enters the open recordings into the new one.
public final class Catalogue {
  /// A filter of recordings: all of its conditions must hold.
  public struct Filter: Sendable, Equatable {
    /// A text in the station's name, whatever its case; nil for any name.
    public var station: String?
    /// A text in one of the titles, whatever its case; nil for any title.
    public var title: String?
    /// The earliest time at which the recording begins; nil for any.
    public var since: WallTime?
    /// The time before which the recording begins; nil for any.
    public var until: WallTime?
    /// The state of the recording; nil for any.
    public var state: RecordingEntry.State?
    /// The job that the recording belongs to; nil for any.
    public var job: String?
    /// The maximum number of recordings, the latest ones; nil for all.
    public var limit: Int?

    /// Creates a filter, which by default matches all recordings.
    public init(
      station: String? = nil, title: String? = nil, since: WallTime? = nil, until: WallTime? = nil,
      state: RecordingEntry.State? = nil, job: String? = nil, limit: Int? = nil
    ) {
      (self.station, self.title, self.since, self.until) = (station, title, since, until)
      (self.state, self.job, self.limit) = (state, job, limit)
    }
  }

  /// The path of the catalogue's file.
  public let path: String
  private let log: (String) -> Void
  private var table: CatalogueTable
  /// The rows of the open recordings as they are in the file, so that only changes are written.
  private var written: [Int64: RecordingEntry] = [:]

  /// Opens the catalogue at `path`, or creates it.
  /// - Parameter log: receives a message for the user, in one line: that a damaged file was set aside.
  /// - Throws: `database.newer`, `database.busy`, `database.full`, `database.unavailable`.
  public init(path: String, log: @escaping (String) -> Void = { _ in }) throws {
    self.path = path
    self.log = log
    let opened = try Database.openOrRenew(path: path, migrations: CatalogueTable.migrations)
    table = CatalogueTable(opened.database)
    if let path = opened.setAside { reportDamage(setAside: path) }
  }

  // MARK: Writing

  /// Enters a new recording and assigns its number. The row is written when the call returns: the file is
  /// created after that.
  public func insert(_ entry: inout RecordingEntry) throws {
    entry.id = Int64.random(in: 1...CatalogueTable.lastID)
    let new = entry
    try perform { try $0.transaction { try $0.save(new, over: nil) } }
    note(new)
  }

  /// Writes the changes of these recordings in one transaction; enters those without a row.
  ///
  /// Cheap enough for a thousand open recordings, twice a second: an unchanged one costs nothing, a growing
  /// one two numbers, and new gaps and titles are added to the existing ones.
  public func update(_ entries: [RecordingEntry]) throws {
    try perform { table in
      let changed = entries.filter { written[$0.id] != $0 }
      precondition(changed.allSatisfy { $0.id != 0 }, "insert a recording before it is updated")
      if changed.isEmpty { return }
      // A join can't be reconstructed from the files, so a power cut must not lose it.
      let durable = changed.contains { $0.joinBase != nil && written[$0.id]?.state != $0.state }
      try table.transaction(durable: durable) { table in
        for entry in changed { try table.save(entry, over: written[entry.id]) }
      }
    }
    for entry in entries { note(entry) }
  }

  /// Removes the row; the file stays.
  public func remove(_ id: Int64) throws {
    try perform { try $0.remove(id) }
    written[id] = nil
  }

  /// Stores the join of `entry`: its row and that of the file that it continued become one, in one
  /// transaction.
  /// - Parameter earlier: the measured length of the file before the join; nil to use the catalogue's.
  /// - Returns: the single row, in the state of `entry`.
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

  /// Returns the recording whose file is, or will be, at `path`; a complete one precedes one that will
  /// continue it.
  public func entry(path: String) throws -> RecordingEntry? {
    try perform {
      try $0.entries("path = ? ORDER BY part IS NOT NULL, start DESC LIMIT 1", [.text(path)]).first
    }
  }

  /// Returns the recording with that number.
  public func entry(id: Int64) throws -> RecordingEntry? {
    try perform { try $0.entries("id = ?", [.int(id)]).first }
  }

  /// Returns the recordings that match the filter, the latest first.
  public func entries(matching filter: Filter = .init()) throws -> [RecordingEntry] {
    try perform { try $0.entries(matching: filter) }
  }

  /// Returns the recordings that are open according to their rows: being recorded by some process, or
  /// abandoned by one.
  public func openEntries() throws -> [RecordingEntry] {
    try perform {
      try $0.entries("part IS NOT NULL OR state IN ('recording', 'joining') ORDER BY start, path", [])
    }
  }

  // MARK: Damaged and missing files

  /// Runs `work` with the table; if the file turns out to be damaged or gone, with a new one.
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
    // The new file has none of these rows.
    written = [:]
    if let path = renewed.setAside { reportDamage(setAside: path) }
  }

  private func reportDamage(setAside path: String) {
    log("the catalogue of recordings was damaged and is now \(path.onOneLine); a new one begins")
  }

  private func note(_ entry: RecordingEntry) {
    let isOpen = entry.state == .recording || entry.state == .joining
    written[entry.id] = isOpen ? entry : nil
  }
}
