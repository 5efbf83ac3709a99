import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("speaker: sessions, levels and sources of every kind", .waiting)
struct RowTests {
  @Test(
    "play reads every format of the contract",
    arguments: [
      "base-24bit.wav", "base.aiff", "base.caf", "mp3-cbr128-44k.mp3", "aac-lc-44k.aac", "aac-lc-44k.m4a",
      "he-aac-v1-48k.m4a", "music-44k.flac", "music-44k.ogg",
    ])
  func formats(_ file: String) throws {
    let lines = try EngineHarness.printed(
      """
      speaker.play "\(Fixtures.path(file))"
      local begin, length = task.now(), speaker.duration()
      print(speaker.state(), length > 0.1 and length < 30, speaker.finish(), math.abs(task.now() - begin - length) < 0.1)
      """)
    #expect(lines == ["playing\ttrue\tfinished\ttrue"])
  }

  @Test("a source that can't be played, and one without sound, have codes of their own")
  func codes() throws {
    var harness = try EngineHarness()
    let lines = try harness.printed(
      """
      print(code(speaker.play, "\(Fixtures.path("alac.m4a"))"), code(speaker.play, "nowhere.wav"))
      """)
    #expect(lines == ["audio.unsupported\taudio.not_found"])
    harness.configuration = "house { output = 'wav:\(harness.folder.file("tone.wav"))/out' }"
    #expect(try harness.printed("print(code(speaker.open), speaker.is_open())") == ["audio.no_output\tfalse"])
  }

