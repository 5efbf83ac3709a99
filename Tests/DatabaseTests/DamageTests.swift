import Database
import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("Damaged databases", .tags(.database, .hostile)) struct DamageTests {
  private let folder: TemporaryFolder
  private let path: String
  private static let tables = ["CREATE TABLE song (name TEXT NOT NULL) STRICT"]

  init() throws {
    folder = try TemporaryFolder()
    path = folder.file("songs.db")
  }

  private func open() throws -> (database: Database, setAside: String?) {
    try Database.openOrRenew(path: path, migrations: Self.tables)
  }

  private func songs(_ database: Database) throws -> [String] {
    try database.query("SELECT name FROM song ORDER BY name").map { try $0.text(0) }
  }

  @Test("a whole file is opened as it is") func whole() throws {
    try open().database.execute("INSERT INTO song VALUES ('one')")
    let again = try open()
    #expect(again.setAside == nil)
    #expect(try songs(again.database) == ["one"])
  }

  @Test("a file that is no database is set aside, under a free name") func noDatabase() throws {
    let rubbish =
      [UInt8]("this is a list of songs, and no database at all".utf8) + [UInt8](repeating: 7, count: 9_000)
    for target in [path + ".damaged", path + ".damaged-2"] {
      _ = try folder.write(rubbish, to: "songs.db")
      let error = #expect(throws: DatabaseError.self) { try Database(path: path) }
      #expect(error?.message == "the database \(path) is damaged: file is not a database")
      let opened = try open()
      #expect(opened.setAside == target)
      #expect(try readBytes(target) == rubbish)
      try opened.database.execute("INSERT INTO song VALUES ('new')")
      #expect(try songs(opened.database) == ["new"])
    }
  }

  @Test("a file that turns out to be damaged while it is open is set aside, and only once")
  func damagedInUse() throws {
    let first = try open().database
    for number in 0..<500 { try first.execute("INSERT INTO song VALUES (?)", [.text("\(number)")]) }
    try first.query("PRAGMA wal_checkpoint(TRUNCATE)", []) { _ in true }
    let second = try open().database
    _ = try songs(second)
    // All pages but the first, which identifies the file.
    let descriptor = Glibc.open(path, O_WRONLY)
    let rubbish = [UInt8](repeating: 0xa5, count: 4096)
    for page in 1..<3 {
      _ = rubbish.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, page * 4096) }
    }
    let fresh = try Database(path: path, migrations: Self.tables)
    close(descriptor)
    let error = #expect(throws: DatabaseError.self) { _ = try songs(fresh) }
    #expect(error?.kind == .damaged)

    let renewed = try fresh.renewed(migrations: Self.tables)
    #expect(renewed.setAside == path + ".damaged")
    try renewed.database.execute("INSERT INTO song VALUES ('new')")
    #expect(second.hasMoved)
    let other = try second.renewed(migrations: Self.tables)
    #expect(other.setAside == nil)
    #expect(try songs(other.database) == ["new"])
  }

  @Test("a file that was removed is begun anew, with the folder that went with it") func removed() throws {
    let path = folder.path + "/state/songs.db"
    let database = try Database(path: path, migrations: Self.tables)
    #expect(!database.hasMoved)
    try Command.succeed("rm", ["-r", folder.path + "/state"])
    #expect(database.hasMoved)
    let renewed = try database.renewed(migrations: Self.tables)
    #expect(renewed.setAside == nil)
    #expect(!renewed.database.hasMoved)
    #expect(try songs(renewed.database).isEmpty)
  }

  @Test(
    "a file that ends at any byte is opened, or set aside",
    arguments: [1, 16, 99, 100, 512, 4095, 4096, 6000])
  func cutOff(_ length: Int) throws {
    do {
      let database = try open().database
      for number in 0..<500 { try database.execute("INSERT INTO song VALUES (?)", [.text("\(number)")]) }
    }
    truncate(path, length)
    let opened = try open()
    do {
      try opened.database.execute("INSERT INTO song VALUES ('new')")
    } catch {
      #expect(error.kind == .damaged)
      let renewed = try opened.database.renewed(migrations: Self.tables)
      #expect(renewed.setAside != nil)
      try renewed.database.execute("INSERT INTO song VALUES ('new')")
    }
  }
}
