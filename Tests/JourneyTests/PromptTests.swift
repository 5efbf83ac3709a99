import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("The prompt, without a terminal", .waiting, .tags(.prompt)) struct PromptTests {
  private func answers(_ text: String) throws -> Outcome {
    try Home().run("repl", "--output", "null", input: .text(text))
  }

  @Test("reads a line as an expression first and as a statement second")
  func expressions() throws {
    #expect(
      try answers("1 + 1\nx = 5\nx\n'a', nil, true\nlocal y = 3\ny\nx = x + 1 return x\n")
        == Outcome(status: 0, output: "2\n5\na\tnil\ttrue\nnil\n6\n", errors: ""))
  }

  @Test("continues what is not finished on the next line")
  func continuation() throws {
    #expect(
      try answers("for i = 1, 2 do\n  print(i)\nend\nf = function(a)\n\n  return a\nend\nf(\n7)\n[[a\nb]]\n")
        == Outcome(status: 0, output: "1\n2\n7\na\nb\n", errors: ""))
  }

  @Test("reads a last line without a line end, from a file as from a pipe")
  func lastLine() throws {
    #expect(try answers("print 'a'\n1 + 1") == Outcome(status: 0, output: "a\n2\n", errors: ""))
    let home = try Home()
    try home.script("1 + 2\n", as: "input")
    #expect(
      try home.run("repl", "--output", "null", input: .file(home.path("input")))
        == Outcome(status: 0, output: "3\n", errors: ""))
    #expect(try answers("") == Outcome(status: 0, output: "", errors: ""))
  }

  @Test("shows tables sorted, nested, cyclic ones named, long ones cut with a count")
  func tables() throws {
    #expect(
      try answers("{ b = 1, a = 'x', [10] = true, 'one', 2 }\n").output
        == "{ \"one\", 2, [10] = true, a = \"x\", b = 1 }\n")
    #expect(try answers("{ 1, { 2, { x = {} } } }\n").output == "{ 1, { 2, { x = {} } } }\n")
    #expect(try answers("t = { 1 } t.self = t\nt\n").output == "{ 1, self = {…again} }\n")
    let long = try answers("(function() local t = {} for i = 1, 1000 do t[i] = i end return t end)()\n").lines
    #expect(long.count < 100)
    #expect(long.contains { $0.contains("950 more") }, "\(long)")
  }

  @Test("has the library's modules as globals, which are loaded by their first use")
  func libraryModules() throws {
    let outcome = try answers(
      "rawget(_G, 'party')\ntype(party.start)\nrawget(_G, 'party') == party\nzone.get\nnothing_of_this\n")
    #expect(
      outcome.lines.map { $0.hasPrefix("function") ? "function" : $0 } == [
        "nil", "function", "true", "function", "nil",
      ])
    #expect(outcome.status == 0)
  }

  @Test("help alone, and with words, shows help")
  func helpWord() throws {
    let outcome = try answers("help\nhelp zone\nhelp sleep timer\nhelp podcast\n")
    #expect(outcome.status == 0, "\(outcome)")
    for line in [
      "Modules", "Module zone", "Found for \"sleep timer\"", "Nothing is called \"podcast\"; near it",
    ] {
      #expect(outcome.lines.contains(line), "\(line)")
    }
    #expect(try answers("help = 5\nhelp\n").lines == ["5"])
  }

  @Test("says of a variable that it was local to an earlier line")
  func localHint() throws {
    let outcome = try answers("local k = speaker.device 'Kitchen'\nk:set_volume(7)\n")
    #expect(
      outcome.failures == [
        "roomtone: stdin:2: attempt to index a nil value (global 'k'); "
          + "'k' was local and has ended with its line; without 'local' it stays"
      ])
  }

  @Test("shows speakers by their one line")
  func objects() throws {
    let outcome = try answers("speaker.device 'Kitchen'\nspeaker.group 'Bedroom'\n#speaker.devices()\n")
    #expect(
      outcome.lines == [
        "speaker \"Kitchen\" (volume 22, idle)", "group \"Bedroom\" (2 speakers)", "6",
      ])
    #expect(outcome.status == 0)
  }

  @Test("errors don't end it, count lines of the input, and make the exit status 1")
  func errors() throws {
    let outcome = try answers("error 'no'\n= = 1\nspeaker.device 'Kichen'\n'still here'\n")
    #expect(outcome.status == 1)
    #expect(outcome.output == "still here\n")
    #expect(outcome.failures.count == 3)
    #expect(outcome.failures.first == "roomtone: stdin:1: no")
    #expect(outcome.failures.dropFirst().first?.hasPrefix("roomtone: stdin:2: ") == true)
    #expect(outcome.failures.last?.hasPrefix("roomtone: stdin:3: no speaker is called \"Kichen\"") == true)
    let unfinished = try answers("for i = 1, 2 do\n")
    #expect(unfinished.status == 1)
    #expect(unfinished.failures.count == 1)
  }

  @Test("functions that suspend just work, and the next line waits for them")
  func suspends() throws {
    let home = try Home()
    // Two seconds: the line that waits for its end is read while it plays, on a busy machine too.
    try home.tune(frames: 96_000)
    let outcome = try home.run(
      "repl", "--output", "null",
      input: .text("task.sleep(0.1)\nspeaker.play 'tune.wav'\nspeaker.finish()\nspeaker.state()\n"))
    #expect(outcome == Outcome(status: 0, output: "finished\nstopped\n", errors: ""))
  }

  @Test("os.exit leaves with its status, and the lines not yet read are not run")
  func exits() throws {
    #expect(
      try answers("print 'a'\nos.exit(4)\nprint 'b'\n") == Outcome(status: 4, output: "a\n", errors: ""))
  }

  @Test("ends tidily with a signal, also while a line runs", arguments: [SIGINT, SIGTERM])
  func signals(signal: Int32) throws {
    let home = try Home()
    let script = try home.script(
      "local c <close> = setmetatable({}, { __close = function() print 'closed' end }) print 'ready' task.sleep('1h')"
    )
    let prompt = try home.start(["repl", "--output", "null", script])
    try prompt.expect("ready\n")
    prompt.send(signal)
    #expect(try prompt.finish() == Outcome(status: 128 + signal, output: "ready\nclosed\n", errors: ""))
  }

  @Test("refuses a line beyond its limit as a whole, and continues with the next")
  func longLine() throws {
    let home = try Home()
    try home.script("1 + 1\nx = 5 ", as: "input")
    guard truncate(home.path("input"), 66 << 20) == 0 else { throw TestFailure("cannot lengthen a file") }
    let file = fopen(home.path("input"), "a")
    fputs("\nx\n1 + 2\n", file)
    fclose(file)
    let outcome = try home.run("repl", "--output", "null", input: .file(home.path("input")))
    #expect(outcome.output == "2\nnil\n3\n" && outcome.status == 1)
    #expect(outcome.errors.hasPrefix("roomtone: stdin:2: the line is longer than 64 MB"))
    #expect(outcome.failures.count == 1)
  }

  @Test("runs a script first, whose globals are there then")
  func scriptFirst() throws {
    let home = try Home()
    let script = try home.script("require 'task'.sleep(0.05) answer = 42 print 'loaded'")
    #expect(
      try home.run("repl", "--output", "null", script, input: .text("answer\n"))
        == Outcome(status: 0, output: "loaded\n42\n", errors: ""))
  }
}

