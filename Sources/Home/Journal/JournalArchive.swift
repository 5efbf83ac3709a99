internal import Database
public import EventLoop
internal import Glibc
internal import JSONText

/// The changes of the last days in a SQLite file, of all processes. Batches are written one after the other,
/// each on a separate thread; the loop only reads. Confined to the loop.
public final class JournalArchive {
  /// The time for which changes are kept.
  public static let longest = Duration.seconds(30 * 86_400)
  /// The most changes that are kept.
  public static let capacity = 100_000
  /// The most bytes of the changes in the file, about.
  public static let usualBytes = 64 << 20
  /// The most changes that wait to be written; above that, the oldest are dropped, as in a file that is full.
  private static let mostWaiting = 20_000

  private let loop: EventLoop
  private let path: String
  private let room: DiskRoom
  private let mostBytes: Int
  private let log: (String) -> Void
  /// The identity of this process in the file.
  private let run: Int64
  private var waiting: [JournalEntry] = []
  private var isWriting = false
  private var lastFailure: String?
  private var reader: Database?

  private static let migrations = [
    """
    CREATE TABLE change (
      run INTEGER NOT NULL,
      number INTEGER NOT NULL,
      at INTEGER NOT NULL,
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      speakers TEXT NOT NULL,
      json TEXT NOT NULL,
      UNIQUE (run, number)
    ) STRICT;
    CREATE INDEX change_at ON change (at);
    CREATE INDEX change_name ON change (name, at);
    """
  ]

  /// An archive in the file at `path`, which is made with the first change.
  /// - Parameters:
  ///   - minimumFree: the free space of the disk, in bytes, that no new change may use.
  ///   - mostBytes: the bytes of the changes in the file from which on the oldest are removed.
  ///   - log: receives a line for the log, once for each kind of failure in a row.
  public init(
    path: String, minimumFree: Int = 0, loop: EventLoop, mostBytes: Int = JournalArchive.usualBytes,
    log: @escaping (String) -> Void
  ) {
    (self.path, self.loop, self.mostBytes, self.log) = (path, loop, mostBytes, log)
    room = DiskRoom(at: path, minimumFree: minimumFree)
    run = loop.wallNow.nanoseconds
  }

  /// Keeps changes; a change with a known number replaces the earlier one.
  func keep(_ changes: [JournalEntry]) {
    waiting += changes
    if waiting.count > Self.mostWaiting { waiting.removeFirst(waiting.count - Self.mostWaiting) }
    write()
  }

  private func write() {
    guard !isWriting, !waiting.isEmpty else { return }
    let (batch, path, room, run, now, mostBytes) = (waiting, path, room, run, loop.wallNow, mostBytes)
    waiting = []
    isWriting = true
    let (loop, hold) = (loop, loop.hold("the archive of changes"))
    let done = Completion { [weak self] failure in self?.written(failure) }
    do throws(LoopError) {
      try startDetachedThread("no thread for the archive of changes") {
        let failure =
          room.lack() ?? Self.write(batch, run, to: path, at: now, mostBytes: mostBytes)
        loop.post { done.body(failure) }
        hold.release()
      }
    } catch {
      hold.release()
      written(error.description)
    }
  }

  // @unchecked Sendable: called, and released, on the loop alone; the thread only passes it on.
  private final class Completion: @unchecked Sendable {
    let body: (String?) -> Void
    init(_ body: @escaping (String?) -> Void) { self.body = body }
  }

  private func written(_ failure: String?) {
    isWriting = false
    if let failure, failure != lastFailure { log("changes are not kept: \(failure)") }
    lastFailure = failure
    if failure == nil { write() }
  }

