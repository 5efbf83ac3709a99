import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("speaker: playback", .waiting)
struct PlaybackTests {
  /// Prints what happens to the session, and when: `after` is the time since `play`.
  static let reported =
    """
    speaker.open()
    speaker.on("state", function(e) print("state " .. e.state) end)
    speaker.on("ended", function(e) print("ended " .. e.source.title .. " " .. e.reason) end)\u{20}

    """

  @Test("play returns when it plays; finish when the last frame was heard; the script is beside its file")
  func plays() throws {
    let lines = try EngineHarness.printed(
      Self.reported + """
        speaker.play("tone.wav", { title = "the tone" })
        print(speaker.state(), speaker.is_playing(), speaker.position(), speaker.duration())
        print(speaker.device "Kitchen".is_playing, speaker.default_session())
        local begin = task.now()
        print(speaker.finish(), task.now() - begin, speaker.state(), speaker.position(), speaker.duration())
        print(select("#", speaker.finish()))
        """)
    #expect(
      lines.filter { !$0.hasPrefix("state") && !$0.hasPrefix("ended") } == [
        "playing\ttrue\t0.0\t3.0", "true\tsession \"default\" (playing \"the tone\", 6 speakers)",
        "finished\t3.0\tstopped\t0.0\tnil", "0",
      ])
    #expect(
      lines.filter { $0.hasPrefix("state") || $0.hasPrefix("ended") } == [
        "state playing", "state stopped", "ended the tone finished",
      ])
  }

  @Test("start begins inside the source; the title is the file's name unless set")
  func start() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.on("ended", function(e) print(e.source.title, e.source.path:match "[^/]+$", e.reason) end)
      speaker.play("long.wav", { start = 7.5 })
      print(speaker.position())
      local begin = task.now()
      speaker.finish()
      print(task.now() - begin)
      print(code(speaker.play, "tone.wav", { start = 4 }), failure(speaker.play, "tone.wav", { start = 4 }).start)
      print(code(speaker.play, "tone.wav", { start = -1 }))
      """)
    #expect(lines.contains("long.wav\tlong.wav\tfinished"))
    #expect(lines.filter { !$0.contains("long") } == ["7.5", "2.5", "speaker.range\t4.0", "argument"])
  }

  @Test("a loop continues for ever; its position is that in the source, and time counts on")
  func loop() throws {
    let lines = try EngineHarness.printed(
      """
      local last
      speaker.on("time", function(e) last = e.elapsed end)
      speaker.play("tone.wav", { loop = true })
      task.sleep "7.5s"
      print(speaker.position(), speaker.duration(), last, speaker.is_playing())
      speaker.stop()
      """)
    #expect(lines == ["1.5\t3.0\t7\ttrue"])
  }

  @Test("the priority is the session's from then on")
  func priority() throws {
    let lines = try EngineHarness.printed(
      """
      print(speaker.default_session().priority)
      speaker.play("tone.wav", { priority = 200 })
      print(speaker.default_session().priority)
      speaker.stop()
      print(code(speaker.play, "tone.wav", { priority = "high" }))
      """)
    #expect(lines == ["100", "200", "argument"])
  }

  @Test("pause keeps the position, resume continues; each is published")
  func pause() throws {
    let lines = try EngineHarness.printed(
      Self.reported + """
        speaker.play "tone.wav"
        task.sleep(1)
        speaker.pause()
        speaker.pause()
        task.sleep "1h"
        print(speaker.state(), speaker.is_playing(), speaker.position(), speaker.device "Kitchen".is_playing)
        speaker.resume()
        local begin = task.now()
        print(speaker.finish(), task.now() - begin)
        """)
    #expect(
      lines == [
        "state playing", "state paused", "paused\tfalse\t1.0\tfalse", "state playing", "state stopped",
        "ended tone.wav finished", "finished\t2.0",
      ]
        || lines == [
          "state playing", "state paused", "paused\tfalse\t1.0\tfalse", "state playing", "finished\t2.0",
          "state stopped", "ended tone.wav finished",
        ])
  }

  @Test("resume raises speaker.not_paused when stopped, when playing, after stop and after the end")
  func notPaused() throws {
    let lines = try EngineHarness.printed(
      """
      print(code(speaker.resume))
      speaker.play "tone.wav"
      print(code(speaker.resume))
      speaker.pause()
      speaker.stop()
      print(code(speaker.resume))
      speaker.play "tone.wav"
      speaker.finish()
      print(code(speaker.resume))
      """)
    #expect(lines == Array(repeating: "speaker.not_paused", count: 4))
  }

  @Test("pause and stop when stopped change and publish nothing")
  func idle() throws {
    let lines = try EngineHarness.printed(
      Self.reported + "speaker.pause() speaker.stop() speaker.stop() task.sleep(1) print 'quiet'")
    #expect(lines == ["quiet"])
  }

  @Test("play while playing replaces: ended replaced, then playing, and no stopped in between")
  func replaces() throws {
    let lines = try EngineHarness.printed(
      Self.reported + """
        speaker.play "tone.wav"
        task.sleep(1)
        speaker.play "long.wav"
        task.sleep(1)
        speaker.stop()
        task.sleep(1)
        """)
    #expect(
      lines == [
        "state playing", "ended tone.wav replaced", "state playing", "state stopped",
        "ended long.wav stopped",
      ])
  }

  @Test("play on a paused session replaces it; with resume = true it continues instead")
  func playOnPaused() throws {
    let lines = try EngineHarness.printed(
      Self.reported + """
        speaker.play "tone.wav"
        task.sleep(1)
        speaker.pause()
        speaker.play("long.wav", { resume = true })
        print(speaker.position(), speaker.duration())
        speaker.pause()
        speaker.play "long.wav"
        print(speaker.position(), speaker.duration())
        speaker.stop()
        speaker.play("tone.wav", { resume = true })
        print(speaker.state(), speaker.duration())
        speaker.stop()
        """)
    #expect(lines.filter { $0.contains("\t") } == ["1.0\t3.0", "0.0\t10.0", "playing\t3.0"])
    #expect(
      lines.filter { $0.hasPrefix("ended") }.prefix(2) == [
        "ended tone.wav replaced", "ended long.wav stopped",
      ])
  }

  @Test("seek goes there, playing and paused; to the end ends; past it raises and changes nothing")
  func seek() throws {
    let lines = try EngineHarness.printed(
      """
      print(code(speaker.seek, 1))
      speaker.play "long.wav"
      speaker.seek(4)
      print(speaker.position())
      task.sleep(1)
      print(math.floor(speaker.position() * 100 + 0.5) / 100)
      local err = failure(speaker.seek, 10.5)
      print(err.code, err.seconds, code(speaker.seek, -1), code(speaker.seek, "x"), code(speaker.seek, 0 / 0))
      speaker.pause()
      speaker.seek(9)
      task.sleep(1)
      print(speaker.position(), speaker.state())
      speaker.resume()
      print(speaker.finish())
      speaker.play "tone.wav"
      speaker.seek(3)
      print(speaker.finish())
      """)
    #expect(
      lines == [
        "speaker.no_seek", "4.0", "5.0", "speaker.range\t10.5\tspeaker.range\targument\targument",
        "9.0\tpaused",
        "finished", "finished",
      ])
  }

  @Test("without an active speaker play raises before it looks at the file")
  func noActiveDevice() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = false }
      print(code(speaker.play, "nowhere.wav"))
      speaker.device "Kitchen":join()
      print(code(speaker.play, "nowhere.wav"), failure(speaker.play, "nowhere.wav").path)
      """)
    #expect(lines == ["speaker.no_active_device", "audio.not_found\tnowhere.wav"])
  }

  @Test("an undecodable source is named with what was found where, and the old one continues")
  func unreadable() throws {
    let harness = try EngineHarness()
    _ = try harness.folder.write(Array("<html>not found</html>".utf8), to: "page.mp3")
    let lines = try harness.printed(
      """
      speaker.play "tone.wav"
      local err = failure(speaker.play, "page.mp3")
      print(err.code, err.byte, err.found ~= nil, err.path:match "page.mp3$")
      print(speaker.state(), speaker.duration())
      print(code(speaker.play, "tone.wav", { volume = 3 }), message(speaker.play, "tone.wav", { strat = 3 }))
      speaker.stop()
      """)
    #expect(lines[0] == "audio.unreadable\t0\ttrue\tpage.mp3")
    #expect(lines[1] == "playing\t3.0")
    #expect(lines[2].hasPrefix("argument\t") && lines[2].hasSuffix("did you mean 'start'?)"))
  }

  @Test("finish ends after its timeout and the source continues; stop ends it")
  func finishTimeout() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.play "long.wav"
      print(speaker.finish "2s")
      print(speaker.is_playing(), speaker.position())
      task.spawn(function() task.sleep(1) speaker.stop() end)
      print(speaker.finish(), task.now())
      speaker.play "long.wav"
      task.spawn(function() task.sleep(1) speaker.play "tone.wav" end)
      print(speaker.finish())
      """)
    #expect(lines[0] == "nil\ttimeout" && lines[1] == "true\t2.0" && lines[2].hasPrefix("stopped"))
    #expect(lines[3] == "replaced")
  }

  @Test(
    "a speaker that joins while it plays keeps its level and mute; when the last one leaves, playback stops at once"
  )
  func members() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.open { add_all = false }
      local kitchen, bath = speaker.device "Kitchen", speaker.device "Bathroom"
      speaker.on("ended", function(e) print("ended", e.reason) end)
      kitchen:join()
      bath:mute()
      speaker.play "long.wav"
      bath:join()
      task.sleep(1)
      print(bath.is_playing, bath.volume, bath.muted)
      kitchen:leave()
      print(kitchen.is_playing, speaker.state())
      bath:leave()
      print(speaker.state())
      task.sleep(1)
      """)
    #expect(lines.prefix(2) == ["true\t20\ttrue", "false\tplaying"])
    #expect(lines.dropFirst(2).sorted() == ["ended\tno_devices", "stopped"])
  }

  @Test("a session has all functions of the module that concern playback")
  func session() throws {
    let lines = try EngineHarness.printed(
      """
      local session = speaker.default_session()
      session:play("tone.wav", { title = "by session" })
      task.sleep(1)
      session:pause()
      print(session:state(), session:is_playing(), session:position(), session:duration(), session.name)
      session:resume()
      session:seek(2.5)
      print(session:finish "1s")
      session:play "tone.wav"
      session:stop()
      print(session:state(), session == speaker.default_session())
      """)
    #expect(lines == ["paused\tfalse\t1.0\t3.0\tdefault", "finished", "stopped\ttrue"])
  }

  @Test("stop right after play stops what has hardly begun")
  func stopRightAfterPlay() throws {
    var harness = try EngineHarness()
    harness.configuration = "house { output = 'wav:\(harness.folder.file("out"))' }"
    let lines = try harness.printed(
      """
      speaker.open()
      local playing = task.spawn(function() return code(speaker.play, "long.wav") end)
      task.spawn(speaker.stop)
      print(playing:await(), speaker.state())
      """)
    #expect(lines == ["none\tstopped"])
  }

  @Test("a script that only listens ends; one that plays continues to the end of the source")
  func lifetime() throws {
    let harness = try EngineHarness()
    let idle = try harness.run("speaker.on('ended', print)")
    #expect(idle.status == 0 && idle.seconds < 1)
    let playing = try harness.run(
      "speaker.on('ended', function(e) print(e.reason) end) speaker.play 'tone.wav'")
    #expect(playing.lines == ["finished"] && playing.seconds > 3 && playing.seconds < 4)
  }
}
