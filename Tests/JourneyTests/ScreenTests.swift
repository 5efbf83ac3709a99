import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("The prompt, on a screen", .waiting, .tags(.prompt)) struct ScreenTests {
  private func prompt(
    _ home: Home, columns: Int = 80, rows: Int = 24, variables: [String] = [], more: [String] = []
  ) throws -> Screen {
    let screen = try Screen(
      ["repl", "--output", "null"] + more, of: home, columns: columns, rows: rows, variables: variables)
    try screen.expect("a prompt") { $0.last == ">" }
    return screen
  }

  @Test("a line is edited where it stands, and answered; Ctrl-D leaves the terminal as it was")
  func edits() throws {
    let screen = try prompt(Home())
    try screen.type("1 + x")
    try screen.press("BSpace", "4", "1", "C-a", "Right", "Delete", "Delete", "C-e")
    try screen.expect("> 1 41")
    try screen.press("Left", "Left", "-", "Space", "Enter")
    try screen.expect("> 1 - 41", "-40", ">")
    try screen.press("C-d")
    try screen.expect("status 0", "cooked")
  }

  @Test("Tab completes what is unique, and lists what is not above the line")
  func completes() throws {
    let screen = try prompt(Home())
    try screen.type("kitchen = spea")
    try screen.press("Tab")
    try screen.type(".device \"kit")
    try screen.press("Tab")
    try screen.expect("> kitchen = speaker.device \"Kitchen\"")
    try screen.press("Enter")
    try screen.expect("> kitchen = speaker.device \"Kitchen\"", ">")
    try screen.type("kitchen:set")
    try screen.press("Tab", "Tab")
    try screen.expect(row: "set_balance")
    try screen.type("v")
    try screen.press("Tab")
    try screen.type("(30)")
    try screen.expect("> kitchen:set_volume(30)")
    try screen.press("C-u")
    try screen.type("speaker.on(\"vol")
    try screen.press("Tab")
    try screen.expect("> speaker.on(\"volume\"")
    try screen.press("C-u")
    try screen.type("speaker.session { pri")
    try screen.press("Tab")
    try screen.expect("> speaker.session { priority =")
  }

  @Test("a block is continued, comes back whole, and is edited as one")
  func blocks() throws {
    let screen = try prompt(Home())
    try screen.enter("for i = 7, 8 do")
    try screen.enter("print(i)")
    try screen.expect("> for i = 7, 8 do", ">> print(i)", ">>")
    try screen.enter("end")
    try screen.expect("7", "8", ">")
    try screen.press("Up")
    try screen.expect("> for i = 7, 8 do", ">> print(i)", ">> end")
    try screen.press("Up", "End", "Left", "*", "2", "Enter")
    try screen.expect(">> print(i*2)", ">> end", "14", "16", ">")
    // A pasted block is one input, and so is its history.
    try screen.paste("t = {\n  1,\n\n  2,\n}\nfor _, v in ipairs(t) do print('v', v) end\n")
    try screen.expect("the block") {
      $0.contains(">> for _, v in ipairs(t) do print('v', v) end") && $0.last == ">>"
    }
    try screen.press("Enter")
    try screen.expect("v       1", "v       2", ">")
  }

  @Test("Ctrl-R finds a line of an earlier prompt; two prompts share the history")
  func history() throws {
    let home = try Home()
    let first = try prompt(home)
    let second = try Screen(["repl", "--output", "null"], of: home, name: "second")
    try second.expect("a prompt") { $0.last == ">" }
    try first.enter("answer = 6 * 7")
    try first.enter(" hidden = 1")
    try first.expect("> answer = 6 * 7", ">  hidden = 1", ">")
    try second.enter("'of the second'")
    try second.expect("of the second", ">")
    try second.press("Up", "Up")
    try second.expect("> answer = 6 * 7")
    try second.press("C-c", "C-d")
    let third = try Screen(["repl", "--output", "null"], of: home, name: "third")
    try third.expect("a prompt") { $0.last == ">" }
    try third.press("C-r")
    try third.type("swer")
    try third.expect("(search 'swer') answer = 6 * 7")
    try third.press("Enter")
    try third.type("answer")
    try third.press("Enter")
    try third.expect("> answer", "42", ">")
    #expect(
      try !String(decoding: readBytes(home.path("state/roomtone/history")), as: UTF8.self).contains("hidden"))
  }

  @Test("output of listeners appears above the line that is typed, and leaves it alone")
  func above() throws {
    let screen = try prompt(Home(), columns: 40, rows: 15)
    try screen.enter(
      "task.spawn(function() while not go do task.sleep(0.05) end io.write('said ', 1) print() error 'oh' end)"
    )
    try screen.expect(row: "task \"task\" (running)")
    try screen.enter("task.spawn(function() task.sleep(1) go = true end) ")
    try screen.type("x = 'half typed and longer than forty columns")
    try screen.expect("the line below the output") { lines in
      lines.contains("said 1") && lines.contains { $0.contains("oh") }
        && lines.suffix(2).elementsEqual(["> x = 'half typed and longer than forty", "columns"])
    }
    try screen.type("'")
    try screen.press("Enter")
    try screen.enter("#x")
    try screen.expect("> #x", "40", ">")
  }

  @Test("Ctrl-C cancels what is in front while a task goes on, and drops a typed line")
  func interrupts() throws {
    let screen = try prompt(Home())
    try screen.enter("task.sleep(2) print('beside', 'lives') &")
    try screen.expect(row: "(running)")
    try screen.enter("print('be' .. 'gun') task.sleep('1h')")
    try screen.expect("begun")
    try screen.press("C-c")
    try screen.expect("begun", "^C", "roomtone: the routine was cancelled (task.cancelled)", ">")
    try screen.type("dropped")
    // The key discards input that has not been read.
    try screen.expect("> dropped")
    try screen.press("C-c")
    try screen.expect("> dropped^C", ">")
    try screen.expect(row: "beside  lives")
    try screen.expect(row: "(done)")
    try screen.enter("task.sleep(0.1) return 6 * 7 &")
    try screen.expect(row: "(done): 42")
    try screen.enter("error('failed ' .. 'beside') &")
    try screen.expect(row: "failed beside")
  }

  @Test("live() shows what plays and who listens, in place, until a key is pressed")
  func live() throws {
    let home = try Home()
    try home.longMusic()
    let screen = try prompt(home, columns: 70)
    try screen.enter("speaker.on('volume', function(e) end) speaker.play 'long.mp3'")
    try screen.enter("speaker.set_volume(7) require 'schedule'.at('06:45', {name = 'wake up'}, print)")
    try screen.enter("live()")
    try screen.expect("the view") {
      $0.contains { $0.hasPrefix("plays    ▶ long.mp3  0:0") && $0.contains("volume 7 of 50") }
        && $0.contains("listens  on \"volume\"") && $0.contains { $0.hasPrefix("jobs     wake up  next ") }
        && $0.last == "records  nothing"
    }
    try screen.expect("the next second, in place") { lines in
      lines.count { $0.hasPrefix("plays") } == 1 && lines.contains { $0.contains("0:02 / 3") }
    }
    try screen.press("q")
    try screen.expect("records  nothing", ">")
    try screen.enter("'al' .. 'ive'")
    try screen.expect("alive", ">")
  }

  @Test("names that are wide, combined or written from right to left fit a terminal of 40 columns")
  func narrow() throws {
    let home = try Home()
    try home.script(
      """
      house { driver = "house", output = "null", speakers = {
        { name = "居間のスピーカー" }, { name = "מטבח" }, { name = "Küche ganz hinten links oben" }, { name = "e\u{301}te\u{301}" } } }
      """, as: "config/roomtone.lua")
    let screen = try prompt(home, columns: 40, rows: 15, more: ["--config", "config/roomtone.lua"])
    try screen.enter("speaker.devices()")
    try screen.expect(
      "name                          volume",
      "居間のスピーカー              25 of 50",
      "מטבח                          25 of 50",
      "Küche ganz hinten links oben  25 of 50",
      "e\u{301}te\u{301}                           25 of 50",
      ">")
    try screen.type("x = speaker.device '居")
    try screen.press("Tab")
    try screen.expect("> x = speaker.device '居間のスピーカー'")
    try screen.type(".name .. 'מטבח'")
    try screen.expect("> x = speaker.device '居間のスピーカー'.", "name .. 'מטבח'")
    try screen.press("Home", "Delete", "y")
    try screen.expect("> y = speaker.device '居間のスピーカー'.", "name .. 'מטבח'")
    try screen.resize(columns: 24, rows: 15)
    try screen.expect("> y = speaker.device '居", "間のスピーカー'.name ..", "'מטבח'")
    try screen.press("Enter")
    try screen.enter("#y")
    try screen.expect("> #y", "32", ">")
  }

  @Test("errors are red with their hint below, and plain with NO_COLOR")
  func colors() throws {
    let screen = try prompt(Home(), variables: ["NO_COLOR=1"])
    try screen.enter("speeker.devices()")
    try screen.expect(
      "roomtone: (prompt):1: attempt to index a nil value (global 'speeker')", "  did you mean 'speaker'?",
      ">")
    try screen.enter("speker")
    try screen.expect("nil  -- no global is called 'speker'; did you mean 'speaker'?", ">")
    #expect(try !screen.colored.contains("\u{1B}[31m"))
    let colored = try prompt(Home())
    try colored.enter("error 'no'")
    try colored.expect("an error in red") { _ in
      (try? colored.colored)?.contains("\u{1B}[31mroomtone: (prompt):1: no") == true
    }
  }

  @Test("dofile shows what a check finds in the file, then runs it")
  func checks() throws {
    let home = try Home()
    try home.write(Array("local t = {}\nif t.x then print(kitchn) end\nprint 'ran'\n".utf8), to: "party.lua")
    let screen = try prompt(home)
    try screen.enter("dofile 'party.lua'")
    try screen.expect(row: "party.lua:2:19: undefined global 'kitchn'")
    try screen.expect("ran", ">")
    try screen.enter("dofile 'absent.lua'")
    try screen.expect(row: "absent.lua: No such file or directory")
    // Of keys that come together, the first ends the view and the others are typed.
    try screen.enter("live()")
    try screen.expect("records  nothing")
    try screen.type("q6 * 7")
    try screen.expect("> 6 * 7")
    try screen.press("Enter")
    try screen.expect("42", ">")
  }

  @Test("TERM=dumb reads lines without an editor")
  func dumb() throws {
    let screen = try prompt(Home(), variables: ["TERM=dumb"])
    try screen.enter("for i = 1, 2 do")
    try screen.enter("print(i) end")
    try screen.expect("> for i = 1, 2 do", ">> print(i) end", "1", "2", ">")
    #expect(try !screen.colored.contains("\u{1B}["))
    // Lines that come together are one block, with its local variables; others are blocks of their own.
    try screen.pasteBare("local function f(x)\n  return x + 1\nend\n\nfor i = 6, 7 do\n  print(f(i))\nend\n")
    try screen.expect(row: "7")
    try screen.expect("8", ">")
    try screen.pasteBare("local z = 3\nz z\nprint 'still'\n")
    try screen.expect(row: "-- 'z' is local and has ended with this line; without 'local' it stays")
    try screen.expect("> still", ">")
  }

  @Test("a signal ends it tidily and restores the terminal", arguments: [SIGTERM, SIGHUP])
  func terminates(signal: Int32) throws {
    let screen = try prompt(Home())
    try screen.type("half")
    try screen.expect("> half")
    kill(try screen.process(), signal)
    try screen.expect("status \(128 + signal)", "cooked")
  }

  @Test("Ctrl-Z stops it with the terminal restored; continued, it goes on with the typed line")
  func stops() throws {
    let screen = try prompt(Home())
    try screen.type("'half")
    try screen.expect("> 'half")
    try screen.press("C-z")
    try screen.expect("status 148", "cooked")
    try screen.press("Enter")
    try screen.expect("> 'half")
    try screen.type("'")
    try screen.press("Enter")
    try screen.expect("> 'half'", "half", ">")
  }

  @Test("the daemon on a screen: help is as wide as that, also after its size has changed; the log is plain")
  func daemon() throws {
    let home = try Home()
    guard mkdir(home.path("scripts"), 0o700) == 0 else { throw TestFailure("cannot make a folder") }
    try home.script(
      "local trigger = require 'trigger' trigger.on('page', function() help 'speaker.play' print 'done' end)",
      as: "scripts/page.lua")
    let screen = try Screen(["serve", "--output", "null", "scripts"], of: home, columns: 70, rows: 200)
    try ServeTests.awaitAnswer(home)
    var pages = 0
    /// Waits for a page with a line of that length, of which the screen breaks none.
    func widest(atLeast least: Int) throws {
      try ServeTests.wait("the page is as wide as the screen") {
        _ = try home.run("ctl", "trigger", "page")
        pages += 1
        try ServeTests.wait("the page is complete") {
          try screen.lines.count { $0 == "page: done" } == pages
        }
        let page = try screen.lines.drop { !$0.hasPrefix("page:") }
        return page.last == "page: done" && page.allSatisfy { $0.hasPrefix("page:") }
          && page.contains { $0.count >= least }
      }
    }
    try widest(atLeast: 60)
    try screen.resize(columns: 100, rows: 200)
    try widest(atLeast: 75)
    let colored = try screen.colored
    #expect(!colored.contains("\u{1B}["), "\(colored)")
    try screen.press("C-c")
    try screen.expect("^Cstatus 130", "cooked")
  }
}