  /// Writes a batch, on its thread.
  /// - Returns: the failure; nil after success.
  private static func write(
    _ batch: [JournalEntry], _ run: Int64, to path: String, at now: WallTime, mostBytes: Int
  ) -> String? {
    do {
      let database = try Database.openOrRenew(path: path, migrations: migrations).database
      try database.transaction {
        for change in batch {
          try database.execute(
            """
            INSERT INTO change VALUES (?, ?, ?, ?, ?, ?, ?)
              ON CONFLICT DO UPDATE SET json = excluded.json, at = excluded.at
            """,
            [
              .int(run), .int(Int64(change.number)), .int(change.until.nanoseconds),
              .text(change.kind.rawValue), .text(change.name),
              .text("," + change.speakers.joined(separator: ",") + ","), .text(change.json.line),
            ])
        }
        try database.execute(
          "DELETE FROM change WHERE at < ?", [.int(now.advanced(by: .zero - longest).nanoseconds)])
        try database.execute(
          "DELETE FROM change WHERE rowid <= (SELECT max(rowid) FROM change) - ?", [.int(Int64(capacity))])
        try removeOldest(in: database, mostBytes)
      }
      return nil
    } catch { return "\(error)" }
  }

  /// Removes the oldest eighth of the changes, repeatedly, until the remaining changes are within the most
  /// bytes.
  private static func removeOldest(in database: Database, _ mostBytes: Int) throws {
    func number(_ text: String) throws -> Int64 { try database.query(text).first?.int(0) ?? 0 }
    let page = try number("PRAGMA page_size")
    while try (number("PRAGMA page_count") - number("PRAGMA freelist_count")) * page > Int64(mostBytes),
      try number("SELECT count(*) FROM change") > 1
    {
      try database.execute(
        "DELETE FROM change WHERE rowid <= (SELECT max(rowid) - (max(rowid) - min(rowid)) * 7 / 8 - 1 FROM change)"
      )
    }
  }

  /// Returns the latest changes that a filter selects, the oldest first.
  /// - Parameter number: changes of this process from that number on are left out; nil leaves all of them
  ///   out.
  func changes(_ filter: JournalFilter, before number: Int?, limit: Int) -> [JournalEntry] {
    guard limit > 0, access(path, F_OK) == 0 else { return [] }
    var conditions = ["(run <> ? OR number < ?)"]
    var values: [DatabaseValue] = [.int(run), .int(Int64(number ?? 1))]
    if let since = filter.since {
      conditions.append("at >= ?")
      values.append(.int(since.nanoseconds))
    }
    if let name = filter.name {
      conditions.append("name = ?")
      values.append(.text(name))
    }
    if let kinds = filter.kinds {
      conditions.append("kind IN (" + kinds.map { _ in "?" }.joined(separator: ", ") + ")")
      values += kinds.map(\.rawValue).sorted().map { .text($0) }
    }
    if let speakers = filter.speakers {
      conditions.append("(" + speakers.map { _ in "instr(speakers, ?) > 0" }.joined(separator: " OR ") + ")")
      values += speakers.sorted().map { .text(",\($0),") }
    }
    values.append(.int(Int64(limit)))
    do {
      if reader?.hasMoved == true { reader = nil }
      let database =
        try reader
        ?? Database.openOrRenew(path: path, migrations: Self.migrations, busyTimeout: .seconds(1)).database
      reader = database
      let rows = try database.query(
        "SELECT number, json FROM change WHERE \(conditions.joined(separator: " AND ")) "
          + "ORDER BY at DESC, rowid DESC LIMIT ?", values)
      return try rows.reversed().compactMap { row in
        JSON(parsing: try row.text(1).utf8).flatMap { JournalEntry($0, number: 0) }
      }
    } catch {
      log("older changes can't be read: \(error)")
      return []
    }
  }

  /// The last known moment of an earlier process: the end of a daemon, or its last change, after which it may
  /// have run for some time; nil without an earlier process.
  var last: (at: WallTime, isEnd: Bool)? {
    var filter = JournalFilter()
    filter.limit = 1
    return changes(filter, before: nil, limit: 1).last.map { ($0.until, $0.kind == .down) }
  }

  /// Closes the file for reading; a batch that is being written is completed.
  func close() { reader = nil }
}
