import Glibc
import TestSupport
import TestTraits
import Testing

@testable import LineEditor

@Suite("The history of a prompt", .tags(.prompt)) struct HistoryTests {
  @Test(
    "keeps entries and whole blocks, without repetitions and what begins with a space, for its owner alone")
  func keeps() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("history")
    let history = History(path: path)
    try history.load()
    for entry in ["a", "a", " secret", "", "for\n  x\\n\nend", "a"] { try history.add(entry) }
    let again = History(path: path)
    try again.load()
    #expect(again.entries == ["a", "for\n  x\\n\nend", "a"])
    #expect(history.entries == again.entries)
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
  }

  @Test("two prompts share a file: neither loses an entry, and each learns those of the other")
  func shared() throws {
    let folder = try TemporaryFolder()
    let (one, other) = (History(path: folder.file("history")), History(path: folder.file("history")))
    try one.load()
    try other.load()
    try one.add("first")
    try other.add("second")
    try one.add("third")
    #expect(one.entries == ["first", "second", "third"])
    #expect(other.entries == ["first", "second"])
    try other.load()
    #expect(other.entries == one.entries)
  }

  @Test("holds the newest 10,000, and shortens its file so that another prompt continues in the new one")
  func limit() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("history")
    let lines = (1...10_990).map { "entry \($0)\n" }.joined()
    _ = try folder.write(Array(lines.utf8), to: "history")
    let (one, other) = (History(path: path), History(path: path))
    try one.load()
    try other.load()
    #expect(one.entries.count == History.limit && one.entries.last == "entry 10990")
    for number in 0..<20 { try one.add("new \(number)") }
    try other.add("of the other")
    #expect(other.entries.suffix(2) == ["new 19", "of the other"])
    let again = History(path: path)
    try again.load()
    #expect(again.entries.suffix(2) == ["new 19", "of the other"])
    #expect(try readBytes(path).count { $0 == 10 } < 10_100)
  }

  @Test("reports a file that can't be written, and keeps the entry in memory")
  func failure() throws {
    let folder = try TemporaryFolder()
    let history = History(path: folder.file("none/history"))
    #expect(throws: (any Error).self) { try history.add("a") }
    #expect(history.entries == ["a"])
  }
}
