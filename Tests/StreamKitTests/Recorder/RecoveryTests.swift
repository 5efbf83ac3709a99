import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import RecordingKit

@Suite("Recordings whose process ended", .waiting, .tags(.stream, .recording, .recovery)) struct RecoveryTests
{
  @Test(
    "are cut to their last whole frame and named, wherever they ended",
    arguments: FrameProgramme.Kind.allCases)
  func names(kind: FrameProgramme.Kind) throws {
    let fixture = try LibraryFolder(kind)
    var random = SeededRandom(seed: 3)
    for round in 0..<12 {
      let count = Int.random(in: 1..<programmeEnd(fixture), using: &random)
      // The row is older than the part; after a power cut it may be newer.
      let row = round.isMultiple(of: 4) ? count + 1 : Int.random(in: 0...count, using: &random)
      let next = fixture.bytes(count..<(count + 1))
      let rest = next.prefix(Int.random(in: 0..<next.count, using: &random))
      let name = "show \(round).mp3"
      try fixture.left(name, row: 0..<row, part: fixture.tag + fixture.bytes(0..<count) + rest)
      let recovered = try fixture.library.recover(now: fixture.now)
      #expect(recovered.map(\.outcome) == [.named])
      #expect(try readBytes(fixture.path(name)) == fixture.tag + fixture.bytes(0..<count))
      let entry = try #require(try fixture.catalogue.entry(path: fixture.path(name)))
      #expect(entry.state == .recovered && entry.part == nil && entry.samples == fixture.samples(0..<count))
      #expect(try fixture.isGood(name))
    }
    #expect(try fixture.library.recover(now: fixture.now).isEmpty)
    #expect(try fixture.names().allSatisfy { !$0.hasSuffix(".part") })
  }

  private func programmeEnd(_ fixture: LibraryFolder) -> Int { fixture.programme.frames.count - 1 }

  @Test("only the end of what the row did not know is read") func readsLittle() throws {
    let fixture = try LibraryFolder()
    // Garbage in the frames that the row covers: it is not read.
    var part = fixture.tag + fixture.bytes(0..<100)
    for index in fixture.tag.count..<(fixture.tag.count + 5_000) { part[index] = 0 }
    try fixture.left("show.mp3", row: 0..<90, part: part)
    _ = try fixture.library.recover(now: fixture.now)
    #expect(try fixture.catalogue.entries().map(\.samples) == [fixture.samples(0..<100)])
    #expect(try !fixture.isGood("show.mp3"))
  }

  @Test("get the next number when their name is in use by then") func nameInUse() throws {
    let fixture = try LibraryFolder()
    try fixture.left("show.mp3", row: 0..<10, part: fixture.bytes(0..<20))
    _ = try fixture.folder.write([1, 2, 3], to: "show.mp3")
    let recovered = try fixture.library.recover(now: fixture.now)
    #expect(recovered.map(\.description) == ["recovered \(fixture.path("show (2).mp3")), 0 s"])
    #expect(try fixture.names() == ["show (2).mp3", "show.mp3"])
    #expect(try fixture.isGood("show (2).mp3"))
  }

  @Test("leave an empty part alone whose recording begins at this moment: its owner is about to lock it")
  func beginning() throws {
    let fixture = try LibraryFolder()
    try fixture.left("show.mp3", row: 0..<0, part: []) { $0.start = fixture.now.advanced(by: .seconds(-1)) }
    #expect(try fixture.library.recover(now: fixture.now).isEmpty)
    #expect(try fixture.names() == ["show.mp3.part"] && fixture.catalogue.entries().count == 1)
  }

  @Test("leave nothing behind when no frame was whole", arguments: [0, 1, 100, 5_000]) func nothing(
    _ length: Int
  ) throws {
    let fixture = try LibraryFolder()
    let part = (fixture.tag + fixture.bytes(0..<1).dropLast()).prefix(length)
    try fixture.left("show.mp3", row: 0..<0, part: Array(part))
    let recovered = try fixture.library.recover(now: fixture.now)
    #expect(recovered.map(\.outcome) == [.gone])
    #expect(try fixture.names().isEmpty && fixture.catalogue.entries().isEmpty)
  }

  @Test("lose their row when the part never came, but not in the moment in which it is made")
  func neverBegun() throws {
    let fixture = try LibraryFolder()
    try fixture.left("old.mp3", row: 0..<0, part: nil)
    try fixture.left("new.mp3", row: 0..<0, part: nil) { $0.start = fixture.now }
    #expect(try fixture.library.recover(now: fixture.now).map(\.entry.path) == [fixture.path("old.mp3")])
    #expect(try fixture.catalogue.entries().map(\.path) == [fixture.path("new.mp3")])
  }

  @Test("are left alone while a process writes them") func held() throws {
    let fixture = try LibraryFolder()
    var entry = try fixture.left("show.mp3", row: 0..<0, part: nil)
    let part = try PartFile.create(path: entry.path)
    try part.write(fixture.bytes(0..<3) + [0xFF])
    #expect(try fixture.library.recover(now: fixture.now).isEmpty)
    #expect(try fixture.library.repair(folder: fixture.folder.path, now: fixture.now).isEmpty)
    let verdict = try fixture.library.verify(entry.path)
    #expect(verdict.isOpen && verdict.frames == 3 && verdict.path == entry.part && verdict.isGood)
    #expect(throws: RecordError.self) { try fixture.library.forget(entry.path) }
    entry.bytes = 7
    try fixture.catalogue.update([entry])
    #expect(try fixture.catalogue.entries() == [entry])
    part.abandon(keep: true)
    #expect(try fixture.library.recover(now: fixture.now).count == 1)
    #expect(try fixture.isGood("show.mp3"))
  }

  @Test("are left alone between their renaming and the update of their row") func beingFinished() throws {
    let fixture = try LibraryFolder()
    var entry = try fixture.left("show.mp3", row: 0..<40, part: nil)
    let part = try PartFile.create(path: entry.path)
    try part.write(fixture.tag + fixture.bytes(0..<40))
    _ = try part.finish(as: entry.path, syncs: false)
    #expect(try fixture.library.recover(now: fixture.now).isEmpty)
    (entry.part, entry.state) = (nil, .finished)
    try fixture.catalogue.update([entry])
    part.release()
    #expect(try fixture.library.recover(now: fixture.now).isEmpty)
    #expect(try fixture.catalogue.entries() == [entry])
  }

  @Test("are found by their name when only the row was not yet written", arguments: [false, true])
  func renamed(isNumbered: Bool) throws {
    let fixture = try LibraryFolder()
    try fixture.left("show.mp3", row: 0..<40, part: nil)
    if isNumbered { try fixture.finished("show.mp3", 0..<80) }
    let name = isNumbered ? "show (2).mp3" : "show.mp3"
    _ = try fixture.folder.write(fixture.tag + fixture.bytes(0..<50), to: name)
    #expect(try fixture.library.recover(now: fixture.now).map(\.entry.path) == [fixture.path(name)])
    #expect(try fixture.isGood(name))
    #expect(try fixture.catalogue.entries().count == (isNumbered ? 2 : 1))
  }

  @Test("do not mistake a foreign file for theirs") func stranger() throws {
    let fixture = try LibraryFolder()
    try fixture.left("show.mp3", row: 0..<40, part: nil)
    _ = try fixture.folder.write(fixture.bytes(0..<30), to: "show.mp3")
    #expect(try fixture.library.recover(now: fixture.now).isEmpty)
    #expect(try fixture.names() == ["show.mp3"] && fixture.catalogue.entries().map(\.state) == [.recording])
  }

  @Test(
    "whose disk is not mounted are left alone, and made whole when it is: its path may be an empty folder",
    arguments: [false, true])
  func unmounted(isPlaceThere: Bool) throws {
    let fixture = try LibraryFolder()
    let (disk, away) = (fixture.path("disk"), fixture.path("away"))
    mkdir(disk, 0o700)
    try fixture.left("disk/show.mp3", row: 0..<40, part: fixture.tag + fixture.bytes(0..<50))
    // The row has no byte of this part, which only an empty mount point distinguishes from one that never
    // came.
    if !isPlaceThere { try fixture.left("disk/new.mp3", row: 0..<0, part: fixture.bytes(0..<9)) }
    var joined = try fixture.left("disk/joined.mp3", row: 0..<20, part: fixture.bytes(0..<20)) {
      $0.joinBase = 1
    }
    joined.state = .finished
    try fixture.catalogue.update([joined])
    _ = try fixture.folder.write(fixture.bytes(0..<20), to: "disk/joined.mp3")
    let rows = try fixture.catalogue.entries()

    rename(disk, away)
    if isPlaceThere { mkdir(disk, 0o700) }
    #expect(try fixture.library.recover(now: fixture.now).isEmpty)
    #expect(try fixture.catalogue.entries() == rows)
    rmdir(disk)
    rename(away, disk)
    #expect(try fixture.library.recover(now: fixture.now).map(\.outcome).allSatisfy { $0 == .named })
    #expect(
      fileNames(in: disk).sorted()
        == (isPlaceThere ? [] : ["new.mp3"]).reduce(["joined.mp3", "show.mp3"]) {
          ($0 + [$1]).sorted()
        })
    #expect(try fixture.isGood("disk/show.mp3") && fixture.isGood("disk/joined.mp3"))
  }

  @Test("whose part was removed are reported by repair, hold up nothing, and are deleted when too old")
  func lost() throws {
    let fixture = try LibraryFolder()
    let row = try fixture.left("show.mp3", row: 0..<40, part: nil)
    #expect(try fixture.library.recover(now: fixture.now).isEmpty)
    try fixture.finished("show.mp3", 0..<20)
    _ = try fixture.folder.write(fixture.tag + fixture.bytes(0..<20) + [0xFF, 0xFB], to: "show.mp3")
    #expect(
      try fixture.library.repair(now: fixture.now).map(\.outcome) == [.cut(bytes: 2), .lost])
    #expect(try fixture.catalogue.entries().contains(row))
    #expect(try fixture.library.expire(keep: .zero, now: fixture.now) == [row.path])
    #expect(try fixture.catalogue.entries().isEmpty && fixture.names().isEmpty)
  }

  @Test("as WAV state the length that is there") func wav() throws {
    let fixture = try LibraryFolder()
    let path = fixture.folder.file("sound.wav")
    try Command.succeed(
      "ffmpeg",
      [
        "-v", "error", "-i", Fixtures.path("music-44k.flac"), "-t", "1", "-c:a", "pcm_s16le", "-bitexact",
        path,
      ])
    let sound = try readBytes(path)
    try fixture.left("show.wav", row: 0..<0, part: Array(sound.dropLast(1_001))) { entry in
      (entry.codec, entry.sampleRate, entry.channels) = ("wav", 44_100, 2)
    }
    #expect(try fixture.library.recover(now: fixture.now).map(\.outcome) == [.named])
    #expect(try fixture.isGood("show.wav"))
    #expect(try fixture.library.verify(fixture.path("show.wav")).samples == (sound.count - 44) / 4 - 251)
  }

  @Test("whose sound has no frames are kept as they are") func opaque() throws {
    let fixture = try LibraryFolder()
    let bytes = Array("fLaC".utf8) + [UInt8](repeating: 3, count: 300)
    try fixture.left("show.flac", row: 0..<0, part: bytes) { ($0.codec, $0.sampleRate) = ("flac", 0) }
    #expect(try fixture.library.recover(now: fixture.now).map(\.outcome) == [.named])
    #expect(try readBytes(fixture.path("show.flac")) == bytes)
    // Only decoding finds the damage.
    #expect(try fixture.library.verify(fixture.path("show.flac")).damage != nil)
  }

  @Test("that can't be made whole stay, and hold up no other") func fails() throws {
    let fixture = try LibraryFolder()
    try fixture.left("a.mp3", row: 0..<0, part: nil)
    mkdir(fixture.path("a.mp3.part"), 0o700)
    try fixture.left("b.mp3", row: 0..<5, part: fixture.bytes(0..<9))
    let recovered = try fixture.library.recover(now: fixture.now)
    #expect(recovered.map(\.entry.path) == [fixture.path("a.mp3"), fixture.path("b.mp3")])
    guard case .failed(let error) = recovered[0].outcome else {
      Issue.record("recovered a folder")
      return
    }
    #expect(error.kind == .write)
    #expect(try fixture.catalogue.entry(path: fixture.path("a.mp3"))?.state == .recording)
    #expect(try fixture.isGood("b.mp3"))
  }
}

