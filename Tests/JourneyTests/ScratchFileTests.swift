import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("Files in a simulation", .waiting, .tags(.simulation, .files)) struct ScratchFileTests {
  private static let script =
    """
    local function text(path)
      local file, reason = io.open(path)
      if not file then return reason end
      return file:read("a"), file:close()
    end
    local function write(path, mode, ...)
      local file = assert(io.open(path, mode))
      file:write(...)
      file:close()
    end
    write("new.txt", "w", "new")
    write("log.txt", "a", "second\\n")
    local part = assert(io.open("part.txt", "r+"))
    part:seek("set", 1)
    part:write("XY")
    part:close()
    io.output("out.txt"):write("out")
    io.close()
    io.output(io.stdout)
    print("new", text "new.txt")
    print("log", (text "log.txt":gsub("\\n", ";")))
    print("part", text "part.txt")
    print("out", text "out.txt")
    print("gone", os.remove "old.txt", text "old.txt", select(2, os.remove "old.txt"))
    print("moved", os.rename("part.txt", "moved.txt"), text "moved.txt", text "part.txt")
    write("old.txt", "w", "again")
    print("again", text "old.txt", select(2, io.open("no/folder.txt", "w")))
    for line in io.lines "log.txt" do print("line", line) end
    print("missing", select(2, pcall(io.lines, "none.txt")))
    write("code.lua", "w", "return 6 * 7")
    print("code", dofile "code.lua")
    print(select(2, pcall(io.open, "pipe", "w")).code)
    print(io.open("/dev/null", "w"):write("x") ~= nil)
    """

  @Test("what a script writes, removes or renames is there for the script, and not outside")
  func layer() throws {
    let home = try Home()
    try home.write(Array("first\n".utf8), to: "log.txt")
    try home.write(Array("abcd".utf8), to: "part.txt")
    try home.write(Array("old".utf8), to: "old.txt")
    mkfifo(home.path("pipe"), 0o600)
    let before = try Self.files(home)
    let script = try home.script(Self.script)
    let outcome = try home.run("simulate", script)
    #expect(outcome.status == 0, "\(outcome)")
    for expected in [
      "new\tnew", "log\tfirst;second;", "part\taXYd", "out\tout",
      "gone\ttrue\told.txt: No such file or directory\told.txt: No such file or directory",
      "moved\ttrue\taXYd\tpart.txt: No such file or directory",
      "again\tagain\tno/folder.txt: No such file or directory", "line\tfirst", "line\tsecond",
      "cannot open file 'none.txt' (No such file or directory)", "code\t42", "simulate.not_here", "true",
    ] { #expect(outcome.output.contains(expected), "\(expected) in \(outcome)") }
    #expect(
      outcome.output.occurrences(of: "stay in the simulation, the first is \(home.path("new.txt"))") == 1,
      "\(outcome)")
    unlink(home.path(script))
    #expect(try Self.files(home) == before)
    #expect(try home.run("simulate", home.script(Self.script)) == outcome)
  }

  private static func files(_ home: Home) throws -> [String: String] {
    var files: [String: String] = [:]
    for name in ["new.txt", "log.txt", "part.txt", "old.txt", "out.txt", "moved.txt", "code.lua"] {
      files[name] = (try? readBytes(home.path(name))).map { String(decoding: $0, as: UTF8.self) }
    }
    return files
  }
}

extension String {
  fileprivate func occurrences(of text: String) -> Int {
    var (count, rest) = (0, self[...])
    while let range = rest.firstRange(of: text) { (count, rest) = (count + 1, rest[range.upperBound...]) }
    return count
  }
}
