import LuaRuntime
import Reference
import TestSupport
import TestTraits
import Testing

@Suite("calls that are wrong whatever the function does", .waiting, .tags(.error))
struct MisuseTests {
  @Test(
    "a name that a module has not raises where it is read, with the nearest one",
    arguments: [
      (
        "speaker.set_volum(3)",
        "no field or function of speaker is called 'set_volum'; did you mean 'set_volume'?"
      ),
      ("task.slep(1)", "no field or function of task is called 'slep'; did you mean 'sleep'?"),
      (
        "require 'log'.warning 'x'",
        "no field or function of log is called 'warning'; known: debug, error, info, warn"
      ),
      ("require 'eq'.aply()", "no field or function of eq is called 'aply'; did you mean 'apply'?"),
      (
        "require 'recorder'.plan()", "no field or function of recorder is called 'plan'; known: schedule"
      ),
      (
        "require 'stream'.effect.gian(1)",
        "no field or function of stream.effect is called 'gian'; did you mean 'gain'?"
      ),
    ])
  func unknownName(_ call: String, _ message: String) throws {
    let lines = try EngineHarness.printed(
      "\nlocal err = failure(function() \(call) end)\nprint(err.code, err)")
    #expect(lines == ["argument\ttest.lua:2: \(message)"])
  }

  @Test(
    "a call of a global that is nil and has the name of a module has the line that requires it as its hint",
    arguments: [
      ("alarm.set {}", "local alarm = require \"alarm\""),
      ("headset.list()", "local headset = require \"headset\""),
      ("radio.start()", nil), ("local alarm alarm.set {}", nil),
    ])
  func missingRequire(_ code: String, _ hint: String?) throws {
    let outcome = try EngineHarness().run(code)
    #expect(outcome.failures.map(\.hint) == [hint] && outcome.failures[0].message.contains("a nil value"))
  }

