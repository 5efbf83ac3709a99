internal import Database
internal import EventLoop

/// The tables of the catalogue: converts recordings to rows, and rows to recordings.
struct CatalogueTable {
  let database: Database

  /// The highest number. Numbers are random, so that a row that is entered again, after its file was set
  /// aside, never has the number of another; and small enough for a script's number to hold exactly.
  static let lastID: Int64 = 1 << 53

  static let migrations = [
    """
    CREATE TABLE recording (
      id INTEGER PRIMARY KEY,
      path TEXT NOT NULL,
      part TEXT,
      station TEXT,
      url TEXT NOT NULL,
      start INTEGER NOT NULL,        -- nanoseconds since 1970
      codec TEXT NOT NULL,
      sample_rate INTEGER NOT NULL,
      channels INTEGER NOT NULL,
      samples INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('recording', 'joining', 'finished', 'recovered', 'failed')),
      error TEXT,
      join_base INTEGER,
      job TEXT
    ) STRICT;
    CREATE INDEX recording_path ON recording (path);
    CREATE INDEX recording_start ON recording (start);
    CREATE TABLE gap (
      recording INTEGER NOT NULL REFERENCES recording ON DELETE CASCADE,
      number INTEGER NOT NULL,
      at REAL NOT NULL,
      seconds REAL NOT NULL,
      PRIMARY KEY (recording, number)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE title (
      recording INTEGER NOT NULL REFERENCES recording ON DELETE CASCADE,
      number INTEGER NOT NULL,
      at REAL NOT NULL,
      text TEXT NOT NULL,
      PRIMARY KEY (recording, number)
    ) STRICT, WITHOUT ROWID;
    """,
    "ALTER TABLE recording ADD COLUMN lead REAL NOT NULL DEFAULT 0;  -- seconds",
  ]

  init(_ database: Database) { self.database = database }

  func transaction<Result>(durable: Bool = false, _ body: (CatalogueTable) throws -> Result) throws -> Result
  {
    try database.transaction(durable: durable) { try body(self) }
  }

  // MARK: Writing

  /// Writes `entry` over the row, whose contents are `old`; nil if they are unknown.
  func save(_ entry: RecordingEntry, over old: RecordingEntry?) throws {
    if let old, try grow(entry, over: old) {
      try saveGaps(entry, over: old)
      try saveTitles(entry, over: old)
    } else {
      try database.execute(Self.upsert, Self.values(of: entry))
      try saveGaps(entry, over: nil)
      try saveTitles(entry, over: nil)
    }
  }

  /// Writes the two numbers that always change.
  /// - Returns: `false` if there is no row, or if anything but these and the lists differs.
  private func grow(_ entry: RecordingEntry, over old: RecordingEntry) throws -> Bool {
    var grown = old
    (grown.samples, grown.bytes, grown.gaps, grown.titles) = (
      entry.samples, entry.bytes, entry.gaps, entry.titles
    )
    guard grown == entry else { return false }
    let values: [DatabaseValue] = [.int(Int64(entry.samples)), .int(Int64(entry.bytes)), .int(entry.id)]
    return try database.execute("UPDATE recording SET samples = ?, bytes = ? WHERE id = ?", values) == 1
  }

  private func saveGaps(_ entry: RecordingEntry, over old: RecordingEntry?) throws {
    let first = try beginList("gap", of: entry.id, entry.gaps, over: old?.gaps)
    for (number, gap) in entry.gaps.enumerated().dropFirst(first) {
      let values: [DatabaseValue] = [.int(entry.id), .int(Int64(number)), .real(gap.at), .real(gap.seconds)]
      try database.execute("INSERT INTO gap VALUES (?, ?, ?, ?)", values)
    }
  }

  private func saveTitles(_ entry: RecordingEntry, over old: RecordingEntry?) throws {
    let first = try beginList("title", of: entry.id, entry.titles, over: old?.titles)
    for (number, title) in entry.titles.enumerated().dropFirst(first) {
      let values: [DatabaseValue] = [.int(entry.id), .int(Int64(number)), .real(title.at), .text(title.text)]
      try database.execute("INSERT INTO title VALUES (?, ?, ?, ?)", values)
    }
  }

