import EventLoop
import Home
import LuaRuntime
import Roomtone
import TestSupport
import TestTraits
import Testing

/// The answers of `why`, as a person reads them: whole texts.
@Suite("why", .waiting, .tags(.history))
struct WhyTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let title: String
    let code: String
    let answer: [String]
    var testDescription: String { title }
  }

  private static let head = """
    local trigger = require "trigger"
    speaker.open { add_all = false }
    local kitchen, bath = speaker.device "Kitchen", speaker.device "Bathroom"

    """

  private static func lines(_ code: String) throws -> [String] {
    let outcome = try EngineHarness().run(head + code)
    return outcome.lines + outcome.failures.filter { !$0.description.contains("no sound") }.map(\.description)
  }

  @Test("says what has changed something", arguments: changes)
  func change(_ test: Case) throws { check(try Self.lines(test.code), test.answer) }

  @Test("says why nothing happened", arguments: silences)
  func silence(_ test: Case) throws { check(try Self.lines(test.code), test.answer) }

  @Test("a run that was missed while roomtone did not run, or while the machine slept")
  func missed() throws {
    let folder = try TemporaryFolder()
    func lines(_ options: String, after restart: Duration) throws -> [String] {
      let code = "schedule.at('06:45', { days = 'daily', name = 'wake up', \(options) }, print)"
      var harness = try EngineHarness()
      (harness.store, harness.history) = (folder.file("\(options).store"), folder.file("\(options).history"))
      harness.limit = .seconds(6 * 3600)
      _ = try harness.run("speaker.device 'Kitchen':set_volume(3) \(code)")
      harness.start = EngineHarness.monday.advanced(by: restart)
      return try harness.run("\(code) task.sleep(1) why 'wake up' os.exit()").lines
    }
    check(
      try lines("catch_up = 'skip'", after: .seconds(9 * 3600)),
      [
        #"job "wake up": the next run is at 2026-01-06 06:45:00"#, "  it has not run yet",
        "  09:00:00  has missed its run of 2026-01-05 06:45: roomtone did not run from some time after 00:00:00 to 09:00:00; "
          + #"catch_up is "skip""#,
      ])
    check(
      try lines("catch_up = 'run_once', grace = '1h'", after: .seconds(9 * 3600)),
      [
        #"job "wake up": the next run is at 2026-01-06 06:45:00"#, "  it has not run yet",
        "  09:00:00  has missed its run of 2026-01-05 06:45: roomtone did not run from some time after 00:00:00 to 09:00:00; "
          + "that was longer ago than its grace of 1h",
      ])
    let fresh = try EngineHarness()
    #expect(try fresh.run("why 'wake up'").failures.map(\.code) == ["why.unknown"])
  }

  @Test("a fade of two speakers is a change of each, also of one that is renamed meanwhile")
  func fades() throws {
    let outcome = try EngineHarness().run(
      Self.head + """
        kitchen:set_volume(10) bath:set_volume(10) task.sleep '2m'
        task.spawn(function() kitchen:fade { to = 20, over = '10s' } end)
        task.spawn(function() task.sleep(4.5) bath:set_name "Spa" end)
        bath:fade { to = 20, over = '10s' }
        task.sleep(1)
        for _, change in ipairs(speaker.history { kind = "volume" }) do
          print(change.name, change.from, change.to, change.count)
        end
        """)
    check(
      outcome.lines,
      [
        "Kitchen\t22\t10\t1", "Bathroom\t20\t10\t1", "Bathroom\t10\t14\t4", "Kitchen\t10\t20\t10",
        "Spa\t14\t20\t6",
      ])
  }

  @Test("the way back from an interruption is a change of each of its speakers")
  func interruption() throws {
    let outcome = try EngineHarness().run(
      Self.head + """
        bath:mute()
        local hall = speaker.device 'Bedroom Left'
        local function play() task.sleep(1) end
        local devices = { kitchen, bath, hall }
        speaker.interrupt { devices = devices, name = 'gong', volume = 40, play = play }
        task.sleep(1)
        local function list(kind)
          for _, change in ipairs(speaker.history { kind = kind }) do print(change.name, change.from, change.to) end
        end
        list 'volume' list 'mute'
        why 'Kitchen'
        """)
    check(
      outcome.lines + outcome.failures.map(\.description),
      [
        "Kitchen\t22\t40", "Bathroom\t0\t40", "Bedroom Left\t18\t40", "Kitchen\t40\t22",
        "Bedroom Left\t40\t18",
        "Bathroom\t20\t20", "Bathroom\t40\t20", "Kitchen is at 22 (was 40)",
        #"  00:00:01  the end of interruption "gong", by interrupt at test.lua:8, by test.lua, started 00:00:00"#,
        #"  00:00:00  before that, 40: interruption "gong", by interrupt at test.lua:8, by test.lua, started 00:00:00"#,
        "Nothing plays in Kitchen",
        "  00:00:01  leaves its session: test.lua:8  interrupt(), by test.lua, started 00:00:00",
      ])
  }

  @Test("the state decides: what a closed session or an earlier process has set is not stated as present")
  func states() throws {
    let closed = try EngineHarness().run(
      Self.head + """
        local s = speaker.session { name = 'tea', devices = kitchen }
        s:set_eq { [31] = 6 } s:set_gain(-6) task.sleep(1) s:close() task.sleep(1) why 'Kitchen'
        """)
    check(
      closed.lines,
      [
        "Kitchen is at 22", "  no change of it is known", "Nothing plays in Kitchen",
        "  00:00:01  leaves its session: test.lua:5  close(), by test.lua, started 00:00:00",
      ])
    let reset = try EngineHarness().run(
      Self.head + """
        kitchen:join() speaker.set_eq { [31] = 6 } speaker.set_eq "flat" speaker.own:set_gain(-6)
        task.sleep(1) why 'Kitchen'
        """)
    check(
      Array(reset.lines.dropFirst(4)),
      [
        "Kitchen has gain -6 dB",
        "  00:00:00  test.lua:4  set_gain(), by test.lua, started 00:00:00",
      ])
    let folder = try TemporaryFolder()
    var harness = try EngineHarness()
    harness.history = folder.file("history.db")
    _ = try harness.run(
      Self.head + """
        kitchen:set_volume(7) kitchen:set_name 'Galley' kitchen:join() kitchen:set_balance(2)
        speaker.set_eq { [31] = 6 } speaker.own:set_gain(-6)
        speaker.play 'long.wav' task.sleep(1) speaker.house():unplug(kitchen) task.sleep(1)
        """)
    // A house that keeps nothing: its speakers are as they were made.
    harness.start = EngineHarness.monday.advanced(by: .seconds(3600))
    let later = try harness.run(Self.head + "why(kitchen) kitchen:join() task.sleep(1) why(kitchen)")
    check(
      later.lines,
      [
        "Kitchen is at 22", "  no change to it is known",
        "  00:00:00  before that, 7: test.lua:4  set_volume(7), by test.lua, started 00:00:00",
        "Kitchen is at 22", "  no change to it is known",
        "  00:00:00  before that, 7: test.lua:4  set_volume(7), by test.lua, started 00:00:00",
        #"Kitchen is in session "test""#,
        "  01:00:00  joins session \"test\": test.lua:4  join(), by test.lua, started 01:00:00",
      ])
  }

  @Test("a source that will not play names the command that came meanwhile, with script and line")
  func superseded() throws {
    let outcome = try EngineHarness().run(
      Self.head + """
        kitchen:join()
        local first = task.spawn(speaker.play_stream, 'http://a.example/a.mp3')
        task.spawn(function()
          speaker.play_stream 'http://b.example/b.mp3'
        end)
        print(message(first.await, first))
        """)
    check(
      outcome.lines,
      [
        #""a" will not play: another command came while it was opening: play_stream at test.lua:7"#
      ])
  }

  @Test("history lists changes with their causes, of a speaker, a time and a kind")
  func history() throws {
    let outcome = try EngineHarness().run(
      Self.head + """
        kitchen:set_volume(9) task.sleep '2h' bath:set_volume(8) kitchen:mute() task.sleep(1)
        for _, change in ipairs(speaker.history { kind = "volume" }) do print(change.text) end
        print(#speaker.history { device = kitchen }, #speaker.history { since = "1h" }, #speaker.history { device = { bath }, since = 3600 })
        local change = speaker.history { device = "Kitchen", kind = "volume" }[1]
        print(change.time // 1 == os.time() - 7201, change.kind, change.subject, change.name, change.from, change.to, change.count)
        local cause = change.cause
        print(cause.kind, cause.script, cause.line, cause.call, cause.parent.kind, cause.parent.parent)
        print(change) print(#speaker.history(), change.text == tostring(change))
        print(message(speaker.history, { kind = "volum" }))
        print(message(speaker.history, { devices = kitchen }))
        """)
    check(
      outcome.lines + outcome.failures.map(\.description),
      [
        "00:00:00  Kitchen  volume 22 → 9  test.lua:4  set_volume(9), by test.lua, started 00:00:00",
        "02:00:00  Bathroom  volume 20 → 8  test.lua:4  set_volume(8), by test.lua, started 00:00:00",
        "2\t2\t1",
        "true\tvolume\tspeaker\tKitchen\t22\t9\t1", "script\ttest.lua\t4\tset_volume\tstart\tnil",
        "00:00:00  Kitchen  volume 22 → 9  test.lua:4  set_volume(9), by test.lua, started 00:00:00",
        "3\ttrue",
        "bad argument #1 to 'history' (option 'kind': no kind is called 'volum'; did you mean 'volume'?)",
        "bad argument #1 to 'history' (no option is called 'devices'; did you mean 'device'?)",
      ])
  }

  @Test("a gain that another one ends on its way is kept with the gain and the time that it reached")
  func gains() throws {
    let outcome = try EngineHarness().run(
      Self.head + """
        kitchen:join() speaker.play "long.wav"
        task.spawn(speaker.fade, { gain = -8, over = "4s" }) task.sleep(1) speaker.set_gain(-6) task.sleep(1)
        for _, change in ipairs(speaker.history { kind = "gain" }) do print(change.from, change.to, (change.text:gsub(" dB.*", ""))) end
        """)
    check(
      outcome.lines + outcome.failures.map(\.description),
      ["0.0\t-2.0\t00:00:00  test  gain 0 → -2", "-2.0\t-6.0\t00:00:01  test  gain -6"])
  }

  @Test("a person at the prompt is named, without the line that was typed")
  func prompt() throws {
    let engine = try EngineHarness().engine()
    let prompt = try Prompt(engine: engine, isInteractive: false)
    var shown: [String] = []
    engine.onPrint = { shown.append($0) }
    prompt.showError = { shown.append($0.description) }
    prompt.input = TypedInput(
      prompt, ["speaker.device 'Kitchen':set_volume(3)", "task.sleep(1)", "why 'Kitchen'"])
    _ = prompt.evaluateInput()
    check(shown, ["Kitchen is at 3 (was 22)", "  00:00:00  set_volume(3), by person at the prompt"])
  }

  @Test("a setting of a headset, by a script and by its wearer; a recording and its end")
  func others() throws {
    let lines = try HeadsetHarness.printed(
      "h:set_noise_cancelling(true) task.sleep(1) why(h)", gestures: [])
    check(
      lines,
      [
        "Roomtone RT-1",
        "  00:00:00  noise cancelling on: test.lua:1  set_noise_cancelling(), by test.lua, started 00:00:00",
        "  00:00:00  connected: test.lua:1  connect(), by test.lua, started 00:00:00",
      ])
    var harness = try EngineHarness()
    harness.stations =
      "station('http://radio.example/show.mp3', { file = '\(Fixtures.path("mp3-cbr128-44k.mp3"))' })"
    let recorded = try harness.run(
      """
      local radio = require 'stream'.new 'http://radio.example/show.mp3'
      local r = radio:record('show.{ext}') task.sleep(3) r:stop() task.sleep(1) why 'show.mp3'
      """)
    check(
      recorded.lines + recorded.failures.map(\.description),
      [
        "recording show.mp3",
        "  00:00:03  is recorded, 7 s: test.lua:2  stop(), by test.lua, started 00:00:00",
        "  00:00:00  is being recorded: test.lua:2  record(), by test.lua, started 00:00:00",
      ])
  }

  @Test("a level that a listener of a stream sets: the event, and the command that has led to it")
  func streamEvents() throws {
    var harness = try EngineHarness()
    harness.stations =
      "station('http://radio.example/show.mp3', { file = '\(Fixtures.path("mp3-cbr128-44k.mp3"))' })"
    let outcome = try harness.run(
      Self.head + """
        local radio = require 'stream'.new 'http://me:secret@radio.example/show.mp3'
        radio:on('started', function() kitchen:set_volume(9) end)
        radio:on('stopped', function() bath:set_volume(8) end)
        schedule.cron('1 0 * * *', { name = 'radio' }, function()
          radio:start()
          task.sleep '1m'
          radio:stop()
          task.sleep(1)
          why(kitchen) why(bath)
          os.exit()
        end)
        """)
    check(
      outcome.lines + outcome.failures.map(\.description),
      [
        "Kitchen is at 9 (was 22)",
        #"  00:01:00  test.lua:5  set_volume(9), on "started" of http://radio.example/show.mp3, "#
          + #"by start at test.lua:8, by job "radio" (cron "1 0 * * *")"#,
        "Bathroom is at 8 (was 20)",
        #"  00:02:00  test.lua:6  set_volume(8), on "stopped" of http://radio.example/show.mp3, "#
          + #"by stop at test.lua:10, by job "radio" (cron "1 0 * * *")"#,
      ])
  }

  @Test("a level that a listener of a recording sets: the event, and the command that has led to it")
  func recordingEvents() throws {
    var harness = try EngineHarness()
    harness.stations =
      "station('http://radio.example/show.mp3', { file = '\(Fixtures.path("mp3-cbr128-44k.mp3"))' })"
    let outcome = try harness.run(
      Self.head + """
        local radio = require 'stream'.new 'http://radio.example/show.mp3'
        radio:on('recording_finished', function() bath:set_volume(8) end)
        local r = radio:record('show.{ext}')
        r:on('recording_finished', function() kitchen:set_volume(9) end)
        task.sleep(3)
        r:stop()
        task.sleep(1)
        why(kitchen) why(bath)
        """)
    let start = "by test.lua, started 00:00:00"
    check(
      outcome.lines + outcome.failures.map(\.description),
      [
        "Kitchen is at 9 (was 22)",
        #"  00:00:03  test.lua:7  set_volume(9), on "recording_finished" of show.mp3, by stop at test.lua:9, "#
          + start,
        "Bathroom is at 8 (was 20)",
        #"  00:00:03  test.lua:5  set_volume(8), on "recording_finished" of "#
          + "http://radio.example/show.mp3, by stop at test.lua:9, \(start)",
      ])
  }

  @Test("a level that a listener of a headset sets: the event, by a command, by the wearer")
  func headsetEvents() throws {
    let lines = try HeadsetHarness.printed(
      """
      local kitchen = speaker.device 'Kitchen'
      h:on('noise_cancelling', function(event) kitchen:set_volume(event.enabled and 9 or 8) end)
      headset.on('battery', function() kitchen:set_volume(7) end)
      h:set_noise_cancelling(true)
      task.sleep '1m'
      for _, change in ipairs(speaker.history { kind = 'volume' }) do print(change.text) end
      """, gestures: [(30, "noise off"), (40, "battery 50")])
    check(
      lines,
      [
        #"00:00:00  Kitchen  volume 22 → 9  test.lua:2  set_volume(9), on "noise_cancelling" of Roomtone RT-1, "#
          + "by set_noise_cancelling at test.lua:4, by test.lua, started 00:00:00",
        #"00:00:30  Kitchen  volume 9 → 8  test.lua:2  set_volume(8), on "noise_cancelling" of Roomtone RT-1, "#
          + "by itself",
        #"00:00:40  Kitchen  volume 8 → 7  test.lua:3  set_volume(7), on "battery" of Roomtone RT-1, by itself"#,
      ])
  }

  @Test("a level that a listener of a job sets: the event, by the run or the schedule")
  func jobEvents() throws {
    let outcome = try EngineHarness().run(
      Self.head + """
        local job = schedule.every('10m', { name = 'chime' }, function() task.sleep '15m' error 'broken' end)
        job:on('skipped', function() kitchen:set_volume(9) end)
        job:on('failed', function() bath:set_volume(8) end)
        task.sleep '26m'
        why(kitchen) why(bath)
        os.exit()
        """)
    check(
      outcome.lines,
      [
        "Kitchen is at 9 (was 22)",
        #"  00:20:00  test.lua:5  set_volume(9), on "skipped", by job "chime" (every 10m)"#,
        "Bathroom is at 8 (was 20)",
        #"  00:25:00  test.lua:6  set_volume(8), on "failed", by job "chime" (every 10m)"#,
      ])
  }
}

/// Expects lines, and shows those that there are.
func check(_ lines: [String], _ expected: [String], at place: SourceLocation = #_sourceLocation) {
  #expect(lines == expected, sourceLocation: place)
}

/// Types blocks at a prompt, then ends the input.
final class TypedInput: PromptInput {
  private unowned let prompt: Prompt
  private var blocks: [String]

  init(_ prompt: Prompt, _ blocks: [String]) { (self.prompt, self.blocks) = (prompt, blocks) }

  func read() {
    if blocks.isEmpty { prompt.endInput() } else { prompt.receive(PromptBlock(text: blocks.removeFirst())) }
  }
  func interrupt() {}
  func frontIsCancelled() {}
  func close() {}
}
