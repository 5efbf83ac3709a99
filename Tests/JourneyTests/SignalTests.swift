import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("A signal", .waiting, .tags(.command, .limits)) struct SignalTests {
  private static let routine = """
    local speaker, task = require "speaker", require "task"
    local outer <close> = setmetatable({}, { __close = function() print "the main routine has unwound" end })
    task.spawn(function()
      local inner <close> = setmetatable({}, { __close = function()
        task.sleep(0.05)
        print "the other has unwound"
      end })
      task.sleep("1h")
    end)
    speaker.play("music.mp3", { rooms = speaker.devices() })
    while speaker.is_playing() and speaker.position() < 0.2 do task.sleep(0.02) end
    print "ready"
    speaker.finish()
    """

  @Test(
    "while music plays ends everything tidily: <close> variables run, files are finished",
    arguments: [SIGINT, SIGTERM, SIGHUP])
  func tidy(signal: Int32) throws {
    let home = try Home()
    try home.music()
    let command = try home.start(["run", "--output", "wav:out", home.script(Self.routine)])
    try command.expect("ready\n")
    command.send(signal)
    let outcome = try command.finish()
    #expect(outcome.status == 128 + signal)
    #expect(outcome.lines.sorted() == ["ready", "the main routine has unwound", "the other has unwound"])
    #expect(outcome.errors == "")
    #expect(try unfinishedWAVs(in: home.path("out")) == [])
    let played = try Sound(file: home.path("out/Living Room Left.wav"))
    #expect(played.peak > 0 && played.frameCount < 20 * 48_000)
  }

  @Test("that comes a second time ends at once, whatever still unwinds", arguments: [SIGINT, SIGTERM])
  func twice(signal: Int32) throws {
    let home = try Home()
    let script = try home.script(
      """
      local task = require "task"
      local slow <close> = setmetatable({}, { __close = function()
        print "unwinding"
        task.sleep("10m")
        print "unwound"
      end })
      print "ready"
      task.sleep("1h")
      """)
    let command = try home.start(["run", "--output", "null", script])
    try command.expect("ready\n")
    command.send(SIGINT)
    try command.expect("unwinding\n")
    // A second signal within half a second counts as the first one.
    usleep(600_000)
    command.send(signal)
    let outcome = try command.finish()
    #expect(outcome.status == 128 + signal)
    // Without the second signal the script would be abandoned after some seconds, with a warning.
    #expect(outcome.output == "ready\nunwinding\n")
    #expect(outcome.errors == "")
  }

  @Test("ends a script whose <close> variable never ends, after a while and with a warning")
  func unwindTimeout() throws {
    let home = try Home()
    let script = try home.script(
      """
      local task = require "task"
      local slow <close> = setmetatable({}, { __close = function() task.sleep("10m") end })
      print "ready"
      task.sleep("1h")
      """)
    let command = try home.start(["run", "--output", "null", script])
    try command.expect("ready\n")
    command.send(SIGTERM)
    let outcome = try command.finish()
    #expect(outcome.status == 143)
    #expect(outcome.errorLines.count == 1)
    #expect(outcome.errors.contains("1 routine"))
  }

  @Test("reaches a script that never suspends")
  func busy() throws {
    let home = try Home()
    let script = try home.script(
      "io.write 'ready\\n' io.flush() local t = os.clock() while os.clock() - t < 1.5 do end print 'late'\n"
        + "require 'task'.sleep('1h')")
    let command = try home.start(["run", "--output", "null", script])
    try command.expect("ready\n")
    command.send(SIGINT)
    #expect(try command.finish().status == 130)
  }

  @Test(
    "that comes a second time ends at once while a call can't be interrupted", arguments: [SIGINT, SIGTERM])
  func wedged(signal: Int32) throws {
    let home = try Home()
    let script = try home.script(
      """
      print "ready"
      require "task".sleep(0.1)
      io.write "wedged\\n" io.flush()
      local text = ("a"):rep(40)
      text:find(("a?"):rep(40) .. text)
      """)
    let command = try home.start(["run", "--output", "null", script])
    try command.expect("wedged\n")
    command.send(signal)
    usleep(700_000)
    command.send(signal)
    let outcome = try command.finish()
    // The watchdog would end it with status 1 some seconds later.
    #expect(outcome.status == 128 + signal && outcome.errors == "")
  }

  @Test(
    "ends a command that waits for its speakers, with the status of the signal and without a word",
    arguments: [["volume", "kitchen", "3"], ["mute"], ["status"], ["play", "tune.wav"]])
  func house(words: [String]) throws {
    let home = try Home()
    try home.tune(frames: 480)
    let server = try HostileSnapserver(.silence)
    mkdir(home.path("config/roomtone"), 0o700)
    try home.script(
      "house { driver = \"snapcast\", port = \(server.port) }", as: "config/roomtone/config.lua")
    let command = try home.start(words)
    try ServeTests.wait("it is connected") { !server.requests.isEmpty }
    command.send(SIGTERM)
    #expect(try command.finish() == Outcome(status: 143, output: "", errors: ""))
  }

  @Test("ends a script that floods itself, or comes too late for that; its memory stays bounded")
  func flood() throws {
    let home = try Home()
    let script = try home.script(
      """
      local speaker, task = require "speaker", require "task"
      speaker.open { add_all = true }
      speaker.on("volume", function(event) for n = 1, 2 do speaker.set_volume((event.volume + n) % 50) end end)
      print "ready"
      speaker.set_volume(10)
      task.sleep("1h")
      """)
    // A sanitizer reserves terabytes of addresses, and has a limit of its own for what is resident.
    let outcome = try home.runInShell(
      """
      grep -q -e __asan_init -e __tsan_init "$ROOMTONE" || ulimit -v 1500000
      export ASAN_OPTIONS=hard_rss_limit_mb=2500:$ASAN_OPTIONS TSAN_OPTIONS=hard_rss_limit_mb=2500:$TSAN_OPTIONS
      exec $ROOMTONE run --output null --for 60s \(script)
      """)
    #expect(outcome.status == 1 && outcome.output == "ready\n")
    #expect(outcome.failures.count == 1)
    #expect(outcome.errors.contains("routine.lua:3: ") && outcome.errors.contains("(script.flooded)"))
  }
}
