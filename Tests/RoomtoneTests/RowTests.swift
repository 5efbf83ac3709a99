import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("speaker: sessions, levels and sources of every kind", .waiting, .tags(.speaker, .sessions))
struct RowTests {

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
