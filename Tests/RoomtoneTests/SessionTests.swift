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
        "1\ttrue\tnil", "test, bath\ttrue\tshower\ttone.wav", "nil\tnil\tfalse",
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
      print(speaker.state(), speaker.own.source.title, one.status, other.status)
      other:stop()
      task.sleep(1)
      print(speaker.state())
      """)
    #expect(lines == ["playing\tother\tstopped\tplaying", "stopped"])
  }
}
