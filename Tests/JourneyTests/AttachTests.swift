import Glibc
import JSONText
import TestSupport
import TestTraits
import Testing

/// Commands that reach the daemon by themselves.
@Suite("commands while a daemon runs", .waiting, .tags(.daemon, .control)) struct AttachTests {
  @Test("run hands over a script with its arguments, shows what it prints, and has its status")
  func run() throws {
    let (home, process) = try ServeTests.serve([("a.lua", "print 'on'")])
    try home.tune(frames: 48_000)
    try home.script(
      """
      local speaker, log = require "speaker", require "log"
      print(arg[0] == arg[0]:match "^/.*/routine.lua$", arg[1], #speaker.devices())
      log.warn("careful", { a = 1 })
      speaker.on("ended", function(event) print("ended", event.reason) end)
      speaker.play("tune.wav", { rooms = speaker.devices() })
      """)
    let outcome = try home.run("run", "routine.lua", "x y")
    #expect(outcome.lines == ["true\tx y\t6", "ended\tfinished"] && outcome.status == 0, "\(outcome)")
    #expect(outcome.errorLines == ["warn: careful a=1"], "\(outcome)")
    let failed = try home.run("run", "-e", "error 'oh no'")
    #expect(failed.status == 1 && failed.errorLines == ["roomtone: -e:1: oh no"], "\(failed)")
    #expect(try home.run("run", "-e", "os.exit(3)").status == 3)
    let wrong = try home.run("run", "-e", "x = = 1")
    #expect(wrong.status == 1 && wrong.errors.contains("-e:1: "), "\(wrong)")
    #expect(try home.run("run", "--for", "200ms", "-e", "require 'task'.sleep '1h'").status == 0)
    let long = try home.run("run", "-e", "for i = 1, 5000 do print(i) end")
    #expect(long.lines == (1...5000).map { "\($0)" })
    try Self.isIdle(home)
    try Self.end(process)
  }

  @Test("a script that was handed over ends with its command, and with the daemon")
  func ended() throws {
    let (home, process) = try ServeTests.serve([])
    let text = "print 'begun' require 'schedule'.every('1h', function() end)"
    let run = try home.start(["run", "-e", text])
    try run.expect("begun")
    #expect(try Self.status(home)["attached"]?.elements?.map(\.text) == ["run -e"])
    #expect(try Self.status(home)["jobs"]?.int == 1)
    run.send(SIGINT)
    _ = try run.finish()
    try ServeTests.wait("the script has ended") { try Self.isIdle(home, expects: false) }
    let other = try home.start(["run", "-e", text])
    try other.expect("begun")
    try Self.end(process)
    let outcome = try other.finish()
    #expect(outcome.status == 1 && outcome.errors.contains("the daemon has closed the connection"))
  }

  @Test("without the daemon's house a command is refused at once, by its name")
  func refused() throws {
    let (home, process) = try ServeTests.serve([])
    let start = ContinuousClock.now
    let name = "roomtone serve (process \(process.process)) has the house (speaker.busy)"
    for arguments in [
      ["run", "--no-attach", "-e", "require 'speaker'.devices()"],
      ["run", "--output", "null", "-e", "require 'speaker'.devices()"],
      ["play", "--no-attach", "--output", "null", Fixtures.path("mp3-cbr128-44k.mp3")],
    ] {
      let outcome = try home.start(arguments).finish()
      #expect(outcome.status == 1 && outcome.errors.contains(name), "\(outcome)")
    }
    #expect(ContinuousClock.now - start < .seconds(20))
    // What needs no house runs all the same.
    #expect(try home.run("run", "--no-attach", "-e", "print 'own'").lines == ["own"])
    #expect(try home.run("run", "--attach", "--output", "null", "-e", "print 1").status == 2)
    #expect(try home.run("run", "--attach", "--no-attach", "-e", "print 1").status == 2)
    try Self.end(process)
    let none = try home.run("run", "--attach", "-e", "print 1")
    #expect(none.status == 1 && none.errors.contains("no daemon runs (ctl.none)"), "\(none)")
  }

  @Test("play plays through the daemon to the end, and gives the rooms back")
  func play() throws {
    let (home, process) = try ServeTests.serve([])
    try home.tune(frames: 48_000)
    try home.longMusic()
    #expect(try home.run("volume", "kitchen", "30").status == 0)
    let outcome = try home.run("play", "tune.wav", "--on", "kitchen", "--volume", "5")
    #expect(outcome.status == 0 && outcome.output + outcome.errors == "", "\(outcome)")
    #expect(try home.run("volume", "kitchen").output.contains("30"))
    let gone = try home.run("play", "gone.wav")
    #expect(gone.status == 1 && gone.errors.contains("gone.wav: no such file"), "\(gone)")
    #expect(try home.run("play", "tune.wav", "--on", "atic").errors.contains("speaker.unknown"))
    let secret = try home.run("play", "http://127.0.0.1:1/a", "--user", "me", "--password-file", "none")
    #expect(secret.status == 1 && secret.errors.contains("give --user NAME and"), "\(secret)")
    try home.script("no music", as: "text.wav")
    let part = try home.run("play", "text.wav", "tune.wav", "--on", "kitchen")
    #expect(part.status == 0 && part.errorLines.count == 1 && part.errors.hasPrefix("warn: "), "\(part)")

    let long = try home.start(["play", "long.mp3", "--on", "bedroom"])
    try ServeTests.wait("it plays") { try home.run("now").output.contains("long.mp3") }
    let status = try home.run("status")
    #expect(status.output.contains("Used by        roomtone serve (process \(process.process))"), "\(status)")
    #expect(status.output.contains("long.mp3 in Bedroom"), "\(status)")
    long.send(SIGTERM)
    _ = try long.finish()
    try ServeTests.wait("it is quiet") { try home.run("now").lines == ["nothing plays"] }
    try Self.end(process)
  }

  @Test("the prompt is inside the daemon, in a state of its own or in that of a script")
  func prompt() throws {
    let (home, process) = try ServeTests.serve([("a.lua", "y = 7")])
    let lines = """
      x = 5
      x + 1
      for i = 1, 2 do
        print(i)
      end
      task.spawn(function() task.sleep(0.1) print "later" end)
      task.sleep(0.5)
      error "oh"
      """
    let outcome = try home.run("repl", input: .text(lines))
    #expect(outcome.lines.filter { !$0.hasPrefix("task") } == ["6", "1", "2", "later"], "\(outcome)")
    #expect(outcome.status == 1 && outcome.errorLines == ["roomtone: ctl:1: oh"], "\(outcome)")
    // Variables stay.
    #expect(try home.run("repl", input: .text("x")).lines == ["5"])
    #expect(try home.run("repl", "--script", "a", input: .text("y")).lines == ["7"])
    let unknown = try home.run("repl", "--script", "b", input: .text("y"))
    #expect(unknown.status == 1 && unknown.errors.contains("no script is called \"b\""), "\(unknown)")

    let open = try home.start(["repl"], input: .terminal)
    try open.expect("in the daemon (process \(process.process))")
    try open.type("print 'here'\n")
    try open.expect("here\r\n")
    try open.type("task.sleep '1h'\n")
    usleep(300_000)
    open.send(SIGINT)
    try open.type("print 'there'\n")
    try open.expect("there\r\n")
    try Self.end(process)
    #expect(try open.finish().status == 1)
  }

  @Test("code in the daemon finds the modules, live(), & and help, also in the state of a script")
  func promptNames() throws {
    let (home, process) = try ServeTests.serve([
      ("a.lua", "y = 7 require 'schedule'.at('06:45', { name = 'wake' }, print)")
    ])
    func eval(_ code: String, script: String? = nil) throws -> [String] {
      let outcome =
        try script.map { try home.run("ctl", "eval", "--script", $0, code) } ?? home.run("ctl", "eval", code)
      #expect(outcome.status == 0, "\(outcome)")
      return outcome.lines
    }
    #expect(try eval("#alarm.list(), type(party.start)") == ["0\tfunction"])
    let live = try eval("live()")
    #expect(live.first == "plays    nothing" && live.contains { $0.hasPrefix("jobs     wake  next ") })
    #expect(try eval("help").first == "Modules")
    #expect(try eval("help zone").first == "Module zone")
    // In a script's state its own globals come first, and none is added to them.
    #expect(try eval("y, type(speaker.play), type(zone.get)", script: "a") == ["7\tfunction\tfunction"])
    #expect(try eval("z = y + 1 zone = 5", script: "a") == [])
    #expect(try eval("z, zone, _G.z, _G.party, type(live)", script: "a") == ["8\t5\t8\tnil\tfunction"])
    #expect(try eval("live()", script: "a") == live)
    #expect(try eval("task.sleep(0.1) return 42 &") == ["task \"task.sleep(0.1) return 42\" (running)"])
    try ServeTests.wait("the task's end is in the log") {
      try home.run("ctl", "log").output.contains("(done): 42")
    }
    try Self.end(process)
  }

  // MARK: The daemon

  private static func status(_ home: Home) throws -> JSON {
    JSON(parsing: try home.run("ctl", "status", "--json").output.utf8) ?? .null
  }

  @discardableResult
  private static func isIdle(_ home: Home, expects: Bool = true) throws -> Bool {
    let status = try status(home)
    let isIdle = status["attached"]?.elements?.isEmpty == true && status["jobs"]?.int == 0
    if expects { #expect(isIdle, "\(status)") }
    return isIdle
  }

  private static func end(_ process: RunningCommand) throws {
    process.send(SIGTERM)
    let outcome = try process.finish()
    #expect(outcome.status == 143 && outcome.errors == "", "\(outcome)")
  }
}