@Suite("Continued recordings whose process ended", .waiting, .tags(.stream, .recording, .recovery))
struct JoinRecoveryTests {
  /// The last step that the process reached.
  enum Moment: CaseIterable, Sendable {
    case recording, begun, copying, copied, entered, removed
  }

  @Test(
    "are put behind the file that they continue, once, whenever that was", arguments: Moment.allCases,
    [true, false])
  func joins(moment: Moment, isKnown: Bool) throws {
    let fixture = try LibraryFolder()
    let (first, more) = (0..<60, 60..<100)
    if isKnown { try fixture.finished("show.mp3", first) }
    let old = fixture.tag + fixture.bytes(first)
    let new = fixture.bytes(more)
    let copied: Int =
      switch moment {
      case .recording, .begun: 0
      case .copying: new.count / 2 + 7
      case .copied, .entered, .removed: new.count
      }
    _ = try fixture.folder.write(old + new.prefix(copied), to: "show.mp3")
    let rest: [UInt8] = moment == .recording ? [0xFF, 0xFB, 1] : []
    var entry = try fixture.left("show.mp3", row: more, part: new + rest) { entry in
      entry.state = moment == .recording ? .recording : .joining
      entry.joinBase = old.count
      entry.titles = [.init(at: 0.5, text: "Two")]
    }
    if moment == .entered || moment == .removed {
      entry.state = .finished
      entry = try fixture.catalogue.join(entry, earlier: (fixture.samples(first), fixture.bytes(first).count))
    }
    if moment == .removed { unlink(fixture.path("show.mp3.part")) }
    let recovered = try fixture.library.recover(now: fixture.now)
    #expect(recovered.map(\.outcome) == (moment == .entered || moment == .removed ? [] : [.joined]))
    #expect(try readBytes(fixture.path("show.mp3")) == old + new)
    #expect(try fixture.names() == ["show.mp3"])
    #expect(try fixture.isGood("show.mp3"))
    let rows = try fixture.catalogue.entries()
    #expect(rows.map(\.samples) == [fixture.samples(0..<100)])
    #expect(rows.map(\.part) == [nil])
    let title = try #require(rows.first?.titles.last)
    #expect(abs(title.at - Double(fixture.samples(first)) / 44_100 - 0.5) < 0.001)
    #expect(try fixture.library.recover(now: fixture.now).isEmpty)
  }

