import Glibc
import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("files that may block", .waiting, .tags(.files, .limits))
struct DeviceFileTests {
  /// A harness with a FIFO in `fifo`; `ticks()` is how often another routine has run.
  private func printed(_ code: String) throws -> [String] {
    let harness = try EngineHarness(wall: true)
    let fifo = harness.folder.file("fifo")
    try #require(mkfifo(fifo, 0o600) == 0 && mkfifo(harness.folder.file("blocking.lua"), 0o600) == 0)
    return try harness.printed(
      """
      local fifo, count = '\(fifo)', 0 local function ticks() return count end \
      task.spawn(function() while count < 10000 do task.sleep(0.01) count = count + 1 end end)\u{20}
      """ + code + "\nos.exit(0)")
  }

  @Test("a FIFO without a writer keeps only the routine that reads it waiting")
  func reading() throws {
    let lines = try printed(
      """
      local file = io.open(fifo)
      print(tostring(file) == 'file "' .. fifo .. '" (open)')
      task.spawn(function()
        task.sleep(0.3)
        os.execute("printf 'one\\\\ntwo\\\\n3 rest' > " .. fifo)
      end)
      print(file:read("l", "L"))
      print(ticks() > 5)
      print(file:read("n", "a"))
      print(file:read("a"), file:read("l"))
      print(file:seek("set", 0))
      print(file:close(), message(file.read, file))
      task.spawn(function() os.execute("printf 'a\\\\nb\\\\n' > " .. fifo) end)
      for line in io.lines(fifo) do print(line) end
      """)
    #expect(
      lines == [
        "true", "one\ttwo\n", "true", "3\t rest", "\tnil", "nil\tIllegal seek\t29",
        "true\tattempt to use a closed file", "a", "b",
      ])
  }

  @Test("a writer to a FIFO waits for its reader, and can be cancelled meanwhile")
  func writing() throws {
    let lines = try printed(
      """
      print(code(task.timeout, 0.3, function() io.open(fifo, "w") end), ticks() > 5)
      local text
      local reader = task.spawn(function()
        task.sleep(0.3)
        local pipe <close> = setmetatable({ program = io.popen("cat " .. fifo) },
          { __close = function(self) self.program:close() end })
        text = pipe.program:read "a"
      end)
      local before = ticks()
      local file = io.open(fifo, "w")
      print(ticks() - before > 5)
      print(file:write("one ", 2, "\\n") == file, message(file.read, file))
      file:close()
      reader:await()
      print(text)
      """)
    #expect(
      lines == ["task.timeout\ttrue", "true", "true\tthe file was opened for writing", "one 2\n"])
  }

  @Test("functions that can't wait refuse a FIFO, and paths with zero bytes are no paths")
  func refused() throws {
    let lines = try printed(
      """
      for _, f in ipairs { dofile, loadfile, io.input, io.output } do print(code(f, fifo)) end
      for _, f in ipairs { dofile, loadfile, io.open, io.lines } do print(code(f, "tone.wav\\0.txt")) end
      print(message(require, "blocking"))
      print(io.open("/dev/null", "w"):write("gone") ~= nil, io.open("/dev/zero"):read(1) == "\\0")
      print(io.open "nowhere")
      """)
    let refusal = "is a FIFO or a device; open it with io.open)"
    #expect(lines.prefix(4).allSatisfy { $0.hasSuffix(refusal) })
    #expect(lines.dropFirst(4).prefix(4).allSatisfy { $0.hasSuffix("(contains a zero byte)") })
    let missing = try #require(lines.dropFirst(8).first)
    #expect(missing.contains("blocking.lua' is a FIFO or a device"), "\(missing)")
    #expect(lines.suffix(2) == ["true\ttrue", "nil\tnowhere: No such file or directory\t2"])
  }

  @Test("more than 64 MiB from a program at once raise, and parts of it do not")
  func tooMuch() throws {
    let lines = try printed(
      """
      local program = io.popen "head -c 70000000 /dev/zero"
      local err = failure(program.read, program, "a")
      print(err.message, err.hint)
      program:close()
      program = io.popen "head -c 60000000 /dev/zero"
      print(#program:read "a", #program:read "a")
      """)
    #expect(
      lines == [
        "more than 64 MiB come at once\tread it in parts, with read(65536) or lines()", "60000000\t0",
      ])
  }
}