  @Test("assigning a field of a module raises and names the function, whether or not there is such a field")
  func assigned() throws {
    let lines = try EngineHarness.printed(
      """
      local store, stream, eq = require "store", require "stream", require "eq"
      local function refused(f) local err = failure(f) print(err.code, err.where, err.message, err.hint) end
      refused(function() store.volume = 20 end)
      refused(function() speaker.volume = 20 end)
      refused(function() speaker.mute = true end)
      refused(function() stream.effect.gain = 1 end)
      refused(function() task.mine = 1 end)
      refused(function() eq.presets = nil end)
      local alarm, party = require "alarm", require "party"
      refused(function() alarm.volume = 20 end)
      refused(function() alarm.loudness = 20 end)
      refused(function() party.volume = 20 end)
      local session, kitchen = speaker.own, speaker.device "Kitchen"
      local function given(f) local err = failure(f) print(err.message, err.hint) end
      given(function() session.volume = 3 end)
      given(function() session.position = 3 end)
      given(function() session.loudness = 3 end)
      given(function() speaker.group "Bedroom".mute = true end)
      given(function() require "zone".define("z", { kitchen }).volume = 3 end)
      print(math.type(speaker.volume()), type(eq.presets()), task.sleep ~= nil)
      """)
    func refusal(_ line: Int, _ field: String, _ module: String, _ hint: String) -> String {
      "argument\ttest.lua:\(line)\tthe field '\(field)' of \(module) can't be assigned\t\(hint)"
    }
    #expect(
      lines == [
        refusal(3, "volume", "store", "call store.set(\"volume\", …)"),
        refusal(4, "volume", "speaker", "call speaker.set_volume(…)"),
        refusal(5, "mute", "speaker", "it is part of the module"),
        refusal(6, "gain", "stream.effect", "it is part of the module"),
        refusal(7, "mine", "task", "keep it in a variable of the script"),
        refusal(8, "presets", "eq", "it is part of the module"),
        refusal(10, "volume", "alarm", "call alarm.set { volume = … }"),
        refusal(11, "loudness", "alarm", "keep it in a variable of the script"),
        refusal(12, "volume", "party", "call party.start { volume = … }"),
        "a session can't be given a field 'volume'\tcall :set_volume(…)",
        "a session can't be given a field 'position'\tcall :position(…)",
        "a session can't be given a field 'loudness'\tnil",
        "a group can't be given a field 'mute'\tcall :mute(…)",
        "'volume' of a zone can't be set\tcall :set_volume(…)", "integer\ttable\ttrue",
      ])
  }

  @Test("rawget of a module is harmless, and pairs, ipairs and require keep working")
  func asking() throws {
    let lines = try EngineHarness.printed(
      """
      print(rawget(task, "slep"), task[1], #task, require "task" == task)
      local count = 0
      for name, value in pairs(task) do count = count + (task[name] == value and 1 or 0) end
      print(count > 5)
      """)
    #expect(
      lines == [
        "nil\tnil\t0\ttrue", "true",
      ])
  }

  @Test("an argument too many raises before anything is done; nils at the end are none")
  func surplus() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen = speaker.device "Kitchen"
      print(message(function() kitchen:mute(false) end), kitchen.muted)
      print(message(function() kitchen:set_volume(3, 4) end), kitchen.volume == 3)
      print(message(speaker.mute, true), speaker.is_muted())
      print(message(speaker.play, "tone.wav", {}, 1, 2))
      kitchen:mute(nil)
      task.sleep(1)
      print(kitchen.muted)
      """)
    #expect(
      lines == [
        "'mute' takes no argument\tfalse", "'set_volume' takes one argument, got 2\tfalse",
        "'mute' takes no argument\tfalse", "'play' takes at most 2 arguments, got 4", "true",
      ])
    let advice = try EngineHarness.printed(
      "print(failure(function() speaker.device 'Kitchen':mute(false) end).hint)")
    #expect(advice == ["call unmute to undo it"])
  }

  @Test(
    "a function of a module can be a listener, a routine or a job, though it gets more arguments than it has parameters"
  )
  func listeners() throws {
    let outcome = try EngineHarness().run(
      """
      speaker.on("volume", speaker.pause)
      speaker.play "long.wav"
      speaker.set_volume(7)
      task.sleep(1)
      print(speaker.state())
      print(task.spawn(speaker.state, "extra"):await())
      """)
    #expect(outcome.lines == ["paused", "paused"] && outcome.failures.isEmpty, "\(outcome)")
  }

  @Test("a dot for a colon, and a colon for a dot, have errors of their own")
  func dotAndColon() throws {
    let lines = try EngineHarness.printed(
      """
      print(message(function() speaker:play "tone.wav" end))
      print(message(function() speaker:stop() end))
      print(message(function() task:sleep(1) end))
      local err = failure(function() speaker.device "Kitchen".mute() end)
      print(err.message, err.hint)
      """)
    #expect(
      lines == [
        "'play' is called with a dot: speaker.play(…)", "'stop' is called with a dot: speaker.stop(…)",
        "'sleep' is called with a dot: task.sleep(…)",
        "bad argument #1 to 'mute' (speaker expected, got no value)\tcall it with a colon: object:mute(…)",
      ])
  }

  @Test("errors of modules in Lua are error objects, with a traceback from the script's line on")
  func library() throws {
    let lines = try EngineHarness.printed(
      """
      local recorder = require "recorder"
      local function plan() local show = recorder.schedule {} return show end
      local ok, err = pcall(plan)
      print("failed: " .. err)
      print(err.traceback:match "\\n%s*([^\\n]*)")
      print(getmetatable(err), getmetatable(failure(task.sleep)))
      local show = recorder.schedule { url = "http://127.0.0.1/", cron = "@daily", duration = 1 }
      print(select(2, pcall(function()
        show:on("finish", print)
      end)).where)
      show:cancel()
      """)
    try #require(lines.count == 4, "\(lines)")
    #expect(lines[0] == "failed: test.lua:2: option 'url' of 'schedule' is missing")
    #expect(lines[1].hasPrefix("test.lua:2: in "), "\(lines[1])")
    #expect(lines[2] == "error\terror" && lines[3] == "test.lua:9", "\(lines)")
  }

  @Test("a call for another function is pointed there")
  func otherFunctions() throws {
    let lines = try EngineHarness.printed(
      """
      local stream = require "stream"
      local function reported(f, ...) local err = failure(f, ...) print(err.code, err.message, err.hint) end
      reported(speaker.play, "http://me:secret@radio/x")
      reported(speaker.play, "")
      reported(speaker.play_stream, "/x.wav")
      reported(stream.new, "tone.wav/../x.wav")
      reported(require, "tasks")
      print(message(function() speaker.device "Kitchen":set_role "mid" end))
      print(message(stream.new, "http://a/", { metadata_encoding = "utf-9" }))
      print(message(require "recordings".list, { since = "2026-01-01" }))
      """)
    let expected = [
      "argument\tbad argument #1 to 'play' (http://radio/x is a URL, not a file)\tstreams are played with play_stream",
      "argument\tbad argument #1 to 'play' (the path is empty)\tnil",
      "stream.url\tbad argument #1 to 'play_stream' (\"/x.wav\" is a file, not a URL)\tfiles are played with",
      "stream.url\tno station \"tone.wav/../x.wav\" is configured, and it is not a URL",
      "script.module\tmodule 'tasks' is not found: ",
      "bad argument #1 to 'set_role' (no role is called 'mid'; known: center, front_left, front_right, left, lfe, mono, right, stereo, surround_left, surround_right)",
      "bad argument #2 to 'new' (option 'metadata_encoding': no encoding is called 'utf-9'; did you mean 'utf-8'?)",
      "bad argument #1 to 'list' (option 'since': seconds expected, as os.time counts them, got a string)",
    ]
    #expect(lines.count == expected.count, "\(lines)")
    for (line, start) in zip(lines, expected) { #expect(line.hasPrefix(start)) }
    #expect(lines[4].hasSuffix("did you mean 'task'?"))
  }

  @Test("no error of a file shows the password of a text that was meant as a URL")
  func passwordsInPaths() throws {
    let lines = try EngineHarness.printed(
      """
      local stream = require "stream"
      for _, url in ipairs {
        "mms://user:secret@h/x", "htp://user:secret@h/x", "http://user:secret@[bad/x", "http://user:secret@h:99999/x",
        "http:/user:secret@h/x", "//user:secret@h/x", "user:secret@127.0.0.1:1/x",
      } do
        for _, err in ipairs {
          failure(speaker.play, url), failure(speaker.play, { url }), failure(speaker.interrupt, { play = url }),
          failure(function() stream.file(url):start() end),
        } do print(err.code, err, err.path or err.url) end
      end
      print(code(speaker.play, "12:00 me@home.mp3"))
      print(message(speaker.play, { "tone.wav\0.mp3" }))
      """)
    #expect(lines.count == 30 && !lines.contains { $0.contains("secret") }, "\(lines)")
    #expect(
      lines.filter { $0.hasPrefix("stream.unsupported\t") && $0.contains("mms:// addresses") }.count == 3)
    #expect(
      lines.contains { $0.hasPrefix("audio.not_found\t") && $0.contains("…127.0.0.1:1/x: no such file") })
    #expect(lines.last == "bad argument #1 to 'play' ([1]: the path contains a zero byte)")
  }

  @Test("stations and shows contain no password")
  func passwords() throws {
    var harness = try EngineHarness()
    harness.configuration += " stations { mine = 'http://me:secret@radio/x' }"
    let lines = try harness.printed(
      """
      local stream = require "stream"
      print(stream.stations().mine, stream.new("mine").url, stream.new("mine"))
      local show = require "recorder".schedule { url = "http://me:secret@radio/x", at = "20:00", duration = 60 }
      show:on("started", function(event) print(event.url) end)
      show:on("finished", function(event) print(event.parts[1].url) show:cancel() end)
      """)
    #expect(
      lines == [
        "http://radio/x\thttp://radio/x\tstream (http://radio/x, stopped)", "http://radio/x",
        "http://radio/x",
      ])
  }
}
