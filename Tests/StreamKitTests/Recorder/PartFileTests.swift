import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import RecordingKit

@Suite("Part of a recording", .waiting, .tags(.stream, .recording, .recovery)) struct PartFileTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func error(_ body: () throws -> Void) -> RecordError? {
    do { try body() } catch { return error as? RecordError }
    return nil
  }

  /// Returns the exit status of flock(1): 1 when another process holds the file.
  private func status(_ arguments: [String]) throws -> Int32 {
    try Command.run("flock", arguments).status
  }

  @Test("is held while it is written, and gets its name when it is whole") func life() throws {
    let name = folder.file("deep/in/Show.mp3")
    let part = try PartFile.create(path: name)
    #expect(part.path == name + ".part" && PartFile.isHeld(part.path) && PartFile.isOccupied(name))
    try part.write([1, 2, 3])
    try part.write([4])
    #expect(part.length == 4)
    #expect(try part.read(at: 1, count: 10) == [2, 3, 4])
    #expect(try part.finish(as: name) == name)
    #expect(try readBytes(name) == [1, 2, 3, 4])
    #expect(access(part.path, F_OK) != 0 && !PartFile.isHeld(part.path) && PartFile.isOccupied(name))
  }

  @Test("other processes see that it is held, and that it is not any more") func flocked() throws {
    let part = try PartFile.create(path: folder.file("a.mp3"))
    #expect(try status(["-n", part.path, "true"]) == 1)
    part.abandon(keep: true)
    #expect(try status(["-n", part.path, "true"]) == 0)
  }

  @Test("replaces nothing, and gets the next free name instead") func nextName() throws {
    let name = try folder.write([9], to: "Show.mp3")
    _ = try folder.write([8], to: "Show (2).mp3")
    let part = try PartFile.create(path: name)
    try part.write([1])
    #expect(try part.finish(as: name) == folder.file("Show (3).mp3"))
    #expect(try readBytes(name) == [9])
    #expect(try readBytes(folder.file("Show (2).mp3")) == [8])
    #expect(try readBytes(folder.file("Show (3).mp3")) == [1])
  }

  @Test("two don't write one part") func twice() throws {
    let part = try PartFile.create(path: folder.file("a.mp3"))
    let error = error { _ = try PartFile.create(path: folder.file("a.mp3")) }
    #expect(error?.kind == .exists && error?.message.contains(part.path) == true)
    #expect(try PartFile.adopt(part.path) == nil)
  }

  @Test("one without an owner is taken over") func adopts() throws {
    let left = try folder.write([1, 2, 3], to: "a.mp3.part")
    #expect(!PartFile.isHeld(left))
    let part = try #require(try PartFile.adopt(left))
    #expect(part.length == 3 && PartFile.isHeld(left))
    try part.truncate(to: 2)
    try part.write([7])
    try part.sync()
    #expect(try part.finish(as: folder.file("a.mp3")) == folder.file("a.mp3"))
    #expect(try readBytes(folder.file("a.mp3")) == [1, 2, 7])
    #expect(try PartFile.adopt(left) == nil)
    #expect(try PartFile.adopt(folder.file("nowhere/a.part")) == nil)
  }

  @Test("is removed, or stays to be recovered, when it is abandoned", arguments: [true, false]) func givenUp(
    keep: Bool
  )
    throws
  {
    let part = try PartFile.create(path: folder.file("a.mp3"))
    try part.write([1])
    part.abandon(keep: keep)
    part.abandon(keep: false)
    #expect((access(part.path, F_OK) == 0) == keep)
    #expect(!PartFile.isHeld(part.path))
  }

  @Test("a write that does not fit leaves what was there, and nothing of itself") func tooLong() throws {
    let part = try PartFile.create(path: folder.file("a.mp3"))
    try part.write([UInt8](repeating: 1, count: 1000))
    // Ten bytes below the largest size that the file system allows, half of a write fits.
    var (least, most) = (1000, Int.max)
    while most - least > 1 {
      let middle = least + (most - least) / 2
      if truncate(part.path, middle) == 0 { least = middle } else { most = middle }
    }
    try part.truncate(to: least - 10)
    let failed = error { try part.write([UInt8](repeating: 2, count: 20)) }
    #expect(failed?.kind == .write && failed?.facts == [.init("path", .string(part.path))])
    var status = stat()
    #expect(stat(part.path, &status) == 0 && Int(status.st_size) == least - 10 && part.length == least - 10)
    try part.truncate(to: 1000)
    try part.write([3])
    #expect(try readBytes(part.path) == [UInt8](repeating: 1, count: 1000) + [3])
  }

  @Test("reports what the system refuses")
  func refused() throws {
    let file = try folder.write([1], to: "file")
    let inFile = error { _ = try PartFile.create(path: file + "/a.mp3") }
    #expect(inFile?.kind == .write && inFile?.code == "record.write")
    let long = String(repeating: "x", count: 300)
    #expect(error { _ = try PartFile.create(path: folder.file(long)) }?.hint == "give a shorter name")
    let inProc = error { _ = try PartFile.create(path: "/proc/nowhere/a.mp3") }
    #expect(
      inProc?.kind == .write && inProc?.message.hasPrefix("can't make the folder /proc/nowhere: ") == true)
  }

  @Test("a removed folder is reported, not written into for ever") func removed() throws {
    let part = try PartFile.create(path: folder.file("gone/a.mp3"))
    try part.write([1])
    try Command.succeed("rm", ["-r", folder.file("gone")])
    let writing = error { try part.write([2]) }
    #expect(
      writing?.kind == .write && writing?.message == "can't write \(part.path): no such file or directory")
    let closing = error { _ = try part.finish(as: folder.file("gone/a.mp3")) }
    #expect(closing?.kind == .write)
  }

  @Test("a full disk, or a full quota, is one; all else is not") func kinds() {
    #expect(RecordError("write", "/a", errno: ENOSPC).kind == .diskFull)
    #expect(RecordError("write", "/a", errno: EDQUOT).code == "record.disk_full")
    #expect(RecordError("write", "/a", errno: EIO).kind == .write)
    #expect(RecordError("write", "/a\n", errno: EIO).message == "can't write /a\\n: input/output error")
  }
}