  @Test("a session that was made has everything that the default one has, for its members alone")
  func session() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen, bath = speaker.device "Kitchen", speaker.device "Bathroom"
      local mine = speaker.session { name = "mine", devices = { kitchen, "Bathroom" }, priority = 120 }
      print(mine.name, mine.priority, names(mine.devices), mine:state(), #speaker.default_session().devices)
      mine:on("state", function(e) print("state", e.state, e.session == mine) end)
      mine:on("time", function(e) print("time", e.elapsed) end)
      mine:once("ended", function(e) print("ended", e.reason, e.source.title) end)
      mine:set_volume(33)
      mine:play("long.wav", { title = "mine" })
      print(mine:is_playing(), speaker.is_playing(), speaker.state(), kitchen.is_playing)
      task.sleep(1)
      mine:pause()
      mine:seek(9)
      print(mine:state(), mine:position(), mine:duration(), kitchen.volume, speaker.device "Bedroom Left".volume)
      mine:resume()
      print(mine:finish(), mine:volume())
      task.sleep(0.1)
      mine:mute()
      task.sleep(0.1)
      print(mine:is_muted(), speaker.is_muted(), kitchen.muted, speaker.device "Bedroom Left".muted)
      """)
    #expect(
      lines.filter { !$0.hasPrefix("state") && !$0.hasPrefix("time") && !$0.hasPrefix("ended") } == [
        "mine\t120\tKitchen, Bathroom\tstopped\t4", "true\tfalse\tstopped\ttrue", "paused\t9.0\t10.0\t33\t18",
        "finished\t33", "true\tfalse\ttrue\tfalse",
      ])
    #expect(
      lines.filter { $0.hasPrefix("state") || $0.hasPrefix("ended") } == [
        "state\tplaying\ttrue", "state\tpaused\ttrue", "state\tplaying\ttrue", "state\tstopped\ttrue",
        "ended\tfinished\tmine",
      ])
    #expect(lines.filter { $0.hasPrefix("time") } == ["time\t1", "time\t10"])
  }

  @Test("set_volume acts on members of the default session and speakers in none, mute on members alone")
  func levels() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen, bath = speaker.device "Kitchen", speaker.device "Bathroom"
      local mine = speaker.session { devices = { kitchen } }
      bath:leave()
      local reported = 0
      speaker.on("volume", function(e) reported = reported + 1 if e.device == kitchen then print "kitchen" end end)
      speaker.set_volume(30)
      task.sleep(0.1)
      print(reported, kitchen.volume, bath.volume)
      speaker.mute()
      task.sleep(0.1)
      print(reported, speaker.is_muted(), kitchen.muted, bath.muted, mine:is_muted())
      speaker.unmute()
      task.sleep(0.1)
      print(reported, speaker.is_muted(), bath.muted, bath.volume)
      """)
    #expect(lines == ["5\t22\t30", "9\ttrue\tfalse\tfalse\tfalse", "13\tfalse\tfalse\t30"])
  }

  @Test("joining moves a speaker from another session, also while that plays; the last one ends it")
  func movedByJoining() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen, bath = speaker.device "Kitchen", speaker.device "Bathroom"
      local mine = speaker.session { devices = { kitchen, bath } }
      mine:on("ended", function(e) print("ended", e.reason) end)
      mine:play "long.wav"
      speaker.play "long.wav"
      kitchen:join()
      print(names(mine.devices), mine:state(), kitchen.is_playing, #speaker.default_session().devices)
      bath:join()
      print(#mine.devices, mine:state(), speaker.state())
      speaker.stop()
      task.sleep(0.1)
      print(code(mine.play, mine, "tone.wav"))
      """)
    #expect(
      lines == [
        "Bathroom\tplaying\ttrue\t5", "0\tstopped\tplaying", "ended\tno_devices", "speaker.no_active_device",
      ])
  }

  @Test("there is room for sixteen sessions; a closed one makes room")
  func room() throws {
    let lines = try EngineHarness.printed(
      """
      local sessions = {}
      for i = 1, 15 do sessions[i] = speaker.session() end
      local err = failure(speaker.session)
      print(err.code, #err.hint > 0, sessions[3].name)
      sessions[3]:close()
      print(speaker.session { name = "again" }.name, code(speaker.session))
      """)
    #expect(lines == ["speaker.no_stream\ttrue\tsession 3", "again\tspeaker.no_stream"])
  }

  @Test(
    "a role decides what kind of channel a speaker is; an impossible role is named with the possible ones")
  func roles() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen = speaker.device "Kitchen"
      for _, role in ipairs { "stereo", "left", "right", "mono" } do
        kitchen:set_role(role)
        task.sleep(0.1)
        print(kitchen.role, kitchen.channel_type)
      end
      kitchen:set_balance(-6)
      task.sleep(0.1)
      print(kitchen.balance, kitchen.is_master, kitchen.group_id == kitchen.id)
      print(message(kitchen.set_role, kitchen, "sterio"))
      """)
    #expect(lines.prefix(5) == ["stereo\t1", "left\t1", "right\t1", "mono\t0", "-6\ttrue\ttrue"])
    #expect(lines.last?.contains("did you mean 'stereo'?") == true)
  }

  @Test("a snapshot brings back volume, mute, sessions and what was paused, once and again")
  func snapshot() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen, bath = speaker.device "Kitchen", speaker.device "Bathroom"
      local mine = speaker.session { name = "mine", devices = { bath } }
      bath:mute()
      mine:play("long.wav", { title = "song" })
      task.sleep(2)
      mine:pause()
      kitchen:leave()
      local all, one = speaker.snapshot(), speaker.snapshot { devices = { "Kitchen" } }
      for _ = 1, 2 do
        bath:join()
        kitchen:join()
        speaker.set_volume(45)
        task.sleep(0.1)
        print(mine:state(), bath.muted, kitchen.volume)
        one:restore()
        task.sleep(0.1)
        print(kitchen.volume, kitchen.active, bath.volume, bath.active)
        all:restore()
        task.sleep(0.1)
        print(kitchen.active, bath.volume, bath.muted, names(mine.devices), mine:state(), mine:position(), speaker.state())
      end
      print(names(one.devices), #all.devices)
      local alarm = speaker.session { devices = { bath }, priority = 200 }
      print(code(all.restore, all))
      """)
    let round = [
      "stopped\tfalse\t45", "22\tfalse\t45\ttrue", "false\t20\ttrue\tBathroom\tpaused\t2.0\tstopped",
    ]
    #expect(lines == round + round + ["Kitchen\t6", "speaker.outranked"])
  }

  @Test("fade{to=} fades the volume, and ends when a level is set meanwhile")
  func fades() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen, bath = speaker.device "Kitchen", speaker.device "Bathroom"
      local reported = 0
      kitchen:on("volume", function(e) reported = reported + 1 end)
      task.spawn(function() task.sleep(1) bath:set_volume(5) end)
      speaker.fade { to = 42, over = "2s" }
      task.sleep(0.1)
      print(kitchen.volume, reported, bath.volume)
      print(message(speaker.fade, { to = 3, volume = 3, over = 1 }))
      """)
    #expect(lines.first == "42\t20\t5")
    #expect(lines.last?.contains("one of gain, volume and to expected") == true)
  }

  @Test("no event is delivered after the script has ended")
  func afterTheEnd() throws {
    let outcome = try EngineHarness().run(
      """
      speaker.on("state", function(e) print(e.state) end)
      speaker.on("ended", function(e) print(e.reason) end)
      speaker.play "long.wav"
      task.sleep(1)
      os.exit(0)
      """)
    #expect(outcome.lines == ["playing"] && outcome.failures.isEmpty)
  }
}
