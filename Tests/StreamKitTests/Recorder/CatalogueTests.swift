import Database
import EventLoop
import Glibc
import RecordingKit
import TestSupport
import TestTraits
import Testing

@Suite("The catalogue of recordings", .waiting, .tags(.stream, .recordings, .recording)) struct CatalogueTests
{
  private let folder: TemporaryFolder
  private let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.file("catalogue.db")
  }

  private func show(_ name: String = "show", day: Int64 = 1) -> RecordingEntry {
    RecordingEntry(
      path: "/radio/\(name).mp3", part: "/radio/\(name).mp3.part", station: "Radio Élan",
      url: "http://radio/live",
      start: WallTime(seconds: day * 86_400), codec: "mp3", sampleRate: 44_100, channels: 2, job: "saturday")
  }

  @Test("a row has all that was entered, for any process that opens the catalogue") func roundTrip() throws {
    let catalogue = try Catalogue(path: path)
    var entry = show()
    entry.gaps = [.init(at: 1.5, seconds: 0.25)]
    entry.titles = [.init(at: 0, text: "Café – \"Live\""), .init(at: 3, text: "")]
    entry.error = "no space left"
    entry.joinBase = 417
    try catalogue.insert(&entry)
    #expect(entry.id > 0)
    let other = try Catalogue(path: path)
    #expect(try other.entry(path: entry.path) == entry)
    #expect(try other.entry(id: entry.id) == entry)
    #expect(try other.entry(path: "/radio/other.mp3") == nil)
    try catalogue.remove(entry.id)
    #expect(try other.entries() == [])
  }

  @Test("an update writes only the changed columns") func updates() throws {
    let catalogue = try Catalogue(path: path)
    let reader = try Catalogue(path: path)
    var (one, two) = (show("one"), show("two"))
    try catalogue.insert(&one)
    try catalogue.insert(&two)
    for step in 1...5 {
      (one.samples, one.bytes) = (step * 1152, step * 417)
      if step > 2 { one.titles.append(.init(at: Double(step), text: "Song \(step)")) }
      if step == 4 { one.gaps.append(.init(at: 4, seconds: 2)) }
      try catalogue.update([one, two])
      #expect(try reader.entry(id: one.id) == one)
      #expect(try reader.entry(id: two.id) == two)
    }
    // The end of a list is replaced when it has changed.
    one.titles[2].text = "Another song"
    one.gaps = []
    try catalogue.update([one])
    #expect(try reader.entry(id: one.id) == one)
    (one.state, one.part, one.path) = (.finished, nil, "/radio/one (2).mp3")
    two.state = .failed
    two.error = "the folder is gone"
    try catalogue.update([one, two])
    #expect(try reader.entry(id: one.id) == one)
    #expect(try reader.entry(id: two.id) == two)
    one.station = "Renamed"
    try catalogue.update([one])
    #expect(try reader.entry(id: one.id) == one)
  }

  @Test("unchanged progress is not written") func writesOnlyChanges() throws {
    let catalogue = try Catalogue(path: path)
    var entries = (0..<100).map { show("show \($0)") }
    for index in entries.indices { try catalogue.insert(&entries[index]) }
    let holder = try Database(path: path)
    // A write would fail: the other connection holds the lock.
    try holder.transaction { try catalogue.update(entries) }
    entries[7].bytes = 1
    try catalogue.update(entries)
    #expect(try catalogue.entry(id: entries[7].id)?.bytes == 1)
  }

  @Test("an update is all or nothing") func oneTransaction() throws {
    let catalogue = try Catalogue(path: path)
    var (one, two) = (show("one"), show("two"))
    try catalogue.insert(&one)
    try catalogue.insert(&two)
    let holder = try Database(path: path)
    _ = try holder.execute(
      "CREATE TRIGGER no BEFORE UPDATE ON recording WHEN new.bytes = 13 BEGIN SELECT raise(ABORT, 'no'); END")
    (one.bytes, two.bytes) = (12, 13)
    #expect(throws: DatabaseError.self) { try catalogue.update([one, two]) }
    #expect(try catalogue.entry(id: one.id)?.bytes == 0)
    // The update is still pending.
    two.bytes = 14
    try catalogue.update([one, two])
    #expect(try catalogue.entry(id: one.id)?.bytes == 12)
    #expect(try catalogue.entry(id: two.id)?.bytes == 14)
  }

  @Test("the latest come first, and only those that are asked for") func filters() throws {
    let catalogue = try Catalogue(path: path)
    for day in [3, 1, 5, 2, 4] as [Int64] {
      var entry = show("\(day)", day: day)
      entry.titles = [.init(at: 0, text: day.isMultiple(of: 2) ? "Étude No. \(day)" : "News")]
      if day == 5 { (entry.state, entry.station, entry.job) = (.finished, nil, nil) }
      try catalogue.insert(&entry)
    }
    func days(_ filter: Catalogue.Filter) throws -> [Int64] {
      try catalogue.entries(matching: filter).map { $0.start.seconds / 86_400 }
    }
    #expect(try days(.init()) == [5, 4, 3, 2, 1])
    #expect(try days(.init(limit: 2)) == [5, 4])
    #expect(try days(.init(limit: 0)) == [])
    #expect(try days(.init(title: "éTUDE")) == [4, 2])
    #expect(try days(.init(title: "éTUDE", limit: 1)) == [4])
    #expect(try days(.init(station: "ÉLAN")) == [4, 3, 2, 1])
    #expect(try days(.init(station: "nobody")) == [])
    #expect(
      try days(.init(since: WallTime(seconds: 2 * 86_400), until: WallTime(seconds: 4 * 86_400))) == [3, 2])
    #expect(try days(.init(state: .finished)) == [5])
    #expect(try days(.init(job: "saturday", limit: 1)) == [4])
    #expect(try days(.init(job: "' OR 1 --")) == [])
    #expect(try catalogue.openEntries().map(\.path) == (1...5).map { "/radio/\($0).mp3" })
  }

  @Test("a recording that was joined to a file is one with it") func joins() throws {
    let catalogue = try Catalogue(path: path)
    var first = show()
    (first.part, first.state, first.samples, first.bytes) = (nil, .finished, 441_000, 160_000)
    first.titles = [.init(at: 2, text: "One")]
    first.gaps = [.init(at: 3, seconds: 1)]
    try catalogue.insert(&first)
    var more = show(day: 2)
    (more.joinBase, more.samples, more.bytes) = (160_417, 44_100, 16_000)
    more.titles = [.init(at: 0.5, text: "Two")]
    more.gaps = [.init(at: 0.25, seconds: 4)]
    try catalogue.insert(&more)
    #expect(try catalogue.entry(path: more.path) == first)
    more.state = .finished
    let whole = try catalogue.join(more)
    #expect(try catalogue.entries() == [whole])
    #expect(whole.start == first.start && whole.state == .finished && whole.id == more.id)
    #expect(whole.samples == 485_100 && whole.bytes == 176_000 && whole.seconds == 11)
    #expect(whole.titles == [.init(at: 2, text: "One"), .init(at: 10.5, text: "Two")])
    #expect(whole.gaps == [.init(at: 3, seconds: 1), .init(at: 10.25, seconds: 4)])
  }

  @Test("a recording that was joined to an unknown file counts that file's content") func joinsUnknown()
    throws
  {
    let catalogue = try Catalogue(path: path)
    var more = show()
    (more.joinBase, more.samples, more.bytes, more.titles) = (1, 44_100, 16_000, [.init(at: 0, text: "Two")])
    try catalogue.insert(&more)
    let whole = try catalogue.join(more, earlier: (samples: 88_200, bytes: 32_000))
    #expect(whole.seconds == 3 && whole.bytes == 48_000 && whole.titles == [.init(at: 2, text: "Two")])
    #expect(try catalogue.entries() == [whole])
  }

  @Test("a damaged file is set aside with a line for the log") func damagedAtStart() throws {
    _ = try folder.write([UInt8](repeating: 9, count: 5_000), to: "catalogue.db")
    var lines: [String] = []
    let catalogue = try Catalogue(path: path) { lines.append($0) }
    #expect(lines == ["the catalogue of recordings was damaged and is now \(path).damaged; a new one begins"])
    var entry = show()
    try catalogue.insert(&entry)
    #expect(try catalogue.entries() == [entry])
  }

  @Test(
    "recordings that are open are entered again after damage, found by either process",
    arguments: [false, true])
  func damagedWhileRecording(foundByOther: Bool) throws {
    var lines: [String] = []
    let catalogue = try Catalogue(path: path) { lines.append($0) }
    var entries = (0..<200).map { show("show \($0)") }
    for index in entries.indices {
      entries[index].titles = [.init(at: 0, text: "Song")]
      try catalogue.insert(&entries[index])
    }
    let observer = try Database(path: path)
    _ = try observer.query("PRAGMA wal_checkpoint(TRUNCATE)")
    // The first page, which identifies the file, stays intact.
    let length = try readBytes(path).count
    let descriptor = open(path, O_WRONLY)
    let rubbish = [UInt8](repeating: 0xa5, count: length - 4096)
    #expect(rubbish.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 4096) } == rubbish.count)
    close(descriptor)
    // A write by another connection makes every connection read again.
    try observer.execute("PRAGMA user_version = 2")

    var (others, other) = ([String](), Catalogue?.none)
    if foundByOther {
      other = try Catalogue(path: path) { others.append($0) }
      #expect(try other?.entries() == [])
    }
    for index in entries.indices where index != 5 { entries[index].bytes = 417 }
    entries[3].titles.append(.init(at: 9, text: "Another"))
    try catalogue.update(entries)
    #expect(lines.count == (foundByOther ? 0 : 1) && others.count == (foundByOther ? 1 : 0))
    let seen = try other ?? Catalogue(path: path)
    #expect(try Set(seen.entries().map(\.path)) == Set(entries.map(\.path)))
    #expect(try seen.entry(id: entries[3].id) == entries[3])
    #expect(try readBytes(path + ".damaged").count == length)
  }

  @Test("recordings that are open are entered again where the file was removed") func removedWhileRecording()
    throws
  {
    let catalogue = try Catalogue(path: path)
    var entry = show()
    try catalogue.insert(&entry)
    for name in ["catalogue.db", "catalogue.db-wal", "catalogue.db-shm"] { unlink(folder.file(name)) }
    entry.bytes = 417
    try catalogue.update([entry])
    #expect(try Catalogue(path: path).entries() == [entry])
  }

  @Test("two processes write to it in turn") func shared() throws {
    let failures = Lock<[String]>([])
    let threads = try (0..<3).map { number in
      try TestThread {
        do {
          let catalogue = try Catalogue(path: path)
          var entry = show("\(number)")
          try catalogue.insert(&entry)
          for step in 1...50 {
            entry.bytes = step
            try catalogue.update([entry])
          }
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(failures.withLock { $0 } == [])
    #expect(try Catalogue(path: path).entries().map(\.bytes) == [50, 50, 50])
  }

  @Test("a thousand recordings that grow are one transaction") func thousand() throws {
    let catalogue = try Catalogue(path: path)
    var entries = (0..<1_000).map { show("show \($0)") }
    try catalogue.update([])
    for index in entries.indices { try catalogue.insert(&entries[index]) }
    let observer = try Database(path: path)
    _ = try observer.query("PRAGMA wal_checkpoint(TRUNCATE)")
    for step in 1...3 {
      for index in entries.indices {
        (entries[index].bytes, entries[index].samples) = (step * 8_000, step * 22_050)
      }
      try catalogue.update(entries)
    }
    // The log holds each changed page once for each transaction.
    let pages = try readBytes(path).count / 4096
    let frames = try readBytes(path + "-wal").count / 4096
    #expect(frames < 3 * pages)
    #expect(try catalogue.entries().allSatisfy { $0.bytes == 24_000 && $0.samples == 66_150 })
  }
}
