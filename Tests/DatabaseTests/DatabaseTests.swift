import Database
import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("Databases", .tags(.database)) struct DatabaseTests {
  private let folder: TemporaryFolder
  private let path: String
  private static let tables = [
    "CREATE TABLE song (name TEXT NOT NULL UNIQUE, plays INTEGER, gain REAL, cover BLOB) STRICT"
  ]

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path + "/state/songs.db"
  }

  private func open(_ migrations: [String] = tables) throws(DatabaseError) -> Database {
    try Database(path: path, migrations: migrations, busyTimeout: .seconds(30))
  }

  @Test("written rows are there when it is opened again") func keepsValues() throws {
    let cover: [UInt8] = [0, 255, 7]
    let name = "Café d'Or '; DROP TABLE song; -- \u{0} 🎶"
    do {
      let database = try open()
      let changes = try database.execute(
        "INSERT INTO song VALUES (?, ?, ?, ?), (?, ?, ?, ?)",
        [.text(name), .int(.min), .real(-0.5), .blob(cover), "empty", .null, .null, .blob([])])
      #expect(changes == 2)
    }
    let rows = try open().query("SELECT * FROM song ORDER BY plays DESC")
    #expect(
      rows.map(\.values) == [
        [.text(name), .int(.min), .real(-0.5), .blob(cover)], [.text("empty"), .null, .null, .blob([])],
      ])
    #expect(try rows[0].text(0) == name)
    #expect(try rows[1].intOrNil(1) == nil)
  }

  @Test("a new file, its log and its folders are the owner's alone; one that is there keeps its rights")
  func ownersAlone() throws {
    func rights(_ path: String) -> mode_t {
      var info = stat()
      return stat(path, &info) == 0 ? info.st_mode & 0o777 : 0
    }
    let database = try open()
    try database.execute("INSERT INTO song (name) VALUES ('mine')")
    #expect(
      rights(path) == 0o600 && rights(path + "-wal") == 0o600 && rights(folder.path + "/state") == 0o700)
    #expect(chmod(path, 0o640) == 0)
    #expect(try open().query("SELECT name FROM song").count == 1)
    #expect(rights(path) == 0o640)
  }

  @Test("one that a symbolic link is to lead to is the owner's alone too") func linked() throws {
    for name in ["target", "other"] {
      let link = folder.file(name + ".db")
      try #require(symlink(name == "target" ? folder.file(name) : name, link) == 0)
      _ = try Database(path: link, migrations: Self.tables)
      var info = stat()
      #expect(lstat(folder.file(name), &info) == 0 && info.st_mode == S_IFREG | 0o600)
    }
  }

  @Test("a database in memory is private, and leaves no file") func inMemory() throws {
    let database = try Database(path: Database.inMemory, migrations: Self.tables)
    try database.transaction(durable: true) { try database.execute("INSERT INTO song (name) VALUES ('new')") }
    #expect(try database.query("SELECT name FROM song").count == 1 && !database.hasMoved)
    #expect(
      try Database(path: Database.inMemory, migrations: Self.tables).query("SELECT 1 FROM song").isEmpty)
    #expect(access(Database.inMemory, F_OK) != 0)
  }

  @Test("a transaction that throws leaves nothing behind, one in it neither") func rollsBack() throws {
    struct Stop: Error {}
    let database = try open()
    try database.execute("INSERT INTO song (name) VALUES ('first')")
    #expect(throws: Stop.self) {
      try database.transaction {
        try database.execute("INSERT INTO song (name) VALUES ('second')")
        try database.transaction(durable: true) {
          try database.execute("INSERT INTO song (name) VALUES ('third')")
        }
        throw Stop()
      }
    }
    try database.transaction(durable: true) {
      try database.execute("INSERT INTO song (name) VALUES ('fourth')")
    }
    #expect(try database.query("SELECT name FROM song").map { try $0.text(0) } == ["first", "fourth"])
  }

  @Test("rows are delivered until the reader stops, also with other queries under way") func readsNested()
    throws
  {
    let database = try open()
    for number in 1...5 {
      try database.execute(
        "INSERT INTO song (name, plays) VALUES (?, ?)", [.text("\(number)"), .int(Int64(number))])
    }
    var seen: [String] = []
    let sql = "SELECT name FROM song WHERE plays >= ? ORDER BY plays"
    try database.query(sql, [2]) { row in
      let others = try database.query(sql, [.int(5)]).map { try $0.text(0) }
      seen.append(try row.text(0) + others.joined())
      return seen.count < 3
    }
    #expect(seen == ["25", "35", "45"])
    #expect(try database.query(sql, [4]).count == 2)
  }

  @Test("a file goes through the migrations that it has not seen, each once") func migrates() throws {
    try open().execute("INSERT INTO song (name) VALUES ('old')")
    let more = Self.tables + ["ALTER TABLE song ADD COLUMN year INTEGER; UPDATE song SET year = 1999"]
    #expect(try open(more).query("SELECT year FROM song").first?.int(0) == 1999)
    #expect(try open(more).query("SELECT count(*) FROM song").first?.int(0) == 1)
    let error = #expect(throws: DatabaseError.self) { try open() }
    #expect(error?.kind == .newer)
    #expect(
      error?.description
        == "a newer roomtone made the database \(path) (database.newer); run the newer roomtone, or move the file away"
    )
  }

  @Test("a migration that fails leaves the file as it was") func failedMigration() throws {
    _ = try open()
    let bad = Self.tables + ["CREATE TABLE more (x INTEGER); CREATE NONSENSE"]
    #expect(throws: DatabaseError.self) { try open(bad) }
    #expect(try open().query("SELECT name FROM sqlite_schema WHERE name = 'more'").isEmpty)
  }

  @Test("mistakes in statements and values that a table refuses are reported with SQLite's message")
  func mistakes()
    throws
  {
    let database = try open()
    func kind(_ sql: String, _ values: [DatabaseValue] = []) -> DatabaseError? {
      #expect(throws: DatabaseError.self) { try database.execute(sql, values) }
    }
    let error = kind("SELECT year FROM song")
    #expect(error?.message == "the database \(path) refuses a statement: no such column: year")
    #expect(kind("INSERT INTO song (name) VALUES (?)")?.message.hasSuffix("0 values for 1 places") == true)
    #expect(kind("")?.kind == .statement)
    try database.execute("INSERT INTO song (name) VALUES ('one')")
    #expect(kind("INSERT INTO song (name) VALUES ('one')")?.kind == .statement)
    #expect(kind("INSERT INTO song (name, plays) VALUES ('x', 'many')")?.kind == .statement)
    #expect(kind("INSERT INTO song (name, cover) VALUES ('x', zeroblob(20000000))")?.kind == .statement)
    let row = try #require(try database.query("SELECT name FROM song").first)
    #expect(throws: DatabaseError(.damaged, path: path, "column 0 of a row is not a whole number")) {
      try row.int(0)
    }
  }

  @Test("a file that can't be opened is reported with the reason") func cannotOpen() throws {
    mkdir(folder.path + "/state", 0o700)
    mkdir(path, 0o700)
    let error = #expect(throws: DatabaseError.self) { try open() }
    #expect(error?.kind == .unavailable)
    #expect(error?.description.contains(path) == true)
    let absent = "/proc/nothing/songs.db"
    let other = #expect(throws: DatabaseError.self) { try Database(path: absent) }
    #expect(
      other?.message
        == "the database \(absent) can't be used: unable to open database file, no such file or directory")
  }

  @Test("several threads begin one file at once, and write to it in turn") func sharedFile() throws {
    let threads = 4
    let failures = Lock<[String]>([])
    let running = try (0..<threads).map { thread in
      try TestThread {
        do {
          let database = try open()
          for number in 0..<25 {
            try database.transaction {
              let count = try database.query("SELECT count(*) FROM song").first?.int(0) ?? -1
              try database.execute(
                "INSERT INTO song VALUES (?, ?, 0, x'')", [.text("\(thread).\(number)"), .int(count)])
            }
          }
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
      }
    }
    for thread in running { thread.join() }
    #expect(failures.withLock { $0 } == [])
    // Each transaction saw all rows that were inserted before it.
    let counts = try open().query("SELECT plays FROM song ORDER BY plays").map { try $0.int(0) }
    #expect(counts == (0..<Int64(threads * 25)).map { $0 })
  }

  @Test("a file that another one holds is waited for, and then named") func busy() throws {
    let holder = try open()
    let other = try Database(path: path, migrations: Self.tables, busyTimeout: .milliseconds(50))
    try holder.transaction {
      try holder.execute("INSERT INTO song (name) VALUES ('held')")
      // Readers are not blocked.
      #expect(try other.query("SELECT * FROM song").isEmpty)
      let error = #expect(throws: DatabaseError.self) { try other.transaction {} }
      #expect(error?.kind == .busy)
    }
    #expect(try other.query("SELECT * FROM song").count == 1)
  }
}
