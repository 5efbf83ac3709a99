import EventLoop
import Glibc
import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("task.exec", .waiting, .tags(.task))
struct ExecTests {
  @Test("returns code, output and errors of a program without a shell, with an empty input")
  func result() throws {
    let lines = try EngineHarness(wall: true).printed(
      """
      local one = task.exec { "printf", "%s|%s", "a b", "$HOME" }
      print(one.code, one.stdout, one.stderr, one.signal)
      local two = task.exec { "sh", "-c", "cat; echo no >&2; exit 3" }
      print(two.code, two.stdout == "", two.stderr)
      local three = task.exec { "sh", "-c", "kill -9 $$" }
      print(three.code, three.signal)
      print(#task.exec { "head", "-c", 1000000, "/dev/zero" }.stdout)
      """)
    #expect(lines == ["0\ta b|$HOME\t\tnil", "3\ttrue\tno\n", "137\t9", "1000000"])
  }

  @Test("suspends its routine only, and several run side by side")
  func sideBySide() throws {
    let lines = try EngineHarness(wall: true).printed(
      """
      local begin = task.now()
      task.spawn(function() print "meanwhile" end)
      task.all { function() task.exec { "sleep", "1" } end, function() task.exec { "sleep", "1" } end }
      print(task.now() - begin < 1.9)
      """)
    #expect(lines == ["meanwhile", "true"])
  }

  @Test(
    "a program that is not done in time, or whose routine is cancelled, is ended with all that it started")
  func killed() throws {
    let harness = try EngineHarness(wall: true)
    let lines = try harness.printed(
      """
      local folder = arg and "" or "\(harness.folder.file(""))"
      local line = "sleep 300 & echo $! >> pids; trap '' TERM; sleep 300 & echo $! >> pids; wait; wait"
      print(code(task.exec, { "sh", "-c", "cd " .. folder .. "; " .. line, timeout = "300ms" }))
      local one = task.spawn(function() task.exec { "sh", "-c", "cd " .. folder .. "; " .. line } end)
      task.sleep "300ms"
      one:cancel()
      task.sleep "3s"
      """)
    #expect(lines == ["task.timeout"])
    let pids = String(decoding: try readBytes(harness.folder.file("pids")), as: UTF8.self)
      .split(separator: "\n").compactMap { pid_t($0) }
    #expect(pids.count == 4)
    // An orphan that init has not collected yet has the state Z.
    let running = pids.filter { pid in
      guard let stat = try? readBytes("/proc/\(pid)/stat") else { return false }
      return !String(decoding: stat, as: UTF8.self).contains(") Z ")
    }
    #expect(running.isEmpty)
  }

  @Test(
    "raises for what can't be run",
    arguments: [
      ("{ 'no-such-program' }", "task.no_program", "no program is called 'no-such-program'"),
      ("{ '/etc/passwd' }", "task.no_program", "Permission denied"), ("{}", "argument", "name of a program"),
      ("{ 'sh', {} }", "argument", "element 2: text"), ("{ 'sh', 'a\\0b' }", "argument", "element 2"),
      ("{ 'sh', time = 3 }", "argument", "timeout"), ("'sh'", "argument", "table expected"),
      ("{ 'head', '-c', '3M', '/dev/zero' }", "task.output", "more than 1 MiB"),
    ])
  func refused(_ argument: String, _ code: String, _ reason: String) throws {
    let lines = try EngineHarness(wall: true).printed(
      "local err = failure(task.exec, \(argument)) print(err.code, err.message)")
    #expect(lines.first?.hasPrefix(code + "\t") == true && lines.first?.contains(reason) == true, "\(lines)")
  }

  @Test("kills what a program has started and left behind, though the program itself is gone at once")
  func group() throws {
    let harness = try EngineHarness(wall: true)
    let lines = try harness.printed(
      """
      print(code(task.exec, {
        "sh", "-c", "(trap '' TERM; echo $BASHPID $$; exec sleep 47) & echo $! > \(harness.folder.file("pid")); wait",
        timeout = "300ms",
      }))
      """)
    #expect(lines == ["task.timeout"])
    let pid =
      pid_t(
        String(decoding: try readBytes(harness.folder.file("pid")), as: UTF8.self).dropLast()) ?? 0
    // A killed process may take a moment to be gone.
    var state = ""
    for _ in 0..<100 {
      state = (try? readBytes("/proc/\(pid)/stat")).map { String(decoding: $0, as: UTF8.self) } ?? ") Z "
      if state.contains(") Z ") { break }
      usleep(100_000)
    }
    #expect(pid > 0 && state.contains(") Z "), "\(state)")
  }

  @Test("checks the results of stand-ins, ends them in time, and counts them")
  func standInResults() throws {
    let lines = try EngineHarness.printed(
      """
      task.stand_in("slow", function() task.sleep "1h" end)
      print(code(task.exec, { "slow", timeout = "10s" }), task.now())
      task.stand_in("number", function() return 3 end)
      print(message(task.exec, { "number" }))
      task.stand_in("table", function() return {} end)
      local result = task.exec { "table" }
      print(result.code, #result.stdout, #result.stderr)
      task.stand_in("bytes", function() return "\\xff\\0" end)
      print(#task.exec { "bytes" }.stdout)
      task.stand_in("again", function() return task.exec { "again" } end)
      print(code(task.exec, { "again" }))
      """)
    #expect(
      lines == [
        "task.timeout\t10.0", "the stand-in of 'number' returned a number", "0\t0\t0", "2", "script.objects",
      ])
  }

  @Test("calls a stand-in under simulation, and is refused without one")
  func standIn() throws {
    let lines = try EngineHarness.printed(
      """
      print(code(task.exec, { "espeak-ng" }))
      task.stand_in("espeak-ng", function(arguments)
        task.sleep "1s"
        return { code = 2, stdout = table.concat(arguments, "+"), stderr = "" }
      end)
      local result = task.exec { "espeak-ng", "-w", "a.wav" }
      print(result.code, result.stdout, task.now())
      task.stand_in("date", function() return "noon" end)
      print(task.exec { "date" }.code, task.exec { "date" }.stdout)
      """)
    #expect(lines == ["simulate.not_here", "2\t-w+a.wav\t1.0", "0\tnoon"])
  }
}
