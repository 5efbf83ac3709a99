import Glibc
import TestSupport
import Testing

@Suite("A signal") struct SignalTests {
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
    speaker.play "music.mp3"
    while speaker.is_playing() and speaker.position() < 0.2 do task.sleep(0.02) end
    print "ready"
    speaker.finish()
    """

  @Test(
    "while music plays ends everything tidily: <close> variables run, files are finished",
    arguments: [SIGINT, SIGTERM])
  func tidy(signal: Int32) throws {
    let home = try Home()
    try home.music()
    let command = try home.start(["run", "--output", "wav:out", home.script(Self.routine)])
    try command.expect("ready\n")
    command.send(signal)
    let outcome = try command.finish()
    #expect(outcome.status == (signal == SIGINT ? 130 : 143))
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
    // One that comes more than three seconds after the last counts as the first.
    for _ in 1...2 {
      command.send(signal)
      usleep(100_000)
    }
    let outcome = try command.finish()
    #expect(outcome.status == 128 + signal)
    // Left to itself it would be given up after some seconds, with a warning.
    #expect(outcome.output == "ready\nunwinding\n")
    #expect(outcome.errors == "")
  }

  @Test("ends a script whose <close> variable never ends, after a while and with a warning")
  func patience() throws {
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
}
