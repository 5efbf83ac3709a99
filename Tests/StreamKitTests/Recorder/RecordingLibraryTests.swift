import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import RecordingKit

@Suite("The library of recordings", .waiting, .tags(.stream, .recordings, .recording))
struct RecordingLibraryTests {
  @Test("a recording is compared with its row, frame by frame") func verifies() throws {
    let fixture = try LibraryFolder()
    let entry = try fixture.finished("show.mp3", 0..<50)
    let good = try fixture.library.verify(entry.path)
    #expect(good.isGood && good.agrees == true && good.entry == entry && !good.isOpen)
    #expect(
      good.frames == 50 && good.samples == fixture.samples(0..<50)
        && good.bytes == fixture.bytes(0..<50).count)

    _ = try fixture.folder.write(fixture.tag + fixture.bytes(0..<49), to: "show.mp3")
    let short = try fixture.library.verify(entry.path)
    #expect(short.isWhole && short.agrees == false && !short.isGood)
    #expect(
      short.differences == [
        "bytes: \(entry.bytes) in the catalogue, \(short.bytes) in the file",
        "PCM frames: \(entry.samples) in the catalogue, \(entry.samples - 1152) in the file",
      ])

    var broken = fixture.tag + fixture.bytes(0..<50)
    for index in 10_000..<10_200 { broken[index] = 0 }
    _ = try fixture.folder.write(broken, to: "show.mp3")
    let damaged = try fixture.library.verify(entry.path)
    #expect(!damaged.isWhole && damaged.junkBytes > 0 && !damaged.isGood)
  }

  @Test("a file that the catalogue does not know is walked too, and one that is not there is named")
  func verifiesOthers() throws {
    let fixture = try LibraryFolder()
    let path = try fixture.folder.write(fixture.bytes(0..<5), to: "other.mp3")
    let verdict = try fixture.library.verify(path)
    #expect(verdict.entry == nil && verdict.agrees == nil && verdict.isGood && verdict.frames == 5)
    let error = #expect(throws: RecordError.self) { try fixture.library.verify(fixture.path("none.mp3")) }
    #expect(error?.message == "there is no file \(fixture.path("none.mp3"))")
    #expect(throws: RecordError.self) { try fixture.library.verify(fixture.folder.path) }
    let zeros = try fixture.folder.write([UInt8](repeating: 0, count: 200_000), to: "zeros.mp3")
    #expect(try !fixture.library.verify(zeros).isWhole)
  }

  @Test(
    "a file in a container that the catalogue does not know is decoded",
    arguments: ["music-44k.flac", "aac-lc-44k.m4a", "base.aiff", "base.caf"])
  func verifiesContainers(name: String) throws {
    let fixture = try LibraryFolder()
    let bytes = try readBytes(Fixtures.path(name))
    let good = try fixture.library.verify(try fixture.folder.write(bytes, to: name))
    #expect(good.isGood && good.isWhole && good.seconds > 0.5 && good.damage == nil, "\(good)")
    let cut = try fixture.folder.write(Array(bytes.dropLast(bytes.count / 3)), to: name)
    let bad = try fixture.library.verify(cut)
    #expect(!bad.isGood && !bad.isWhole && bad.damage != nil, "\(bad)")
  }

  @Test("a file without a decoder is not checked, and good by its length in bytes alone, if that is known")
  func verifiesNothing() throws {
    let fixture = try LibraryFolder()
    let path = try fixture.folder.write(readBytes(Fixtures.path("alac.m4a")), to: "alac.m4a")
    let unknown = try fixture.library.verify(path)
    #expect(!unknown.isGood && !unknown.isWhole && unknown.notChecked?.contains("ALAC") == true)
    var entry = fixture.entry("alac.m4a", state: .finished)
    (entry.codec, entry.sampleRate, entry.channels, entry.samples) = ("mp4", 0, 0, 0)
    entry.bytes = try readBytes(path).count
    try fixture.catalogue.insert(&entry)
    let known = try fixture.library.verify(path)
    #expect(known.isGood && !known.isWhole && known.notChecked != nil && known.damage == nil)
  }

  @Test("the length of a copied file that its row does not have is no difference, and repair enters it")
  func entersLength() throws {
    let fixture = try LibraryFolder()
    let bytes = try readBytes(Fixtures.path("music-44k.flac"))
    var entry = fixture.entry("show.flac", state: .finished)
    (entry.codec, entry.sampleRate, entry.channels, entry.samples) = ("flac", 0, 0, 0)
    (entry.bytes, entry.path) = (bytes.count, try fixture.folder.write(bytes, to: "show.flac"))
    try fixture.catalogue.insert(&entry)
    #expect(try fixture.library.verify(entry.path).isGood)
    #expect(try fixture.library.repair(now: fixture.now).map(\.outcome) == [.corrected])
    #expect(try fixture.library.list().map(\.seconds) == [1])
    #expect(try fixture.library.verify(entry.path).isGood && fixture.library.repair(now: fixture.now).isEmpty)
  }

  @Test("a copied file whose process ended has the length of its sound") func recoversLength() throws {
    let fixture = try LibraryFolder()
    let bytes = try readBytes(Fixtures.path("music-44k.flac"))
    try fixture.left("show.flac", row: 0..<0, part: bytes) {
      ($0.codec, $0.sampleRate, $0.channels) = ("flac", 0, 0)
    }
    #expect(try fixture.library.recover(now: fixture.now).map(\.outcome) == [.named])
    #expect(try fixture.library.list().map(\.seconds) == [1])
  }

  @Test("a recording that is forgotten stays on the disk") func forgets() throws {
    let fixture = try LibraryFolder()
    let entry = try fixture.finished("show.mp3", 0..<5)
    #expect(try fixture.library.forget(entry.path))
    #expect(try !fixture.library.forget(entry.path))
    #expect(try fixture.library.list().isEmpty && fixture.names() == ["show.mp3"])
  }

  @Test("recordings that ended long enough ago are deleted, and nothing else") func expires() throws {
    let fixture = try LibraryFolder()
    for (name, hours) in [("old.mp3", 50), ("edge.mp3", 48), ("new.mp3", 10), ("gone.mp3", 60)]
      as [(String, Int64)]
    {
      var entry = try fixture.finished(name, 0..<5)
      entry.start = WallTime(seconds: fixture.now.seconds - hours * 3600)
      if name == "edge.mp3" {
        (entry.job, entry.start) = ("daily", entry.start.advanced(by: .milliseconds(-50)))
      }
      try fixture.catalogue.update([entry])
    }
    unlink(fixture.path("gone.mp3"))
    _ = try fixture.folder.write([1], to: "mine.mp3")
    try fixture.left("open.mp3", row: 0..<5, part: fixture.bytes(0..<5)) { $0.start = WallTime(seconds: 0) }
    // The recording at the edge began before the limit and ended a moment after it.
    #expect(
      try fixture.library.expire(keep: .seconds(48 * 3600), now: fixture.now) == [fixture.path("old.mp3")])
    #expect(try fixture.names() == ["edge.mp3", "mine.mp3", "new.mp3", "open.mp3.part"])
    #expect(
      try fixture.library.list().map(\.path) == ["new", "edge", "open"].map { fixture.path($0 + ".mp3") })
    #expect(
      try fixture.library.expire(keep: .seconds(3600), job: "daily", now: fixture.now) == [
        fixture.path("edge.mp3")
      ]
    )
    #expect(try fixture.library.expire(keep: .seconds(Int64.max), now: fixture.now) == [])
    #expect(try fixture.library.expire(keep: .zero, now: fixture.now) == [fixture.path("new.mp3")])
    #expect(try fixture.names() == ["mine.mp3", "open.mp3.part"])
  }

  @Test("a file that was moved away keeps its row, not the later recording that has its name")
  func movedAway() throws {
    let fixture = try LibraryFolder()
    var old = try fixture.finished("song.mp3", 0..<5)
    old.start = WallTime(seconds: fixture.now.seconds - 50 * 3600)
    try fixture.catalogue.update([old])
    unlink(fixture.path("song.mp3"))
    let new = try fixture.finished("song.mp3", 0..<20)
    #expect(try fixture.library.expire(keep: .seconds(48 * 3600), now: fixture.now).isEmpty)
    #expect(try fixture.library.list() == [new] && fixture.names() == ["song.mp3"])
  }

  @Test("a recording is not deleted while another continues it, or its disk is away")
  func expiresNothingInUse() throws {
    let fixture = try LibraryFolder()
    try fixture.finished("show.mp3", 0..<5)
    try fixture.left("show.mp3", row: 0..<5, part: fixture.bytes(0..<5)) { $0.joinBase = 1 }
    var away = fixture.entry("away/show.mp3", 0..<5, state: .finished)
    try fixture.catalogue.insert(&away)
    #expect(try fixture.library.expire(keep: .zero, now: fixture.now).isEmpty)
    #expect(try fixture.library.list().count == 3)
  }

  @Test("a file that can't be deleted is named, when all others are gone") func expireFails() throws {
    let fixture = try LibraryFolder()
    var entry = fixture.entry("folder.mp3", 0..<5, state: .finished)
    try fixture.catalogue.insert(&entry)
    mkdir(entry.path, 0o700)
    try fixture.finished("show.mp3", 0..<5)
    let error = #expect(throws: RecordError.self) {
      try fixture.library.expire(keep: .zero, now: fixture.now)
    }
    #expect(error?.kind == .write && error?.message == "can't delete \(entry.path): is a directory")
    #expect(try fixture.names() == ["folder.mp3"] && fixture.library.list() == [entry])
  }

  @Test("a file that another process is putting something behind is not repaired") func repairsNothingInUse()
    throws
  {
    let fixture = try LibraryFolder()
    let row = try fixture.finished("show.mp3", 0..<20)
    let bytes = try readBytes(fixture.path("show.mp3")) + fixture.bytes(20..<21).dropLast(7)
    _ = try fixture.folder.write(bytes, to: "show.mp3")
    let part = try PartFile.create(path: fixture.path("show.mp3"))
    #expect(try fixture.library.repair(now: fixture.now).isEmpty)
    #expect(try readBytes(fixture.path("show.mp3")) == bytes && fixture.library.list() == [row])
    part.abandon(keep: false)
    #expect(try fixture.library.repair(now: fixture.now).map(\.path) == [row.path])
    #expect(try readBytes(fixture.path("show.mp3")).count < bytes.count)
  }

  @Test("repairing makes disk and catalogue agree") func repairs() throws {
    let fixture = try LibraryFolder()
    try fixture.finished("good.mp3", 0..<20)
    try fixture.finished("cut.mp3", 0..<20)
    _ = try fixture.folder.write(
      fixture.tag + fixture.bytes(0..<18) + fixture.bytes(18..<19).prefix(99), to: "cut.mp3")
    try fixture.finished("short.mp3", 0..<20)
    _ = try fixture.folder.write(fixture.tag + fixture.bytes(0..<10), to: "short.mp3")
    try fixture.finished("gone.mp3", 0..<20)
    unlink(fixture.path("gone.mp3"))
    try fixture.left("left.mp3", row: 0..<10, part: fixture.bytes(0..<12))
    var away = fixture.entry("away/show.mp3", 0..<5, state: .finished)
    try fixture.catalogue.insert(&away)

    let done = try fixture.library.repair(now: fixture.now)
    let expected: [(String, RecordingLibrary.Repaired.Outcome)] = [
      ("cut.mp3", .cut(bytes: 99)), ("gone.mp3", .missing), ("left.mp3", .recovered(.named)),
      ("short.mp3", .corrected),
    ]
    #expect(done.map(\.path).sorted() == expected.map { fixture.path($0.0) })
    for (name, outcome) in expected {
      #expect(done.first { $0.path == fixture.path(name) }?.outcome == outcome)
    }
    for name in ["good.mp3", "cut.mp3", "short.mp3", "left.mp3"] {
      #expect(try fixture.isGood(name), "\(name)")
    }
    #expect(try fixture.library.repair(now: fixture.now).isEmpty)
    #expect(try fixture.catalogue.entry(path: away.path) != nil)
  }

  @Test("a foreign tag behind a recording is not cut off") func repairsKeepTags() throws {
    let fixture = try LibraryFolder()
    try fixture.finished("show.mp3", 0..<20)
    let tagged =
      fixture.tag + fixture.bytes(0..<20) + Array("TAG".utf8) + [UInt8](repeating: 0x20, count: 125)
    _ = try fixture.folder.write(tagged, to: "show.mp3")
    #expect(try fixture.library.repair(now: fixture.now).isEmpty)
    #expect(try readBytes(fixture.path("show.mp3")) == tagged)
  }

  @Test("unknown parts are found in a folder, when they are recordings without a writer")
  func adopts() throws {
    let fixture = try LibraryFolder()
    let inner = fixture.folder.path + "/Radio"
    mkdir(inner, 0o700)
    for name in ["Radio/lost.mp3.part", "Radio/fresh.mp3.part"] {
      _ = try fixture.folder.write(fixture.tag + fixture.bytes(0..<30) + [0xFF], to: name)
    }
    _ = try fixture.folder.write([UInt8](repeating: 9, count: 90_000), to: "Radio/film.mkv.part")
    symlink(fixture.folder.path, inner + "/loop")
    let held = try PartFile.create(path: inner + "/held.mp3")
    try held.write(fixture.bytes(0..<9))
    for name in ["lost", "held"] {
      try Command.succeed("touch", ["-d", "@900000", "\(inner)/\(name).mp3.part"])
    }
    try Command.succeed("touch", ["-d", "@900000", "\(inner)/film.mkv.part"])
    try Command.succeed("touch", ["-d", "@\(fixture.now.seconds - 5)", "\(inner)/fresh.mp3.part"])

    let done = try fixture.library.repair(folder: fixture.folder.path, now: fixture.now)
    #expect(done == [.init(path: inner + "/lost.mp3", outcome: .adopted)])
    #expect(try readBytes(inner + "/lost.mp3") == fixture.tag + fixture.bytes(0..<30))
    let entry = try #require(try fixture.catalogue.entry(path: inner + "/lost.mp3"))
    #expect(entry.codec == "mp3" && entry.state == .recovered && entry.start.seconds == 899_999)
    #expect(try fixture.isGood("Radio/lost.mp3"))
    held.abandon(keep: true)
  }

  @Test("a recording left by its process is listed as interrupted, and found by that; an open one is not")
  func states() throws {
    let fixture = try LibraryFolder()
    try fixture.finished("done.mp3", 0..<10)
    try fixture.left("left.mp3", row: 0..<10, part: fixture.bytes(0..<10))
    let held = try PartFile.create(path: fixture.path("open.mp3"))
    var row = fixture.entry("open.mp3")
    try fixture.catalogue.insert(&row)
    func names(_ state: RecordingEntry.State, limit: Int? = nil) throws -> [String] {
      try fixture.library.list(.init(state: state, limit: limit)).map { "\($0.path) \($0.state)" }
    }
    #expect(try names(.interrupted, limit: 1) == [fixture.path("left.mp3") + " interrupted"])
    #expect(try names(.recording, limit: 1) == [fixture.path("open.mp3") + " recording"])
    #expect(try names(.finished) == [fixture.path("done.mp3") + " finished"])
    #expect(Set(try fixture.library.list().map(\.state)) == [.finished, .interrupted, .recording])
    held.abandon(keep: false)
  }
}
