import TestTraits
import Testing

@Suite("Several sessions, from Lua", .waiting, .tags(.speaker, .sessions))
struct SessionTests {

  @Test("the sessions of the house are listed, with their sources, and each speaker has its own")
  func lookUps() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen, bathroom = speaker.device "Kitchen", speaker.device "Bathroom"
      print(#speaker.sessions(), kitchen.session == speaker.sessions()[1], kitchen.session.source)
      local bath = speaker.session { name = "bath", devices = { bathroom } }
      bath:play("tone.wav", { title = "shower" })
      print(names(speaker.sessions()), bathroom.session == bath, bath.source.title, bath.source.path:match "[^/]*$")
      kitchen:leave()
      print(kitchen.session, speaker.sessions()[1].source, bath.suspended)
      speaker.interrupt { devices = "Bathroom", name = "bell", play = function(session)
        print(session.name, bath.suspended, bathroom.session == session, bath.source.title)
      end }
      print(bath.suspended)
      """)
    #expect(
      lines == [
        "1\ttrue\tnil", "default, bath\ttrue\tshower\ttone.wav", "nil\tnil\tfalse",
        "bell\ttrue\ttrue\tshower",
        "false",
      ])
  }

  @Test("a session tells that it is closed, alone or with its house")
  func closed() throws {
    let lines = try EngineHarness.printed(
      """
      local one, other = speaker.session { name = "one" }, speaker.session { name = "other" }
      for _, session in ipairs { one, other } do
        session:on("closed", function(event) print(event.session == session, session.name) end)
      end
      task.spawn(function() print(other:wait "state") end)
      task.sleep(1)
      one:close()
      task.sleep(1)
      speaker.close()
      task.sleep(1)
      print(code(one.on, one, "closed", print))
      """)
    #expect(lines == ["true\tone", "true\tother", "nil\tclosed", "speaker.closed"])
  }

  @Test("a volume event tells an interruption's volumes from those of people")
  func causes() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen = speaker.device "Kitchen"
      kitchen:on("volume", function(event) print(event.volume, event.cause) end)
      local function interrupt(volume)
        speaker.interrupt { devices = { kitchen }, volume = volume, play = function(session)
          session:fade { to = volume + 1, over = 1 }
          task.sleep(1)
        end }
      end
      interrupt(30)
      speaker.interrupt { devices = { kitchen }, volume = 40, play = function()
        interrupt(35)
        task.sleep(1)
      end }
      kitchen:set_volume(9)
      task.sleep(1)
      """)
    #expect(
      lines == [
        "30\tinterruption", "31\tinterruption", "22\trestored", "40\tinterruption", "35\tinterruption",
        "36\tinterruption", "40\tinterruption", "22\trestored", "9\tnil",
      ])
  }

  @Test("a stream that is stopped when another one has replaced it leaves the session alone")
  func replacedStream() throws {
    let lines = try EngineHarness.printed(
      """
      local stream = require "stream"
      local one, other = stream.new "http://127.0.0.1/one.mp3", stream.new "http://127.0.0.1/other.mp3"
      speaker.play_stream(one)
      speaker.play_stream(other)
      one:stop()
      task.sleep(1)
      print(speaker.state(), speaker.default_session().source.title, one.status, other.status)
      other:stop()
      task.sleep(1)
      print(speaker.state())
      """)
    #expect(lines == ["playing\tother\tstopped\tplaying", "stopped"])
  }

  @Test("an interruption restores what it changed: speakers, volume, position")
  func interrupt() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen = speaker.device "Kitchen"
      speaker.play "long.wav"
      task.sleep(2)
      speaker.interrupt {
        volume = 40,
        play = function(session)
          print(session:state(), kitchen.volume, speaker.state())
          session:play "tone.wav"
          session:finish()
        end,
      }
      print(kitchen.volume, speaker.state(), speaker.position())
      print(code(speaker.interrupt, { priority = 99, play = "tone.wav" }))
      print(code(speaker.interrupt, { play = "nowhere.wav" }), speaker.state(), kitchen.is_playing)
      print(code(speaker.interrupt, { play = function() error { code = "mine" } end }), speaker.state())
      print(message(speaker.interrupt, { play = 7 }))
      """)
    #expect(lines[0].hasPrefix("stopped\t"))
    let back = lines[1].split(separator: "\t")
    #expect(back[1] == "playing")
    let position = try #require(Double(back[2]))
    #expect(position >= 2 && position < 2.1)
    #expect(lines[2] == "speaker.outranked")
    #expect(lines[3] == "audio.not_found\tplaying\ttrue")
    #expect(lines[4] == "mine\tplaying")
    #expect(lines[5].contains("option 'play': a file, a list of files or a function expected"))
  }

  @Test("a fade of the volume has arrived when it returns, from the level that was asked for last")
  func arrives() throws {
    let lines = try EngineHarness.printed(
      """
      local kitchen = speaker.device "Kitchen"
      local levels = {}
      kitchen:on("volume", function(e) levels[#levels + 1] = e.volume end)
      speaker.set_volume(35)
      speaker.fade { to = 40, over = "1s" }
      print(kitchen.volume, speaker.volume(), table.concat(levels, " "))
      speaker.default_session():fade { volume = 38, over = 0 }
      print(kitchen.volume)
      local before = speaker.snapshot()
      kitchen:set_volume(3)
      task.sleep(0.1)
      before:restore()
      print(kitchen.volume)
      speaker.interrupt { volume = 11, play = function() task.sleep(0.1) print(kitchen.volume) end }
      print(kitchen.volume)
      """)
    #expect(lines == ["40\t40\t35 36 37 38 39 40", "38", "38", "11", "38"])
  }

  @Test("fades last as long as asked and end at their target; a fade needs one target")
  func fades() throws {
    let lines = try EngineHarness.printed(
      """
      speaker.play "long.wav"
      local start = task.now()
      speaker.fade { volume = 40, over = "2s" }
      task.sleep(0.1)
      print(speaker.volume(), task.now() - start >= 2, task.now() - start < 2.3)
      start = task.now()
      speaker.default_session():fade { gain = -20, over = 1 }
      print(task.now() - start >= 1, task.now() - start < 1.2)
      speaker.set_gain(0)
      print(message(speaker.fade, { over = 1 }))
      print(message(speaker.fade, { volume = 3 }))
      print(message(speaker.set_gain, 13))
      """)
    #expect(lines[0] == "40\ttrue\ttrue")
    #expect(lines[1] == "true\ttrue")
    #expect(lines[2].contains("one of gain, volume and to expected"))
    #expect(lines[3].contains("option 'over': a duration is missing"))
    #expect(lines[4].contains("#1 to 'set_gain' (-90 to 12 expected, got 13)"))
  }
}

@Suite("Editing the house, from Lua", .waiting, .tags(.speaker, .groups))
struct EditingTests {
}