@Suite("The prompt, on a terminal", .waiting, .tags(.prompt)) struct TerminalTests {
  /// Ctrl-C and Ctrl-D as a keyboard sends them.
  private static let (interrupt, end) = ("\u{3}", "\u{4}")
  /// Beginning of a line that must be running when the next key comes: its echo does not mean that it was
  /// read.
  private static let begins = "io.write('be' .. 'gun\\n') io.flush()"

  @Test("prompts for a line, prompts otherwise for its continuation, and Ctrl-D leaves with status 0")
  func prompts() throws {
    let home = try Home()
    let prompt = try home.start(["repl", "--output", "null"], input: .terminal)
    try prompt.expect("> ")
    try prompt.type("1 + 1\n")
    try prompt.expect("2\r\n> ")
    try prompt.type("for i = 7, 8 do\n")
    try prompt.expect(">> ")
    try prompt.type("print(i)\n")
    try prompt.expect(">> ")
    try prompt.type("end\n")
    try prompt.expect("7\r\n8\r\n> ")
    try prompt.type("error 'no'\n")
    try prompt.expect("> ")
    try prompt.type(Self.end)
    let outcome = try prompt.finish()
    #expect(outcome.status == 0)
    #expect(outcome.failures.count == 1)
  }

  @Test("Ctrl-C cancels the routine in front and nothing else")
  func cancels() throws {
    let home = try Home()
    let prompt = try home.start(["repl", "--output", "null"], input: .terminal)
    try prompt.expect("> ")
    try prompt.type(
      "beside = task.spawn(function() while not go do task.sleep(0.05) end print 'beside lives' end)\n")
    try prompt.expect("> ")
    try prompt.type("\(Self.begins) task.sleep('1h') print('never ' .. 'said')\n")
    try prompt.expect("begun\r\n")
    try prompt.type(Self.interrupt)
    let before = try prompt.consume(upTo: "> ")
    #expect(!before.contains("never said"))
    try prompt.type("go = true\n")
    try prompt.expect("beside lives\r\n")
    try prompt.type("1 + 41\n")
    try prompt.expect("42\r\n")
    try prompt.type(Self.end)
    let outcome = try prompt.finish()
    #expect(outcome.status == 0)
    #expect(outcome.errors.contains("cancelled"))
  }

  @Test("Ctrl-C runs the <close> variables of what it cancels, and an empty prompt survives it")
  func cleansUp() throws {
    let home = try Home()
    let prompt = try home.start(["repl", "--output", "null"], input: .terminal)
    try prompt.expect("> ")
    try prompt.type(Self.interrupt)
    try prompt.expect("> ")
    try prompt.type("for i = 1, 2 do\n")
    try prompt.expect(">> ")
    try prompt.type(Self.interrupt)
    try prompt.expect("> ")
    try prompt.type(
      "local c <close> = setmetatable({}, { __close = function() print('cl' .. 'osed') end }) "
        + "\(Self.begins) task.sleep('1h')\n")
    try prompt.expect("begun\r\n")
    try prompt.type(Self.interrupt)
    try prompt.expect("closed\r\n")
    try prompt.expect("> ")
    try prompt.type("'al' .. 'ive'\n")
    try prompt.expect("alive\r\n> ")
    try prompt.type(Self.end)
    #expect(try prompt.finish().status == 0)
  }

  @Test("Ctrl-C ends a line that never suspends")
  func busy() throws {
    let home = try Home()
    let prompt = try home.start(["repl", "--output", "null"], input: .terminal)
    try prompt.expect("> ")
    try prompt.type("\(Self.begins) while true do end\n")
    try prompt.expect("begun\r\n")
    try prompt.type(Self.interrupt)
    try prompt.expect("> ")
    try prompt.type("1 + 41\n")
    try prompt.expect("42\r\n> ")
    try prompt.type(Self.end)
    #expect(try prompt.finish().status == 0)
  }

  @Test("SIGTERM ends it tidily")
  func terminates() throws {
    let home = try Home()
    let prompt = try home.start(["repl", "--output", "null"], input: .terminal)
    try prompt.expect("> ")
    try prompt.type(
      "local c <close> = setmetatable({}, { __close = function() print('cl' .. 'osed') end }) "
        + "\(Self.begins) task.sleep('1h')\n")
    try prompt.expect("begun\r\n")
    prompt.send(SIGTERM)
    try prompt.expect("closed\r\n")
    #expect(try prompt.finish().status == 143)
  }

  @Test("leaves with music playing: Ctrl-D ends the sound too")
  func leaves() throws {
    let home = try Home()
    try home.music()
    let prompt = try home.start(["repl", "--output", "wav:out"], input: .terminal)
    try prompt.expect("> ")
    try prompt.type("speaker.play 'music.mp3'\n")
    try prompt.expect("'music.mp3'\r\n")
    try prompt.expect("> ")
    try prompt.type(Self.end)
    #expect(try prompt.finish().status == 0)
    #expect(try unfinishedWAVs(in: home.path("out")) == [])
  }
}