  /// Deletes the rows of a list that are no longer valid.
  /// - Returns: the number of stored elements at its beginning.
  private func beginList<Element: Equatable>(
    _ table: String, of id: Int64, _ list: [Element], over old: [Element]?
  ) throws -> Int {
    // Comparing two arrays that share their memory costs nothing.
    if let old, old == list { return list.count }
    let kept = zip(old ?? [], list).prefix { $0 == $1 }.count
    if old.map({ $0.count > kept }) ?? true {
      try database.execute(
        "DELETE FROM \(table) WHERE recording = ? AND number >= ?", [.int(id), .int(Int64(kept))])
    }
    return kept
  }

  func remove(_ id: Int64) throws {
    try database.execute("DELETE FROM recording WHERE id = ?", [.int(id)])
  }

  private static let columns =
    "id, path, part, station, url, start, codec, sample_rate, channels, samples, bytes, state, error, join_base, job, lead"
  private static let upsert = """
    INSERT INTO recording (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET path = excluded.path, part = excluded.part, station = excluded.station,
      url = excluded.url, start = excluded.start, codec = excluded.codec, sample_rate = excluded.sample_rate,
      channels = excluded.channels, samples = excluded.samples, bytes = excluded.bytes, state = excluded.state,
      error = excluded.error, join_base = excluded.join_base, job = excluded.job, lead = excluded.lead
    """

  private static func values(of entry: RecordingEntry) -> [DatabaseValue] {
    [
      .int(entry.id), .text(entry.path), .init(entry.part), .init(entry.station), .text(entry.url),
      .int(entry.start.nanoseconds), .text(entry.codec), .int(Int64(entry.sampleRate)),
      .int(Int64(entry.channels)), .int(Int64(entry.samples)), .int(Int64(entry.bytes)),
      .text(entry.state.rawValue), .init(entry.error), .init(entry.joinBase), .init(entry.job),
      .real(entry.lead),
    ]
  }

  // MARK: Reading

  /// Returns the recordings that match `condition`, which may end with an order.
  func entries(_ condition: String, _ values: [DatabaseValue]) throws -> [RecordingEntry] {
    try database.query("SELECT \(Self.columns) FROM recording WHERE \(condition)", values).map(entry)
  }

  func entries(matching filter: Catalogue.Filter) throws -> [RecordingEntry] {
    let condition = """
      start >= ? AND start < ? AND state = coalesce(?, state) AND (? IS NULL OR job = ?)
      ORDER BY start DESC, path, id
      """
    let values: [DatabaseValue] = [
      .int(filter.since?.nanoseconds ?? .min), .int(filter.until?.nanoseconds ?? .max),
      .init(filter.state?.rawValue), .init(filter.job), .init(filter.job),
    ]
    let (station, title) = (filter.station?.lowercased(), filter.title?.lowercased())
    let limit = filter.limit ?? .max
    var found: [RecordingEntry] = []
    guard limit > 0 else { return [] }
    // SQLite folds the case of ASCII only.
    try database.query("SELECT \(Self.columns) FROM recording WHERE \(condition)", values) { row in
      let name = try row.textOrNil(3)?.lowercased() ?? ""
      guard station.map(name.contains) ?? true else { return true }
      let entry = try entry(row)
      if let title, !entry.titles.contains(where: { $0.text.lowercased().contains(title) }) { return true }
      found.append(entry)
      return found.count < limit
    }
    return found
  }

  private func entry(_ row: DatabaseRow) throws -> RecordingEntry {
    guard let state = RecordingEntry.State(rawValue: try row.text(11)) else {
      throw DatabaseError(.damaged, path: database.path, "a recording is in no known state")
    }
    let id = try row.int(0)
    var entry = RecordingEntry(
      path: try row.text(1), part: try row.textOrNil(2), station: try row.textOrNil(3), url: try row.text(4),
      start: WallTime(nanoseconds: try row.int(5)), codec: try row.text(6), sampleRate: Int(try row.int(7)),
      channels: Int(try row.int(8)), samples: Int(try row.int(9)), bytes: Int(try row.int(10)), state: state,
      error: try row.textOrNil(12), joinBase: try row.intOrNil(13).map(Int.init), job: try row.textOrNil(14))
    entry.id = id
    entry.lead = try row.real(15)
    entry.gaps =
      try database.query("SELECT at, seconds FROM gap WHERE recording = ? ORDER BY number", [.int(id)])
      .map { .init(at: try $0.real(0), seconds: try $0.real(1)) }
    entry.titles =
      try database.query("SELECT at, text FROM title WHERE recording = ? ORDER BY number", [.int(id)])
      .map { .init(at: try $0.real(0), text: try $0.text(1)) }
    return entry
  }
}