  @Test("become files of their own when that file is gone, or is another one", arguments: [false, true])
  func targetGone(isShorter: Bool) throws {
    let fixture = try LibraryFolder()
    if isShorter { _ = try fixture.folder.write(fixture.bytes(0..<5), to: "show.mp3") }
    try fixture.left("show.mp3", row: 60..<90, part: fixture.bytes(60..<100)) { entry in
      (entry.state, entry.joinBase) = (.joining, 100_000)
    }
    #expect(try fixture.library.recover(now: fixture.now).map(\.outcome) == [.named])
    let name = isShorter ? "show (2).mp3" : "show.mp3"
    #expect(try readBytes(fixture.path(name)) == fixture.bytes(60..<100))
    #expect(try fixture.isGood(name))
    if isShorter { #expect(try readBytes(fixture.path("show.mp3")) == fixture.bytes(0..<5)) }
  }

  @Test("without a frame leave the file as it was") func nothing() throws {
    let fixture = try LibraryFolder()
    let first = try fixture.finished("show.mp3", 0..<60)
    try fixture.left("show.mp3", row: 0..<0, part: [0xFF, 0xFB]) { $0.joinBase = 1 }
    #expect(try fixture.library.recover(now: fixture.now).map(\.outcome) == [.gone])
    #expect(try fixture.catalogue.entries() == [first])
    #expect(try fixture.names() == ["show.mp3"] && fixture.isGood("show.mp3"))
  }

  @Test("keep what was copied when their part was removed") func partRemoved() throws {
    let fixture = try LibraryFolder()
    try fixture.finished("show.mp3", 0..<60)
    let bytes = fixture.tag + fixture.bytes(0..<80)
    _ = try fixture.folder.write(bytes + [0xFF, 0xFB], to: "show.mp3")
    try fixture.left("show.mp3", row: 60..<100, part: nil) { ($0.state, $0.joinBase) = (.joining, 30_000) }
    #expect(try fixture.library.recover(now: fixture.now).map(\.outcome) == [.joined])
    #expect(try readBytes(fixture.path("show.mp3")) == bytes)
    #expect(try fixture.isGood("show.mp3") && fixture.catalogue.entries().count == 1)
  }

  @Test("keep a part that the file does not hold, whatever the row contains") func neverLosesSound() throws {
    let fixture = try LibraryFolder()
    try fixture.finished("show.mp3", 0..<60)
    let entry = try #require(try fixture.catalogue.entry(path: fixture.path("show.mp3")))
    var wrong = entry
    (wrong.part, wrong.samples) = (fixture.path("show.mp3.part"), entry.samples + 1152)
    try fixture.catalogue.update([wrong])
    _ = try fixture.folder.write(fixture.bytes(60..<90), to: "show.mp3.part")
    #expect(try fixture.library.recover(now: fixture.now).map(\.outcome) == [.named])
    #expect(try readBytes(fixture.path("show (2).mp3")) == fixture.bytes(60..<90))
    #expect(try fixture.isGood("show (2).mp3"))
  }
}
